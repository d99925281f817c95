"""What goes where: one JSON document or tables on standard output, messages on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output and nothing else.")]
InstanceId = Annotated[str, typer.Argument(metavar="ID", help="An instance, as `autocontext instances` names it.")]

messages = Console(stderr=True, highlight=False)


def print_json(document: Any) -> None:
    """Exactly one JSON document. Lone surrogates, which UTF-8 cannot hold, come out escaped."""
    text = json.dumps(document, ensure_ascii=False, indent=2)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = json.dumps(document, indent=2)
    sys.stdout.write(text + "\n")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table; cells are shown as they are, never read as markup."""
    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*(Text(shown(cell)) for cell in row))
    console().print(table)


def print_text(text: str) -> None:
    """Plain lines, never read as markup, never wrapped."""
    console().print(Text(escaped(text)), soft_wrap=True)


def shown(cell: Any) -> str:
    """A cell as one printable line."""
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return escaped(cell).replace("\n", "\\n")
    return json.dumps(cell, ensure_ascii=False) if isinstance(cell, (list, dict)) else str(cell)


def escaped(text: str) -> str:
    """Control characters made visible: stored text must not steer a terminal."""
    return "".join(char if char.isprintable() or char == "\n" else f"\\x{ord(char):02x}" for char in text)


def console() -> Console:
    """Standard output, looked up anew: tests and pipes replace it."""
    return Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 200)
