"""Many explorers at once, each on an instance of its own: nobody notices the others."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from autocontext.environments.textworld.games import make_textworld
from tests.services.databases import DatabaseServer
from tests.soak.conftest import FULL
from tests.soak.processes import Acknowledged, Explorer, canonical, forget, stored

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600 if FULL else 600)]

STEPS = 400 if FULL else 25
COPIES = 6 if FULL else 2  # of one game, beside the two others


@pytest.fixture(scope="module")
def different_games(games: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two cooking games and a tiny one."""
    other = make_textworld("cooking-small", 2, tmp_path_factory.mktemp("another"))
    return {"cooking": games["cooking-small"], "tiny": games["tiny"], "other": other}


@pytest.fixture(scope="module")
def alone(
    database: DatabaseServer, different_games: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """The graph of each game, explored while nobody else explores."""
    found = {}
    for name, game in different_games.items():
        run = Explorer(tmp_path_factory.mktemp("alone"), game, name, STEPS)
        assert run.end() == 0, run.said()
        found[name] = canonical(name)
        forget(name)
    return found


def test_many_at_once_make_the_graphs_that_each_makes_alone(
    database: DatabaseServer,
    alone: dict[str, str],
    different_games: dict[str, Path],
    tmp_path: Path,
    figure: Callable[..., None],
) -> None:
    began = time.monotonic()
    names = ["cooking"] * COPIES + ["tiny", "other"]
    runs = [
        (name, Explorer(tmp_path, different_games[name], f"{name}-{number}", STEPS))
        for number, name in enumerate(names)
    ]
    for _, run in runs:
        assert run.end() == 0, run.said()
    took = time.monotonic() - began
    for name, run in runs:
        assert run.complaints() == []
        assert len(stored(run.instance)) == len(run.acknowledged())
        assert canonical(run.instance) == alone[name], run.instance
    commits = [commit for _, run in runs for commit in run.acknowledged()]
    figure(f"{len(runs)} at once, {len(commits)} commits", took)
    figure(f"{len(runs)} at once, how often a commit was made", _attempts(commits))
    times = sorted(commit.seconds for commit in commits)
    figure(
        f"{len(runs)} at once, a commit's time: median, 99 %, most",
        ", ".join(f"{1000 * found:.0f} ms" for found in (median(times), times[len(times) * 99 // 100], times[-1])),
    )
    forget(*(run.instance for _, run in runs))


def _attempts(commits: list[Acknowledged]) -> str:
    counts = Counter(commit.attempts for commit in commits)
    return ", ".join(f"{count} times: {commits}" for count, commits in sorted(counts.items()))
