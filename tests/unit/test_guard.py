"""Users' Cypher only reads: what is let through, what is refused, and where."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocontext.errors import QueryRefused
from autocontext.graph.guard import check

READING = [
    "RETURN 1",
    "match (n) return n",
    (
        "MATCH (n:Entity {name: $name})-[f:FACT*1..2]-(o) WHERE f.live AND NOT o.value RETURN n, f, o "
        "ORDER BY n.name DESC SKIP 1 LIMIT 5;"
    ),
    "OPTIONAL MATCH (n) RETURN count(*), count(DISTINCT n), collect(n.name)[0..3]",
    "MATCH (n) RETURN n.load, n.set, n.delete AS create",
    "MATCH (n:Set)-[:CREATE|DELETE]->(m:A&!B|%) RETURN n",
    "MATCH (n {text: 'DELETE me; // no comment'}) RETURN \"CREATE (:x)\"",
    "MATCH (n) RETURN n // DELETE n\n/* CREATE (x) */",
    "MATCH (`delete` {`set`: 1}) RETURN `delete`",
    "UNWIND [1, 2] AS x WITH x WHERE x > 1 RETURN CASE WHEN x = 1 THEN 'a' ELSE 'b' END AS y",
    "MATCH (n) RETURN n UNION ALL MATCH (m) RETURN m AS n",
    "MATCH (n) CALL { WITH n MATCH (n)--(m) RETURN count(m) AS c } RETURN n, c",
    "MATCH (n) CALL (n) { MATCH (n)--(m) RETURN count(m) AS c } RETURN n, c",
    "MATCH (n) WHERE EXISTS { (n)-->(:State) } AND COUNT { MATCH (n)-->(m) RETURN m } > 1 RETURN n {.name, .*}",
    "MATCH (n) WHERE n.name STARTS WITH 'a' OR n.name ENDS WITH 'b' OR n.x IS NOT NULL RETURN n",
    "CALL db.labels() YIELD label RETURN label",
    "CALL db.index.fulltext.queryNodes('entity_name', $q, {limit: 20}) YIELD node, score RETURN node.name, score",
    "MATCH p = shortestPath((a)-[*..5]-(b)) RETURN [x IN nodes(p) WHERE x.live | x.name], length(p)",
    "MATCH ((a)-->(b))+ RETURN a",
    "MATCH (n) WITH * WHERE n.x = 2 * 3 % 4 RETURN *",
    "RETURN date('2026-01-01'), duration.between(date(), date()), reduce(s = 0, x IN [1] | s + x), 1e5, .5, 0x1F",
    "MATCH (set) RETURN set",
    "MATCH (n) RETURN n.a AS a, all(x IN n.added WHERE x > 1) AS b",
]

REFUSED = [
    "CREATE (n)",
    "MATCH (n) DELETE n",
    "MATCH (n) DETACH DELETE n",
    "MATCH (n) SET n.x = 1",
    "MATCH (n) SET n.x = 1 RETURN n",
    "MATCH (n) RETURN n CREATE (m)",
    "MATCH (n) REMOVE n.x",
    "MERGE (n:X {a: 1}) RETURN n",
    "MATCH (n) WITH * DELETE n",
    "MATCH (n) WITH * SET n.x = 1",
    "MATCH (n) WHERE n:% SET n.x = 1",
    "MATCH ((a)-->(b))+ SET a.x = 1",
    "MATCH ((a)-->(b))* DELETE a",
    "MATCH ((a)-->(b)){1,3} DELETE a",
    "MATCH (n) WHERE n.x IS :: LIST<STRING> SET n.x = 1",
    "MATCH (n) FOREACH (x IN [1] | CREATE (:X))",
    "LOAD CSV FROM 'file:///etc/passwd' AS row RETURN row",
    "RETURN 1 AS x LOAD CSV FROM 'file:///x' AS row RETURN row",
    "RETURN 1 AS x; MATCH (n) DELETE n",
    "RETURN 1;;",
    "MATCH (n) CALL { WITH n DELETE n } RETURN n",
    "MATCH (n) CALL (n) { SET n.x = 1 } RETURN n",
    "MATCH (n) CALL (*) { DELETE n } RETURN n",
    "RETURN (COUNT { MATCH (n) DELETE n })",
    "RETURN [x IN [1] | EXISTS { CREATE (n) }]",
    "RETURN COLLECT { MERGE (n) RETURN n }",
    "RETURN {a: COUNT { CREATE (n) RETURN n }}",
    "RETURN CALL { CREATE (n) }",
    "RETURN 1DELETE n",
    "RETURN distinct CREATE (n)",
    "MATCH (n) RETURN n UNION CREATE (m) RETURN m AS n",
    "EXPLAIN MATCH (n) RETURN n",
    "PROFILE MATCH (n) RETURN n",
    "CYPHER 5 MATCH (n) RETURN n",
    "SHOW USERS",
    "SHOW TRANSACTIONS",
    "TERMINATE TRANSACTION 'x'",
    "DROP DATABASE neo4j",
    "USE system MATCH (n) RETURN n",
    "CALL dbms.listConfig() YIELD name RETURN name",
    "CALL dbms.killConnections([])",
    "CALL apoc.cypher.doIt('CREATE (n)', {}) YIELD value RETURN value",
    "CALL `db`.`labels`()",
    "RETURN apoc.cypher.runFirstColumnSingle('CREATE (n)', {})",
    "MATCH (n) RETURN 'a\\u0027 DELETE n //'",
    "MATCH (n) /* RETURN n",
    "RETURN 'open",
    "MATCH (n RETURN n",
    "MATCH (n)) RETURN n",
    "",
    "   // only a comment",
    "(n)",
    "{}",
    "INSERT (n)",
    "MATCH (n) FINISH",
    "ALTER USER neo4j SET PASSWORD 'x'",
    "RETURN 1 UNION",
    "MATCH (n) \x00DELETE n",
]

WRITES = ["CREATE (x:Evil)", "MERGE (x:Evil)", "SET n.x = 1", "DELETE n", "DETACH DELETE n", "REMOVE n.x"]
WRITES += ["FOREACH (i IN [1] | SET n.x = i)", "LOAD CSV FROM 'x' AS y", "DROP INDEX x", "CALL dbms.kill()"]


@pytest.mark.parametrize("cypher", READING)
def test_a_query_that_reads_is_let_through(cypher: str) -> None:
    check(cypher)


@pytest.mark.parametrize("cypher", REFUSED)
def test_a_query_that_is_not_provably_reading_is_refused(cypher: str) -> None:
    with pytest.raises(QueryRefused, match=r"^line \d+, column \d+: "):
        check(cypher)


def test_a_refusal_says_where_and_what_to_do() -> None:
    with pytest.raises(QueryRefused, match=r"^line 2, column 3: DELETE is not allowed; .*MATCH"):
        check("MATCH (n)\n  DELETE n")


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("reading", [query for query in READING if "//" not in query and not query.endswith(";")])
def test_no_writing_clause_can_follow_a_reading_query(reading: str, write: str) -> None:
    with pytest.raises(QueryRefused):
        check(f"{reading} {write}")
    with pytest.raises(QueryRefused):
        check(f"{reading} /**/{write} RETURN 1")


FRAGMENTS = ["MATCH (n)", "RETURN n", "WITH *", "WHERE n.x", "n", "*", "+", "(", ")", "{", "}", "[", "]", "'s'", "`q`"]
FRAGMENTS += [",", ".", ":", "AS", "NOT", "DISTINCT", "CASE", "1", "$p", "<", ">", "-", "=", "IN", "CALL", "EXISTS"]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=8))
def test_no_writing_clause_after_a_complete_operand_is_ever_let_through(parts: list[str]) -> None:
    """Whatever comes before: a closing bracket or a name is an operand, and only a listed clause may follow it."""
    for operand in ("(m)", "m", "m.x"):
        with pytest.raises(QueryRefused):
            check(" ".join([*parts, "WITH", operand, "DELETE n"]))


@given(st.text(max_size=60))
def test_any_text_is_let_through_or_refused(text: str) -> None:
    with contextlib.suppress(QueryRefused):
        check(text)


def test_the_text_of_a_query_has_no_way_around_by_case_or_white_space() -> None:
    for cypher in ("match (n) dElEtE n", "MATCH (n)\tDELETE\tn", "MATCH (n)\u00a0DELETE n", "MATCH (n)DELETE n"):
        with pytest.raises(QueryRefused):
            check(cypher)
