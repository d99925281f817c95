"""`autocontext games make`: playable instances for trying, testing and measuring."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autocontext.cli.output import Json, print_json, print_text
from autocontext.errors import UsageError

app = typer.Typer(help="Make games to explore.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Keeps `make` a subcommand."""


@app.command()
def make(
    environment: Annotated[str, typer.Argument(metavar="ENVIRONMENT", help="`textworld`.")],
    seed: Annotated[int, typer.Option(help="The same seed makes the same game, byte for byte.")],
    out: Annotated[Path, typer.Option(help="Folder for the game.")],
    preset: Annotated[str, typer.Option(help="What kind of game.")] = "cooking",
    as_json: Json = False,
) -> None:
    """Make a game (a TextWorld cooking game takes about 10 s)."""
    if environment != "textworld":
        raise UsageError(f"games of '{environment}' cannot be made here; possible: textworld.")
    from autocontext.environments.textworld.games import make_textworld

    game = make_textworld(preset, seed, out)
    print_json({"game": str(game), "preset": preset, "seed": seed}) if as_json else print_text(str(game))
