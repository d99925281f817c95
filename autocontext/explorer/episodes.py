"""Reads recorded episodes into an instance: an extractor sees each as a chain of todos below a root of its own, which
is in memory only; what is stored are the episodes with their steps, and the edits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from autocontext.environments.base import Reader
from autocontext.explorer.forest import Forest
from autocontext.explorer.knowledge import Knowledge
from autocontext.explorer.logs import Trajectory
from autocontext.explorer.protocols import Extractor
from autocontext.explorer.run_store import RunStore
from autocontext.explorer.steps import Reading
from autocontext.types import (
    Edit,
    Episode,
    InstanceRecord,
    Iteration,
    Outcome,
    RejectedEdit,
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


@dataclass
class _Batch:
    """What the next iteration holds."""

    episodes: dict[str, Episode] = field(default_factory=dict)
    edits: list[Edit] = field(default_factory=list)
    rejected: dict[tuple[str, Triplet, str], RejectedEdit] = field(default_factory=dict)
    steps: int = 0


class EpisodeReader:
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
