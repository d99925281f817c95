"""What all tests share: where the checkout is, and what a missing service means.

A test that needs something of the machine (a database, an optional package) carries `@pytest.mark.service` and skips
itself where that is missing. With AUTOCONTEXT_REQUIRE_SERVICES=1, as in CI, such a skip is a failure.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import neo4j
import pytest

from .services.databases import DatabaseServer, EmbeddedServer, Neo4jServer, NoNeo4j, neo4j_server

REQUIRED = os.environ.get("AUTOCONTEXT_REQUIRE_SERVICES") == "1"
NO_NEO4J = "no Neo4j for tests: "


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
    with _environment(AUTOCONTEXT_HOME=str(folder), AUTOCONTEXT_IDLE_SECONDS="120"):
        yield folder
        embedded.stop(load_settings())


@pytest.fixture(scope="session")
def neo4j_for_tests() -> Iterator[Neo4jServer]:
    """A real Neo4j for the whole run (tests/services/databases.py)."""
    with ExitStack() as stack:
        try:
            server = stack.enter_context(neo4j_server())
        except NoNeo4j as error:
            pytest.skip(f"{NO_NEO4J}{error}")
        yield server


@pytest.fixture(
    scope="module",
    params=[pytest.param("embedded", marks=pytest.mark.service), pytest.param("neo4j", marks=pytest.mark.service)],
)
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DatabaseServer]:
    """A database of each engine for a module, empty at its start, used by this process and by those that it starts.

    `database.engine` says which. `database.kill()` is `kill -9` of its server and `database.bring_back()` starts it
    again on the same data at the same address; on Neo4j nothing answers in between, while any command starts the
    embedded one by itself. A test that kills has to bring back.
    """
    if request.param == "embedded":
        request.getfixturevalue("home")
        yield EmbeddedServer()
        return
    server: Neo4jServer = request.getfixturevalue("neo4j_for_tests")
    home = tmp_path_factory.mktemp("home-beside-neo4j")
    with _environment(AUTOCONTEXT_HOME=str(home), **server.environment):
        kept = _forget_instances() if server.container is not None else _instances()
        yield server
        _forget_instances(kept)


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


@pytest.fixture
def call_cli() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Like `run_cli`, but in this process: for commands that import much and are called often."""
    from autocontext.cli.app import main

    def call(*words: str, check: bool = True, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.setattr(sys, "argv", ["autocontext", *words])
            for name, value in (env or {}).items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                main()
        code = ended.value.code
        done = subprocess.CompletedProcess(words, code if isinstance(code, int) else 0, out.getvalue(), err.getvalue())
        assert not check or done.returncode == 0, done.stderr
        return done

    return call


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line about what was not tested because there is no Neo4j."""
    reports = [report for outcome in ("skipped", "failed", "error") for report in terminalreporter.getreports(outcome)]
    reasons = [str(report.longrepr) for report in reports]
    why = Counter(reason.partition(NO_NEO4J)[2].rstrip("')") for reason in reasons if NO_NEO4J in reason)
    for text, count in why.items():
        terminalreporter.write_line(f"NOT TESTED on Neo4j: {count} tests ({text})", yellow=True)


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


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    """Only these of all settings that AutoContext reads."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("NEO4J_", "AUTOCONTEXT_"))]:
            patch.delenv(name)
        for name, value in values.items():
            patch.setenv(name, value)
        yield


def _instances() -> set[str]:
    from autocontext import open_store

    with open_store() as store:
        return {record.id for record in store.instances()}


def _forget_instances(kept: Iterable[str] = ()) -> set[str]:
    """Forget all instances but those; says which are left."""
    from autocontext import open_store

    with open_store() as store:
        for record in store.instances():
            if record.id not in kept:
                store.forget(record.id)
    return set(kept)


def pytest_report_header() -> str:
    """Which driver this is: the oldest that is allowed is tested as well (`make test-oldest-driver`)."""
    return f"neo4j driver: {neo4j.__version__}"


def _fail(report: pytest.TestReport | pytest.CollectReport) -> None:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    report.outcome = "failed"
    report.longrepr = f"AUTOCONTEXT_REQUIRE_SERVICES=1, and this was to be skipped: {reason}"
