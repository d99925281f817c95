"""All that differs between Neo4j and the embedded engine. Everything else is one code path over both.

Neo4j enforces read access and time limits itself. The embedded engine ignores both: there a second login may only
read, and a watchdog ends what runs too long.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from neo4j import Driver
from neo4j.exceptions import DriverError, Neo4jError

from autocontext.errors import DatabaseError
from autocontext.graph.endpoint import Engine
from autocontext.graph.queries import all_queries, query

OLDEST_NEO4J = (5, 26)
_ID = re.compile(r"[\w-]+")


class EngineTraits(Protocol):
    """What the rest of the layer has to know about an engine."""

    name: Engine
    retry_seconds: float
    """How long a transaction is at least tried again that the engine refused for another one's sake."""

    def check(self, agent: str) -> None:
        """Is the server new enough?

        Raises:
            DatabaseError: no; the message names its version.
        """

    def schema_blocks(self, version: int) -> list[str]:
        """Names of the blocks that bring a schema up to that version, in order."""

    def transaction_timeout(self, seconds: float) -> float | None:
        """The time limit to set on a transaction; None: it would be ignored."""

    @contextmanager
    def watched(self, driver: Driver, database: str, cypher: str, seconds: float) -> Iterator[Watched]:
        """The text to run instead of `cypher`; it is ended after so many seconds if the engine does not do so."""


class Watched:
    """A query under a time limit."""

    def __init__(self, cypher: str) -> None:
        self.cypher = cypher
        self.timed_out = False


class Neo4jTraits:
    """Neo4j, Community or other, from 5.26 on."""

    name: Engine = "neo4j"
    retry_seconds = 15.0

    def check(self, agent: str) -> None:
        """Refuses servers older than 5.26 (`agent` is like `Neo4j/5.26.16`)."""
        match = re.search(r"(\d+)\.(\d+)", agent)
        if match and (int(match.group(1)), int(match.group(2))) < OLDEST_NEO4J:
            raise DatabaseError(f"the server is {agent}; AutoContext needs Neo4j 5.26 or newer. Upgrade the server.")

    def schema_blocks(self, version: int) -> list[str]:
        """The common statements, then the full-text index."""
        return _blocks(f"schema_v{version}_") + _blocks(f"neo4j_schema_v{version}_")

    def transaction_timeout(self, seconds: float) -> float | None:
        """Neo4j keeps time itself."""
        return seconds

    @contextmanager
    def watched(self, driver: Driver, database: str, cypher: str, seconds: float) -> Iterator[Watched]:
        """Nothing to do: the transaction has its own limit."""
        yield Watched(cypher)


class EmbeddedTraits:
    """ArcadeDB, served on loopback over Bolt."""

    name: Engine = "embedded"
    retry_seconds = 5.0

    def check(self, agent: str) -> None:
        """Its version is that of the installed package: always right."""

    def schema_blocks(self, version: int) -> list[str]:
        """The common statements; the full-text index needs SQL and is made where the server is started."""
        return _blocks(f"schema_v{version}_")

    def transaction_timeout(self, seconds: float) -> float | None:
        """It would be ignored."""
        return None

    @contextmanager
    def watched(self, driver: Driver, database: str, cypher: str, seconds: float) -> Iterator[Watched]:
        """Marks the text, looks for the mark among the running queries once the time is over, and ends it."""
        mark = f"autocontext-{uuid.uuid4().hex}"
        watched = Watched(f"{cypher}\n/* {mark} */")
        over = threading.Event()

        def watch() -> None:
            wait = seconds
            while not over.wait(wait):
                watched.timed_out = True
                wait = 0.2
                try:
                    _terminate(driver, database, mark)
                except (Neo4jError, DriverError):
                    continue  # The next round tries again, for as long as the query runs.

        thread = threading.Thread(target=watch, name=f"watchdog of {mark}", daemon=True)
        thread.start()
        try:
            yield watched
        finally:
            over.set()
            thread.join(timeout=5)


def traits(engine: Engine) -> EngineTraits:
    """What an engine is like."""
    return Neo4jTraits() if engine == "neo4j" else EmbeddedTraits()


def _blocks(prefix: str) -> list[str]:
    return [name for name in all_queries() if name.startswith(prefix)]


def _terminate(driver: Driver, database: str, mark: str) -> None:
    """Ends the queries whose text carries the mark. TERMINATE takes no parameter here, so the id is checked."""
    running, _, _ = driver.execute_query(query("running_queries").text, database_=database)
    for row in running:
        identifier = str(row["transactionId"])
        if mark in str(row["currentQuery"]) and _ID.fullmatch(identifier):
            terminate = query("terminate_query").text.replace("TRANSACTION_ID", identifier)
            driver.execute_query(terminate, database_=database)
