"""The boundary to environments: five methods, and a few capabilities that an adapter may add.

An instance is deterministic from `reset()`: the same actions give the same observations, in this process and in
any other. Task, objective, score and status lines never leave an adapter while exploring; what an agent would not
see, it does not give.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

from autocontext.types import Edit, Facet, FactKind, Observation, Spec, Step, StepResult, Triplet

Snapshot = Any
"""Opaque to everyone but the adapter that made it; lives in the exploring process only."""


@runtime_checkable
class Environment(Protocol):
    """One instance. Everything beyond these five methods is an optional capability, found by its name.

    `reset` and `restore` may return a plain string instead of an `Observation`, and `step` a plain string,
    an `Observation` or a `StepResult`: see `autocontext.environments.playing`.
    """

    def reset(self) -> Observation | str:
        """Back to s0, and what is seen there."""
        ...

    def step(self, action: str) -> StepResult | Observation | str:
        """Do one action."""
        ...

    def snapshot(self) -> Snapshot | None:
        """The present moment, for `restore` in this process; None: replay the path instead."""
        ...

    def restore(self, snapshot: Snapshot) -> Any:
        """Back to exactly that moment. The return value is not used."""
        ...

    def close(self) -> None:
        """Free what the instance holds. Calling it twice is fine."""
        ...


# Optional capabilities, each an attribute or method of the environment object:
#
#   spec: Spec                              what it is; without it one is made from the class
#   reader: Reader                          observations to triplets; without it the generic reader
#   suggest(seen) -> list[str]              candidate actions where none are listed (`admissible` is None)
#   same(a, b) -> bool                      are two observations equal up to dates, pids, durations
#   prior: Mapping[str, float]              small prior of what a verb reveals, shipped by the adapter as data


@runtime_checkable
class Suggesting(Protocol):
    """Candidates where the environment lists no admissible actions, grown only from what has been seen."""

    def suggest(self, path: Sequence[Step]) -> Iterable[str]:
        """Actions worth trying after `path` (the steps from the reset on, the reset's step 0 first)."""
        ...


@runtime_checkable
class Comparing(Protocol):
    """Tells a real divergence from a date, a process id or a duration in the output."""

    def same(self, recorded: Observation, replayed: Observation) -> bool: ...


class Reader(Protocol):
    """Reads what observations show into triplets, by rules. Sees only what an agent sees."""

    rules: tuple[str, ...]
    """Names of the inference rules that it may use for facts of kind `inferred`."""

    def place(self, path: Sequence[Step]) -> str:
        """Where the path ends: one name per place, as shown; '' where the notion means nothing."""
        ...

    def read(self, path: Sequence[Step], known: Iterable[Triplet]) -> list[Edit]:
        """Edits that the last step of `path` shows (its evidence numbers are numbers of steps on the path).

        `known` are the triplets that are live so far. Edits are validated afterwards: an edit about a facet
        that the path changed earlier is refused, so a reader need not track that itself.
        """
        ...

    def infer(self, known: Sequence[tuple[Triplet, Sequence[int]]], rules: frozenset[str]) -> list[Edit]:
        """Facts of kind `inferred` that follow from the live facts by the named rules, with premise steps."""
        ...

    def refused(self, observation: Observation) -> bool:
        """Does this reply say that the action did nothing? For environments that do not tell it themselves."""
        ...

    def changed_facets(self, path: Sequence[Step]) -> frozenset[Facet]:
        """What the last step of the path moved, opened, cooked ... (nothing, if it was refused)."""
        ...

    def facet(self, triplet: Triplet) -> Facet | None:
        """The changeable facet that a triplet speaks of; None for what no action changes."""
        ...

    def action_class(self, action: str) -> str:
        """Verb and head noun of its object: the class by which the value of an action is learnt."""
        ...

    def implied_by(self, action: str, place: str) -> tuple[str, str] | None:
        """(subject, predicate) of the fact that already says what this action would show there, if it is known:
        `("kitchen", "leads east to")` for `go east` in the kitchen. None for actions that are worth doing anyway."""
        ...


def default_spec(environment: object) -> Spec:
    """The spec of an object (or of its class) that has none: named after its class."""
    kind = environment if isinstance(environment, type) else type(environment)
    source = f"{kind.__module__}:{kind.__qualname__}"
    return Spec(
        environment="custom", source=source, source_hash=source, description=(kind.__doc__ or "").split("\n")[0]
    )


def shows(
    subject: str, predicate: str, object: str, kind: FactKind, *evidence: int, value: bool = False, rule: str = ""
) -> Edit:
    """The edit that adds one triplet, shown by the steps of those numbers; readers write little else."""
    triplet = Triplet(subject=subject, predicate=predicate, object=object, object_is_value=value)
    return Edit(triplet=triplet, kind=kind, evidence=evidence, rule=rule)
