"""What all tests share: where the checkout is, and what a missing service means.

A test that needs something of the machine (a database, an optional package) carries `@pytest.mark.service` and skips
itself where that is missing. With AUTOCONTEXT_REQUIRE_SERVICES=1, as in CI, such a skip is a failure.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

REQUIRED = os.environ.get("AUTOCONTEXT_REQUIRE_SERVICES") == "1"


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The repository's top folder."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def games(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Real TextWorld games by preset, seed 1: `tiny` and `cooking-small`."""
    pytest.importorskip("textworld", reason="textworld is not installed")
    from autocontext.environments.textworld.games import make_textworld

    folder = tmp_path_factory.mktemp("games")
    return {preset: make_textworld(preset, 1, folder) for preset in ("tiny", "cooking-small")}


@pytest.fixture(scope="session")
def tiny_game(games: dict[str, Path]) -> Path:
    """Three rooms, a locked door, a locked chest and their keys."""
    return games["tiny"]


@pytest.fixture(scope="session")
def small_game(games: dict[str, Path]) -> Path:
    """A cooking game of six rooms."""
    return games["cooking-small"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An embedded database of its own for a module, used by this process and by those that it starts."""
    pytest.importorskip("arcadedb_embedded", reason="the embedded engine is not installed")
    from autocontext.config import load_settings
    from autocontext.graph import embedded

    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("NEO4J_", "AUTOCONTEXT_"))]:
            patch.delenv(name)
        patch.setenv("AUTOCONTEXT_HOME", str(folder))
        patch.setenv("AUTOCONTEXT_IDLE_SECONDS", "120")
        yield folder
        embedded.stop(load_settings())


@pytest.fixture
def run_cli(checkout: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs `autocontext WORDS ...` as a process; unless `check=False` it must succeed."""

    def run(
        *words: str, check: bool = True, cwd: Path | None = None, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "autocontext", *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=cwd or tmp_path,
            env={**os.environ, "PYTHONPATH": str(checkout), **(env or {})},
        )
        assert not check or done.returncode == 0, done.stderr
        return done

    return run


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if REQUIRED and report.skipped and not hasattr(report, "wasxfail") and item.get_closest_marker("service"):
        _fail(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    # A module that skips itself as a whole does so because a package is missing (pytest.importorskip).
    report = yield
    if REQUIRED and report.skipped:
        _fail(report)
    return report


def _fail(report: pytest.TestReport | pytest.CollectReport) -> None:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    report.outcome = "failed"
    report.longrepr = f"AUTOCONTEXT_REQUIRE_SERVICES=1, and this was to be skipped: {reason}"
