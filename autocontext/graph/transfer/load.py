"""Stores the rows of a checked file, in batches under the instance's lease. Only the last one makes it an instance."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from autocontext.errors import AutoContextError, ImportFailed, InstanceBusy, LeaseLost
from autocontext.graph import facts as rules
from autocontext.graph import forest, instances, leases
from autocontext.graph.connection import Connection, Inconsistent, Transaction, batches
from autocontext.graph.spool import Spool
from autocontext.graph.transfer import lines
from autocontext.graph.transfer.check import check
from autocontext.graph.transfer.collect import JSON_OF_ITERATION
from autocontext.graph.transfer.ids import Ids
from autocontext.graph.transfer.source import Source, opened
from autocontext.types import InstanceRecord, Lease, entity_id, normalise

BATCHES = 1
"""Batches of rows in one transaction. More were not quicker on either engine, and hold the instance for longer."""


def load(
    connection: Connection, path: Path | None, instance_id: str | None, forget: Callable[[str], None]
) -> InstanceRecord:
    """Store the instance in a file, all of it or nothing.

    Args:
        path: of the file; None: standard input.
        instance_id: the name to store it under; None: the one that it had.
        forget: deletes an instance.

    Raises:
        ImportFailed: the file is none, or there is an instance of that name.
        UsageError: this is no name for an instance.
    """
    with opened(path) as source, Spool() as spool:
        record = source.header()
        record = record.model_copy(update={"id": record.id if instance_id is None else instance_id})
        instances.check_id(record.id)
        check(source, record, spool)
        lease = _begin(connection, record, forget)
        try:
            with leases.HeldLease(record.id, lease, connection.run) as held:
                _Loader(connection, record, held, spool).load(source)
        except LeaseLost:
            raise  # what is there belongs to another process now
        except BaseException:
            with suppress(AutoContextError):  # what is left is hidden, and the next import or start forgets it
                forget(record.id)
            raise
    return record


def _begin(connection: Connection, record: InstanceRecord, forget: Callable[[str], None]) -> Lease:
    """Make the instance, hidden, and take its lease. What a killed import has left of one is forgotten first."""
    owner = leases.Owner.here()
    hidden = instances.row_of(record) | {"applied_iteration": -1}

    def work(transaction: Transaction) -> Lease | None:
        found = transaction.run("instance", id=record.id)
        if found and found[0]["instance"].get("lease_owner") == owner.owner:  # the acknowledgement was lost
            return leases.lease_of(found[0]["instance"])
        if found and found[0]["instance"]["applied_iteration"] < 0:
            return None
        if found:
            raise ImportFailed(f"there is an instance '{record.id}' already; import it under another with --instance.")
        transaction.run("begin_import", instance=hidden)
        return leases.lease_of(leases.take(transaction, record.id, owner) or {})

    for _ in range(2):
        if (lease := connection.write(work)) is not None:
            return lease
        forget(record.id)
    raise InstanceBusy(f"another process makes the instance '{record.id}' at this moment.")


class _Loader:
    """Writes one instance."""

    def __init__(self, connection: Connection, record: InstanceRecord, held: leases.HeldLease, spool: Spool) -> None:
        """`spool` knows which facts each step shows; see `check`."""
        self._connection, self._record, self._held, self._spool = connection, record, held, spool
        self._scope = record.id
        self._ids = Ids(record.id, record.naming)
        self._batch = 0
        self._shown = self._by_step()
        self._next = next(self._shown, (-1, []))

    def load(self, source: Source) -> None:
        """Write all rows, and then say that it is an instance.

        Raises:
            LeaseLost: another process took the lease.
        """
        scope = {"scope": self._scope}
        instance = {"instance": self._scope, **scope}
        token = rules.scope_token(self._scope)
        kinds: dict[str, Callable[[Iterable[Any]], None]] = {
            "state": lambda rows: self._write("import_states", map(self._state, rows), **instance),
            "todo": lambda rows: self._write("import_todos", map(self._todo, rows)),
            "episode": lambda rows: self._write("create_episodes", map(self._episode, rows), **instance),
            "step": self._steps,
            "entity": lambda rows: self._write("import_entities", map(self._entity, rows), scope_token=token, **scope),
            "fact": lambda rows: self._write("import_facts", map(self._fact, rows)),
            "template": lambda rows: self._write("upsert_templates", map(self._template, rows), **instance),
            "iteration": lambda rows: self._write("import_iterations", map(self._iteration, rows), **instance),
        }
        for kind, rows in groupby((row for _, row in source.rows()), key=lambda row: row.row):
            kinds[kind](rows)
        self._write("link_todos", self._kept("hung"), **scope)
        self._write("import_promotions", self._kept("promoted"), **scope)
        last = self._record.applied_iteration
        self._locked(lambda transaction: transaction.run("end_import", id=self._scope, applied_iteration=last))

    # --- rows -----------------------------------------------------------------------------------------

    def _state(self, row: lines.StateRow) -> dict[str, Any]:
        properties = self._of_forest(row, "promoted_from")
        if row.promoted_from:
            self._keep("promoted", {"todo": self._global(row.promoted_from), "state": properties["id"]})
        return properties

    def _todo(self, row: lines.TodoRow) -> dict[str, Any]:
        properties = self._of_forest(row, "parent")
        self._keep("hung", {"id": properties["id"], "parent": self._global(row.parent)})
        return properties

    def _episode(self, row: lines.EpisodeRow) -> dict[str, Any]:
        return {**row.model_dump(exclude={"row"}), "id": self._global(row.id), "scope": self._scope}

    def _of_forest(self, row: lines.StateRow | lines.TodoRow, link: str) -> dict[str, Any]:
        return {**row.model_dump(exclude={"row", link}), "id": self._global(row.id), "scope": self._scope}

    def _steps(self, rows: Iterable[lines.StepRow]) -> None:
        """Steps come by their numbers, and so does what they show."""
        for below, group in groupby(rows, key=lambda row: row.below):
            self._write(f"import_{below}_steps", map(self._step, group), scope=self._scope)

    def _step(self, row: lines.StepRow) -> dict[str, Any]:
        properties = row.model_dump(exclude={"row", "below", "parent"}, exclude_none=True)
        properties |= {"id": forest.step_id(self._scope, row.number), "scope": self._scope, "fact_ids": []}
        number, ids = self._next
        if number == row.number:
            properties["fact_ids"] = ids
            self._next = next(self._shown, (-1, []))
        return {"parent": self._global(row.parent), "step": properties}

    def _entity(self, row: lines.EntityRow) -> dict[str, Any]:
        key = row.name if row.value else normalise(row.name, self._record.naming)
        return {"id": self._ids.entity(row.name, value=row.value), "name": row.name, "key": key, "value": row.value}

    def _fact(self, row: lines.FactRow) -> dict[str, Any]:
        properties = row.model_dump(exclude={"row", "subject", "object", "object_is_value"})
        properties["id"] = self._ids.fact(row.subject, row.predicate, row.object, is_value=row.object_is_value)
        properties["scope"] = self._scope
        ends = {"subject": self._ids.entity(row.subject)}
        ends["object"] = self._ids.entity(row.object, value=row.object_is_value)
        return {**ends, "fact": properties}

    def _template(self, row: lines.TemplateRow) -> dict[str, Any]:
        identifier = entity_id(self._scope, row.name, naming="exact")
        return {"id": identifier, "class": row.name, "tried": row.tried, "names": row.names, "words": row.words}

    def _iteration(self, row: lines.IterationRow) -> dict[str, Any]:
        properties = row.model_dump(mode="json", exclude={"row", "facts"})
        properties |= {name: instances.json_of(properties[name]) for name in JSON_OF_ITERATION}
        properties["fact_ids"] = sorted(self._ids.fact(s, p, o, is_value=value) for s, p, o, value in row.facts)
        return {**properties, "id": forest.iteration_id(self._scope, row.n), "scope": self._scope}

    def _global(self, local: str) -> str:
        return forest.global_id(self._scope, local)

    # --- writing --------------------------------------------------------------------------------------

    def _write(self, name: str, rows: Iterable[dict[str, Any]], **parameters: Any) -> None:
        """Rows of one kind, some batches in each transaction."""
        parts = batches(rows)
        while some := list(islice(parts, BATCHES)):

            def work(transaction: Transaction, some: list[list[dict[str, Any]]] = some) -> None:
                for batch in some:
                    written = transaction.run(name, rows=batch, **parameters)[0]["written"]
                    if written != len(batch):
                        raise Inconsistent(f"of {len(batch)} rows only {written} were stored ({name}).")

            self._locked(work)

    def _locked(self, work: Callable[[Transaction], Any]) -> None:
        """One transaction that writes under the lease; repeated, it sees that it was done."""
        self._batch += 1
        number, token = self._batch, uuid.uuid4().hex

        def once(transaction: Transaction) -> None:
            locked = transaction.run("lock_import", id=self._scope, token=token, batch=number)
            if not locked:
                raise Inconsistent(f"the import of '{self._scope}' was taken away meanwhile.")
            leases.must_hold(self._scope, locked[0]["instance"], locked[0]["now"], self._held.lease)
            if locked[0]["done"] < number:
                work(transaction)

        with self._held.writing():
            self._connection.write(once)

    # --- what has to wait -----------------------------------------------------------------------------

    def _keep(self, table: str, row: dict[str, Any]) -> None:
        """Links are written when both of their ends are."""
        self._spool.put(table, b"", json.dumps(row).encode())

    def _kept(self, table: str) -> Iterator[dict[str, Any]]:
        return (json.loads(content) for _, content in self._spool.in_order(table))

    def _by_step(self) -> Iterator[tuple[int, list[str]]]:
        for number, group in groupby(self._spool.in_order("shown"), key=lambda row: row[0]):
            yield int.from_bytes(number, "big"), sorted({identifier.decode() for _, identifier in group})
