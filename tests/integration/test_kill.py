"""kill -9, of the explorer and of the database server, at any moment: the graph is that of an undisturbed run."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import autocontext

from ..services.databases import DatabaseServer

pytestmark = [pytest.mark.service, pytest.mark.slow, pytest.mark.timeout(600)]

STEPS = 80


def command(game: Path) -> list[str]:
    words = ["explore", "textworld", str(game), "--instance", "victim", "--steps", str(STEPS), "--patience", "1000"]
    return [sys.executable, "-m", "autocontext", *words]


def canonical() -> str:
    with autocontext.open_store() as store:
        return json.dumps(store.canonical("victim"), sort_keys=True)


def applied() -> int:
    with autocontext.open_client() as client:
        return next((record.applied_iteration for record in client.instances() if record.id == "victim"), 0)


def forget() -> None:
    with autocontext.open_store() as store:
        store.forget("victim")


@pytest.fixture(scope="module")
def undisturbed(database: DatabaseServer, small_game: Path) -> str:
    subprocess.run(command(small_game), check=True, stderr=subprocess.DEVNULL)
    found = canonical()
    forget()
    return found


def until_new_commits(process: subprocess.Popen[bytes], since: int, at_least: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if applied() >= since + at_least:
            return
        time.sleep(0.02)
    assert process.poll() is None, "the run ended before it could be killed"
    raise AssertionError("no new commit within a minute")


def test_the_explorer_killed_five_times(undisturbed: str, small_game: Path):
    for _ in range(5):
        before = applied()
        process = subprocess.Popen(command(small_game), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until_new_commits(process, before, 1)
        process.kill()
        process.wait()
    assert 5 <= applied() < STEPS
    subprocess.run(command(small_game), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert canonical() == undisturbed
    forget()


def test_the_database_server_killed_under_one_explorer(undisturbed: str, database: DatabaseServer, small_game: Path):
    """The run waits until it is back, and goes on."""
    kills = 3 if database.engine == "embedded" else 2  # Neo4j takes its time to start
    process = subprocess.Popen(command(small_game), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    for kill in range(kills):
        until_new_commits(process, 3 + 20 * kill, 1)
        database.kill()
        database.bring_back()
    _, said = process.communicate(timeout=300)
    text = said.decode()
    assert process.returncode == 0, text
    assert "Traceback" not in text
    if database.engine == "embedded":  # on Neo4j, the driver's own patience may have been enough
        assert text.count("Waiting for it, up to 120 s.") == text.count("the database is back; going on.") == kills
    assert canonical() == undisturbed
    forget()


def test_ctrl_c_keeps_what_is_complete_and_says_how_to_go_on(undisturbed: str, small_game: Path):
    process = subprocess.Popen(command(small_game), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    until_new_commits(process, 0, 2)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "The same command continues" in said.decode()
    with autocontext.open_client() as client:
        assert client.instance("victim").stopped_because == "interrupted"
    subprocess.run(command(small_game), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert canonical() == undisturbed
    forget()
