"""The graph store: everything that is written to or read from the database goes through here.

One code path over Neo4j and the embedded engine. Each write is one transaction that may be repeated without changing
anything. Which database: `NEO4J_URI` if it is set, else the embedded one (`autocontext.graph.embedded`).
"""

from __future__ import annotations

import difflib
import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from math import fsum
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from pydantic import SecretStr

from autocontext.config import Settings, load_settings
from autocontext.errors import ConfigError, DatabaseError, UnknownInstance, UsageError
from autocontext.graph import canonical as canonical_form
from autocontext.graph import embedded, forest, instances, leases, reading, references, schema
from autocontext.graph import facts as rules
from autocontext.graph.commit import apply_iteration
from autocontext.graph.connection import BATCH_ROWS, Connection, Transaction
from autocontext.graph.endpoint import Endpoint, Login
from autocontext.graph.leases import HeldLease
from autocontext.graph.reading import QueryResult as QueryResult
from autocontext.graph.spool import Spool
from autocontext.graph.transfer import export, load
from autocontext.types import (
    Fact,
    InstanceRecord,
    Iteration,
    Lease,
    Revealed,
    Spec,
    State,
    Step,
    StopReason,
    Todo,
    entity_id,
)

T = TypeVar("T")

_FORGOTTEN_IN_ORDER = (
    "forget_entities",
    "forget_steps",
    "forget_todos",
    "forget_states",
    "forget_templates",
    "forget_iterations",
)


class GraphStore:
    """Instances, their forests and their facts in one graph database. Use `open`, and close it or use `with`."""

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

    # --- instances ------------------------------------------------------------------------------------

    def register(self, instance_id: str, spec: Spec, start: State) -> InstanceRecord:
        """The instance of that id: made with its first state, or, if it is there already, as it is.

        Args:
            start: S0, with what the reset showed as its step 0.

        Raises:
            InstanceMismatch: the id belongs to another environment or another game.
            UsageError: this is no id for an instance.
        """
        self._writable()
        instances.check_id(instance_id)
        if start.step is None:
            raise UsageError("the first state needs the step that shows what the reset shows.")
        instance = instances.instance_row(instance_id, spec)
        state = forest.state_row(instance_id, start, 0, 0)
        step = forest.step_row(instance_id, start.step, 0)

        def work(transaction: Transaction) -> InstanceRecord:
            rows = transaction.run("instance", id=instance_id)
            if rows and rows[0]["instance"]["applied_iteration"] < 0:
                return instances.record_of(rows[0]["instance"])
            if rows:
                return instances.same_instance(instances.record_of(rows[0]["instance"]), spec)
            transaction.run("create_instance", instance=instance, state=state, step=step, scope=instance_id)
            return instances.record_of(instance)

        record = self._connection.write(work)
        if record.applied_iteration < 0:
            self.forget(instance_id)
            record = self._connection.write(work)
        return record

    def begin_run(
        self,
        instance_id: str,
        settings: Mapping[str, str],
        learned: Mapping[str, Revealed],
        lease: Lease | None = None,
    ) -> InstanceRecord:
        """A run starts or goes on: its settings and its snapshot replace those stored.

        Raises:
            UnknownInstance: there is no such instance.
            LeaseLost: the lease was taken by another process.
        """
        self._writable()

        def work(transaction: Transaction) -> InstanceRecord:
            self._locked(transaction, instance_id, lease)
            rows = transaction.run(
                "begin_run",
                id=instance_id,
                settings=instances.json_of(dict(settings)),
                learned=instances.learned_json(learned),
            )
            return instances.record_of(rows[0]["instance"])

        return self._connection.write(work)

    def finish(
        self,
        instance_id: str,
        reason: StopReason,
        why: str = "",
        *,
        usage: Mapping[str, int] | None = None,
        lease: Lease | None = None,
    ) -> None:
        """A run has ended, and why.

        Args:
            why: the planner's own words, or what was wrong.
            usage: what models have used since the last iteration.
            lease: that of the run.

        Raises:
            UnknownInstance: there is no such instance.
            LeaseLost: the lease was taken by another process.
        """
        self._writable()

        def work(transaction: Transaction) -> None:
            stored = self._locked(transaction, instance_id, lease)
            before = json.loads(stored.get("closing_usage") or "{}")
            total = {name: before.get(name, 0) + (usage or {}).get(name, 0) for name in {*before, *(usage or {})}}
            transaction.run("finish", id=instance_id, reason=reason, why=why, usage=instances.json_of(total))

        self._connection.write(work)

    def lease(self, instance_id: str) -> HeldLease:
        """The right to write to an instance, for as long as the `with` lasts; see `autocontext.graph.leases`.

        Raises:
            UnknownInstance: there is no such instance.
            InstanceBusy: another process has it; the message says which and since when.
        """
        self._writable()
        owner = leases.Owner.here()

        def work(transaction: Transaction) -> Lease:
            stored = leases.take(transaction, instance_id, owner)
            taken = leases.lease_of(stored) if stored else None
            if taken is None:
                raise self._unknown(transaction, instance_id)
            return taken

        return HeldLease(instance_id, self._connection.write(work), self._run)

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

    def forget(self, instance_id: str) -> None:
        """Delete an instance with all that was found in it, and what other instances learn from it.

        One that is cut short goes on when it is called again.

        Raises:
            UnknownInstance: there is no such instance.
            InstanceBusy: a process explores it.
        """
        self._writable()

        def some(name: str) -> Callable[[Transaction], int]:
            return lambda transaction: int(transaction.run(name, scope=instance_id, size=BATCH_ROWS)[0]["deleted"])

        with self.lease(instance_id):
            self._run("begin_forgetting", id=instance_id)
            for name in _FORGOTTEN_IN_ORDER:
                while self._connection.write(some(name)):
                    pass
            self._run("forget_instance", id=instance_id)

    def learned(self, environment: str, exclude_source_hash: str = "") -> dict[str, Revealed]:
        """What classes of actions revealed, summed over the environment's instances.

        Args:
            exclude_source_hash: instances of this game are left out, so that nothing learns from itself.
        """
        rows = self._connection.rows("learned", environment=environment, source_hash=exclude_source_hash)
        by_class: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            by_class.setdefault(row["class"], []).append(row)
        return {
            name: Revealed(**{part: fsum(row[part] for row in group) for part in ("tried", "names", "words")})
            for name, group in sorted(by_class.items())
        }

    # --- exploring ------------------------------------------------------------------------------------

    def commit(self, instance_id: str, iteration: Iteration, lease: Lease | None = None) -> None:
        """Write one iteration, all of it or nothing. Committing it again changes nothing.

        Args:
            lease: that of the run; without one nobody else may hold it.

        Raises:
            UnknownInstance: there is no such instance.
            LeaseLost: the lease was taken by another process.
            InstanceBusy: without a lease, while another process holds one.
            InvalidEdit: an edit or a text breaks a rule of the data model.
            DatabaseError: the instance is not at the iteration before, or something else committed that iteration.
        """
        self._writable()
        now = instances.now()
        self._connection.write(lambda transaction: apply_iteration(transaction, instance_id, iteration, now, lease))

    def load_forest(self, instance_id: str) -> tuple[list[State], list[Todo]]:
        """All states and todos with their steps, in the order in which they came to be.

        Raises:
            UnknownInstance: there is no such instance.
        """

        def work(transaction: Transaction) -> tuple[list[State], list[Todo]]:
            self._instance(transaction, instance_id)
            states = forest.states_of(transaction.run("states", scope=instance_id))
            todos = transaction.run("todos", scope=instance_id)
            return states, forest.todos_of(todos, transaction.run("todo_steps", scope=instance_id))

        return self._connection.read(work)

    def iterations(self, instance_id: str) -> list[dict[str, Any]]:
        """What each iteration did, in order: `n`, `steps_used`, `replayed`, `todos`, `promoted`, `added`, `retired`,
        `strategies` (todos by strategy), `usage`, `rejected_paths`, `rejected_edits`, `failures`, `unread`, `idle`,
        `last_step`, `at`; and where a person corrected facts, `because` and the `fact_ids`.

        Raises:
            UnknownInstance: there is no such instance.
        """
        return self._read_of(instance_id, lambda transaction: _iterations(transaction, instance_id))

    # --- facts ----------------------------------------------------------------------------------------

    def facts(self, instance_id: str, as_of: int | None = None) -> list[Fact]:
        """What is true now, or was true at the end of an iteration, with the history up to then; in a fixed order.

        Raises:
            UnknownInstance: there is no such instance.
            UsageError: `as_of` is negative.
        """
        if as_of is None:
            return self._read_of(
                instance_id,
                lambda transaction: rules.facts_in_order(transaction.run("live_facts", scope=instance_id)),
            )
        if as_of < 0:
            raise _no_iteration(as_of)

        def work(transaction: Transaction) -> list[Fact]:
            if as_of >= self._instance(transaction, instance_id).applied_iteration:
                return rules.facts_in_order(transaction.run("live_facts", scope=instance_id))
            rows = transaction.run("facts_as_of", scope=instance_id, as_of=as_of)
            return _as_of(transaction, instance_id, rows, as_of)

        return self._connection.read(work)

    def entity_facts(self, instance_id: str, name: str, as_of: int | None = None) -> list[Fact]:
        """What is true of one entity, as subject or as object, now or at the end of an iteration; in a fixed order.
        Nothing else of the instance is read. Nothing is true of a name that is not known.

        Raises:
            UnknownInstance: there is no such instance.
            UsageError: `as_of` is negative.
        """
        if as_of is not None and as_of < 0:
            raise _no_iteration(as_of)

        def work(transaction: Transaction) -> list[Fact]:
            record = self._instance(transaction, instance_id)
            entity = entity_id(instance_id, name, naming=record.naming)
            if as_of is None or as_of >= record.applied_iteration:
                return rules.facts_in_order(transaction.run("entity_facts", id=entity))
            rows = transaction.run("entity_facts_as_of", id=entity, as_of=as_of)
            return _as_of(transaction, instance_id, rows, as_of) if rows else []

        return self._connection.read(work)

    def all_facts(self, instance_id: str) -> list[Fact]:
        """Every fact, retired ones too, in the same order.

        Raises:
            UnknownInstance: there is no such instance.
        """
        return self._read_of(
            instance_id, lambda transaction: rules.facts_in_order(transaction.run("all_facts", scope=instance_id))
        )

    def fact(self, instance_id: str, reference: str) -> Fact:
        """One fact, live or retired, by its id, by the beginning or end of its id, or by its text `subject predicate
        object`.

        Raises:
            UnknownInstance: there is no such instance.
            UnknownFact: nothing, or more than one, answers to that; the message names the nearest.
        """
        if not references.is_full_id(reference):
            return references.pick(self.all_facts(instance_id), reference, instance_id)
        row = {"id": reference, "subject": reference.partition("-")[0]}
        found = self._read_of(instance_id, lambda transaction: transaction.run("touched_facts", rows=[row]))
        return references.pick(
            [rules.fact_of(row) for row in found if row["fact"]["scope"] == instance_id], reference, instance_id
        )

    def evidence(self, instance_id: str, fact_id: str, *, retired: bool = False) -> list[Step]:
        """The steps that show a fact, in order; with `retired`, those that show that it is no more.

        Raises:
            UnknownInstance: there is no such instance.
            UnknownFact: nothing answers to that id.
        """
        fact = self.fact(instance_id, fact_id)
        numbers = fact.retired_evidence if retired else fact.evidence
        ids = [forest.step_id(instance_id, number) for number in numbers]
        return [forest.step_of(row["step"]) for row in self._connection.rows("steps", ids=ids)]

    def canonical(self, instance_id: str) -> list[dict[str, Any]]:
        """The instance as rows in a fixed order. Two graphs are the same if and only if these are equal: neither the
        instance's name, nor times, nor what it cost are in it.

        Raises:
            UnknownInstance: there is no such instance.
        """

        with Spool() as spool:

            def work(transaction: Transaction) -> InstanceRecord:
                spool.clear()
                record = self._instance(transaction, instance_id)
                canonical_form.read(transaction, instance_id, spool)
                return record

            return list(canonical_form.rows(self._connection.read(work), spool))

    # --- files ----------------------------------------------------------------------------------------

    def export(self, instance_id: str, *, canonical: bool = False) -> Iterator[str]:
        """The instance as lines of a file, without newlines; see `autocontext.graph.transfer`.

        Args:
            canonical: what `canonical` gives, for comparing; it cannot be imported.

        Raises:
            UnknownInstance: there is no such instance.
            DatabaseError: it is written to all the time, so no state of it can be read.
        """
        return export.lines(self._connection, lambda: self.instance(instance_id), as_canonical=canonical)

    def load(self, path: Path | None, instance_id: str | None = None) -> InstanceRecord:
        """Store an exported instance, all of it or nothing. The whole file is checked before.

        Args:
            path: of the file; None: standard input.
            instance_id: the name to store it under; default: the one that it had.

        Raises:
            ImportFailed: the file is no whole export, or there is an instance of that name.
            UsageError: this is no name for an instance.
            InstanceBusy: another process makes an instance of that name at this moment.
        """
        self._writable()
        return self.instance(load.load(self._connection, path, instance_id, self.forget).id)

    # --- users' Cypher --------------------------------------------------------------------------------

    def query(
        self,
        cypher: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        limit: int = 1000,
        timeout: float = 30.0,
    ) -> QueryResult:
        """Run a user's Cypher, which may only read. It sees the whole database, not one instance.

        Args:
            limit: rows at most; more are cut off and `truncated` says so.
            timeout: seconds at most.

        Raises:
            QueryRefused: it is not provably reading.
            QueryError: it is wrong, failed, or took too long.
        """
        if limit < 1 or timeout <= 0:
            raise UsageError(f"a query needs a limit and a timeout above 0, not {limit} and {timeout:g}.")
        reader = terminator = self._connection
        if self.endpoint.reader is not None:
            if self._second is None:
                other = self.endpoint.writer if self.read_only else self.endpoint.reader
                self._second = Connection(self.endpoint, other)
            reader, terminator = (
                (self._connection, self._second) if self.read_only else (self._second, self._connection)
            )
        return reading.run(reader, terminator, cypher, parameters, limit=limit, timeout=timeout)

    # --- inside ---------------------------------------------------------------------------------------

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

    def _run(self, name: str, **parameters: Any) -> list[dict[str, Any]]:
        """One named query that writes, on whatever connection there is at the moment."""
        return self._connection.run(name, **parameters)

    def _locked(self, transaction: Transaction, instance_id: str, lease: Lease | None) -> dict[str, Any]:
        """The Instance node's properties; from here on this transaction is the only one that writes to the instance."""
        locked = transaction.run("lock_instance", id=instance_id, token=uuid.uuid4().hex)
        if not locked or locked[0]["instance"]["applied_iteration"] < 0:
            raise self._unknown(transaction, instance_id)
        leases.must_hold(instance_id, locked[0]["instance"], locked[0]["now"], lease)
        return dict(locked[0]["instance"])

    def _writable(self) -> None:
        if self.read_only:
            raise DatabaseError("the store was opened for reading only.")

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


def _no_iteration(n: int) -> UsageError:
    return UsageError(f"there is no iteration {n}; iterations are counted from 1, 0 is the start.")


def _as_of(transaction: Transaction, scope: str, rows: list[dict[str, Any]], n: int) -> list[Fact]:
    """Facts with their history up to the end of an iteration."""
    last = transaction.run("last_step_of_iteration", id=forest.iteration_id(scope, n))
    last_step = last[0]["last_step"] if last else 0
    return [rules.as_of(fact, n, last_step) for fact in rules.facts_in_order(rows)]


def _iterations(transaction: Transaction, scope: str) -> list[dict[str, Any]]:
    rows = [dict(row["iteration"]) for row in transaction.run("iterations", scope=scope)]
    for row in rows:
        for name in ("strategies", "usage", "rejected_paths", "rejected_edits", "failures"):
            row[name] = json.loads(row[name])
        for name in ("id", "scope", "digest"):
            del row[name]
    return rows
