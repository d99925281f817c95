"""Opening a store, its schema, and users' Cypher."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pydantic import SecretStr

from autocontext.config import Settings
from autocontext.errors import ConfigError, DatabaseError, DatabaseUnavailable, QueryError, QueryRefused, SchemaError
from autocontext.graph import schema
from autocontext.graph.connection import Connection
from autocontext.graph.endpoint import Endpoint, Login
from autocontext.graph.engines import Neo4jTraits
from autocontext.graph.store import GraphStore, endpoint_of

from .conftest import Book, edit


@pytest.fixture
def version(endpoint: Endpoint) -> Iterator[Any]:
    """Sets the stored schema version, and puts it right afterwards."""
    connection = Connection(endpoint, endpoint.writer)
    yield lambda number: connection.run("set_schema_version", version=number)
    connection.run("set_schema_version", version=schema.VERSION)
    connection.close()


def test_opening_again_changes_nothing(book: Book, endpoint: Endpoint) -> None:
    before = book.store.canonical(book.id)
    with GraphStore(endpoint) as again:
        assert again.canonical(book.id) == before


def test_a_newer_schema_is_refused(store: GraphStore, endpoint: Endpoint, version: Any) -> None:
    version(schema.VERSION + 1)
    with pytest.raises(SchemaError, match=r"has version 2, this release knows up to 1; upgrade AutoContext"):
        GraphStore(endpoint)


def test_an_older_schema_is_brought_up_to_date_and_keeps_what_is_there(
    book: Book, endpoint: Endpoint, version: Any
) -> None:
    before = book.store.canonical(book.id)
    version(0)
    with GraphStore(endpoint) as again:
        assert again.canonical(book.id) == before
        assert again.query("MATCH (s:Schema) RETURN s.version").rows == [[schema.VERSION]]


def test_many_may_open_a_fresh_database_at_once(store: GraphStore, endpoint: Endpoint, version: Any) -> None:
    version(0)
    with ThreadPoolExecutor(4) as pool:
        for opened in pool.map(lambda _: GraphStore(endpoint), range(4)):
            opened.close()
    assert store.query("MATCH (s:Schema) RETURN s.version").rows == [[schema.VERSION]]


def test_the_database_itself_keeps_ids_unique(store: GraphStore, endpoint: Endpoint, book: Book) -> None:
    fact = book.add("door", "is", "locked")
    connection = Connection(endpoint, endpoint.writer)
    row: dict[str, Any] = {"id": fact.id, "subject": _entity(book, "locked"), "object": _entity(book, "door")}
    row |= {"predicate": "is", "kind": "place", "live": True, "added": [1], "retired": []}
    row |= {"evidence": [1], "retired_evidence": []}
    with pytest.raises(DatabaseError):
        connection.write(lambda transaction: transaction.write_rows("create_facts", [row], scope=book.id))
    connection.close()


def test_a_server_that_is_down_is_named(endpoint: Endpoint) -> None:
    down = dataclasses.replace(endpoint, uri="bolt://127.0.0.1:9")
    started = time.monotonic()
    says = {
        "neo4j": r"no database answers at bolt://127\.0\.0\.1:9 \(Couldn't connect .*NEO4J_URI",
        "embedded": r"the embedded database does not answer any more \(Couldn't connect .*starts it again",
    }
    with pytest.raises(DatabaseUnavailable, match=says[endpoint.engine]) as told:
        GraphStore(down)
    assert "\n" not in str(told.value)
    assert time.monotonic() - started < 20


def test_a_wrong_password_is_named_and_not_shown(endpoint: Endpoint) -> None:
    wrong = dataclasses.replace(endpoint, writer=Login(endpoint.writer.username, SecretStr("not-the-password")))
    with pytest.raises(DatabaseUnavailable, match=r"does not accept the login of user .*NEO4J_PASSWORD") as told:
        GraphStore(wrong)
    assert "not-the-password" not in str(told.value)


def test_an_unknown_database_is_named(endpoint: Endpoint) -> None:
    with pytest.raises(DatabaseUnavailable, match=r"has no database 'nowhere'.*NEO4J_DATABASE"):
        GraphStore(dataclasses.replace(endpoint, database="nowhere"))


def test_an_address_that_is_none_is_a_clear_error(endpoint: Endpoint) -> None:
    with pytest.raises(ConfigError, match="NEO4J_URI 'localhost:7687' is no address"):
        GraphStore(dataclasses.replace(endpoint, uri="localhost:7687"))


@pytest.mark.parametrize("agent", ["Neo4j/5.25.1", "Neo4j/4.4.30"])
def test_a_server_that_is_too_old_is_named(agent: str) -> None:
    with pytest.raises(DatabaseError, match=rf"the server is {agent}; AutoContext needs Neo4j 5\.26"):
        Neo4jTraits().check(agent)


@pytest.mark.parametrize("agent", ["Neo4j/5.26.0", "Neo4j/5.26.16", "Neo4j/2025.10.1"])
def test_a_server_that_is_new_enough_is_taken(agent: str) -> None:
    Neo4jTraits().check(agent)


def test_a_server_needs_a_password() -> None:
    with pytest.raises(ConfigError, match="NEO4J_PASSWORD is not"):
        endpoint_of(Settings(neo4j_uri="bolt://localhost:7687", neo4j_password=None))


def test_a_store_opened_for_reading_reads_and_does_not_write(book: Book, endpoint: Endpoint) -> None:
    book.add("door", "is", "locked")
    with GraphStore(endpoint, read_only=True) as reading:
        assert [fact.object for fact in reading.facts(book.id)] == ["locked"]
        assert reading.query("RETURN 1 AS one").rows == [[1]]
        with pytest.raises(DatabaseError, match="opened for reading only"):
            reading.finish(book.id, "steps")
        with pytest.raises(DatabaseError):  # by the access mode or by the login, whichever the engine heeds
            reading._connection.run("finish", id=book.id, reason="steps", why="", usage="{}")
    assert book.store.instance(book.id).stopped_because is None


# --- users' Cypher ------------------------------------------------------------------------------------


def test_a_query_gives_columns_and_plain_values(book: Book) -> None:
    book.commit(edit("add", ("door", "is", "locked"), (1,)))
    found = book.store.query(
        "MATCH p = (s:Entity {scope: $scope})-[f:FACT]->(o) RETURN s, f, p, o.name AS name, [1, {a: 1.5}] AS list",
        {"scope": book.id},
    )
    assert found.columns == ["s", "f", "p", "name", "list"]
    subject, fact, path, name, numbers = found.rows[0]
    assert (subject["labels"], subject["properties"]["name"]) == (["Entity"], "door")
    assert (fact["type"], fact["properties"]["predicate"]) == ("FACT", "is")
    assert [node["properties"]["name"] for node in path["nodes"]] == ["door", "locked"]
    assert (name, numbers, found.truncated) == ("locked", [1, {"a": 1.5}], False)


def test_rows_beyond_the_limit_are_cut_off_and_it_says_so(store: GraphStore) -> None:
    cut = store.query("UNWIND range(1, 5000) AS x RETURN x", limit=3)
    whole = store.query("UNWIND range(1, 3) AS x RETURN x", limit=3)
    assert (cut.rows, cut.truncated) == ([[1], [2], [3]], True)
    assert (whole.rows, whole.truncated) == ([[1], [2], [3]], False)


def test_a_query_that_writes_is_refused_before_it_is_sent(store: GraphStore) -> None:
    with pytest.raises(QueryRefused, match="line 1, column 1: CREATE is not allowed"):
        store.query("CREATE (n:Evil)")


def test_what_the_guard_would_let_through_the_login_still_refuses(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autocontext.graph.guard.check", lambda cypher: None)
    for cypher in (
        "CREATE (n:Evil {scope: 'x', id: 'x'})",
        "MATCH (n:Instance) SET n.status = 'x'",
        "MATCH (n) DETACH DELETE n",
    ):
        with pytest.raises(QueryError):
            book.store.query(cypher)
    assert book.store.instance(book.id).status == "new"


@pytest.mark.parametrize(
    ("cypher", "place"),
    [("MATCH (n)\nRETURN n ORDER BY", r"^line 2, column 18: "), ("RETURN 1 +", r"^line 1, column 11: ")],
)
def test_a_mistake_is_shown_with_its_place(store: GraphStore, cypher: str, place: str) -> None:
    with pytest.raises(QueryError, match=place) as told:
        store.query(cypher)
    assert "autocontext-" not in str(told.value)


def test_an_endless_query_ends_at_its_limit_and_leaves_nothing_running(store: GraphStore) -> None:
    endless = (
        "UNWIND range(1, 100000) AS x UNWIND range(1, 100000) AS y WITH x * y AS z WHERE z % 7 = 3 RETURN count(z)"
    )
    started = time.monotonic()
    with pytest.raises(QueryError, match=r"stopped after 0\.5 s"):
        store.query(endless, timeout=0.5)
    assert time.monotonic() - started < 10
    assert store.query("RETURN 1").rows == [[1]]


def _entity(book: Book, name: str) -> str:
    found = book.store.query("MATCH (e:Entity {scope: $s, name: $n}) RETURN e.id", {"s": book.id, "n": name}).rows
    return str(found[0][0])
