"""Facts from recorded trajectories: for those who have logs, or an environment that cannot be reset.

Every episode begins at the instance's start, so that what holds of explored steps holds of recorded ones: what an
episode's path had changed is not recorded of the start (`autocontext.explorer.extractor.validate`). There is no
forest of what was tried; the episodes are kept as they are, and are the evidence. An extractor sees each as a chain
of todos below a root of its own, which is in memory only.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autocontext.environments.base import Reader
from autocontext.environments.registry import RECORDED, adapters, open_reader
from autocontext.errors import LogRefused, ModelUnavailable, UnknownInstance, UsageError
from autocontext.explorer.extractor.rules import RuleExtractor
from autocontext.explorer.forest import Forest
from autocontext.explorer.knowledge import Knowledge
from autocontext.explorer.logs import Trajectory, name_of, read_log
from autocontext.explorer.protocols import Extractor
from autocontext.explorer.run_store import RunStore
from autocontext.explorer.steps import Reading
from autocontext.graph.store import GraphStore
from autocontext.llm.ledger import Ledger
from autocontext.types import (
    Data,
    Edit,
    Episode,
    InstanceRecord,
    Iteration,
    Outcome,
    RejectedEdit,
    Spec,
    State,
    Step,
    Todo,
    Triplet,
)

READ_STEPS = 500
"""Steps that an extractor is given at a time."""
COMMIT_STEPS = 500
"""Steps after which an iteration is committed; a longer episode goes on in the next one."""
MOST_REJECTED = 100
"""Refused edits that are kept with an iteration."""


class Ingested(Data):
    """What came of a log. Entities and facts are the instance's totals."""

    instance: str
    environment: str
    episodes: int
    skipped: int
    steps: int
    iterations: int
    entities: int
    facts: int
    fresh: int
    """Facts that nothing had said before."""
    rejected: int
    seconds: float


def ingest(
    log: Path | None,
    store: GraphStore,
    *,
    instance: str,
    environment: str | None = None,
    extractor: Extractor | None = None,
    ledger: Ledger | None = None,
    any_start: bool = False,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    on_message: Callable[[str], None] = lambda text: None,
) -> Ingested:
    """Read a log into an instance, which is made if there is none. What was ingested before is skipped; a run that was
    cut short goes on where it stopped.

    Args:
        log: its file; None: standard input. For its format see docs/ingest.md.
        environment: whose reader is used: an adapter's name or `module:Class`; default: the instance's, or the generic.
        extractor: default: by rules. It sees every episode as a forest of one chain.
        ledger: counts what the extractor's model uses.
        any_start: episodes may begin with another text than the instance: with a date, for example.
        on_progress: called with the steps that are read, and with those that there are.
        on_message: told that the database is away, and that it is back.

    Raises:
        LogRefused: a line of it is wrong, or it is of another instance; nothing was stored.
        UsageError: there is no such environment, or this is no name for an instance.
        EnvironmentFailure: the environment's module cannot be imported.
        InstanceBusy: another process explores the instance.
        InvalidEdit: the extractor's edits break a rule of the data model.
        DatabaseError: the store failed; what was committed stays, and the same call goes on.
    """
    started = time.monotonic()
    trajectories = read_log(log)
    name = name_of(log)
    own = RunStore(store, ledger or Ledger(), say=on_message)
    there = _known(own, instance)
    reader, spec = _reader(there, environment, name)
    start = own.load_forest(instance)[0][0].step if there else trajectories[0].steps[0]
    if not any_start:
        _must_begin_alike(trajectories, start, instance, name)
    if there is None:
        own.register(instance, spec, State(id="S0", summary="the start", step=start))
    with own.hold(instance):
        run = _Run(own, own.instance(instance), start, reader, extractor or RuleExtractor(), name)
        total = sum(len(trajectory.steps) for trajectory in trajectories)
        seen = 0
        try:
            for trajectory in trajectories:
                for done in run.read(trajectory):
                    on_progress(seen + done, total)
                seen += len(trajectory.steps)
        except ModelUnavailable:
            run.commit()  # what it read before was paid for
            raise
        run.commit()
    return Ingested(
        instance=instance,
        environment=run.record.environment,
        episodes=len(trajectories) - run.skipped,
        skipped=run.skipped,
        steps=run.steps,
        iterations=run.iterations,
        entities=len(run.knowledge.entities),
        facts=len(run.knowledge.facts),
        fresh=run.fresh,
        rejected=run.rejected,
        seconds=round(time.monotonic() - started, 3),
    )


def _known(store: RunStore, instance: str) -> InstanceRecord | None:
    try:
        record: InstanceRecord = store.instance(instance)
    except UnknownInstance:
        return None
    return record


def _reader(record: InstanceRecord | None, environment: str | None, source: str) -> tuple[Reader, Spec]:
    """The reader that is asked for, or else the instance's own; and what a new instance is."""
    if environment is None:
        environment = RECORDED if record is None else record.environment
        if record is not None and environment not in (RECORDED, *adapters()):
            environment = record.source
            if not re.fullmatch(r"[\w.]+:[\w.]+", environment):
                raise UsageError(
                    f"the reader of '{record.environment}' is not known here; name an environment with --environment."
                )
    return open_reader(environment, source)


def _must_begin_alike(trajectories: Sequence[Trajectory], start: Step, instance: str, name: str) -> None:
    for trajectory in trajectories:
        if trajectory.steps[0].observation.text.split() != start.observation.text.split():
            raise LogRefused(
                f"{name}: line {trajectory.line}: this episode begins with another text than instance '{instance}': it "
                "is of another one. Ingest it under another name, or, if only a date or the like differs, with "
                "--any-start; nothing was ingested."
            )


@dataclass
class _Batch:
    """What the next iteration holds."""

    episodes: dict[str, Episode] = field(default_factory=dict)
    edits: list[Edit] = field(default_factory=list)
    rejected: dict[tuple[str, Triplet, str], RejectedEdit] = field(default_factory=dict)
    steps: int = 0


class _Run:
    """One log being read into one instance, under its lease."""

    def __init__(
        self, store: RunStore, record: InstanceRecord, start: Step, reader: Reader, extractor: Extractor, source: str
    ) -> None:
        self.record = record
        self.knowledge = Knowledge.load(store.all_facts(record.id), record.naming)
        self.steps = self.fresh = self.rejected = self.skipped = self.iterations = 0
        self._store, self._start, self._reader, self._extractor = store, start, reader, extractor
        self._source = source
        self._there: dict[str, tuple[int, list[int]]] = store.ingested(record.id)
        self._last_step = record.last_step
        self._batch = _Batch()

    def read(self, trajectory: Trajectory) -> Iterator[int]:
        """Take an episode in; yields how many of its steps are read."""
        identifier = trajectory.id
        known = identifier in self._there
        start, path, stored = self._numbered(trajectory, identifier)
        if known and stored == len(path):
            self.skipped += 1
            return
        forest = Forest(self._reader, keep_templates=False, iterations=self.record.applied_iteration)
        forest.add_state(State(id="S0", summary="the start", step=path[0]))
        end = max(stored, 1)
        _grow(forest, path[1:end])
        forest.explored = int(known)  # whether the reset was read before
        while True:
            begin, end = end, min(end + READ_STEPS, len(path))
            todos = _grow(forest, path[begin:end])
            self._take(self._extractor.read(todos, forest, self.knowledge), forest)
            if end == len(path) and forest.unread:  # there is no next part with which they would be read again
                self._take(self._extractor.read([], forest, self.knowledge), forest)
            own = tuple(path[stored:end])
            self._add(Episode(id=identifier, source=self._named(trajectory), start=start, steps=own))
            stored, known = end, True
            yield end
            if end == len(path):
                return

    def _numbered(self, trajectory: Trajectory, identifier: str) -> tuple[int, list[Step], int]:
        """The number of the step that shows its start, its steps with their numbers, and how many are stored."""
        start, numbers = self._there.get(identifier, (None, []))
        if start is None:
            start = 0 if self._is_first(trajectory) else self._last_step + 1
        numbers = [0, *numbers] if start == 0 else numbers
        stored = len(numbers)
        missing = len(trajectory.steps) - stored
        numbers = [*numbers, *range(self._last_step + 1, self._last_step + 1 + missing)]
        self._last_step += missing
        self._there[identifier] = start, [number for number in numbers if number]
        refused = self._reader.refused
        path = [
            step.model_copy(
                update={"number": number, "refused": step.refused or bool(step.action and refused(step.observation))}
            )
            for step, number in zip(trajectory.steps, numbers, strict=True)
        ]
        return start, path, stored

    def commit(self) -> None:
        """Store what was read since the last commit."""
        batch, self._batch = self._batch, _Batch()
        if not batch.episodes:
            return
        self.iterations += 1
        iteration = Iteration(
            n=self.record.applied_iteration + self.iterations,
            episodes=tuple(batch.episodes.values()),
            edits=tuple(batch.edits),
            rejected_edits=tuple(batch.rejected.values()),
            steps_used=self.record.steps_used,
            replayed=self.record.replayed,
            idle=self.record.idle,
        )
        self._store.commit(self.record.id, iteration)

    def _is_first(self, trajectory: Trajectory) -> bool:
        """Is its reset the instance's own start, which nobody has read yet?"""
        untouched = not self._there and self.record.explored_iterations == 0
        return untouched and trajectory.steps[0].observation == self._start.observation

    def _take(self, reading: Reading, forest: Forest) -> None:
        batch = self._batch
        batch.edits += reading.edits
        self.fresh += reading.fresh
        self.rejected += len(reading.rejected)
        for rejected in reading.rejected:
            if len(batch.rejected) < MOST_REJECTED:
                batch.rejected.setdefault((rejected.edit.op, rejected.edit.triplet, rejected.why), rejected)
        forest.rejected_edits, forest.unread = reading.rejected, reading.unread
        forest.explored = 1

    def _add(self, part: Episode) -> None:
        """A part of an episode; with the one that is full an iteration ends."""
        batch = self._batch
        before = batch.episodes.get(part.id)
        batch.episodes[part.id] = part.model_copy(update={"steps": before.steps + part.steps}) if before else part
        batch.steps += len(part.steps)
        self.steps += len(part.steps)
        if batch.steps >= COMMIT_STEPS:
            self.commit()

    def _named(self, trajectory: Trajectory) -> str:
        return f"{self._source}, {trajectory.name}" if trajectory.name else f"{self._source}, line {trajectory.line}"


def _grow(forest: Forest, steps: Sequence[Step]) -> list[Todo]:
    """The steps as todos, each below the one before."""
    todos = []
    parent = next(reversed(forest.nodes))
    for step in steps:
        outcome: Outcome = "terminated" if step.terminated else "refused" if step.refused else "done"
        todo = Todo(
            id=forest.next_todo_id(),
            parent=parent,
            text=step.action,
            outcome=outcome,
            iteration=forest.iterations + 1,
            steps=(step,),
        )
        forest.add_todo(todo)
        todos.append(todo)
        parent = todo.id
    return todos
