"""Importing an exported instance: what the command line asks, as only this layer asks the store to write."""

from __future__ import annotations

from pathlib import Path

from autocontext.config import Settings
from autocontext.graph.store import GraphStore
from autocontext.types import InstanceRecord


def import_instance(path: Path | None, instance: str | None = None, settings: Settings | None = None) -> InstanceRecord:
    """Store the instance that a file holds, all of it or nothing.

    Args:
        path: of the file; None: standard input.
        instance: the name to store it under; default: the one that it had.

    Raises:
        ImportFailed: the file is no whole export, or there is an instance of that name.
        DatabaseUnavailable: the database cannot be reached, started or logged in to.
    """
    with GraphStore.open(settings) as store:
        return store.load(path, instance)
