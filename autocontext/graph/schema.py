"""The version of the stored schema: brought up to date when a store is opened, never taken back."""

from __future__ import annotations

from autocontext.errors import SchemaError
from autocontext.graph.connection import Connection

VERSION = 1
"""The schema that this release writes."""


def ensure(connection: Connection, *, read_only: bool = False) -> None:
    """Bring the database's schema to this release's version. What is there stays.

    Raises:
        SchemaError: it is newer than this release, or older and may not be changed.
    """
    rows = connection.rows("schema_version")
    stored = rows[0]["version"] if rows else 0
    if not isinstance(stored, int) or stored < 0:
        raise SchemaError(f"the database says that its schema has version {stored!r}, which is none; restore a backup.")
    if stored > VERSION:
        raise SchemaError(
            f"the database's schema has version {stored}, this release knows up to {VERSION}; "
            "upgrade AutoContext (pip install -U autocontext-graph)."
        )
    if read_only:
        if 0 < stored < VERSION:
            raise SchemaError(
                f"the database's schema has version {stored}; open it once for writing to bring it to {VERSION}."
            )
        return
    for version in range(stored + 1, VERSION + 1):
        for name in connection.engine.schema_blocks(version):
            connection.run(name)
        connection.run("set_schema_version", version=version)
