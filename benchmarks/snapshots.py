"""Are TextWorld's snapshots exact, and what do they cost? Random walks, every moment of each restored once.

    python benchmarks/snapshots.py GAME.z8 [GAME.z8 ...] [--walks 1000] [--length 40] [--json FILE]

Walks are shared out among the games. Each walk's moments are restored in a random order, and the step that followed
is done again: observation, inventory, admissible commands, reward and end must be the same. One walk in twenty is
also replayed from a reset. Exits 1 if anything differed.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from autocontext.environments.textworld import open_environment
from autocontext.types import Step

REPLAY_EVERY = 20


class Clock:
    """Milliseconds of each kind of call."""

    def __init__(self) -> None:
        self.taken: dict[str, list[float]] = {}

    def __call__(self, what: str, call: Callable[..., Any], *args: Any) -> Any:
        started = time.perf_counter()
        result = call(*args)
        self.taken.setdefault(what, []).append((time.perf_counter() - started) * 1000)
        return result

    def row(self, what: str) -> dict[str, float]:
        times = sorted(self.taken[what])
        return {
            "calls": len(times),
            "median_ms": round(statistics.median(times), 3),
            "p95_ms": round(times[int(0.95 * (len(times) - 1))], 3),
            "max_ms": round(times[-1], 3),
        }


def one_walk(game: Any, seed: int, length: int, clock: Clock, sizes: list[int]) -> tuple[int, list[str]]:
    """Number of moments compared, and what differed."""
    draw = random.Random(seed)
    start = clock("reset", game.reset)
    path = [Step(number=0, action="", observation=start)]
    moments = []
    for number in range(1, length + 1):
        snapshot = clock("snapshot", game.snapshot)
        sizes.append(snapshot.size)
        action = draw.choice(path[-1].observation.admissible or game.suggest(path))
        result = clock("step", game.step, action)
        moments.append((snapshot, action, result))
        path.append(Step(number=number, action=action, observation=result.observation, refused=result.refused))
        if result.terminated:
            break
    differed = []
    for snapshot, action, result in draw.sample(moments, len(moments)):
        clock("restore", game.restore, snapshot)
        if game.step(action) != result:
            differed.append(f"walk {seed}: {action!r} after a restore")
    if seed % REPLAY_EVERY == 0:
        game.reset()
        differed += [f"walk {seed}: {a!r} in a replay" for _, a, result in moments if game.step(a) != result]
    return len(moments), differed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", nargs="+", type=Path)
    parser.add_argument("--walks", type=int, default=1000)
    parser.add_argument("--length", type=int, default=40)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    report: dict[str, Any] = {"games": [path.name for path in given.games], "walks": given.walks, "settings": {}}
    failed = False
    for name, admissible in (("listed", True), ("unlisted", False)):
        clock, sizes, compared, differed = Clock(), [], 0, []
        opened = [open_environment(path, admissible=admissible) for path in given.games]
        for seed in range(given.walks):
            moments, wrong = one_walk(opened[seed % len(opened)], seed, given.length, clock, sizes)
            compared += moments
            differed += wrong
        for game in opened:
            game.close()
        failed |= bool(differed)
        rows = {what: clock.row(what) for what in ("reset", "step", "snapshot", "restore")}
        report["settings"][name] = {
            "moments": compared,
            "differed": differed[:20],
            "snapshot_bytes_median": int(statistics.median(sizes)),
            **rows,
        }
        print(f"{name}: {given.walks} walks, {compared} moments restored, {len(differed)} differed, "
              f"snapshot {int(statistics.median(sizes)):,} bytes (median)")  # fmt: skip
        print(f"  {'':10}{'calls':>8}{'median ms':>12}{'95 % ms':>10}{'max ms':>10}")
        for what, row in rows.items():
            print(f"  {what:10}{row['calls']:>8}{row['median_ms']:>12}{row['p95_ms']:>10}{row['max_ms']:>10}")
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
