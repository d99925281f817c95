"""Logs for tests of ingesting: as somebody else would have recorded them."""

from __future__ import annotations

from typing import Any

import autocontext
from autocontext.graph.store import GraphStore
from autocontext.types import Step
from tests.environments.house import House

HOUSE = "tests.environments.house:House"
Line = dict[str, Any]


def line(step: Step, **more: Any) -> Line:
    """A step as a line of a log."""
    seen = step.observation
    found: Line = {"observation": seen.text, "inventory": seen.inventory}
    found["admissible"] = None if seen.admissible is None else list(seen.admissible)
    if step.action:
        found |= {"action": step.action, "terminated": step.terminated, "refused": step.refused}
    return found | more


def played(*actions: str, episode: str = "") -> list[Line]:
    """An episode in the house as somebody else would have recorded it."""
    house = House()
    lines: list[Line] = [{"observation": house.reset()}]
    lines += [{"action": action, "observation": house.step(action)} for action in actions]
    return [found | {"episode": episode} for found in lines] if episode else lines


ROUND = ("go down", "open chest", "take key", "go up", "go north", "look")


def walks(client: autocontext.ContextClient, name: str) -> list[Line]:
    """The steps of an exploration, along the path to every node below which nothing was done."""
    states, todos = client._store.load_forest(name)
    promoted = {state.id: state.promoted_from for state in states}
    parents: dict[str, str | None] = {todo.id: todo.parent for todo in todos} | promoted
    steps = {todo.id: todo.steps for todo in todos}
    (start,) = [state.step for state in states if state.step]
    inner = {promoted.get(todo.parent, todo.parent) for todo in todos}
    lines = []
    for leaf in [todo.id for todo in todos if todo.id not in inner]:
        way: list[Step] = []
        node: str | None = leaf
        while node is not None:
            way = [*steps.get(node, ()), *way]
            node = parents.get(node)
        lines += [line(step) for step in (start, *way)]
    return lines


def texts(store: GraphStore, name: str) -> set[tuple[str, str, str, str]]:
    return {(fact.subject, fact.predicate, fact.object, fact.kind) for fact in store.facts(name)}


def proofs(store: GraphStore, name: str) -> dict[str, set[str]]:
    """What each fact says -> what the steps that prove it showed, whatever their numbers."""
    client = autocontext.ContextClient(store)
    steps = {step.number: step.model_dump_json(exclude={"number"}) for step in client.steps(name)}
    return {
        fact.model_dump_json(include={"subject", "predicate", "object", "object_is_value", "kind"}): {
            steps[number] for number in fact.evidence
        }
        for fact in store.facts(name)
    }
