"""Recordings: every reply of a run in a file of JSON lines, so that it can be repeated without the model.

A line is {version, role, model, key, reply | error, usage}. The key is a hash of role, prompt and shape, so a line
answers exactly the question that it was the answer to. A run that was killed and goes on with its recording is given
what it has paid for already.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError, model_validator

from autocontext.errors import ConfigError, ModelError, ModelUnavailable, RecordingMismatch, ReplyUnusable
from autocontext.llm.asking import Asker, Prompt
from autocontext.llm.ledger import Ledger
from autocontext.types import Data

T = TypeVar("T", bound=BaseModel)

VERSION = 1
_BEGINS = f'{{"version": {VERSION}, "role": "'
"""How every line begins."""
log = logging.getLogger(__name__)


class Told(Data):
    """Why there is no reply."""

    kind: Literal["unusable", "unavailable"]
    what: str
    reply: str = ""


class Entry(Data):
    """One line."""

    version: int = VERSION
    role: str
    model: str
    key: str
    reply: dict[str, Any] | None = None
    error: Told | None = None
    usage: dict[str, int] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _answers(self) -> Entry:
        if (self.reply is None) == (self.error is None):
            raise ValueError("either a reply or an error")
        return self


class Recording:
    """One file, shared by all askers of a run."""

    def __init__(self, path: Path, *, append: bool) -> None:
        """Read what is there.

        Args:
            append: more is to be written; the file need not exist.

        Raises:
            ConfigError: it cannot be read or written, or is no recording; with the line.
        """
        self.path = path
        self._lines: dict[str, deque[Entry]] = {}
        self._file: IO[str] | None = None
        try:
            text = path.read_bytes().decode() if path.exists() or not append else ""
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"the recording {path} cannot be read: {_reason(error)}.") from None
        whole, newline, torn = text.rpartition("\n")
        for number, line in enumerate(whole.split("\n") if newline else [], start=1):
            entry = self._entry(line, number)
            self._lines.setdefault(entry.key, deque()).append(entry)
        if torn:  # a line that a killed process has not finished, unless the file is somebody else's
            if not (torn.startswith(_BEGINS) or _BEGINS.startswith(torn)):
                raise self._foreign(text.count("\n") + 1)
            log.warning("%s: its last line is torn and is left out.", path)
        if append:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._file = path.open("a", encoding="utf-8")
                if torn:
                    self._file.truncate(len((whole + newline).encode()))
            except OSError as error:
                raise ConfigError(f"the recording {path} cannot be written: {_reason(error)}.") from None

    def next(self, key: str, *, answered: bool, model: str | None = None) -> Entry | None:
        """What was recorded for a key and has not been given yet.

        Args:
            answered: where the model could not be reached counts for nothing; else only if nothing came after it.
            model: only what this one has said; None: whoever said it.
        """
        waiting = self._lines.get(key, deque())
        for entry in [entry for entry in waiting if model in (None, entry.model)]:
            waiting.remove(entry)
            if not (entry.error and entry.error.kind == "unavailable" and (answered or waiting)):
                return entry
        return None

    def append(self, entry: Entry) -> None:
        """One more line, on the disk when this returns.

        Raises:
            ConfigError: it cannot be written.
        """
        assert self._file is not None
        try:
            line = entry.model_dump(exclude={"error" if entry.error is None else "reply"})
            self._file.write(json.dumps(line, ensure_ascii=True) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise ConfigError(f"the recording {self.path} cannot be written: {_reason(error)}.") from None

    def _entry(self, line: str, number: int) -> Entry:
        try:
            found = json.loads(line)
            version = found["version"]
            if version != VERSION:
                raise ConfigError(f"{self.path}, line {number}: version {version}, this release reads {VERSION}.")
            return Entry.model_validate(found)
        except (KeyError, TypeError, ValueError, RecursionError):
            raise self._foreign(number) from None

    def _foreign(self, number: int) -> ConfigError:
        return ConfigError(f"{self.path}, line {number}: this is no line of a recording; give another file.")


class Recorder:
    """Gives what is recorded already, asks for the rest and records it."""

    def __init__(self, asker: Asker, recording: Recording, ledger: Ledger, model: str) -> None:
        self.asker = asker
        self.recording = recording
        self.ledger = ledger
        self.model = model

    def ask(self, role: str, prompt: Prompt, reply: type[T]) -> T:
        """See `Asker`."""
        key = key_of(role, prompt, reply)
        if (entry := self.recording.next(key, answered=True, model=self.model)) is not None:
            return _given(entry, role, reply, self.ledger, self.recording.path)
        before = dict(self.ledger.run)
        try:
            found = self.asker.ask(role, prompt, reply)
        except ModelError as error:
            told = Told(
                kind="unusable" if isinstance(error, ReplyUnusable) else "unavailable",
                what=str(error),
                reply=getattr(error, "reply", ""),
            )
            self._keep(role, key, before, error=told)
            raise
        self._keep(role, key, before, reply=found.model_dump(mode="json"))
        return found

    def _keep(self, role: str, key: str, before: Mapping[str, int], **what: Any) -> None:
        now = self.ledger.run
        usage = {name: count - before.get(name, 0) for name, count in now.items() if count != before.get(name, 0)}
        self.recording.append(Entry(role=role, model=self.model, key=key, usage=usage, **what))


class Replayer:
    """Gives what is recorded and never asks."""

    def __init__(self, recording: Recording, ledger: Ledger) -> None:
        self.recording = recording
        self.ledger = ledger

    def ask(self, role: str, prompt: Prompt, reply: type[T]) -> T:
        """See `Asker`. A model that could not be reached then is not reached now.

        Raises:
            RecordingMismatch: nothing was recorded for this prompt.
        """
        entry = self.recording.next(key_of(role, prompt, reply), answered=False)
        if entry is None:
            raise RecordingMismatch(
                f"{self.recording.path} holds no reply for this prompt of the {role}: it was recorded with another "
                "model, other options, another instance or another release."
            )
        return _given(entry, role, reply, self.ledger, self.recording.path)


def key_of(role: str, prompt: Prompt, reply: type[BaseModel]) -> str:
    """What a question is known by."""
    text = json.dumps([role, prompt.system, prompt.user, reply.__name__])
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _given(entry: Entry, role: str, reply: type[T], ledger: Ledger, path: Path) -> T:
    ledger.add(entry.usage)
    if entry.error is not None:
        if entry.error.kind == "unavailable":
            raise ModelUnavailable(entry.error.what)
        failure = ReplyUnusable(entry.error.what, reply=entry.error.reply)
        ledger.failed(role, failure)
        raise failure
    try:
        return reply.model_validate(entry.reply)
    except ValidationError:
        raise ConfigError(f"{path}: a reply of the {role} has another shape; it is of another release.") from None
