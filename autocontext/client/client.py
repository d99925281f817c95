"""Read-only access to explored instances, for agents, the command line and people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Literal, Self

from autocontext.client.forest import render_forest
from autocontext.config import Settings
from autocontext.graph.store import GraphStore, QueryResult
from autocontext.types import Data, Episode, Fact, InstanceRecord, Step


class Event(Data):
    """Something that happened to a fact in an iteration; `because` is a person's reason, if a person did it."""

    iteration: int
    what: Literal["added", "retired", "confirmed"]
    because: str = ""


def open_client(settings: Settings | None = None) -> ContextClient:
    """Connect by the environment's settings (`NEO4J_*`, else the embedded database).

    Raises:
        DatabaseUnavailable: it cannot be reached, started or logged in to.
    """
    return ContextClient(GraphStore.open(settings, read_only=True))


class ContextClient:
    """Everything that may be asked of stored instances. Use as a context manager."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connection."""
        self._store.close()

    def instances(self) -> list[InstanceRecord]:
        """All stored instances, by id."""
        return self._store.instances()

    def instance(self, instance_id: str) -> InstanceRecord:
        """One of them.

        Raises:
            UnknownInstance: there is none of that id; the message names the nearest.
        """
        return self._store.instance(instance_id)

    def facts(self, instance_id: str, *, as_of: int | None = None) -> list[Fact]:
        """Facts that are live, or were at the end of iteration `as_of`, in a stable order."""
        return self._store.facts(instance_id, as_of=as_of)

    def fact(self, instance_id: str, reference: str) -> Fact:
        """A fact with its whole history, by id, unambiguous part of an id, or "subject predicate object".

        Raises:
            UnknownFact: none answers to it, or more than one.
        """
        return self._store.fact(instance_id, reference)

    def entity_facts(self, instance_id: str, name: str, *, as_of: int | None = None) -> list[Fact]:
        """What is true of one entity, as subject or as object, in a stable order; nothing of a name that is unknown."""
        return self._store.entity_facts(instance_id, name, as_of)

    def evidence(self, instance_id: str, reference: str) -> list[Step]:
        """The steps that prove a fact: action and observation of each."""
        return self._store.evidence(instance_id, reference)

    def events(self, instance_id: str, reference: str) -> list[Event]:
        """What happened to a fact, in order: when it was added and retired, and what people said about it.

        Raises:
            UnknownFact: none answers to the reference, or more than one.
        """
        fact = self._store.fact(instance_id, reference)
        reasons = {
            turn["n"]: turn["because"] for turn in self._store.iterations(instance_id) if fact.id in turn["fact_ids"]
        }
        found: list[tuple[int, Literal["added", "retired", "confirmed"]]] = [(n, "added") for n in fact.added]
        found += [(n, "retired") for n in fact.retired]
        found += [(n, "confirmed") for n in reasons.keys() - {n for n, _ in found}]
        return [Event(iteration=n, what=what, because=reasons.get(n, "")) for n, what in sorted(found)]

    def steps(self, instance_id: str) -> list[Step]:
        """All steps, explored or ingested, the reset's step 0 first."""
        states, todos = self._store.load_forest(instance_id)
        steps = [state.step for state in states if state.step is not None]
        steps += [step for todo in todos for step in todo.steps]
        steps += [step for episode in self._store.episodes(instance_id) for step in episode.steps]
        return sorted(steps, key=lambda step: step.number)

    def episodes(self, instance_id: str) -> list[Episode]:
        """The recorded trajectories that were ingested."""
        return self._store.episodes(instance_id)

    def forest(self, instance_id: str, *, max_tokens: int | None = None) -> str:
        """The TODO forest as indented text within a budget of (estimated) tokens."""
        states, todos = self._store.load_forest(instance_id)
        return render_forest(states, todos, max_tokens=max_tokens)

    def export(self, instance_id: str, *, canonical: bool = False) -> Iterator[str]:
        """An instance as lines of JSON: all of it, to be imported elsewhere, or `canonical`, to be compared.

        Raises:
            UnknownInstance: there is none of that id; the message names the nearest.
        """
        return self._store.export(instance_id, canonical=canonical)

    def query(
        self, cypher: str, parameters: Mapping[str, Any] | None = None, *, limit: int = 1000, timeout: float = 30.0
    ) -> QueryResult:
        """Read-only Cypher.

        Raises:
            QueryRefused: it is not provably read-only, or more than one statement.
            QueryError: it is wrong, or was stopped at its time limit (seconds).
        """
        return self._store.query(cypher, dict(parameters or {}), limit=limit, timeout=timeout)
