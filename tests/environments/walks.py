"""Random walks: the same seed and observations give the same walk, in any process."""

from __future__ import annotations

import importlib
import json
import random
import sys
from collections.abc import Iterator
from typing import Any

from autocontext.types import Observation, Step, StepResult

UNLISTED = (
    "go north", "go south", "go east", "go west", "look", "inventory", "take all", "drop all", "open fridge",
    "open door", "take knife", "examine cookbook", "take", "knife", "open frobnicator", "wait", "eat carrot", "help",
)  # fmt: skip
"""Commands for games that list none: some work, some ask back, some are refused."""


def choose(draw: random.Random, path: list[Step], environment: Any) -> str:
    """One of what is listed; else of what is suggested, or of a fixed list."""
    listed = path[-1].observation.admissible
    suggested = list(environment.suggest(path)) if listed is None and hasattr(environment, "suggest") else []
    choices: list[str] = list(listed or [*suggested[:20], *UNLISTED])
    return draw.choice(choices)


def walk(environment: Any, seed: int, length: int) -> Iterator[tuple[str, StepResult]]:
    """Actions and their results from a reset on, until `length` or the end of the episode."""
    draw = random.Random(seed)
    path = [Step(number=0, action="", observation=environment.reset())]
    for number in range(1, length + 1):
        action = choose(draw, path, environment)
        result = environment.step(action)
        yield action, result
        path.append(Step(number=number, action=action, observation=result.observation, refused=result.refused))
        if result.terminated:
            return


def replay(environment: Any, actions: list[str]) -> list[Observation]:
    """What a reset and the actions show."""
    return [environment.reset(), *(environment.step(action).observation for action in actions)]


def _main() -> None:
    """In a process of its own: JSON of (module, name, arguments, options, actions) in, observations out."""
    module, name, arguments, options, actions = json.load(sys.stdin)
    made = getattr(importlib.import_module(module), name)(*arguments, **options)
    print(json.dumps([seen.model_dump(mode="json") for seen in replay(made, actions)]))


if __name__ == "__main__":
    _main()
