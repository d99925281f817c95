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
from typing import IO, Any, TypeVar

from pydantic import BaseModel, ValidationError

from autocontext.errors import ConfigError, ModelError, ModelUnavailable, RecordingMismatch, ReplyUnusable
from autocontext.llm.asking import Asker, Prompt
from autocontext.llm.ledger import Ledger

T = TypeVar("T", bound=BaseModel)

VERSION = 1
log = logging.getLogger(__name__)


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
        self._lines: dict[str, deque[dict[str, Any]]] = {}
        self._file: IO[str] | None = None
        try:
            text = path.read_text(encoding="utf-8") if path.exists() or not append else ""
            whole = text.rpartition("\n")[0]
            if append:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._file = path.open("a", encoding="utf-8")
                if len(text) > len(whole) + 1:  # a line that a killed process has not finished
                    self._file.truncate(len((whole + "\n").encode()) if whole else 0)
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"the recording {path} cannot be used: {error}.") from None
        if whole != text.rstrip("\n"):
            log.warning("%s: its last line is torn and is left out.", path)
        for number, line in enumerate(whole.split("\n") if whole else [], start=1):
            entry = self._entry(line, number)
            self._lines.setdefault(entry["key"], deque()).append(entry)

    def next(self, key: str) -> dict[str, Any] | None:
        """What was recorded for a key and has not been given yet."""
        waiting = self._lines.get(key)
        return waiting.popleft() if waiting else None

    def append(self, entry: Mapping[str, Any]) -> None:
        """One more line, on the disk when this returns."""
        assert self._file is not None
        self._file.write(json.dumps(entry, ensure_ascii=True) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _entry(self, line: str, number: int) -> dict[str, Any]:
        try:
            entry = json.loads(line)
            right = isinstance(entry, dict) and isinstance(entry["key"], str) and ("reply" in entry or "error" in entry)
            version = entry["version"] if right else None
        except (ValueError, KeyError):
            right, version = False, None
        if not right:
            raise ConfigError(f"{self.path}, line {number}: this is no line of a recording; give another file.")
        if version != VERSION:
            raise ConfigError(f"{self.path}, line {number}: version {version}, this release reads {VERSION}.")
        return dict(entry)


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
        if (entry := self.recording.next(key)) is not None:
            return _given(entry, role, reply, self.ledger, self.recording.path)
        before = dict(self.ledger.run)
        line = {"version": VERSION, "role": role, "model": self.model, "key": key}
        try:
            found = self.asker.ask(role, prompt, reply)
        except ModelError as error:
            kind = "unusable" if isinstance(error, ReplyUnusable) else "unavailable"
            told = {"kind": kind, "what": str(error), "reply": getattr(error, "reply", "")}
            if kind == "unusable":  # one that could not be reached is asked again
                self.recording.append({**line, "error": told, "usage": self._since(before)})
            raise
        self.recording.append({**line, "reply": found.model_dump(mode="json"), "usage": self._since(before)})
        return found

    def _since(self, before: Mapping[str, int]) -> dict[str, int]:
        return {
            name: count - before.get(name, 0) for name, count in self.ledger.run.items() if count != before.get(name, 0)
        }


class Replayer:
    """Gives what is recorded and never asks."""

    def __init__(self, recording: Recording, ledger: Ledger) -> None:
        self.recording = recording
        self.ledger = ledger

    def ask(self, role: str, prompt: Prompt, reply: type[T]) -> T:
        """See `Asker`.

        Raises:
            RecordingMismatch: nothing was recorded for this prompt.
        """
        entry = self.recording.next(key_of(role, prompt, reply))
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


def _given(entry: Mapping[str, Any], role: str, reply: type[T], ledger: Ledger, path: Path) -> T:
    ledger.add(entry.get("usage", {}))
    if "error" in entry:
        told = entry["error"]
        if told["kind"] != "unusable":
            raise ModelUnavailable(told["what"])
        failure = ReplyUnusable(told["what"], reply=told["reply"])
        ledger.failed(role, failure)
        raise failure
    try:
        return reply.model_validate(entry["reply"])
    except ValidationError:
        raise ConfigError(f"{path}: a reply of the {role} has another shape; it is of another release.") from None
