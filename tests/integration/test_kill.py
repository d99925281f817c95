"""kill -9, of the explorer and of the database server, at any moment: the graph is that of an undisturbed run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import autocontext
from autocontext.config import load_settings
from autocontext.graph import embedded

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

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
def undisturbed(home, small_game: Path) -> str:
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


def test_the_database_server_killed_three_times(undisturbed: str, small_game: Path):
    for _ in range(3):
        before = applied()
        process = subprocess.Popen(command(small_game), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        until_new_commits(process, before, 3)
        server = embedded.status(load_settings()).pid
        assert server
        os.kill(server, signal.SIGKILL)
        _, said = process.communicate(timeout=120)
        assert process.returncode in (0, 1)
        if process.returncode:
            lines = [line for line in said.decode().splitlines() if line.startswith("error:")]
            assert len(lines) == 1
            assert "Traceback" not in said.decode()
    subprocess.run(command(small_game), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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
