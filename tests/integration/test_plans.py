"""How Neo4j is to run the named queries: from an index, and with nothing to say about them.

EXPLAIN tells neither on the embedded engine; there the same queries are held by the store's contract suite only.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import Any

import neo4j
import pytest

from autocontext.graph.queries import Query, all_queries
from autocontext.graph.store import GraphStore

from ..services.databases import Neo4jServer
from .conftest import Book, edit

pytestmark = pytest.mark.service

NO_PLAN = re.compile(r"CREATE (CONSTRAINT|INDEX|FULLTEXT)|SHOW|TERMINATE")
EXPLAINED = [query for query in all_queries().values() if not NO_PLAN.match(query.text)]


@pytest.fixture(scope="module")
def driver(neo4j_for_tests: Neo4jServer) -> Iterator[neo4j.Driver]:
    """On a database that knows every label, type and property that is ever stored."""
    with GraphStore(neo4j_for_tests.endpoint) as store:
        books = [Book(store, f"plans-{n}") for n in range(3)]
        for book in books:
            book.register()
            for number in range(20):
                book.commit(edit("add", (f"thing {number}", "in", "room"), (number + 1,)))
        login = neo4j_for_tests.endpoint.writer
        with neo4j.GraphDatabase.driver(
            neo4j_for_tests.endpoint.uri,
            auth=(login.username, login.password.get_secret_value()),
            notifications_min_severity="INFORMATION",
        ) as found:
            # Plans are made from samples of the indexes, and both are renewed some seconds after the data has changed:
            # to a planner that believes all to be empty, a scan is as good as anything.
            found.execute_query("CALL db.prepareForReplanning(60)")
            yield found
        for book in books:
            store.forget(book.id)


def explain(driver: neo4j.Driver, query: Query) -> neo4j.ResultSummary:
    return driver.execute_query(f"EXPLAIN {query.text}", dict.fromkeys(query.parameters)).summary


def operators(plan: Any) -> Iterator[str]:
    yield plan["operatorType"].partition("@")[0]
    for child in plan.get("children", []):
        yield from operators(child)


@pytest.mark.parametrize("query", EXPLAINED, ids=lambda query: query.name)
def test_it_starts_from_an_index(driver: neo4j.Driver, query: Query) -> None:
    """Of the graph it reads what its parameters name; without parameters it may read one label."""
    found = set(operators(explain(driver, query).plan))
    scans = {name for name in found if "Scan" in name}
    assert scans <= (set() if query.parameters else {"NodeByLabelScan"})
    assert "Eager" not in found or query.mode == "write"


@pytest.mark.parametrize("query", EXPLAINED, ids=lambda query: query.name)
def test_the_server_has_nothing_to_say_about_it(
    driver: neo4j.Driver, query: Query, caplog: pytest.LogCaptureFixture
) -> None:
    """No deprecation and no hint about performance. That a name is not stored yet is no defect of a query."""
    caplog.set_level(logging.CRITICAL, logger="neo4j.notifications")
    told = [notice for notice in explain(driver, query).gql_status_objects if notice.is_notification]
    assert [notice.status_description for notice in told if notice.raw_classification != "UNRECOGNIZED"] == []


def test_the_kind_of_a_query_is_as_declared(driver: neo4j.Driver) -> None:
    kinds = {query.name: explain(driver, query).query_type for query in EXPLAINED}
    assert [query.name for query in EXPLAINED if (kinds[query.name] == "r") == (query.mode == "write")] == []
