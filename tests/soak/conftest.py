"""What the soak tests share: how much they do, an undisturbed run to compare with, and the figures at the end.

In the suite each does a little, about two minutes in all. `make soak` (AUTOCONTEXT_SOAK=full) does all of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.services.databases import DatabaseServer
from tests.soak.processes import Explorer, canonical, forget

FULL = os.environ.get("AUTOCONTEXT_SOAK") == "full"
STEPS = 400 if FULL else 60

_FIGURES: list[str] = []


@pytest.fixture(scope="module")
def undisturbed(database: DatabaseServer, small_game: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The graph of a run of `STEPS` steps that nothing happens to."""
    run = Explorer(tmp_path_factory.mktemp("undisturbed"), small_game, "undisturbed", STEPS)
    assert run.end() == 0, run.said()
    assert run.complaints() == []
    found = canonical("undisturbed")
    forget("undisturbed")
    return found


@pytest.fixture
def figure(database: DatabaseServer) -> Callable[..., None]:
    """Notes a measured value, to be shown at the end of the run."""

    def note(what: str, value: Any) -> None:
        _FIGURES.append(f"{database.engine:9} {what}: {value:.1f} s" if isinstance(value, float) else
                        f"{database.engine:9} {what}: {value}")  # fmt: skip

    return note


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if FULL and _FIGURES:
        terminalreporter.section("figures of the soak tests")
        for line in _FIGURES:
            terminalreporter.write_line(line)
