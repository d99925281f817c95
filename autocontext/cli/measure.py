"""`autocontext measure`: an explored instance against the ground truth of its game."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autocontext.cli.output import InstanceId, Json, print_json, print_table, print_text
from autocontext.client import open_client
from autocontext.errors import GameFileError, UsageError
from autocontext.evaluation.coverage import Coverage, measure

app = typer.Typer(help="Measure an explored instance against ground truth.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Keeps `coverage` a subcommand."""


@app.command()
def coverage(
    environment: Annotated[str, typer.Argument(metavar="ENVIRONMENT", help="`textworld`.")],
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="The game that was explored.")],
    instance: InstanceId,
    as_json: Json = False,
) -> None:
    """Entities covered against steps, precision of the facts, recall of the relations that agents need."""
    if environment != "textworld":
        raise UsageError(f"there is no ground truth for '{environment}'; coverage is measured for: textworld.")
    if not source.is_file():
        raise GameFileError(f"there is no game '{source}'; check the path.")
    from autocontext.evaluation.textworld import read_truth

    truth = read_truth(source)
    with open_client() as client:
        found = measure(instance, truth, client.facts(instance), client.steps(instance))
    if as_json:
        return print_json(found.model_dump(mode="json"))
    _print(found)


def _print(found: Coverage) -> None:
    entities, facts, relations, proven = found.entities, found.facts, found.relations, found.without_inferred
    print_text(f"{found.instance}: {entities.covered} of {entities.truth} entities covered in {found.steps} steps")
    print_table(("share of entities", "reached at step"), [(f"{float(s):.0%}", at) for s, at in found.steps_to.items()])
    print_table(
        ("", "facts right / checked", "precision", "unchecked", "relations found / true", "recall"),
        [
            (
                name,
                f"{f.right} / {f.checked}",
                "-" if f.precision is None else f"{f.precision:.3f}",
                f.unchecked,
                f"{r.found} / {r.truth}",
                f"{r.recall:.3f}",
            )
            for name, f, r in (("all", facts, relations), ("without inferred", proven.facts, proven.relations))
        ],
    )
    for title, names in (("missed", entities.missed), ("wrong", facts.wrong), ("relations missed", relations.missed)):
        if names:
            print_text(f"{title}: {', '.join(names[:20])}{' ...' if len(names) > 20 else ''}")
