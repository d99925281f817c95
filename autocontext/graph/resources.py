"""The files of `cypher/`: inside the package in a wheel, beside it in a checkout."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


def cypher_folder() -> Traversable:
    """The folder that holds the Cypher files."""
    packaged = files("autocontext") / "_cypher"
    return packaged if packaged.is_dir() else Path(__file__).resolve().parents[2] / "cypher"


def resource_text(name: str) -> str:
    """The text of one file of that folder, e.g. `embedded.sql`.

    Raises:
        FileNotFoundError: there is none of that name.
    """
    return (cypher_folder() / name).read_text(encoding="utf-8")
