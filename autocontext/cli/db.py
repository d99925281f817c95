"""`autocontext db`: the embedded database's local service."""

from __future__ import annotations

from datetime import datetime

import typer

from autocontext.cli.output import Json, print_json, print_text
from autocontext.config import load_settings
from autocontext.graph import embedded

app = typer.Typer(help="The embedded database: a local service that starts by itself.", no_args_is_help=True)


@app.command()
def status(as_json: Json = False) -> None:
    """Is its server running, and where?"""
    _tell(embedded.status(load_settings()), as_json)


@app.command()
def start(as_json: Json = False) -> None:
    """Start its server, if it is not running."""
    _tell(embedded.start(load_settings()), as_json)


@app.command()
def stop(as_json: Json = False) -> None:
    """End its server."""
    stopped = embedded.stop(load_settings())
    if as_json:
        print_json({"stopped": stopped})
    else:
        print_text("stopped" if stopped else "it was not running")


@app.command()
def path(as_json: Json = False) -> None:
    """Where its files are."""
    folder = embedded.status(load_settings()).folder
    print_json({"path": str(folder)}) if as_json else print_text(str(folder))


def _tell(found: embedded.Status, as_json: bool) -> None:
    if as_json:
        return print_json(found.model_dump(mode="json"))
    size = f"{found.bytes / 2**20:.1f} MiB in {found.folder}"
    if not found.running or found.since is None:
        return print_text(f"not running; {size}")
    since = datetime.fromtimestamp(found.since).astimezone().strftime("%Y-%m-%d %H:%M")
    print_text(f"running since {since}: bolt://127.0.0.1:{found.port} (pid {found.pid}); {size}")
