"""Are snapshots exact, and what do they cost? Random walks on a TextWorld game.

    python benchmarks/snapshots.py GAME.z8 [--walks 1000] [--length 40] [--fresh 100] [--out results.json]

Every walk takes a snapshot at a random moment, goes on, restores and goes the same way again: every observation,
inventory and list of commands must be the same. The first `--fresh` walks are replayed in a new process as well.
Snapshot and restore are timed at each of these moments.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from autocontext.environments.registry import open_environment


def main() -> None:
    """Walk, compare, print a table and write JSON."""
    parser = argparse.ArgumentParser(description="Exactness and cost of snapshots.")
    parser.add_argument("game", type=Path)
    parser.add_argument("--walks", type=int, default=1000)
    parser.add_argument("--length", type=int, default=40)
    parser.add_argument("--fresh", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/snapshots.json"))
    parser.add_argument("--replay", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    env = open_environment("textworld", str(arguments.game), admissible=True)
    if arguments.replay:
        sys.stdout.write(json.dumps([_play(env, actions) for actions in json.load(sys.stdin)]))
        return
    taken, restored, differing, walks = [], [], 0, []
    for seed in range(arguments.walks):
        actions, shown, costs, same = _walk(env, random.Random(seed), arguments.length)
        if costs is not None:
            taken.append(costs[0])
            restored.append(costs[1])
        differing += not same
        if seed < arguments.fresh:
            walks.append((actions, shown))
    command = [sys.executable, __file__, str(arguments.game), "--replay"]
    replayed = subprocess.run(
        command, input=json.dumps([actions for actions, _ in walks]), capture_output=True, text=True, check=True
    )
    fresh = sum(again != shown for again, (_, shown) in zip(json.loads(replayed.stdout), walks, strict=True))
    found = {
        "walks": arguments.walks,
        "length": arguments.length,
        "differing_after_restore": differing,
        "replayed_in_a_fresh_process": len(walks),
        "differing_in_a_fresh_process": fresh,
        "snapshot_ms_median": round(1000 * statistics.median(taken), 3),
        "restore_ms_median": round(1000 * statistics.median(restored), 3),
    }
    for name, value in found.items():
        print(f"{name:32} {value}")
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(found, indent=2) + "\n")


def _walk(env: Any, rng: random.Random, length: int) -> tuple[list[str], list[str], tuple[float, float] | None, bool]:
    """Actions, what they showed, seconds of snapshot and restore, and whether the way after it was the same."""
    seen = env.reset()
    moment = rng.randrange(length)
    actions: list[str] = []
    shown: list[str] = []
    snapshot, spent = None, 0.0
    for number in range(length):
        if number == moment:
            start = time.perf_counter()
            snapshot = env.snapshot()
            spent = time.perf_counter() - start
        if not seen.admissible:
            break
        actions.append(rng.choice(seen.admissible))
        seen = env.step(actions[-1]).observation
        shown.append(seen.model_dump_json())
    if snapshot is None:  # the episode ended before the moment came
        return actions, shown, None, True
    start = time.perf_counter()
    env.restore(snapshot)
    back = time.perf_counter() - start
    again = [env.step(action).observation.model_dump_json() for action in actions[moment:]]
    return actions, shown, (spent, back), again == shown[moment:]


def _play(env: Any, actions: list[str]) -> list[str]:
    env.reset()
    return [env.step(action).observation.model_dump_json() for action in actions]


if __name__ == "__main__":
    main()
