"""The command `autocontext`: its groups of commands, and how errors leave it."""

from __future__ import annotations

import logging
import sys
from typing import Annotated, NoReturn

import typer
from typer.exceptions import TyperException

from autocontext.cli import correct, db, explore, games, ingest, look, measure, transfer
from autocontext.cli.output import Json, messages, print_json, print_text
from autocontext.errors import AutoContextError, UsageError
from autocontext.version import __version__

app = typer.Typer(
    name="autocontext",
    help="Explore an environment instance once; keep what is true of it as a graph; let any agent use it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)
app.command("explore")(explore.explore)
app.command("instances")(look.instances)
app.command("show")(look.show)
app.command("forest")(look.forest)
app.command("evidence")(look.evidence)
app.command("history")(look.history)
app.command("query")(look.query)
app.command("ingest")(ingest.ingest)
app.command("assert")(correct.assert_)
app.command("retire")(correct.retire)
app.command("export")(transfer.export)
app.command("import")(transfer.import_)
app.command("forget")(explore.forget)
app.add_typer(measure.app, name="measure")
app.add_typer(games.app, name="games")
app.add_typer(db.app, name="db")


@app.callback()
def _root(
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback when something fails.")] = False,
) -> None:
    """Options of every command; `--debug` is read in `main`."""


@app.command()
def version(as_json: Json = False) -> None:
    """The version of this installation."""
    if as_json:
        print_json({"version": __version__})
    else:
        print_text(f"autocontext {__version__}")


def main() -> None:
    """Run the command line. Exit 1 with one line for an error, 2 for wrong usage, 130 when interrupted."""
    debug = "--debug" in sys.argv[1:]
    # What the driver has to say comes as an error where it matters; what it gets over by itself is nobody's concern.
    logging.getLogger("neo4j").setLevel(logging.DEBUG if debug else logging.CRITICAL)
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        code = app(arguments, standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(130)
    except TyperException as error:
        _fail(f"{error.format_message().rstrip('.')} (see autocontext --help)", 2)
    except UsageError as error:
        if debug:
            raise
        _fail(str(error), 2)
    except AutoContextError as error:
        if debug:
            raise
        _fail(str(error), 1)
    except BrokenPipeError:  # the reader of our output (head, less) has gone
        sys.stderr.close()
        sys.exit(1)
    except Exception as error:
        if debug:
            raise
        _fail(f"unexpected {type(error).__name__}: {error} (run again with --debug for a traceback)", 1)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> NoReturn:
    """One line on standard error, and the end."""
    messages.print(f"error: {' '.join(message.split())}", style="red", markup=False, soft_wrap=True)
    sys.exit(code)
