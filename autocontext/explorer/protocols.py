"""The parts of the loop, each a small Protocol: a model-driven and a model-free one may be mixed at will."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from autocontext.explorer.forest import Forest
from autocontext.explorer.knowledge import Knowledge
from autocontext.explorer.steps import Plan, Reading
from autocontext.types import Iteration, Path, State, StopReason, Todo


class Planner(Protocol):
    """Chooses what to try next."""

    def propose(self, forest: Forest, knowledge: Knowledge) -> Plan:
        """What to try next. Without any path left: `stop`."""
        ...


class Actor(Protocol):
    """Carries out what was chosen."""

    def run(self, path: Path, forest: Forest) -> list[Todo]:
        """Carry a path out. The forest grows by the todos that come back (none if the path diverged)."""
        ...


class KeyResults(Protocol):
    """Says in short what came of each todo."""

    def tell(self, todos: Sequence[Todo], forest: Forest) -> list[Todo]:
        """The same todos, each with its key result."""
        ...


class Extractor(Protocol):
    """Turns what was seen into edits."""

    def read(self, todos: Sequence[Todo], forest: Forest, knowledge: Knowledge) -> Reading:
        """Validated edits that the new todos' steps show. `knowledge` and the forest's statistics take them in."""
        ...


class Promoter(Protocol):
    """Chooses which todos become roots of trees of their own."""

    def choose(self, todos: Sequence[Todo], reading: Reading, forest: Forest) -> list[State]:
        """Which of the new todos become states."""
        ...


class Stop(Protocol):
    """Ends an exploration."""

    why: str
    """More about the reason that it gave; '' where that says it all."""

    def __call__(self, forest: Forest) -> StopReason | None:
        """A reason to end the exploration before another iteration, or None."""
        ...


class Store(Protocol):
    """What the loop asks of the graph store."""

    def commit(self, instance: str, iteration: Iteration) -> None:
        """Write one iteration in one transaction; again changes nothing."""
        ...

    def finish(self, instance: str, reason: StopReason, why: str) -> None:
        """Record why the exploration stopped."""
        ...
