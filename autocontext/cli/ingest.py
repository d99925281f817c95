"""`autocontext ingest`: facts from recorded trajectories."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from autocontext.cli.output import Json, messages, print_json, print_text
from autocontext.cli.progress import SECONDS_BETWEEN_LINES
from autocontext.explorer.ingest import Ingested
from autocontext.explorer.ingest import ingest as ingest_log
from autocontext.explorer.run import open_store


def ingest(
    log: Annotated[str, typer.Argument(metavar="LOG", help="JSON lines, one step a line; - is standard input.")],
    instance: Annotated[str, typer.Option(metavar="ID", help="Instance to store it under, new or known.")],
    environment: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose reader to use: `textworld`, or MODULE:CLASS.")
    ] = None,
    extractor: Annotated[Literal["rules"], typer.Option(help="What turns steps into facts.")] = "rules",
    any_start: Annotated[
        bool, typer.Option("--any-start", help="Episodes may begin with another text than the instance.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Read recorded steps into the graph, without playing anything (format: docs/ingest.md)."""
    with open_store() as store:
        done = ingest_log(
            None if log == "-" else Path(log), store, instance=instance, environment=environment, any_start=any_start,
            on_progress=_Progress(), on_message=lambda text: messages.print(text, markup=False, soft_wrap=True),
        )  # fmt: skip
    print_json(done.model_dump(mode="json")) if as_json else _print(done)


class _Progress:
    """A line now and then."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        if time.monotonic() - self._last >= SECONDS_BETWEEN_LINES:
            self._last = time.monotonic()
            messages.print(f"{done}/{total} steps", markup=False)


def _print(done: Ingested) -> None:
    print_text(
        f"{done.instance}: {done.episodes} episodes of {done.steps} steps in {done.iterations} iterations; "
        f"{done.fresh} new facts, {done.facts} facts and {done.entities} entities in all ({done.seconds:.1f} s)."
    )
    if done.skipped:
        print_text(f"{done.skipped} episodes were there already and were skipped.")
    if done.steps:
        print_text(f"Look at it: autocontext show {done.instance}")
