"""Two explorers on one instance: one is refused, one takes over, and one that slept too long writes nothing more.

In the suite a lease lasts six seconds, and Neo4j ends a transaction after ten; in full the product's times are
waited for.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autocontext.environments.textworld.games import make_textworld
from autocontext.graph.connection import WRITE_SECONDS
from autocontext.graph.leases import LEASE_SECONDS
from autocontext.graph.turns import LONGEST
from tests.services.databases import DatabaseServer
from tests.soak.conftest import FULL, STEPS
from tests.soak.processes import Explorer, canonical, forget, stored

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

LEASE, WRITE = (LEASE_SECONDS, WRITE_SECONDS) if FULL else (6.0, 10.0)
SHORT = {"lease_seconds": LEASE, "write_seconds": WRITE}


def assert_refused(run: Explorer, holder: Explorer) -> None:
    """It ended with one line that says who explores the instance, where, and since when."""
    assert run.end() == 1, run.said()
    host = re.escape(socket.gethostname())
    assert re.fullmatch(
        rf"error: instance 'both' is being explored by pid {holder.pid} on host '{host}' since \d\d:\d\d "
        r"\(last sign \d+ s ago\)\. Wait for it, stop it, or explore under another name with --instance\.\n",
        run.said(),
    ), run.said()
    assert run.acknowledged() == []


def test_the_second_is_refused_and_takes_over_when_the_first_is_killed(
    database: DatabaseServer, undisturbed: str, small_game: Path, tmp_path: Path, figure: Callable[..., None]
) -> None:
    first = Explorer(tmp_path, small_game, "both", STEPS, stop_after_commit=5)
    first.until_stopped()  # so that it is still there when the second one has started
    assert_refused(Explorer(tmp_path, small_game, "both", STEPS), first)
    first.kill()
    second = Explorer(tmp_path, small_game, "both", STEPS)
    second.until_commits(1)
    figure("taken over from a killed one, its start included", time.monotonic() - second.started)
    assert second.end() == 0, second.said()
    assert second.complaints() == []
    assert canonical("both") == undisturbed
    forget("both")


if FULL:  # the same in short is in tests/integration/test_store_leases.py

    def test_a_busy_one_keeps_its_lease(database: DatabaseServer, tmp_path: Path) -> None:
        """Commits alone are signs of life: one that commits all the time is not robbed after the lease's lifetime."""
        game = make_textworld("cooking", 1, tmp_path)  # a small one has nothing left to try after 15 s
        first = Explorer(tmp_path, game, "both", 10_000)
        began = first.until_commits(1)[0].at
        while first.until_commits(len(first.acknowledged()) + 1)[-1].at < began + 1000 * (LEASE + 5):
            pass
        assert_refused(Explorer(tmp_path, game, "both", 10_000), first)
        first.until_commits(len(first.acknowledged()) + 1)
        first.kill()
        forget("both")


@pytest.mark.parametrize("where", ["between two commits", "inside a transaction"])
def test_one_that_was_paused_writes_nothing_more(
    database: DatabaseServer,
    undisturbed: str,
    small_game: Path,
    tmp_path: Path,
    figure: Callable[..., None],
    where: str,
) -> None:
    hook: dict[str, Any] = {"stop_after_commit": 5} if where == "between two commits" else {"stop_in_commit": 6}
    first = Explorer(tmp_path, small_game, "both", STEPS, **hook, **SHORT)
    first.until_stopped()
    stopped = time.monotonic()
    assert len(first.acknowledged()) == 5
    while True:
        second = Explorer(tmp_path, small_game, "both", STEPS, stop_after_commit=5, **SHORT)
        if second.until_stopped_or_ended():
            break
        assert_refused(second, first)
        assert time.monotonic() - stopped < LEASE + 60
    taken = time.monotonic() - (time.time() - second.acknowledged()[0].at / 1000)
    figure(f"paused {where}: another one has its first commit after", taken - stopped)
    figure(f"paused {where}: it waited, its start included", taken - second.started)
    assert taken - stopped >= LEASE
    bound = {"neo4j": WRITE, "embedded": LONGEST}[database.engine] if where == "inside a transaction" else 0.0
    assert taken - second.started < bound + 60
    assert_told(second, first)
    if where == "between two commits":  # the other one still explores
        _assert_shut_out(first, rf"by pid {second.pid} on host '.+'")
        second.wake()
    else:
        second.wake()
        assert second.end() == 0, second.said()
        assert canonical("both") == undisturbed
        _assert_shut_out(first, "by a process that has ended meanwhile")
    assert second.end() == 0, second.said()
    assert canonical("both") == undisturbed
    forget("both")


def assert_told(run: Explorer, paused: Explorer) -> None:
    """It said from whom it took over, and how long that may take; and nothing else."""
    (told,) = run.complaints()
    assert re.fullmatch(
        rf"taking instance 'both' over from pid {paused.pid} on host '.+', which gave no sign of life for \d+ s\. "
        r"If it was paused while it wrote, this takes up to 60 s\.",
        told,
    ), told


def _assert_shut_out(paused: Explorer, taken: str) -> None:
    """Woken, it ends with one line, and nothing of the graph has changed by it."""
    before, count = stored("both"), len(paused.acknowledged())
    paused.wake()
    assert paused.end() == 1, paused.said()
    (error,) = paused.complaints()
    assert re.match(rf"error: the lease on instance 'both' was taken {taken}, since this process gave no sign", error)
    assert "nothing more is written. Start again: it continues from what is stored." in error
    assert len(paused.acknowledged()) == count
    assert stored("both") == before
