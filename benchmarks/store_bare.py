"""The baseline of `store.py`: the same nodes, relationships and properties with the bare driver and the least of work.

Every row is ready before the clock starts; nothing is read, checked or told apart. Only what a graph needs that is to
be the same afterwards: an iteration in one transaction of five statements, a file in `UNWIND`s of many rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import neo4j

from autocontext.graph import facts as rules
from autocontext.graph import forest
from autocontext.graph.endpoint import Endpoint
from autocontext.graph.spool import Spool
from autocontext.graph.transfer.check import check
from autocontext.graph.transfer.load import _Loader
from autocontext.graph.transfer.source import opened
from autocontext.types import Fact, Iteration, entity_id, fact_id

Rows = list[dict[str, Any]]

TURN = (
    "MATCH (i:Instance {id: $scope}) CREATE (i)-[:ITERATION {scope: $scope}]->(n:Iteration) "
    "SET n = $iteration, i += $instance"
)
TRIED = (
    "UNWIND $todos AS row MATCH (p:State {id: row.parent}) CREATE (p)-[:TODO {scope: $scope}]->(t:Todo)"
    "-[:STEP {scope: $scope}]->(s:Step) SET t = row.todo, s = row.step"
)
ENTITIES = "UNWIND $entities AS row MERGE (e:Entity {id: row.id}) ON CREATE SET e = row"
FACTS = (
    "UNWIND $facts AS row MATCH (s:Entity {id: row.subject}) MATCH (o:Entity {id: row.object}) "
    "CREATE (s)-[f:FACT]->(o) SET f = row.fact"
)
TEMPLATE = (
    "MATCH (i:Instance {id: $scope}) MERGE (t:Template {id: $template.id}) SET t = $template "
    "MERGE (i)-[r:REVEALED]->(t) SET r.scope = $scope"
)
ITERATION = (TURN, TRIED, ENTITIES, FACTS, TEMPLATE)
TURN_OF_MANY = (
    "UNWIND $rows AS row MATCH (i:Instance {id: $scope}) "
    "CREATE (i)-[:ITERATION {scope: $scope}]->(n:Iteration) SET n = row"
)
HUNG = (
    "UNWIND $rows AS row MATCH (p:Parent {id: row.parent}) MATCH (t:Todo {id: row.id}) "
    "CREATE (p)-[:TODO {scope: $scope}]->(t)"
)
BULK = {
    "tried": "UNWIND $rows AS row CREATE (t:Todo)-[:STEP {scope: $scope}]->(s:Step) SET t = row.todo, s = row.step",
    "entities": "UNWIND $rows AS row CREATE (e:Entity) SET e = row",
    "facts": FACTS.replace("$facts", "$rows"),
    "iterations": TURN_OF_MANY,
    "rooted": HUNG.replace(":Parent", ":State"),
    "hung": HUNG.replace(":Parent", ":Todo"),
}
FIRST = (
    "CREATE (i:Instance)-[:HAS_STATE {scope: $scope}]->(s:State)-[:STEP {scope: $scope}]->(t:Step) "
    "SET i = $instance, s = $state, t = $step"
)
READ = (
    "MATCH (e:Entity {id: $id})-[f:FACT]-(o:Entity) WHERE f.live "
    "RETURN properties(f) AS fact, startNode(f).name AS subject, endNode(f).name AS object, "
    "endNode(f).value AS object_is_value"
)
TOUCH = "MATCH (e:Entity)-[f:FACT]->(:Entity) RETURN sum(size(e.name) + size(f.evidence))"
"""Brings a database from the disk into its caches, as far as it fits: a server that has been up for a while."""
READ_AS_OF = READ.replace("f.live", "size([n IN f.added WHERE n <= $as_of]) > size([n IN f.retired WHERE n <= $as_of])")


def driver(endpoint: Endpoint) -> neo4j.Driver:
    """The official driver on a database."""
    login = (endpoint.writer.username, endpoint.writer.password.get_secret_value())
    return neo4j.GraphDatabase.driver(endpoint.uri, auth=login, notifications_min_severity="OFF")


def iteration_rows(scope: str, iteration: Iteration) -> dict[str, Any]:
    """The parameters of `ITERATION`."""
    facts, shown = [], {}
    for edit in iteration.edits:
        identifier = fact_id(scope, edit.triplet)
        shown.setdefault(edit.evidence[0], []).append(identifier)
        facts.append(Fact(id=identifier, **edit.triplet.model_dump(), kind=edit.kind, added=(iteration.n,),
                          evidence=edit.evidence))  # fmt: skip
    token = rules.scope_token(scope)
    todos = [
        {"parent": forest.global_id(scope, "S0"), "todo": row["todo"], "step": row["steps"][0]}
        for row in forest.todo_rows(scope, iteration, shown)
    ]
    (name, revealed), *_ = iteration.templates.items()
    last = iteration.todos[-1].steps[-1].number
    return {
        "scope": scope,
        "iteration": {"id": forest.iteration_id(scope, iteration.n), "scope": scope, "n": iteration.n,
                      "steps_used": last, "replayed": 0, "last_step": last, "todos": len(todos), "promoted": 0,
                      "added": len(facts), "retired": 0, "strategies": "{}", "usage": "{}",
                      "rejected_paths": "[]", "rejected_edits": "[]", "digest": "0" * 32, "at": 1_700_000_000_000},
        "instance": {"applied_iteration": iteration.n, "steps_used": last, "replayed": 0, "last_step": last,
                     "status": "exploring"},
        "todos": todos,
        "entities": [row | {"scope": scope, "scope_token": token} for row in rules.entity_rows(facts, scope, "folded")],
        "facts": [_fact(scope, fact) for fact in facts],
        "template": {"id": entity_id(scope, name, naming="exact"), "scope": scope, "class": name,
                     **revealed.model_dump()},
    }  # fmt: skip


def _fact(scope: str, fact: Fact) -> dict[str, Any]:
    row = rules.fact_row(fact, scope, "folded")
    return {"subject": row.pop("subject"), "object": row.pop("object"), "fact": row | {"scope": scope}}


def write_iteration(session: neo4j.Session, parameters: dict[str, Any]) -> None:
    """One transaction."""

    def work(transaction: neo4j.ManagedTransaction) -> None:
        for statement in ITERATION:
            transaction.run(statement, parameters).consume()

    session.execute_write(work)


class _Collecting(_Loader):
    """Keeps the rows instead of writing them."""

    rows: dict[str, Rows]

    def _write(self, name: str, rows: Iterable[dict[str, Any]], **parameters: Any) -> None:
        self.rows.setdefault(name, []).extend(rows)

    def _locked(self, work: Any) -> None:
        pass


def bulk_rows(path: Path, scope: str) -> dict[str, Any]:
    """Everything in a file, as parameters of `FIRST` and `BULK`."""
    with opened(path) as source, Spool() as spool:
        record = source.header().model_copy(update={"id": scope})
        check(source, record, spool)
        loader = _Collecting(None, record, None, spool)  # type: ignore[arg-type]
        loader.rows = {}
        loader.load(source)
    rows, token = loader.rows, rules.scope_token(scope)
    links = rows["link_todos"]
    state = forest.global_id(scope, "S0")
    steps = {row["parent"]: row["step"] for row in rows["import_todo_steps"]}
    return {
        "instance": {"id": scope, "scope": scope, "naming": "folded", "applied_iteration": record.applied_iteration,
                     "settings": "{}", "learned": "{}", "environment": "bare", "source": "bare", "mode": "action",
                     "source_hash": "bare", "schema_version": 1, "last_step": record.last_step},
        "state": rows["import_states"][0],
        "step": rows["import_state_steps"][0]["step"],
        "tried": [{"todo": todo, "step": steps[todo["id"]]} for todo in rows["import_todos"]],
        "entities": [row | {"scope": scope, "scope_token": token} for row in rows["import_entities"]],
        "facts": rows["import_facts"],
        "iterations": rows["import_iterations"],
        "rooted": [row for row in links if row["parent"] == state],
        "hung": [row for row in links if row["parent"] != state],
    }  # fmt: skip


def write_bulk(session: neo4j.Session, scope: str, rows: dict[str, Any], size: int) -> None:
    """A transaction for every so many rows."""
    first = {name: rows[name] for name in ("instance", "state", "step")}
    session.execute_write(lambda transaction: transaction.run(FIRST, first, scope=scope).consume())
    for name, statement in BULK.items():
        for at in range(0, len(rows[name]), size):
            part = rows[name][at : at + size]
            session.execute_write(
                lambda transaction, statement=statement, part=part: transaction.run(
                    statement, rows=part, scope=scope
                ).consume()
            )
