"""Rows on disk, for what may be larger than memory: put in as they come, taken out in order or by key.

A private SQLite file that nobody else sees and that is gone when it is closed; small ones never leave memory.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from autocontext.errors import DatabaseError

_BUFFERED = 1000


class Spool:
    """Some tables of (key, content), both bytes. Use as a context manager."""

    def __init__(self) -> None:
        with _translated():
            self._file = sqlite3.connect("", isolation_level=None, check_same_thread=False)
            for setting in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -16384"):
                self._file.execute(f"PRAGMA {setting}")
            self._file.execute("BEGIN")
        self._waiting: dict[str, list[tuple[bytes, bytes]]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def put(self, table: str, key: bytes, content: bytes) -> None:
        """One row into a table, which is made when it is first named."""
        if table not in self._waiting:
            with _translated():
                self._file.execute(f"CREATE TABLE {table} (key BLOB, content BLOB)")
        waiting = self._waiting.setdefault(table, [])
        waiting.append((key, content))
        if len(waiting) >= _BUFFERED:
            self._flush(table)

    def in_order(self, table: str) -> Iterator[tuple[bytes, bytes]]:
        """All rows of a table by key, then content."""
        if table not in self._waiting:
            return
        self._flush(table)
        with _translated():
            found = self._file.execute(f"SELECT key, content FROM {table} ORDER BY key, content")
        while True:
            with _translated():
                some = found.fetchmany(_BUFFERED)
            if not some:
                return
            yield from some

    def index(self, table: str) -> None:
        """From here on `get` is quick."""
        if table in self._waiting:
            self._flush(table)
            with _translated():
                self._file.execute(f"CREATE INDEX {table}_key ON {table} (key)")

    def get(self, table: str, key: bytes) -> bytes | None:
        """A row by its key."""
        if table not in self._waiting:
            return None
        self._flush(table)
        with _translated():
            row = self._file.execute(f"SELECT content FROM {table} WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    def clear(self) -> None:
        """Away with all tables."""
        for table in self._waiting:
            with _translated():
                self._file.execute(f"DROP TABLE {table}")
        self._waiting = {}

    def _flush(self, table: str) -> None:
        if waiting := self._waiting[table]:
            with _translated():
                self._file.executemany(f"INSERT INTO {table} VALUES (?, ?)", waiting)
            waiting.clear()


def sort_key(*parts: str | int) -> bytes:
    """A key whose bytes are ordered as the tuple of its parts is."""
    return b"".join(
        part.encode("utf-8", "surrogatepass").replace(b"\0", b"\0\1") + b"\0\0"
        if isinstance(part, str)
        else int(part).to_bytes(8, "big")
        for part in parts
    )


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise DatabaseError(
            f"rows cannot be kept among the temporary files: {error}. Make room, or set TMPDIR to another folder."
        ) from error
