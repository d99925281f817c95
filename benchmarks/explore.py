"""How soon exploration covers TextWorld cooking games, cold, warm and at random, each against the ground truth.

    python benchmarks/explore.py [--games FOLDER] [--steps 200] [--out results.json] [--seeds 101-112] [--modes ...]
                                 [--engines embedded,neo4j] [--quick]

The embedded database has a home of its own, so that nothing learned elsewhere helps; `neo4j` is the server that
NEO4J_URI names, which should be an empty one. With both, each game is explored on one right after the other, and the
last column is the ratio of the time in the database. `--quick` only proves that this runs. Modes: `cold`
(`--no-learned`), `cold-no-grid` (the same without the rule `grid`), `warm` (the games in order, each learning from
those before), `random` (`--planner random`). Figures: steps until 0.5, 0.95 and all of the named entities are covered,
precision of the facts at the end, recall of the core relations at step 60 and at the end, time per step by part.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

RECALL_AT = 60
MODES = ("cold", "cold-no-grid", "warm", "random")
NEO4J = ("NEO4J_URI", "NEO4J_USERNAME", "NEO4J_PASSWORD", "NEO4J_DATABASE")


def main() -> None:
    """Run the modes and print one table for each."""
    parser = argparse.ArgumentParser(description="Coverage against steps on TextWorld cooking games.")
    parser.add_argument("--games", type=Path, default=Path("benchmarks/results/games"), help="made there when missing")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seeds", default="101-112")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--engines", default="embedded", help="embedded, neo4j, or both with a comma between")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/explore.json"))
    parser.add_argument("--quick", action="store_true", help="one game, 40 steps, two modes")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.seeds, arguments.steps, arguments.modes = "101", 40, "cold,random"
    engines = arguments.engines.split(",")
    server = {name: os.environ.pop(name) for name in NEO4J if name in os.environ}
    if "neo4j" in engines and "NEO4J_URI" not in server:
        parser.error("--engines neo4j needs NEO4J_URI and NEO4J_PASSWORD")
    first, _, last = arguments.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    games = [_game(arguments.games, seed) for seed in seeds]
    results: dict[str, dict[str, list[dict[str, Any]]]] = {}
    with tempfile.TemporaryDirectory() as home:
        os.environ["AUTOCONTEXT_HOME"] = home
        for mode in arguments.modes.split(","):
            rows: dict[str, list[dict[str, Any]]] = {engine: [] for engine in engines}
            for game in games:
                for engine in engines:
                    with _on(engine, server):
                        rows[engine].append(_run(game, mode, arguments.steps))
            for engine in engines:
                _print(f"{mode}, {engine}", rows[engine])
                with _on(engine, server):
                    _forget(mode, games)
            if len(engines) > 1:
                _compare(mode, rows[engines[0]], rows[engines[1]], engines)
            results[mode] = rows
        _stop()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps({"steps": arguments.steps, "modes": results}, indent=2) + "\n")
    print(f"written: {arguments.out}")


@contextmanager
def _on(engine: str, server: dict[str, str]) -> Iterator[None]:
    """The environment by which AutoContext finds that engine."""
    if engine == "neo4j":
        os.environ.update(server)
    try:
        yield
    finally:
        for name in NEO4J:
            os.environ.pop(name, None)


def _compare(mode: str, ones: list[dict[str, Any]], others: list[dict[str, Any]], engines: list[str]) -> None:
    """The same steps on both engines, and what each took in the database."""
    pairs = [(one["ms_per_step"]["database"], other["ms_per_step"]["database"])
             for one, other in zip(ones, others, strict=True)]  # fmt: skip
    assert all(one["steps_to"] == other["steps_to"] for one, other in zip(ones, others, strict=True)), "other graphs"
    first, second = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(f"{mode}: in the database, median ms a step: {engines[0]} {first:.1f}, {engines[1]} {second:.1f}, "
          f"ratio {second / first:.2f}\n")  # fmt: skip


def _game(folder: Path, seed: int) -> Path:
    from autocontext.environments.textworld.games import make_textworld

    game = folder / f"cooking-{seed}.z8"
    return game if game.exists() else make_textworld("cooking", seed, folder)


def _run(game: Path, mode: str, steps: int) -> dict[str, Any]:
    """Explore one game in one mode, and measure: at the end, and as the graph was at step `RECALL_AT`."""
    import autocontext
    from autocontext.environments.registry import open_environment
    from autocontext.evaluation.coverage import measure
    from autocontext.evaluation.textworld import read_truth

    options = autocontext.Options(
        planner="random" if mode == "random" else "systematic",
        learned=mode == "warm",
        without_rules=frozenset({"grid"}) if mode == "cold-no-grid" else frozenset(),
    )
    name = f"{mode}-{game.stem}"
    env = open_environment("textworld", str(game), admissible=True)
    with autocontext.open_store() as store:
        budget = autocontext.Budget(steps=steps, patience=None)
        report = autocontext.explore(env, store, budget=budget, instance=name, options=options)
    env.close()
    truth = read_truth(game)
    with autocontext.open_client() as client:
        walked = client.steps(name)
        found = measure(name, truth, client.facts(name), walked)
        # one path an iteration: iteration n is step n
        early = measure(name, truth, client.facts(name, as_of=min(RECALL_AT, report.iterations)), walked)
    ours = report.seconds - report.seconds_in_environment - report.seconds_in_database
    return {
        "game": game.stem,
        "entities": found.entities.truth,
        "covered": found.entities.share,
        "steps_to": found.steps_to,
        "facts": found.facts.checked + found.facts.unchecked,
        "precision": found.facts.precision,
        "wrong": found.facts.wrong,
        "unchecked": found.facts.unchecked,
        f"recall_at_{RECALL_AT}": early.relations.recall,
        "recall": found.relations.recall,
        "recall_without_inferred": found.without_inferred.relations.recall,
        "steps": report.steps,
        "stopped_because": report.stopped_because,
        "seconds": report.seconds,
        "ms_per_step": {
            "environment": round(1000 * report.seconds_in_environment / report.steps, 2),
            "database": round(1000 * report.seconds_in_database / report.steps, 2),
            "explorer": round(1000 * ours / report.steps, 2),
        },
    }


def _print(mode: str, rows: list[dict[str, Any]]) -> None:
    table = Table(
        "game", "entities", "0.5", "0.95", "all", "covered", "facts", "precision", "unchecked",
        f"recall@{RECALL_AT}", "recall", "env/db/ours ms a step", "stopped",
        title=mode, box=None,
    )  # fmt: skip
    for row in rows:
        to, spent = row["steps_to"], row["ms_per_step"]
        table.add_row(
            row["game"], str(row["entities"]), *(str(to[share]) for share in ("0.5", "0.95", "1.0")),
            f"{row['covered']:.3f}", str(row["facts"]), f"{row['precision']:.3f}", str(row["unchecked"]),
            f"{row[f'recall_at_{RECALL_AT}']:.3f}", f"{row['recall']:.3f}",
            f"{spent['environment']:.1f} / {spent['database']:.1f} / {spent['explorer']:.1f}", row["stopped_because"],
        )  # fmt: skip
    Console(width=180).print(table)
    reached = [row["steps_to"]["0.95"] for row in rows]
    known = [at if at is not None else float("inf") for at in reached]
    print(f"{mode}: steps to 0.95, median {statistics.median(known)}, most {max(known)}\n")


def _forget(mode: str, games: list[Path]) -> None:
    """Modes must not learn from each other: only `warm` reads what was learned, and only of its own."""
    import autocontext

    with autocontext.open_store() as store:
        for game in games:
            store.forget(f"{mode}-{game.stem}")


def _stop() -> None:
    from autocontext.config import load_settings
    from autocontext.graph.embedded import stop

    if load_settings().neo4j_uri is None:
        stop(load_settings())


if __name__ == "__main__":
    main()
