"""Which transactions are made again, and how often."""

from __future__ import annotations

from typing import Any

import pytest
from neo4j.exceptions import ConstraintError, IncompleteCommit, Neo4jError, ServiceUnavailable
from pydantic import SecretStr

from autocontext.errors import DatabaseDown, DatabaseError
from autocontext.graph.connection import ATTEMPTS, Connection, Inconsistent, translated
from autocontext.graph.endpoint import Endpoint, Login

LOGIN = Login("nobody", SecretStr("nothing"))
NOWHERE = Endpoint("neo4j", "bolt://127.0.0.1:9", "neo4j", LOGIN)


def server_error(code: str) -> Neo4jError:
    return Neo4jError._hydrate_neo4j(code=code, message="it did not go")


def attempts(error: Exception, *, seconds: float = 0.0, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often a transaction is made that always ends in this error."""
    connection, made = Connection(NOWHERE, LOGIN), []
    monkeypatch.setattr(connection.engine, "retry_seconds", seconds)

    def once() -> Any:
        made.append(1)
        raise error

    with pytest.raises(type(error)):
        connection._repeated(once)
    connection.close()
    return len(made)


@pytest.mark.parametrize(
    "error",
    [
        ConstraintError("two at once"),
        IncompleteCommit("no word came back"),
        Inconsistent("half of it"),
        server_error("Neo.TransientError.Transaction.DeadlockDetected"),
        server_error("Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_may_help_is_tried_some_times_however_long_one_takes(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert attempts(error, monkeypatch=monkeypatch) == ATTEMPTS


def test_a_refused_one_is_tried_on_while_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    error = server_error("Neo.TransientError.Transaction.DeadlockDetected")
    assert attempts(error, seconds=2.0, monkeypatch=monkeypatch) > ATTEMPTS


def test_one_that_took_too_long_is_made_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    error = server_error("Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration")
    assert attempts(error, seconds=60.0, monkeypatch=monkeypatch) == 2


@pytest.mark.parametrize(
    "error", [server_error("Neo.ClientError.Statement.SyntaxError"), ServiceUnavailable("away"), DatabaseError("no")]
)
def test_what_cannot_help_is_not_tried(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    assert attempts(error, seconds=60.0, monkeypatch=monkeypatch) == 1


def test_a_database_that_is_away_is_said_at_once() -> None:
    connection = Connection(NOWHERE, LOGIN)
    with pytest.raises(DatabaseDown, match="no database answers"):
        connection.rows("instances")
    with pytest.raises(DatabaseDown), translated(NOWHERE):
        raise ServiceUnavailable("away")
    connection.close()
