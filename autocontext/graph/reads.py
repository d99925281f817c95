"""Everything that is read of explored instances."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from math import fsum
from typing import Any

from autocontext.errors import UsageError
from autocontext.graph import canonical as canonical_form
from autocontext.graph import facts as rules
from autocontext.graph import forest, reading, references
from autocontext.graph.access import Access
from autocontext.graph.connection import Connection, Transaction
from autocontext.graph.reading import QueryResult
from autocontext.graph.spool import Spool
from autocontext.graph.transfer import export
from autocontext.types import (
    Episode,
    Fact,
    InstanceRecord,
    Revealed,
    State,
    Step,
    Todo,
    entity_id,
)


class Reads(Access):
    """What was tried, what is true, how it came to be; and users' Cypher."""

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

    def episodes(self, instance_id: str) -> list[Episode]:
        """All episodes that were ingested with their steps, in order.

        Raises:
            UnknownInstance: there is no such instance.
        """
        return self._read_of(
            instance_id,
            lambda transaction: forest.episodes_of(
                transaction.run("episodes", scope=instance_id), transaction.run("episode_steps", scope=instance_id)
            ),
        )

    def ingested(self, instance_id: str) -> dict[str, tuple[int, list[int]]]:
        """How far each episode was ingested: by its id the number of the step that shows its start, and those of its
        own steps.

        Raises:
            UnknownInstance: there is no such instance.
        """

        def work(transaction: Transaction) -> dict[str, tuple[int, list[int]]]:
            rows = transaction.run("episode_numbers", scope=instance_id)
            return {forest.local_id(row["episode"]): (row["start"], sorted(row["numbers"])) for row in rows}

        return self._read_of(instance_id, work)

    def iterations(self, instance_id: str) -> list[dict[str, Any]]:
        """What each iteration did, in order: `n`, `steps_used`, `replayed`, `todos`, `promoted`, `episodes`, `added`,
        `retired`, `strategies` (todos by strategy), `usage`, `rejected_paths`, `rejected_edits`, `failures`, `unread`,
        `idle`, `last_step`, `at`; and where a person corrected facts, `because` and the `fact_ids`.

        Raises:
            UnknownInstance: there is no such instance.
        """
        return self._read_of(instance_id, lambda transaction: _iterations(transaction, instance_id))

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

    def export(self, instance_id: str, *, canonical: bool = False) -> Iterator[str]:
        """The instance as lines of a file, without newlines; see `autocontext.graph.transfer`.

        Args:
            canonical: what `canonical` gives, for comparing; it cannot be imported.

        Raises:
            UnknownInstance: there is no such instance.
            DatabaseError: it is written to all the time, so no state of it can be read.
        """
        return export.lines(self._connection, lambda: self.instance(instance_id), as_canonical=canonical)

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
