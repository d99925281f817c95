"""Explorer processes that a test watches, holds, kills and wakes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

import autocontext

CHECKOUT = Path(__file__).resolve().parents[2]
PATIENT = 300.0  # seconds in which anything is expected to happen, on a machine that does much else
PROGRESS = re.compile(r"\d+/\d+ steps · ")


@dataclass(frozen=True)
class Acknowledged:
    """One iteration whose commit was acknowledged."""

    n: int
    at: int
    """Epoch milliseconds."""
    seconds: float
    """How long the commit took."""
    attempts: int


class Explorer:
    """`autocontext explore textworld GAME` in a process of its own; see `tests.soak.explorer` for its hooks."""

    def __init__(self, folder: Path, game: Path, instance: str, steps: int, **hooks: Any) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.instance = instance
        self.ledger = folder / f"{instance}.{time.monotonic_ns()}.ledger"
        self._said = self.ledger.with_suffix(".err")
        words = ["explore", "textworld", str(game), "--instance", instance, "--steps", str(steps)]
        words += ["--patience", "100000", "--no-learned"]
        variables = {f"SOAK_{name.upper()}": str(value) for name, value in hooks.items()}
        self.started = time.monotonic()
        with self._said.open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.soak.explorer", *words],
                stdout=subprocess.DEVNULL,
                stderr=said,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(CHECKOUT), "SOAK_LEDGER": str(self.ledger), **variables},
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    def acknowledged(self) -> list[Acknowledged]:
        """What was acknowledged to this process."""
        if not self.ledger.exists():
            return []
        lines = [line.split() for line in self.ledger.read_text().splitlines(keepends=True) if line.endswith("\n")]
        return [Acknowledged(int(n), int(at), float(took), int(attempts)) for n, at, took, attempts in lines]

    def until_commits(self, count: int) -> list[Acknowledged]:
        """Wait until it has so many commits acknowledged in all."""
        self._until(lambda: len(self.acknowledged()) >= count, f"{count} commits")
        return self.acknowledged()

    def until_stopped(self) -> None:
        """Wait until it has stopped itself."""
        self._until(self._is_stopped, "that it stops itself")

    def until_stopped_or_ended(self) -> bool:
        """Wait until it has stopped itself (True) or has ended."""
        self._until(lambda: self.process.poll() is not None or self._is_stopped(), "its end")
        return self.process.poll() is None

    def until_said(self, text: str) -> None:
        """Wait until it has written that to standard error."""
        self._until(lambda: text in self.said(), f"that it says '{text}'")

    def kill(self) -> None:
        """`kill -9`."""
        self.process.kill()
        self.process.wait()

    def pause(self) -> None:
        """It does nothing any more, until it is woken."""
        os.kill(self.pid, signal.SIGSTOP)

    def wake(self) -> None:
        """It goes on where it was."""
        os.kill(self.pid, signal.SIGCONT)

    def end(self) -> int:
        """Wait for its end; its exit code."""
        return self.process.wait(PATIENT)

    def said(self) -> str:
        """Standard error."""
        return self._said.read_text()

    def complaints(self) -> list[str]:
        """Lines of standard error that tell no progress."""
        return [line for line in self.said().splitlines() if not PROGRESS.match(line)]

    def _is_stopped(self) -> bool:
        return self.process.poll() is None and psutil.Process(self.pid).status() == psutil.STATUS_STOPPED

    def _until(self, true: Any, what: str) -> None:
        deadline = time.monotonic() + PATIENT
        while not true():
            assert self.process.poll() is None or true(), f"waited for {what}, and it ended: {self.said()}"
            assert time.monotonic() < deadline, f"waited {PATIENT:g} s for {what}: {self.said()}"
            time.sleep(0.01)


def canonical(instance: str) -> str:
    """The instance's graph, to be compared with another's."""
    with autocontext.open_store() as store:
        return json.dumps(store.canonical(instance), sort_keys=True)


def forget(*instances: str) -> None:
    with autocontext.open_store() as store:
        for instance in instances:
            store.forget(instance)


def stored(instance: str) -> dict[int, tuple[int, str]]:
    """The instance's iterations: when each was made, and its digest."""
    text = "MATCH (i:Iteration {scope: $scope}) RETURN i.n AS n, i.at AS at, i.digest AS digest"
    with autocontext.open_client() as client:
        rows = client.query(text, {"scope": instance}, limit=100_000).rows
    found = {n: (at, digest) for n, at, digest in rows}
    assert len(found) == len(rows), "an iteration is there twice"
    return found


def assert_kept(instance: str, acknowledged: list[Acknowledged]) -> None:
    """All that was acknowledged is stored, and was made then, not anew."""
    found = stored(instance)
    assert sorted(found) == list(range(1, len(found) + 1))
    for commit in acknowledged:
        assert commit.n in found, f"iteration {commit.n} was acknowledged and is lost"
        assert found[commit.n][0] <= commit.at, f"iteration {commit.n} was acknowledged, lost and made again"
