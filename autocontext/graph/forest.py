"""States, todos, episodes and steps as rows of the database, and back.

Their ids in the database are `SCOPE/a7`; everywhere else they are the local `a7`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from autocontext.types import Episode, Iteration, Observation, State, Step, Todo

Row = Mapping[str, Any]


def global_id(scope: str, local: str) -> str:
    """The id in the database."""
    return f"{scope}/{local}"


def step_id(scope: str, number: int) -> str:
    """A step's id in the database."""
    return global_id(scope, f"step-{number}")


def iteration_id(scope: str, n: int) -> str:
    """An iteration's id in the database."""
    return global_id(scope, f"iteration-{n}")


def local_id(identifier: str) -> str:
    """The id without its scope; local ids have no slash."""
    return identifier.rpartition("/")[2]


# --- to the database ----------------------------------------------------------------------------------


def step_row(scope: str, step: Step, iteration: int, fact_ids: Sequence[str] = ()) -> dict[str, Any]:
    """The properties of a Step node. What the environment does not list at all is left out; an empty list stays."""
    row: dict[str, Any] = {
        "id": step_id(scope, step.number),
        "scope": scope,
        "number": step.number,
        "iteration": iteration,
        "action": step.action,
        "observation": step.observation.text,
        "terminated": step.terminated,
        "refused": step.refused,
        "fact_ids": list(fact_ids),
    }
    if step.observation.inventory is not None:
        row["inventory"] = step.observation.inventory
    if step.observation.admissible is not None:
        row["admissible"] = list(step.observation.admissible)
    return row


def state_row(scope: str, state: State, iteration: int, position: int) -> dict[str, Any]:
    """The properties of a State node."""
    return {
        "id": global_id(scope, state.id),
        "scope": scope,
        "summary": state.summary,
        "iteration": iteration,
        "position": position,
    }


def todo_rows(scope: str, iteration: Iteration, fact_ids: Mapping[int, Sequence[str]]) -> list[dict[str, Any]]:
    """The iteration's todos with their steps, as rows of `create_todos`."""
    return [
        {
            "todo": {
                "id": global_id(scope, todo.id),
                "scope": scope,
                "kind": todo.kind,
                "text": todo.text,
                "key_result": todo.key_result,
                "outcome": todo.outcome,
                "strategy": todo.strategy,
                "iteration": iteration.n,
                "position": position,
            },
            "steps": [step_row(scope, step, iteration.n, fact_ids.get(step.number, ())) for step in todo.steps],
        }
        for position, todo in enumerate(iteration.todos)
    ]


def episode_rows(scope: str, iteration: Iteration) -> list[dict[str, Any]]:
    """The iteration's episodes as rows of `create_episodes`."""
    return [
        {
            "id": global_id(scope, episode.id),
            "scope": scope,
            "source": episode.source,
            "start": episode.start,
            "iteration": iteration.n,
            "position": position,
        }
        for position, episode in enumerate(iteration.episodes)
    ]


def episode_step_rows(scope: str, iteration: Iteration, fact_ids: Mapping[int, Sequence[str]]) -> list[dict[str, Any]]:
    """The steps of the iteration's episodes as rows of `create_episode_steps`."""
    return [
        {
            "episode": global_id(scope, episode.id),
            "step": step_row(scope, step, iteration.n, fact_ids.get(step.number, ())),
        }
        for episode in iteration.episodes
        for step in episode.steps
    ]


# --- from the database --------------------------------------------------------------------------------


def step_of(stored: Row) -> Step:
    """A Step node's properties as a step."""
    admissible = stored.get("admissible")
    return Step(
        number=stored["number"],
        action=stored["action"],
        observation=Observation(
            text=stored["observation"],
            inventory=stored.get("inventory"),
            admissible=None if admissible is None else tuple(admissible),
        ),
        terminated=stored["terminated"],
        refused=stored["refused"],
    )


def states_of(rows: Iterable[Row]) -> list[State]:
    """Rows of `states` as states."""
    return [
        State(
            id=local_id(row["state"]["id"]),
            promoted_from=local_id(row["promoted_from"]) if row["promoted_from"] else None,
            summary=row["state"]["summary"],
            iteration=row["state"]["iteration"],
            step=step_of(row["step"]) if row["step"] else None,
        )
        for row in rows
    ]


def todos_of(rows: Iterable[Row], step_rows: Iterable[Row]) -> list[Todo]:
    """Rows of `todos` and `todo_steps` as todos."""
    steps: dict[str, list[Step]] = {}
    for row in step_rows:
        steps.setdefault(row["todo"], []).append(step_of(row["step"]))
    return [
        Todo(
            id=local_id(row["todo"]["id"]),
            parent=local_id(row["parent"]),
            text=row["todo"]["text"],
            kind=row["todo"]["kind"],
            outcome=row["todo"]["outcome"],
            key_result=row["todo"]["key_result"],
            strategy=row["todo"]["strategy"],
            iteration=row["todo"]["iteration"],
            steps=tuple(steps.get(row["todo"]["id"], ())),
        )
        for row in rows
    ]


def episodes_of(rows: Iterable[Row], step_rows: Iterable[Row]) -> list[Episode]:
    """Rows of `episodes` and `episode_steps` as episodes."""
    steps: dict[str, list[Step]] = {}
    for row in step_rows:
        steps.setdefault(row["episode"], []).append(step_of(row["step"]))
    return [
        Episode(
            id=local_id(row["episode"]["id"]),
            source=row["episode"]["source"],
            start=row["episode"]["start"],
            steps=tuple(steps.get(row["episode"]["id"], ())),
        )
        for row in rows
    ]
