"""The command line as the soak tests run it: `python -m tests.soak.explorer explore ...`, held by its parent.

Nothing of this is in the product. By the environment:

    SOAK_LEDGER=FILE         every iteration whose commit was acknowledged is noted there, with the time
    SOAK_STOP_IN_COMMIT=N    at its Nth commit the process stops itself (SIGSTOP) inside the open transaction: all is
                             written but the last statement, nothing is committed
    SOAK_STOP_AFTER_COMMIT=N it stops itself when its Nth commit was acknowledged: between two transactions
    SOAK_LEASE_SECONDS=S     another lifetime of leases without a sign of life
    SOAK_WRITE_SECONDS=S     another time after which Neo4j ends a transaction
"""

from __future__ import annotations

import itertools
import os
import signal
import time
from typing import Any

from autocontext import cli
from autocontext.graph import connection, leases, store
from autocontext.graph.connection import Row, Transaction
from autocontext.graph.store import GraphStore
from autocontext.types import Iteration, Lease


def main() -> None:
    """Put the hooks in, and run the command."""
    if path := os.environ.get("SOAK_LEDGER"):
        _note_commits(path, stop_after=int(os.environ.get("SOAK_STOP_AFTER_COMMIT", 0)))
    if number := os.environ.get("SOAK_STOP_IN_COMMIT"):
        _stop_in_commit(int(number))
    leases.LEASE_SECONDS = float(os.environ.get("SOAK_LEASE_SECONDS", leases.LEASE_SECONDS))
    connection.WRITE_SECONDS = float(os.environ.get("SOAK_WRITE_SECONDS", connection.WRITE_SECONDS))
    cli.main()


def _note_commits(path: str, stop_after: int) -> None:
    commit, apply = GraphStore.commit, store.apply_iteration
    attempts, numbers = itertools.count(), itertools.count(1)

    def counted(*arguments: Any) -> None:
        next(attempts)
        apply(*arguments)

    def noted(self: GraphStore, instance_id: str, iteration: Iteration, lease: Lease | None = None) -> None:
        began, before = time.monotonic(), next(attempts)
        commit(self, instance_id, iteration, lease)
        seconds, tried = time.monotonic() - began, next(attempts) - before - 1
        with open(path, "a") as ledger:
            ledger.write(f"{iteration.n} {time.time_ns() // 1_000_000} {seconds:.4f} {tried}\n")
        if next(numbers) == stop_after:
            os.kill(os.getpid(), signal.SIGSTOP)

    store.apply_iteration = counted  # type: ignore[assignment]
    GraphStore.commit = noted  # type: ignore[method-assign]


def _stop_in_commit(number: int) -> None:
    run, numbers = Transaction.run, itertools.count(1)

    def stopping(self: Transaction, name: str, **parameters: Any) -> list[Row]:
        if name == "close_iteration" and next(numbers) == number:
            os.kill(os.getpid(), signal.SIGSTOP)
        return run(self, name, **parameters)

    Transaction.run = stopping  # type: ignore[method-assign]


if __name__ == "__main__":
    main()
