"""The file of an import, read twice: first to see that all of it is right, then to store it."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from pydantic import ValidationError

from autocontext.errors import ImportFailed
from autocontext.graph.transfer.lines import LONGEST_LINE, VERSION, EndRow, Fingerprint, Row, any_row
from autocontext.types import InstanceRecord


@contextmanager
def opened(path: Path | None) -> Iterator[Source]:
    """The file of that path; None: standard input. What cannot be read twice is copied first.

    Raises:
        ImportFailed: it cannot be read.
    """
    name = "standard input" if path is None else str(path)
    try:
        with sys.stdin.buffer if path is None else path.open("rb") as file:
            if file.seekable():
                yield Source(name, file)
                return
            with tempfile.TemporaryFile() as copy:
                shutil.copyfileobj(file, copy)
                yield Source(name, copy)
    except OSError as error:
        raise ImportFailed(f"{name} cannot be read: {error.strerror or error}.") from error


class Source:
    """A file whose lines are rows of an export."""

    def __init__(self, name: str, file: IO[bytes]) -> None:
        self.name = name
        self._file = file

    def header(self) -> InstanceRecord:
        """What the first line says of the instance.

        Raises:
            ImportFailed: it is no header of a full export that this release can read.
        """
        return _record(self.name, self._header())

    def rows(self) -> Iterator[tuple[int, Row]]:
        """All rows between header and end, with the numbers of their lines; the end must fit to them.

        Raises:
            ImportFailed: a line is none, the file is cut short, or it was changed.
        """
        fingerprint = Fingerprint(self._header())
        number = 1
        while line := self._line(number + 1):
            number += 1
            try:
                row = any_row.validate_json(line, strict=True)
            except ValidationError as error:
                raise ImportFailed(f"{self.name}: line {number}: {_first(error)}.") from None
            if isinstance(row, EndRow):
                self._end(number, row, fingerprint)
                return
            fingerprint.add(line)
            yield number, row
        raise ImportFailed(f"{self.name} is cut short: it ends after line {number} without saying so.")

    def _end(self, number: int, row: EndRow, fingerprint: Fingerprint) -> None:
        counted = fingerprint.end()
        if row.rows != counted["rows"]:
            raise ImportFailed(f"{self.name}: it has {counted['rows']} rows, but its end says {row.rows}.")
        if row.hash != counted["hash"]:
            raise ImportFailed(
                f"{self.name} was changed since it was exported: its rows do not fit the hash at its end."
            )
        if self._file.read(1):
            raise ImportFailed(f"{self.name}: line {number + 1}: something follows the end.")

    def _header(self) -> dict[str, Any]:
        self._file.seek(0)
        try:
            found = json.loads(self._line(1))
        except ValueError:
            found = None
        version = found.get("autocontext_export") if isinstance(found, dict) else None
        if not isinstance(found, dict) or type(version) is not int:
            raise ImportFailed(f"{self.name} is no export of AutoContext: its first line is no header of one.")
        if version > VERSION:
            raise ImportFailed(
                f"{self.name} was written by a newer release (format {version}, this one reads up to {VERSION}); "
                "upgrade AutoContext (pip install -U autocontext-graph)."
            )
        if version < 1:
            raise ImportFailed(f"{self.name} has format {version}, which there never was.")
        if found.get("kind") == "canonical":
            raise ImportFailed(
                f"{self.name} is a canonical export: it is for comparing, and lacks the times, costs and settings that "
                "an instance has. Export it without --canonical."
            )
        if found.get("kind") != "full":
            raise ImportFailed(f"{self.name}: line 1: its kind is {found.get('kind')!r}, not 'full'.")
        return found

    def _line(self, number: int) -> bytes:
        line = self._file.readline(LONGEST_LINE + 1)
        if len(line) > LONGEST_LINE:
            raise ImportFailed(f"{self.name}: line {number} is longer than {LONGEST_LINE} bytes.")
        return line if line.endswith(b"\n") else b""  # a line that is not ended may be cut short


def _record(name: str, header: dict[str, Any]) -> InstanceRecord:
    fields = {name: value for name, value in header.items() if name not in ("autocontext_export", "kind")}
    try:
        record = InstanceRecord.model_validate_json(json.dumps(fields), strict=True)
    except ValidationError as error:
        raise ImportFailed(f"{name}: line 1: {_first(error)}.") from None
    numbers = {field: value for field, value in fields.items() if type(value) is int}
    if wrong := [field for field, value in numbers.items() if not 0 <= value < 2**63]:
        raise ImportFailed(f"{name}: line 1: {wrong[0]} is {numbers[wrong[0]]}.")
    if record.lease is not None:
        raise ImportFailed(f"{name}: line 1: an export holds no lease.")
    return record


def _first(error: ValidationError) -> str:
    """The first thing that is wrong, on one line."""
    first = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]
