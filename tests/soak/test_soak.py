"""kill -9, of the explorer and of the database server, again and again: the graph is that of an undisturbed run."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

import autocontext
from tests.services.databases import DatabaseServer
from tests.soak.conftest import FULL, STEPS
from tests.soak.processes import Explorer, assert_kept, canonical, forget, stored

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600 if FULL else 600)]

KILLS, OF_THEM_INSIDE = (20, 5) if FULL else (4, 1)
SERVER_KILLS = 5 if FULL else 1


def test_the_explorer_is_killed(
    database: DatabaseServer, undisturbed: str, small_game: Path, tmp_path: Path, figure: Callable[..., None]
) -> None:
    moments = random.Random(7)
    inside = [True] * OF_THEM_INSIDE + [False] * (KILLS - OF_THEM_INSIDE)
    moments.shuffle(inside)
    before, began = 0, time.monotonic()
    for held in inside:
        if held:
            run = Explorer(tmp_path, small_game, "victim", STEPS, stop_in_commit=moments.randint(2, 6))
            run.until_stopped()
            _assert_inside(database, run)
        else:
            run = Explorer(tmp_path, small_game, "victim", STEPS)
            run.until_commits(moments.randint(1, 6))
            time.sleep(moments.uniform(0, 0.05))  # anywhere within an iteration
        run.kill()
        acknowledged = run.acknowledged()
        assert acknowledged, "no new commit before the kill"
        assert acknowledged[0].n > before
        before = acknowledged[-1].n
        assert_kept("victim", acknowledged)
        assert len(stored("victim")) - before in ((0,) if held else (0, 1))
    last = Explorer(tmp_path, small_game, "victim", STEPS)
    assert last.end() == 0, last.said()
    assert last.acknowledged(), "the kills took longer than the run"
    assert last.complaints() == []
    assert canonical("victim") == undisturbed
    forget("victim")
    figure(f"explorer killed {KILLS} times, {OF_THEM_INSIDE} of them in a transaction", time.monotonic() - began)


def test_the_database_server_is_killed(
    database: DatabaseServer, undisturbed: str, small_game: Path, tmp_path: Path, figure: Callable[..., None]
) -> None:
    moments = random.Random(7)
    run = Explorer(tmp_path, small_game, "victim", STEPS)
    waits = []
    for kill in range(SERVER_KILLS):
        acknowledged = run.until_commits(len(run.acknowledged()) + moments.randint(3, 12))
        time.sleep(moments.uniform(0, 0.05))
        database.kill()
        killed = time.monotonic()
        acknowledged = run.acknowledged()
        if database.engine == "neo4j":
            run.until_said("Waiting for it, up to 120 s")
            database.bring_back()
        run.until_commits(len(acknowledged) + 1)
        waits.append(time.monotonic() - killed)
        assert_kept("victim", acknowledged)
        assert run.said().count("Waiting for it") == kill + 1
    assert run.end() == 0, run.said()
    assert run.said().count("the database is back; going on.") == SERVER_KILLS
    assert len(run.complaints()) == 2 * SERVER_KILLS, run.said()
    assert_kept("victim", run.acknowledged())
    assert canonical("victim") == undisturbed
    forget("victim")
    figure(f"database server killed {SERVER_KILLS} times, the explorer waited", [round(wait, 1) for wait in waits])


def _assert_inside(database: DatabaseServer, run: Explorer) -> None:
    """It is stopped, with a transaction open whose writes nobody else sees."""
    assert psutil.Process(run.pid).status() == psutil.STATUS_STOPPED
    assert len(stored("victim")) == run.acknowledged()[-1].n
    if database.engine == "neo4j":  # the embedded engine does not list them
        assert _open_writes() == 1


def _open_writes() -> int:
    """Transactions that have written and are open, as Neo4j tells."""
    with autocontext.open_store() as store:
        rows: list[Any] = store._connection.driver.execute_query(
            "SHOW TRANSACTIONS YIELD transactionId, activeLockCount, currentQueryId "
            "WHERE coalesce(currentQueryId, '') = '' AND activeLockCount > 0 RETURN transactionId",
            database_=store.endpoint.database,
        ).records
    return len(rows)
