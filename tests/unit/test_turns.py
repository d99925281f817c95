"""Turns of writers: one at a time, free when the process has gone, not stopped by one that is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from autocontext.graph import turns
from autocontext.graph.turns import turn

HOLD = """
import sys, time
from pathlib import Path
from autocontext.graph.turns import turn
with turn(Path(sys.argv[1])):
    print("mine", flush=True)
    time.sleep(60)
"""


@contextmanager
def held_by_another_process(file: Path, checkout: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(file)], stdout=subprocess.PIPE, text=True, cwd=checkout)
    assert process.stdout is not None
    assert process.stdout.readline() == "mine\n"
    yield process
    process.kill()
    process.communicate()


def test_one_at_a_time(tmp_path: Path) -> None:
    file, inside, most = tmp_path / "lock", [], []

    def write() -> None:
        for _ in range(20):
            with turn(file):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.001)
                inside.pop()

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
    assert len(most) == 80


def test_it_ends_with_its_process(tmp_path: Path, checkout: Path) -> None:
    with held_by_another_process(tmp_path / "lock", checkout) as process:
        process.kill()
        process.wait()
        began = time.monotonic()
        with turn(tmp_path / "lock"):
            assert time.monotonic() - began < 1


def test_a_stopped_process_is_waited_for_once(tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "LONGEST", 0.5)
    with held_by_another_process(tmp_path / "lock", checkout) as process:
        os.kill(process.pid, signal.SIGSTOP)
        began = time.monotonic()
        with turn(tmp_path / "lock"):
            first = time.monotonic() - began
        began = time.monotonic()
        with turn(tmp_path / "lock"):
            second = time.monotonic() - began
    assert 0.5 <= first < 5
    assert second < 0.25


def test_a_long_queue_is_not_a_stopped_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "LONGEST", 1.0)
    file = tmp_path / "lock"
    with turn(file):
        before = file.stat().st_ino

    def write() -> None:
        with turn(file):
            time.sleep(0.3)

    threads = [threading.Thread(target=write) for _ in range(8)]  # 2.4 s in all
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert file.stat().st_ino == before


def test_without_a_file_there_are_no_turns(tmp_path: Path) -> None:
    with turn(tmp_path / "nowhere" / "lock"):
        pass
