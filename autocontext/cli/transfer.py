"""`autocontext export` and `autocontext import`: an instance as a file, and back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from autocontext.cli.output import InstanceId, Json, print_json, print_text
from autocontext.client import open_client
from autocontext.errors import AutoContextError
from autocontext.explorer.transfer import import_instance


def export(
    instance: InstanceId,
    canonical: Annotated[
        bool, typer.Option("--canonical", help="Without times, costs and name: for comparing, not for importing.")
    ] = False,
) -> None:
    """Write an instance to standard output as JSON lines: all of it, or what two equal graphs have in common."""
    with open_client() as client:
        try:
            for line in client.export(instance, canonical=canonical):
                sys.stdout.buffer.write(line.encode() + b"\n")
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise AutoContextError(f"standard output cannot be written: {error.strerror}.") from error


def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What `autocontext export` wrote; - is standard input.")],
    instance: Annotated[str | None, typer.Option(metavar="ID", help="Name to store it under.")] = None,
    as_json: Json = False,
) -> None:
    """Store an exported instance, all of it or nothing."""
    record = import_instance(None if file == "-" else Path(file), instance)
    if as_json:
        print_json(record.model_dump(mode="json", exclude={"learned"}))
    else:
        print_text(f"imported {record.id}: {record.applied_iteration} iterations, {record.last_step} steps.")
