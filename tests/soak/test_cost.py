"""What safety costs: patience, turns and signs of life are nothing beside a commit."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import autocontext
from autocontext.explorer.run_store import RunStore
from autocontext.graph.turns import turn
from autocontext.llm.ledger import Ledger
from tests.integration.conftest import Book, edit
from tests.services.databases import DatabaseServer
from tests.soak.conftest import FULL
from tests.soak.processes import forget

pytestmark = [pytest.mark.slow]

COMMITS = 200 if FULL else 30


def microseconds(call: Callable[[], Any], times: int = 1000) -> float:
    """The quickest of some rounds: what the call itself takes, on a machine that does other things too."""
    rounds = []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(times // 5):
            call()
        rounds.append((time.perf_counter() - began) / (times // 5))
    return 1e6 * min(rounds)


def test_the_wrappers_take_less_than_a_thousandth_of_a_second(tmp_path: Path) -> None:
    own = RunStore(None, Ledger())  # type: ignore[arg-type]

    def one_turn() -> None:
        with turn(tmp_path / "lock"):
            pass

    assert microseconds(lambda: own._patiently(lambda: None)) < 500
    assert microseconds(one_turn) < 500


def test_a_commit_takes_as_long_under_a_lease_as_without(database: DatabaseServer, figure: Callable[..., None]) -> None:
    """One with lease, heartbeat and patience after one without, so that what else the machine does meets both."""
    with autocontext.open_store() as store:
        plain, leased = Book(store, "cost-plain"), Book(store, "cost-leased")
        for book in (plain, leased):
            book.register()
        own = RunStore(store, Ledger())
        seconds: dict[str, list[float]] = {"plain": [], "leased": []}
        with own.hold(leased.id):
            for n in range(COMMITS):
                for name, book, commit in (("plain", plain, store.commit), ("leased", leased, own.commit)):
                    iteration = book.iteration(edit("add", (f"thing {n}", "is", "here"), (n + 1,)))
                    began = time.perf_counter()
                    commit(book.id, iteration)
                    seconds[name].append(time.perf_counter() - began)
    forget(plain.id, leased.id)
    without, with_lease = (1000 * median(seconds[name]) for name in ("plain", "leased"))
    figure("a commit, median", f"{without:.1f} ms, under a lease and patiently {with_lease:.1f} ms")
    assert with_lease < 1.5 * without + 2
