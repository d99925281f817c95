"""Writers of the embedded engine take turns.

That engine is optimistic, page by page: of two transactions that change one page at the same time, whatever they change
on it, the later one is refused when it commits. What is new goes to the last page of its kind, so with several writers
nearly every transaction would be refused and made again, and under load one of them is refused until it gives up.

A turn is a lock on a file beside the database; it ends with its process, however that ends. A process that is stopped
in its turn must not stop the others: who has seen the same turn last for `LONGEST` seconds puts a new file in the place
of the old one. The worst that comes of it is two at a time, of which the engine refuses one, which then tries again.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LONGEST = 10.0
_POLL_SECONDS = 0.005
_NAME_BYTES = 16


@contextmanager
def turn(file: Path) -> Iterator[None]:
    """One writer's turn. Where the file cannot be used there are no turns."""
    descriptor = None
    with suppress(OSError):  # the engine itself has more to say about a full or read-only disk
        descriptor = _taken(file)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _taken(file: Path) -> int:
    """An open descriptor of the file, locked; it is the one that the others lock too."""
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if not _locked(descriptor):
                _replace(file, descriptor)
            elif _is_at(file, descriptor):
                os.pwrite(descriptor, os.urandom(_NAME_BYTES), 0)  # another turn than the one before
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """Wait for the lock; False if one turn lasts too long."""
    deadline, seen = time.monotonic() + LONGEST, b""
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            current = os.pread(descriptor, _NAME_BYTES, 0)
        if current != seen:
            deadline, seen = time.monotonic() + LONGEST, current
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)


def _replace(file: Path, stuck: int) -> None:
    """A new file, unless another one who waited has put one there."""
    if _is_at(file, stuck):
        file.unlink(missing_ok=True)


def _is_at(file: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False
