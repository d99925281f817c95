"""What the store costs, against the bare driver doing the least for the same result, side by side in one run.

    python benchmarks/store.py [--engine embedded|neo4j|both] [--keep FOLDER] [--json FILE] [--quick]

1. An iteration of 50 facts, 10 todos and 10 steps: time of a commit.
2. An import of 100,000 facts, from the file to the finished instance: facts a second.
3. What is true of one entity (of at most 20 facts), now and as of an iteration, in databases of 10,000, 100,000 and
   1,000,000 facts, in one instance and in 100.

The two sides take turns, and what is told is the median. The databases of 3 are made in `--keep` and used again by the
next run. Neo4j: NEO4J_TEST_URI, NEO4J_TEST_USERNAME and NEO4J_TEST_PASSWORD name servers for tests; with commas
between, one for each size, as sizes are only told apart where each has a database of its own. `--quick` shows in less
than two minutes that all of it runs; its figures mean nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import store_bare as bare
import store_data as data
from pydantic import SecretStr
from rich.console import Console
from rich.table import Table

from autocontext.config import Settings
from autocontext.graph import embedded
from autocontext.graph.endpoint import Endpoint, Login
from autocontext.graph.store import GraphStore, endpoint_of
from autocontext.types import Spec, entity_id

MANY = 100
"""Instances that share the facts, where they are not all in one."""
BULK_ROWS = (500, 2000, 5000)
"""Rows of a transaction that the baseline of the import tries; its best counts."""


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    rounds: int = 200
    bulk_facts: int = 100_000
    bulk_rounds: int = 3
    sizes: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    many: int = MANY
    reads: int = 500


QUICK = Plan(rounds=10, bulk_facts=1000, bulk_rounds=1, sizes=(500, 1000), many=5, reads=20)


def main() -> None:
    """Measure, print tables, write JSON."""
    parser = argparse.ArgumentParser(description="The store against the bare driver.")
    parser.add_argument("--engine", choices=("embedded", "neo4j", "both"), default="embedded")
    parser.add_argument("--keep", type=Path, help="folder of the databases of 3; default: a temporary one")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/store.json"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=("iteration", "bulk", "reads"))
    arguments = parser.parse_args()
    plan = QUICK if arguments.quick else Plan()
    found: dict[str, Any] = {"quick": arguments.quick, "cores": os.cpu_count(), "engines": {}}
    for engine in ("embedded", "neo4j") if arguments.engine == "both" else (arguments.engine,):
        with ExitStack() as stack:
            keep = arguments.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            stores = [stack.enter_context(database(engine, keep, index, size)) for index, size in enumerate(plan.sizes)]
            parts: dict[str, Callable[[], Any]] = {
                "iteration": lambda: iterations(stores[0], plan),  # noqa: B023
                "bulk": lambda: bulk(stores[0], plan),  # noqa: B023
                "reads": lambda: reads(stores, plan),  # noqa: B023
            }
            found["engines"][engine] = {name: part() for name, part in parts.items() if arguments.only in (None, name)}
        show(engine, found["engines"][engine])
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(found, indent=2) + "\n")
    print(f"written: {arguments.json}")


@contextmanager
def database(engine: str, keep: Path, index: int, size: int) -> Iterator[GraphStore]:
    """A store on the database of one size."""
    if engine == "embedded":
        home = keep / f"embedded-{size}"
        settings = Settings(neo4j_uri=None, home=home, embedded_idle_seconds=3600)
        try:
            with GraphStore(endpoint_of(settings)) as store:
                yield store
        finally:
            embedded.stop(settings)
        return
    uris = os.environ["NEO4J_TEST_URI"].split(",")
    password = SecretStr(os.environ.get("NEO4J_TEST_PASSWORD", "neo4j"))
    login = Login(os.environ.get("NEO4J_TEST_USERNAME", "neo4j"), password)
    with GraphStore(Endpoint("neo4j", uris[min(index, len(uris) - 1)], "neo4j", login)) as store:
        yield store


# --- 1 ------------------------------------------------------------------------------------------------


def iterations(store: GraphStore, plan: Plan) -> dict[str, Any]:
    """Milliseconds of an iteration: `commit`, and the same with the bare driver."""
    ours, theirs = f"bench-{uuid.uuid4().hex[:8]}", f"bench-{uuid.uuid4().hex[:8]}"
    spec = Spec(environment="bench", source="made up", source_hash="x")
    for name in (ours, theirs):
        store.register(name, spec, data.start())
    spent: dict[str, list[float]] = {"ours": [], "bare": []}
    with bare.driver(store.endpoint) as driver, driver.session(database=store.endpoint.database) as session:
        for n in range(1, plan.rounds + plan.rounds // 5 + 1):
            turn = data.iteration(n)
            rows = bare.iteration_rows(theirs, turn)
            sides = {"ours": lambda: store.commit(ours, turn), "bare": lambda: bare.write_iteration(session, rows)}  # noqa: B023
            for side in ("ours", "bare") if n % 2 else ("bare", "ours"):
                took = timed(sides[side])
                if n > plan.rounds // 5:  # the first ones warm up
                    spent[side].append(1000 * took)
    count = [len(store.facts(name)) for name in (ours, theirs)]
    assert count[0] == count[1] == n * data.FACTS, count
    for name in (ours, theirs):
        store.forget(name)
    return compared(spent["ours"], spent["bare"], unit="ms")


# --- 2 ------------------------------------------------------------------------------------------------


def bulk(store: GraphStore, plan: Plan) -> dict[str, Any]:
    """Facts a second of an import, and the same with the bare driver, its rows ready."""
    spent: dict[str, list[float]] = {"ours": [], **{f"bare {size}": [] for size in BULK_ROWS}}
    names = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made-up.jsonl"
        data.write(path, plan.bulk_facts)
        with bare.driver(store.endpoint) as driver, driver.session(database=store.endpoint.database) as session:
            for number in range(plan.bulk_rounds):
                order = list(spent)
                for side in order[number % len(order) :] + order[: number % len(order)]:
                    names.append(f"bench-{uuid.uuid4().hex[:8]}")
                    if side == "ours":
                        spent[side].append(timed(lambda: store.load(path, names[-1])))
                        continue
                    rows, size = bare.bulk_rows(path, names[-1]), int(side.split()[1])
                    spent[side].append(timed(lambda: bare.write_bulk(session, names[-1], rows, size)))  # noqa: B023
    assert len({len(store.facts(name)) for name in names}) == 1
    for name in names:
        store.forget(name)
    rates = {side: [plan.bulk_facts / took for took in some] for side, some in spent.items()}
    best = max((f"bare {size}" for size in BULK_ROWS), key=lambda side: statistics.median(rates[side]))
    return {**compared(rates["ours"], rates[best], unit="facts/s"), "facts": plan.bulk_facts, "best_of_bare": best,
            "all": {side: round(statistics.median(some)) for side, some in rates.items()}}  # fmt: skip


# --- 3 ------------------------------------------------------------------------------------------------


def reads(stores: list[GraphStore], plan: Plan) -> list[dict[str, Any]]:
    """Milliseconds of reading one entity, by size of the database and number of instances."""
    cases = []
    for store, size in zip(stores, plan.sizes, strict=True):
        for shape, count in (("one instance", 1), (f"{plan.many} instances", plan.many)):
            made(store, size, count)
            cases.append((store, size, shape, count))
    rng = random.Random(7)
    spent: dict[tuple[int, str, str, str], list[float]] = {}
    with ExitStack() as stack:
        sessions = {}
        for store in stores:
            driver = stack.enter_context(bare.driver(store.endpoint))
            sessions[id(store)] = stack.enter_context(driver.session(database=store.endpoint.database))
            sessions[id(store)].run(bare.TOUCH).consume()
        for number in range(plan.reads + plan.reads // 5):
            rng.shuffle(cases)
            for store, size, shape, count in cases:
                each = size // count
                name = instance_name(size, count, rng.randrange(count))
                thing = data.entity(rng.randrange(each // data.PER_SUBJECT))
                for what, as_of in rng.sample((("now", None), ("as of", each // data.FACTS // 2)), 2):
                    parameters = {"id": entity_id(name, thing), "as_of": as_of}
                    sides = {
                        "ours": lambda: store.entity_facts(name, thing, as_of),  # noqa: B023
                        "bare": lambda: bare_read(sessions[id(store)], parameters),  # noqa: B023
                    }
                    for side in rng.sample(sorted(sides), 2):  # the first one brings it into the caches
                        took = timed(sides[side])
                        if number >= plan.reads // 5:
                            spent.setdefault((size, shape, what, side), []).append(1000 * took)
    found = []
    for (size, shape, what, side), some in sorted(spent.items()):
        if side == "ours":
            row = {"facts": size, "shape": shape, "read": what}
            row |= compared(some, spent[size, shape, what, "bare"], unit="ms")
            smallest = statistics.median(spent[plan.sizes[0], shape, what, "ours"])
            row["to_smallest"] = round(statistics.median(some) / smallest, 2)
            row["p95"] = round(statistics.quantiles(some, n=20)[-1], 3)
            found.append(row)
    return found


def bare_read(session: Any, parameters: dict[str, Any]) -> None:
    statement = bare.READ if parameters["as_of"] is None else bare.READ_AS_OF
    session.execute_read(lambda transaction: [record.data() for record in transaction.run(statement, parameters)])


def made(store: GraphStore, size: int, count: int) -> None:
    """So many facts in so many instances, unless they are there already."""
    there = {record.id for record in store.instances()}
    missing = [name for name in (instance_name(size, count, i) for i in range(count)) if name not in there]
    if not missing:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made-up.jsonl"
        data.write(path, size // count)
        start = time.monotonic()
        for name in missing:
            store.load(path, name)
        took = time.monotonic() - start
        print(f"{len(missing)} instances of {size // count} facts made in {took:.0f} s", flush=True)


def instance_name(size: int, count: int, index: int) -> str:
    return f"bench-{size}-{count}-{index}"


# --- figures ------------------------------------------------------------------------------------------


def timed(work: Callable[[], Any]) -> float:
    """Seconds."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compared(ours: list[float], theirs: list[float], unit: str) -> dict[str, Any]:
    """The medians of both sides, and their ratio."""
    mine, other = statistics.median(ours), statistics.median(theirs)
    return {
        "unit": unit,
        "ours": round(mine, 3),
        "bare": round(other, 3),
        "ratio": round(mine / other, 3),
        "n": len(ours),
    }


def show(engine: str, found: dict[str, Any]) -> None:
    table = Table("what", "ours", "bare driver", "ours / bare", "p95", "to the smallest", title=engine, box=None)
    for name in ("iteration", "bulk"):
        if row := found.get(name):
            what = {"iteration": "iteration, ms", "bulk": f"import of {row.get('facts', 0):,}, facts/s"}[name]
            table.add_row(what, f"{row['ours']:,.1f}", f"{row['bare']:,.1f}", f"{row['ratio']:.2f}", "", "")
    for row in found.get("reads", ()):
        what = f"entity {row['read']}, {row['facts']:,} facts in {row['shape']}, ms"
        table.add_row(what, f"{row['ours']:.2f}", f"{row['bare']:.2f}", f"{row['ratio']:.2f}", f"{row['p95']:.2f}",
                      f"{row['to_smallest']:.2f}")  # fmt: skip
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
