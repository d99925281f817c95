"""What the engines do differently, and what this layer makes of it: the same on both. One test for each trap.

Reading around some entities and searching for names are in test_engines_reading.py, plans and notifications of Neo4j in
test_plans.py.
"""

from __future__ import annotations

import re
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import neo4j
import pytest
from neo4j.exceptions import ConstraintError, TransientError

from autocontext import __version__
from autocontext.errors import DatabaseError, QueryError, QueryRefused
from autocontext.graph.connection import Connection, Transaction
from autocontext.graph.endpoint import Endpoint
from autocontext.graph.queries import all_queries
from autocontext.graph.store import GraphStore

from ..services.losing import LosingProxy
from .conftest import Book, edit, rows

TEXTS = {name: query.text for name, query in all_queries().items()}
UNIQUE = [
    match for text in TEXTS.values() for match in re.findall(r"FOR \(\w+:(\w+)\) REQUIRE \w+\.(\w+) IS UNIQUE", text)
]


# --- reading and time ---------------------------------------------------------------------------------


def test_reading_cannot_write(endpoint: Endpoint, book: Book) -> None:
    """Neo4j heeds the access mode; the embedded engine does not, so there a second login may only read."""
    assert (endpoint.reader is None) == (endpoint.engine == "neo4j")
    reading = Connection(endpoint, endpoint.reader or endpoint.writer)
    with pytest.raises(DatabaseError):
        reading.read(lambda transaction: transaction.run("begin_forgetting", id=book.id))
    reading.close()
    assert book.store.instance(book.id).applied_iteration == 0


@pytest.mark.parametrize("cypher", ["LOAD CSV FROM 'file:///x' AS row RETURN row", "SHOW USERS", "EXPLAIN RETURN 1"])
def test_what_reading_alone_would_allow_is_refused(store: GraphStore, cypher: str) -> None:
    with pytest.raises(QueryRefused):
        store.query(cypher)


def test_a_query_beyond_its_time_runs_no_longer(store: GraphStore, connection: Connection) -> None:
    """Neo4j keeps the time; the embedded engine does not, so there a watchdog does."""
    endless = "UNWIND range(1, 100000) AS x UNWIND range(1, 100000) AS y WITH x * y AS z WHERE z % 7 = 3 RETURN sum(z)"
    with pytest.raises(QueryError, match=r"stopped after 0\.3 s"):
        store.query(endless, timeout=0.3)
    deadline = time.monotonic() + 10
    while any("sum(z)" in row["currentQuery"] for row in connection.rows("running_queries")):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_writing_transaction_is_ended_after_its_time(
    endpoint: Endpoint, connection: Connection, book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the locks of a paused process go. The embedded engine keeps no time and, waiting for nobody, no lock."""
    monkeypatch.setattr("autocontext.graph.connection.WRITE_SECONDS", 0.5)

    def paused(transaction: Transaction) -> None:
        transaction.run("lock_instance", id=book.id, token="x")
        time.sleep(4)  # Neo4j looks every two seconds
        transaction.run("finish", id=book.id, reason="steps", why="", usage="{}")

    if endpoint.engine == "neo4j":
        with pytest.raises(DatabaseError):
            connection.write(paused)
    else:
        assert connection.engine.transaction_timeout(0.5) is None


# --- writing at once, again, and into the void --------------------------------------------------------


def test_racing_merges_make_one_of_each(connection: Connection, book: Book) -> None:
    """Neo4j reports a deadlock, which the driver tries again; the embedded engine a broken constraint, which we do."""
    entities = [{"id": f"{book.id}-{n}", "name": str(n), "key": str(n), "value": False} for n in range(20)]

    def upsert(turn: int) -> int:
        mixed = entities[turn:] + entities[:turn]  # no two take their locks in the same order
        return connection.write(
            lambda transaction: transaction.write_rows("upsert_entities", mixed, scope=book.id, scope_token="x")
        )

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(upsert, range(4))) == [20] * 4
    assert rows(connection, "MATCH (e:Entity {scope: $scope}) RETURN count(e)", scope=book.id) == [[20]]


def test_a_broken_constraint_is_tried_again_and_then_told(connection: Connection) -> None:
    tries = []

    def work(transaction: Transaction) -> None:
        tries.append(time.monotonic())
        raise ConstraintError("taken")

    with pytest.raises(DatabaseError):
        connection.write(work)
    assert len(tries) == 5


def test_a_conflict_is_tried_again_soon(connection: Connection) -> None:
    """The driver's own first delay is a second; conflicts are everyday where several write at once."""
    tries: list[float] = []

    def work(transaction: Transaction) -> None:
        tries.append(time.monotonic())
        if len(tries) == 1:
            raise TransientError("deadlock")

    connection.write(work)
    assert tries[1] - tries[0] < 0.5


def test_what_is_read_under_the_lock_is_not_lost(connection: Connection, book: Book) -> None:
    """Both engines are READ COMMITTED: without the lock, two that read and then write lose updates."""

    def count(_: int) -> None:
        def work(transaction: Transaction) -> None:
            transaction.run("lock_instance", id=book.id, token=uuid.uuid4().hex)
            counted = transaction.run("instance", id=book.id)[0]["instance"].get("stopped_why", "0")
            transaction.run("finish", id=book.id, reason="steps", why=str(int(counted) + 1), usage="{}")

        connection.write(work)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(count, range(15)))
    assert book.store.instance(book.id).stopped_why == "15"


def test_a_lost_acknowledgement_is_settled_by_writing_again(endpoint: Endpoint, book: Book) -> None:
    proxy = LosingProxy(endpoint.uri)
    with GraphStore(Endpoint(endpoint.engine, proxy.uri, endpoint.database, endpoint.writer, endpoint.reader)) as store:
        for n in (1, 2):
            iteration = book.iteration(edit("add", (f"key {n}", "is", "red"), (n,)))
            proxy.to_lose = n
            store.commit(book.id, iteration)
            assert proxy.to_lose == 0
    proxy.close()
    assert book.texts() == ["key 1 is red", "key 2 is red"]
    assert [todo.id for todo in book.store.load_forest(book.id)[1]] == ["a1", "a2"]


def test_a_row_without_its_ends_is_counted_as_not_written(connection: Connection, book: Book) -> None:
    book.add("door", "is", "locked")
    there = rows(connection, "MATCH (e:Entity {scope: $scope, name: 'door'}) RETURN e.id", scope=book.id)[0][0]
    row = {"id": "x", "subject": there, "object": "nowhere", "predicate": "is", "kind": "place", "live": True}
    row |= {"added": [1], "retired": [], "evidence": [1], "retired_evidence": []}
    written = connection.write(lambda transaction: transaction.write_rows("create_facts", [row], scope=book.id))
    assert written == 0
    assert book.texts() == ["door is locked"]


def test_a_failed_transaction_leaves_nothing(connection: Connection, book: Book) -> None:
    def work(transaction: Transaction) -> None:
        transaction.run("finish", id=book.id, reason="steps", why="", usage="{}")
        taken = {"id": book.id}
        transaction.run("create_instance", instance=taken, state={"id": "x"}, step={"id": "x"}, scope="x")

    with pytest.raises(DatabaseError):
        connection.write(work)
    assert book.store.instance(book.id).status == "new"


# --- what is stored -----------------------------------------------------------------------------------


def test_times_are_numbers(book: Book, connection: Connection) -> None:
    """Dates and times come back from the embedded engine without their zone."""
    book.add("door", "is", "locked")
    book.store.finish(book.id, "steps")
    for (stored,) in rows(connection, "MATCH (n {scope: $scope}) RETURN properties(n)", scope=book.id):
        plain = [part for value in stored.values() for part in (value if isinstance(value, list) else [value])]
        assert {type(value) for value in plain} <= {str, int, float, bool}, stored
    now = time.time() * 1000
    assert now - 600_000 < book.store.instance(book.id).created_at <= now
    assert now - 600_000 < book.store.iterations(book.id)[0]["at"] <= now


@pytest.mark.parametrize(("label", "name"), UNIQUE)
def test_unique_keys_are_enforced(connection: Connection, book: Book, label: str, name: str) -> None:
    """Checked by label and property: the names of indexes are the embedded engine's own."""
    twice = f"UNWIND [1, 2] AS n CREATE (x:{label} {{scope: $scope}}) SET x.{name} = $value"
    with connection.session() as session, pytest.raises(ConstraintError):
        session.execute_write(lambda inner: inner.run(twice, scope=book.id, value=f"{book.id}/x").consume())
    assert rows(connection, f"MATCH (x:{label} {{{name}: $value}}) RETURN x", value=f"{book.id}/x") == []


def test_unique_keys_are_of_one_property_that_is_never_null(book: Book, connection: Connection) -> None:
    """In a key of several, null is one value on the embedded engine and may be there twice on Neo4j."""
    assert [
        text for text in TEXTS.values() if " REQUIRE " in text and not re.search(r"REQUIRE \w+\.\w+ IS", text)
    ] == []
    book.add("door", "is", "locked")
    assert {label for label, _ in UNIQUE} >= {"Instance", "Iteration", "State", "Todo", "Step", "Entity", "Template"}
    assert rows(connection, "MATCH (n {scope: $scope}) WHERE n.id IS NULL RETURN n", scope=book.id) == []
    facts = "MATCH (:Entity {scope: $scope})-[fact:FACT]->() WHERE fact.id IS NULL RETURN fact"
    assert rows(connection, facts, scope=book.id) == []


@pytest.mark.parametrize(
    "words", [r"\bTEXT INDEX\b", r"\bSHORTEST\b", "(?i)shortestPath", r"\bIN \$\w+ MATCH\b", "datetime"]
)
def test_no_query_uses_what_one_engine_lacks(words: str) -> None:
    assert [name for name, text in TEXTS.items() if re.search(words, " ".join(text.split()))] == []


# --- the driver ---------------------------------------------------------------------------------------


def test_the_server_is_told_who_asks_and_for_which_database(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: dict[str, Any] = {}
    driver = neo4j.GraphDatabase.driver
    monkeypatch.setattr(
        neo4j.GraphDatabase, "driver", lambda *args, **kwargs: made.update(kwargs) or driver(*args, **kwargs)
    )
    connection = Connection(endpoint, endpoint.writer)
    assert made["user_agent"] == f"autocontext/{__version__}"
    monkeypatch.setattr(connection.driver, "session", lambda **settings: made.update(settings))
    connection.session()
    assert made["database"] == endpoint.database
    connection.close()


def test_a_store_has_one_driver_for_each_login(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    driver = neo4j.GraphDatabase.driver
    monkeypatch.setattr(
        neo4j.GraphDatabase, "driver", lambda *args, **kwargs: made.append(driver(*args, **kwargs)) or made[-1]
    )
    with GraphStore(endpoint) as store:
        for _ in range(3):
            store.instances()
            store.query("RETURN 1")
        assert len(made) == (1 if endpoint.reader is None else 2)
