"""The lines of an export: a header, rows in a fixed order, and an end that notices what is missing or was changed.

    {"autocontext_export": 1, "kind": "full", "id": "house-1", "environment": ...}
    {"row": "state", "id": "S0", ...}      state, todo, episode, step, entity, fact, template, iteration: in this order
    {"row": "end", "rows": 1234, "hash": "..."}

Every line is JSON in UTF-8 and ends in a newline. The hash is over all lines but the last, without the instance's name
in the header. Which facts a step shows is not in its row: it is the reverse of the facts' evidence.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from autocontext.types import Data, FactKind, Failure, Outcome, RejectedEdit, RejectedPath

VERSION = 1
"""Of the format that this release writes, and the newest that it reads."""
KINDS = ("state", "todo", "episode", "step", "entity", "fact", "template", "iteration")
"""Of rows of a full export, in their order."""
LONGEST_LINE = 64 * 2**20
"""Bytes. A text that a database message can hold is far shorter."""

_FIRST = ("autocontext_export", "row")

Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Id = Annotated[str, Field(min_length=1, pattern=r"^[^/]*$")]


class StateRow(Data):
    """A state."""

    row: Literal["state"]
    id: Id
    promoted_from: Id | None
    summary: str
    iteration: Count
    position: Count


class TodoRow(Data):
    """A todo."""

    row: Literal["todo"]
    id: Id
    parent: Id
    text: str
    kind: Literal["action", "task"]
    outcome: Outcome
    key_result: str
    strategy: str
    iteration: Count
    position: Count


class EpisodeRow(Data):
    """A recorded trajectory; its steps are rows of their own, but for the step that shows its start if that is 0."""

    row: Literal["episode"]
    id: Id
    source: str
    start: Count
    iteration: Count
    position: Count


class StepRow(Data):
    """A step, and what it is a step of."""

    row: Literal["step"]
    number: Count
    below: Literal["state", "todo", "episode"]
    parent: Id
    iteration: Count
    action: str
    observation: str
    inventory: str | None = None
    admissible: list[str] | None = None
    terminated: bool
    refused: bool


class EntityRow(Data):
    """An entity or a value, in the spelling under which it came."""

    row: Literal["entity"]
    name: str
    value: bool


class FactRow(Data):
    """A fact with its history, live or retired."""

    row: Literal["fact"]
    subject: str
    predicate: str
    object: str
    object_is_value: bool
    kind: FactKind
    live: bool
    added: list[Count]
    retired: list[Count]
    evidence: list[Count]
    retired_evidence: list[Count]


class TemplateRow(Data):
    """What a class of actions revealed."""

    row: Literal["template"]
    name: str = Field(alias="class")
    tried: Number
    names: Number
    words: Number


class IterationRow(Data):
    """What an iteration did and cost."""

    row: Literal["iteration"]
    n: Annotated[int, Field(ge=1, le=2**63 - 1)]
    steps_used: Count
    replayed: Count
    last_step: Count
    todos: Count
    promoted: Count
    episodes: Count = 0
    added: Count
    retired: Count
    strategies: dict[str, Count]
    usage: dict[str, int]
    rejected_paths: list[RejectedPath]
    rejected_edits: list[RejectedEdit]
    failures: list[Failure]
    unread: list[Count]
    idle: Count
    because: str
    facts: list[tuple[str, str, str, bool]]
    """What a person corrected: subject, predicate, object, is the object a value."""
    digest: str
    at: int


class EndRow(Data):
    """The last line."""

    row: Literal["end"]
    rows: Count
    hash: str


Row = StateRow | TodoRow | EpisodeRow | StepRow | EntityRow | FactRow | TemplateRow | IterationRow
any_row: TypeAdapter[Row | EndRow] = TypeAdapter(Annotated[Row | EndRow, Field(discriminator="row")])


def line_of(content: Mapping[str, Any]) -> bytes:
    """A line, the same for the same content: what it is comes first, then all else by name."""
    first = {name: content[name] for name in _FIRST if name in content}
    rest = {name: value for name, value in content.items() if name not in first}
    text = _json(first) if not rest else f"{_json(first)[:-1]},{_json(rest)[1:]}"
    return text.encode() + b"\n"


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


class Fingerprint:
    """Counts rows and hashes lines as they go by."""

    def __init__(self, header: Mapping[str, Any]) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self._hash.update(line_of({name: value for name, value in header.items() if name != "id"}))
        self.rows = 0

    def add(self, line: bytes) -> None:
        """One row's line."""
        self._hash.update(line)
        self.rows += 1

    def end(self) -> dict[str, Any]:
        """The last line's content."""
        return {"row": "end", "rows": self.rows, "hash": self._hash.hexdigest()}
