"""The graph store: everything that is written to the database goes through here, and all reading is part of it.

One code path over Neo4j and the embedded engine. Each write is one transaction that may be repeated without changing
anything.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from autocontext.errors import DatabaseError, InstanceMismatch, UsageError
from autocontext.graph import forest, instances, leases
from autocontext.graph.access import endpoint_of as endpoint_of
from autocontext.graph.commit import apply_iteration
from autocontext.graph.connection import BATCH_ROWS, Transaction
from autocontext.graph.leases import HeldLease
from autocontext.graph.reading import QueryResult as QueryResult
from autocontext.graph.reads import Reads
from autocontext.graph.transfer import load
from autocontext.types import (
    InstanceRecord,
    Iteration,
    Lease,
    Revealed,
    Spec,
    State,
    Step,
    StopReason,
)

_FORGOTTEN_IN_ORDER = (
    "forget_entities",
    "forget_steps",
    "forget_todos",
    "forget_episodes",
    "forget_states",
    "forget_templates",
    "forget_iterations",
)


class GraphStore(Reads):
    """Instances, their forests and their facts in one graph database. Use `open`, and close it or use `with`."""

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

        def known(transaction: Transaction) -> InstanceRecord | None:
            rows = transaction.run("instance", id=instance_id)
            if rows and rows[0]["instance"]["applied_iteration"] < 0:
                return instances.record_of(rows[0]["instance"])
            return instances.same_instance(instances.record_of(rows[0]["instance"]), spec) if rows else None

        def made(transaction: Transaction) -> InstanceRecord:
            if (there := known(transaction)) is not None:
                return there
            transaction.run("create_instance", instance=instance, state=state, step=step, scope=instance_id)
            return instances.record_of(instance)

        # What is there is only read: a process that was stopped while it wrote must not be in the way.
        record = self._connection.read(known) or self._connection.write(made)
        if record.applied_iteration < 0:
            self.forget(instance_id)
            record = self._connection.write(made)
        return self._adopted(record, spec, start.step)

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
        """A run has ended, and why. Under the run's lease, saying it again changes nothing.

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
            told = (stored["status"], stored.get("stopped_because"), stored.get("stopped_why"))
            if lease is not None and told == ("explored", reason, why):
                return  # usage is added up: once
            before = json.loads(stored.get("closing_usage") or "{}")
            total = {name: before.get(name, 0) + (usage or {}).get(name, 0) for name in {*before, *(usage or {})}}
            transaction.run("finish", id=instance_id, reason=reason, why=why, usage=instances.json_of(total))

        self._connection.write(work)

    def lease(self, instance_id: str, say: Callable[[str], None] = lambda text: None) -> HeldLease:
        """The right to write to an instance, for as long as the `with` lasts; see `autocontext.graph.leases`.

        Args:
            say: is told when it is taken from a process that may only be paused: that can take a while.

        Raises:
            UnknownInstance: there is no such instance.
            InstanceBusy: another process has it; the message says which and since when.
        """
        self._writable()
        owner = leases.Owner.here()
        if silent := self._connection.read(lambda transaction: leases.silent_holder(transaction, instance_id)):
            say(silent)

        def work(transaction: Transaction) -> Lease:
            stored = leases.take(transaction, instance_id, owner)
            taken = leases.lease_of(stored) if stored else None
            if taken is None:
                raise self._unknown(transaction, instance_id)
            return taken

        return HeldLease(instance_id, self._connection.write(work), self._run)

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

    def _adopted(self, stored: InstanceRecord, spec: Spec, start: Step) -> InstanceRecord:
        """The record; of one that was only ingested it may become known now which instance it is.

        Raises:
            InstanceMismatch: it starts otherwise than the one of the spec.
        """
        if stored.source_hash or not spec.source_hash:
            return stored
        (first,) = self._connection.rows("steps", ids=[forest.step_id(stored.id, 0)])
        if forest.step_of(first["step"]).observation != start.observation:
            raise InstanceMismatch(
                f"instance '{stored.id}' was ingested from {stored.source}, and starts otherwise than this one; "
                "explore this one under another name with --instance."
            )
        known = {"source": spec.source, "source_hash": spec.source_hash, "description": spec.description}
        return instances.record_of(self._run("adopt_source", id=stored.id, **known)[0]["instance"])

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
