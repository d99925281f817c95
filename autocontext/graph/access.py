"""Access to one graph database: which one, its connections, and the instances in it.

Which database: `NEO4J_URI` if it is set, else the embedded one (`autocontext.graph.embedded`).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

from pydantic import SecretStr

from autocontext.config import Settings, load_settings
from autocontext.errors import ConfigError, UnknownInstance
from autocontext.graph import embedded, instances, schema
from autocontext.graph.connection import Connection, Transaction
from autocontext.graph.endpoint import Endpoint, Login
from autocontext.types import (
    InstanceRecord,
)

T = TypeVar("T")


class Access:
    """Connections to one database. Use `open`, and close it or use `with`."""

    def __init__(
        self, endpoint: Endpoint, *, read_only: bool = False, find: Callable[[], Endpoint] | None = None
    ) -> None:
        """Connects; `open` is the usual way.

        Args:
            find: says where the database is when it has been restarted; default: where it was.

        Raises:
            DatabaseUnavailable: the database cannot be reached or logged in to.
            DatabaseError: the server is too old.
            SchemaError: the stored schema does not fit to this release.
        """
        self.endpoint = endpoint
        self.read_only = read_only
        self._find = find or (lambda: endpoint)
        self._second: Connection | None = None
        self._connection = self._connect()

    @classmethod
    def open(cls, settings: Settings | None = None, *, read_only: bool = False) -> Self:
        """The store that the settings name: `NEO4J_URI`, or else the embedded database.

        Raises:
            ConfigError: the settings make no sense.
            DatabaseUnavailable: the database cannot be reached, started or logged in to.
            DatabaseError: the server is too old.
            SchemaError: the stored schema does not fit to this release.
        """
        chosen = settings or load_settings()
        return cls(endpoint_of(chosen), read_only=read_only, find=lambda: endpoint_of(chosen))

    def close(self) -> None:
        """Closes the connections."""
        self._connection.close()
        if self._second is not None:
            self._second.close()
            self._second = None

    def reconnect(self) -> None:
        """After the database was away: connect anew, to wherever it is now. The embedded one is started if need be.

        Raises:
            DatabaseUnavailable: it is still away.
        """
        self.endpoint = self._find()
        fresh = self._connect()
        self.close()
        self._connection = fresh

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def instance(self, instance_id: str) -> InstanceRecord:
        """One instance.

        Raises:
            UnknownInstance: there is none of that id; the message names the nearest.
        """
        return self._connection.read(lambda transaction: self._instance(transaction, instance_id))

    def instances(self) -> list[InstanceRecord]:
        """All instances, by id."""
        records = [instances.record_of(row["instance"]) for row in self._connection.rows("instances")]
        return [record for record in records if record.applied_iteration >= 0]

    def _connect(self) -> Connection:
        login = self.endpoint.reader if self.read_only and self.endpoint.reader else self.endpoint.writer
        connection = Connection(self.endpoint, login, read_only=self.read_only)
        try:
            connection.check()
            schema.ensure(connection, read_only=self.read_only)
        except BaseException:
            connection.close()
            raise
        return connection

    def _read_of(self, instance_id: str, work: Callable[[Transaction], T]) -> T:
        """Reads something of one instance, which must be there."""

        def checked(transaction: Transaction) -> T:
            self._instance(transaction, instance_id)
            return work(transaction)

        return self._connection.read(checked)

    def _instance(self, transaction: Transaction, instance_id: str) -> InstanceRecord:
        rows = transaction.run("instance", id=instance_id)
        if not rows or rows[0]["instance"]["applied_iteration"] < 0:
            raise self._unknown(transaction, instance_id)
        return instances.record_of(rows[0]["instance"])

    def _unknown(self, transaction: Transaction, instance_id: str) -> UnknownInstance:
        names = [row["instance"]["id"] for row in transaction.run("instances")]
        near = difflib.get_close_matches(instance_id, names, n=3, cutoff=0.5) or names[:3]
        there = f"nearest: {', '.join(near)}" if near else "there are none yet; explore one first"
        return UnknownInstance(f"there is no instance '{instance_id}' ({there}).")


def endpoint_of(settings: Settings) -> Endpoint:
    """The database that the settings name; the embedded one is started if need be.

    Raises:
        ConfigError: `NEO4J_URI` is set without a password.
        EmbeddedDatabaseError: the embedded database cannot run.
    """
    if settings.neo4j_uri is None:
        return embedded.attach(settings)
    if settings.neo4j_password is None:
        raise ConfigError("NEO4J_URI is set, NEO4J_PASSWORD is not; set it, or unset both for the embedded database.")
    login = Login(settings.neo4j_username, SecretStr(settings.neo4j_password.get_secret_value()))
    return Endpoint("neo4j", settings.neo4j_uri, settings.neo4j_database, login)
