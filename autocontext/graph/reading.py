"""Users' Cypher: guarded, under a login that may only read where there is one, within limits of rows and time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import neo4j
from neo4j.exceptions import DriverError, Neo4jError

from autocontext.errors import QueryError
from autocontext.graph import guard
from autocontext.graph.connection import Connection, one_line, translated
from autocontext.graph.values import plain
from autocontext.types import Data


class QueryResult(Data):
    """Rows of values that JSON can hold."""

    columns: list[str]
    rows: list[list[Any]]
    truncated: bool
    """There were more rows than the limit."""


def run(
    reader: Connection,
    terminator: Connection,
    cypher: str,
    parameters: Mapping[str, Any] | None,
    *,
    limit: int,
    timeout: float,
) -> QueryResult:
    """Run a user's query.

    Args:
        reader: the connection that it runs on.
        terminator: the connection by which it is ended when it takes too long.

    Raises:
        QueryRefused: it is not provably reading.
        QueryError: it is wrong (with the position, where the server gives one), failed or took too long.
    """
    guard.check(cypher)
    endpoint = reader.endpoint
    seconds = reader.engine.transaction_timeout(timeout)
    with reader.engine.watched(terminator.driver, endpoint.database, cypher, timeout) as watched:

        def work(transaction: neo4j.ManagedTransaction) -> QueryResult:
            result = transaction.run(watched.cypher, dict(parameters or {}))
            rows: list[list[Any]] = []
            for record in result:
                if len(rows) == limit:
                    return QueryResult(columns=list(result.keys()), rows=rows, truncated=True)
                rows.append([plain(value) for value in record.values()])
            return QueryResult(columns=list(result.keys()), rows=rows, truncated=False)

        try:
            with reader.session(default_access_mode=neo4j.READ_ACCESS, fetch_size=min(limit + 1, 1000)) as session:
                limited = neo4j.unit_of_work(timeout=seconds)(work)
                return session.execute_read(limited)
        except (Neo4jError, DriverError) as error:
            code = getattr(error, "code", None) or ""
            if watched.timed_out or "Timeout" in code or "TimedOut" in code:
                why = f"the query was stopped after {timeout:g} s; ask for less, or allow more time."
                raise QueryError(why) from error
            if isinstance(error, Neo4jError) and ".ClientError." in code and ".Security.Unauth" not in code:
                raise QueryError(_with_position(one_line(error), cypher)) from error
            with translated(endpoint):
                raise


def _with_position(text: str, cypher: str) -> str:
    """The place first, as `line 1, column 5`, counted from 1 and inside of what the user wrote.

    Neo4j says `... (line 1, column 5 (offset: 4))` and shows the line; the embedded engine says `line 1:4` and counts
    columns from 0.
    """
    if match := re.search(r"\(line (\d+), column (\d+) \(offset: \d+\)\)", text):
        line, column, message = int(match.group(1)), int(match.group(2)), text[: match.start()]
    elif match := re.search(r"(?:at )?line (\d+):(\d+)(?: - )?", text):
        line, column, message = (
            int(match.group(1)),
            int(match.group(2)) + 1,
            text[: match.start()] + text[match.end() :],
        )
    else:
        return text
    lines = cypher.split("\n")
    if line > len(lines):
        line, column = len(lines), len(lines[-1]) + 1
    return f"line {line}, column {column}: {message.strip()}"
