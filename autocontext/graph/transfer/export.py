"""Writes an instance as lines. What is written was read as a whole before, so the reader may take its time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from autocontext.errors import DatabaseError
from autocontext.graph import canonical
from autocontext.graph.connection import Connection, Transaction
from autocontext.graph.spool import Spool
from autocontext.graph.transfer.collect import collect, collected
from autocontext.graph.transfer.lines import VERSION, Fingerprint, line_of
from autocontext.types import InstanceRecord

ATTEMPTS = 3
NOT_OF_INSTANCE = {"lease", "schema_version"}
"""Fields of a record that are no part of a file: who writes to it now, and what the database is like."""


def lines(connection: Connection, read: Callable[[], InstanceRecord], *, as_canonical: bool) -> Iterator[str]:
    """The lines of an export, without their newlines.

    Args:
        read: gives the instance's record as it is now.

    Raises:
        DatabaseError: the instance is written to all the time.
    """
    with Spool() as spool:
        if as_canonical:
            record = _settled(connection, read, spool, canonical.read)
            yield from _lines({"kind": "canonical"}, map(line_of, canonical.rows(record, spool)))
        else:
            record = _settled(connection, read, spool, collect)
            fields = record.model_dump(mode="json", exclude=NOT_OF_INSTANCE)
            yield from _lines({"kind": "full", **fields}, collected(spool))


def _settled(
    connection: Connection,
    read: Callable[[], InstanceRecord],
    spool: Spool,
    work: Callable[[Transaction, str, Spool], None],
) -> InstanceRecord:
    """Reads until nothing was written meanwhile: both engines are READ COMMITTED, so one transaction is no snapshot."""
    for _ in range(ATTEMPTS):
        spool.clear()
        before = read()
        with connection.reading() as transaction:
            work(transaction, before.id, spool)
        if read().model_copy(update={"lease": before.lease}) == before:
            return before
    raise DatabaseError(f"instance '{before.id}' is written to all the time; export it when nothing explores it.")


def _lines(header: dict[str, Any], rows: Iterator[bytes]) -> Iterator[str]:
    header = {"autocontext_export": VERSION, **header}
    fingerprint = Fingerprint(header)
    yield _text(line_of(header))
    for line in rows:
        fingerprint.add(line)
        yield _text(line)
    yield _text(line_of(fingerprint.end()))


def _text(line: bytes) -> str:
    return line[:-1].decode()
