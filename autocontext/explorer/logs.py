"""Recorded trajectories as JSON lines, one step a line; the format is told in docs/ingest.md.

    {"observation": "You are in the hall."}
    {"action": "go down", "observation": "You are in the cellar.", "admissible": ["go up"]}

A whole log is read before anything is made of it: a wrong line anywhere means that none of it counts.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from pydantic import BaseModel, ConfigDict, ValidationError

from autocontext.errors import LogRefused
from autocontext.types import Observation, Step

LONGEST_LINE = 4 * 2**20
"""Bytes; what the database takes as one message is not much more."""


@dataclass
class Trajectory:
    """One recorded episode. Its steps are numbered from 0, which is the reset."""

    name: str
    line: int
    """Where it begins."""
    steps: list[Step] = field(default_factory=list)

    @property
    def id(self) -> str:
        """A hash of all that was recorded, but not of where."""
        found = hashlib.blake2b(digest_size=16)
        for step in self.steps:
            found.update(json.dumps(step.model_dump(exclude={"number"}), sort_keys=True).encode() + b"\n")
        return f"episode-{found.hexdigest()}"


class _Line(BaseModel):
    """One line. Without an action it is a reset, which begins an episode."""

    model_config = ConfigDict(extra="forbid", strict=True)

    observation: str
    action: str = ""
    inventory: str | None = None
    admissible: tuple[str, ...] | None = None
    terminated: bool = False
    refused: bool = False
    episode: str = ""


def read_log(path: Path | None) -> list[Trajectory]:
    """All episodes of a log, in the order in which they begin.

    Args:
        path: of the file; None: standard input.

    Raises:
        LogRefused: it cannot be read, is empty, or one of its lines is wrong; the message names the first such line.
    """
    name = name_of(path)
    reading = _Reading()
    with _opened(path, name) as file:
        for number, line in _lines(file, name):
            try:
                reading.take(number, line)
            except _Wrong as wrong:
                raise LogRefused(f"{name}: line {number}: {wrong}; nothing was ingested.") from None
    if not reading.found:
        raise LogRefused(f"{name} holds no steps.")
    return reading.found


def name_of(path: Path | None) -> str:
    """What a log is called in messages and in the database."""
    return "standard input" if path is None else str(path)


class _Wrong(Exception):
    """What is wrong with a line."""


class _Reading:
    """The episodes so far. Texts that come again are kept once: most of a log is repetition."""

    def __init__(self) -> None:
        self.found: list[Trajectory] = []
        self._current: dict[str, Trajectory] = {}
        self._texts: dict[str, str] = {}
        self._lists: dict[tuple[str, ...], tuple[str, ...]] = {}

    def take(self, number: int, content: bytes) -> None:
        """The line of that number."""
        try:
            line = _Line.model_validate_json(content)
        except ValidationError as error:
            raise _Wrong(_first(error)) from None
        trajectory = self._current.get(line.episode)
        if "action" not in line.model_fields_set:
            if line.terminated or line.refused:
                raise _Wrong("a reset (a line without an action) is neither terminated nor refused")
            trajectory = self._current[line.episode] = Trajectory(line.episode, number)
            self.found.append(trajectory)
        elif not line.action:
            raise _Wrong("action: it is empty; leave it out where the line shows a reset")
        elif trajectory is None:
            named = f"episode '{line.episode[:80]}' has not begun" if line.episode else "no episode has begun"
            raise _Wrong(f"{named}: its first line shows the reset, and has no action")
        elif trajectory.steps[-1].terminated:
            raise _Wrong("the episode was terminated before; a new one begins with a reset, a line without an action")
        trajectory.steps.append(self._step(line, len(trajectory.steps)))

    def _step(self, line: _Line, number: int) -> Step:
        observation = Observation(
            text=self._once(line.observation),
            inventory=None if line.inventory is None else self._once(line.inventory),
            admissible=None if line.admissible is None else self._list(line.admissible),
        )
        action = self._once(line.action)
        return Step(
            number=number, action=action, observation=observation, terminated=line.terminated, refused=line.refused
        )

    def _once(self, text: str) -> str:
        return self._texts.setdefault(text, text)

    def _list(self, texts: Iterable[str]) -> tuple[str, ...]:
        once = tuple(map(self._once, texts))
        return self._lists.setdefault(once, once)


@contextmanager
def _opened(path: Path | None, name: str) -> Iterator[IO[bytes]]:
    try:
        with sys.stdin.buffer if path is None else path.open("rb") as file:
            yield file
    except OSError as error:
        raise LogRefused(f"{name} cannot be read: {error.strerror or error}.") from error


def _lines(file: IO[bytes], name: str) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers from 1, without empty ones."""
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise LogRefused(f"{name}: line {number} is longer than {LONGEST_LINE} bytes; nothing was ingested.")
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if line.strip():
            yield number, line


def _first(error: ValidationError) -> str:
    """The first thing that is wrong, on one line."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])[:80]
    if first["type"] == "extra_forbidden":
        return f"it has an unknown key '{where}' (known: {', '.join(_Line.model_fields)})"
    return f"{where}: {first['msg']}" if where else first["msg"]
