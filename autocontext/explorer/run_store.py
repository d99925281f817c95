"""The store as one run sees it: under its lease, with the patience to wait while the database restarts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any, TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_delay, wait_exponential

from autocontext.errors import DatabaseDown, DatabaseUnavailable, EmbeddedDatabaseError
from autocontext.graph.leases import HeldLease
from autocontext.graph.store import GraphStore
from autocontext.llm.ledger import Ledger
from autocontext.types import InstanceRecord, Iteration, Lease, Revealed, StopReason

T = TypeVar("T")
Say = Callable[[str], None]


class RunStore:
    """Knows how long the store was waited for, and why the exploration stopped.

    Every write may be repeated, so one whose acknowledgement was lost is settled by making it again.
    """

    def __init__(
        self,
        store: GraphStore,
        ledger: Ledger,
        *,
        wait_seconds: float = 120.0,
        say: Say = lambda text: None,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        """Wrap a store.

        Args:
            ledger: what models have used and failed at; each iteration is committed with its share.
            wait_seconds: how long a database may be away.
            say: is told that it is away, and that it is back.
            interrupted: ends the waiting.
        """
        self._store = store
        self.ledger = ledger
        self._wait_seconds = wait_seconds
        self._say = say
        self._interrupted = interrupted
        self.held: HeldLease | None = None
        self.seconds = 0.0
        self.reason: StopReason | None = None
        self.why = ""

    def __getattr__(self, name: str) -> Any:
        """What is only read: as the store has it, timed and waited for."""
        getattr(self._store, name)
        return lambda *args, **kwargs: self._patiently(lambda: getattr(self._store, name)(*args, **kwargs))

    @property
    def lease(self) -> Lease | None:
        """The run's right to write."""
        return self.held.lease if self.held else None

    def hold(self, instance: str) -> HeldLease:
        """Take the instance's lease; the run writes under it from here on.

        Raises:
            InstanceBusy: another process explores the instance.
        """
        self.held = self._patiently(lambda: self._store.lease(instance, self._say))
        return self.held

    def begin_run(self, instance: str, settings: Mapping[str, str], learned: Mapping[str, Revealed]) -> InstanceRecord:
        """See `GraphStore.begin_run`."""
        return self._patiently(lambda: self._store.begin_run(instance, settings, learned, self.lease))

    def commit(self, instance: str, iteration: Iteration) -> None:
        """See `GraphStore.commit`."""
        usage, failures = self.ledger.take()
        whole = iteration.model_copy(update={"usage": usage, "failures": failures})
        with self.held.writing() if self.held else nullcontext():
            self._patiently(lambda: self._store.commit(instance, whole, self.lease))

    def finish(self, instance: str, reason: StopReason, why: str = "") -> None:
        """Remember why, and store it, with what models have used since the last iteration."""
        usage, _ = self.ledger.take()
        self.reason, self.why = reason, why
        self._patiently(lambda: self._store.finish(instance, reason, why, usage=usage, lease=self.lease))

    def _patiently(self, call: Callable[[], T]) -> T:
        start = time.monotonic()
        away = Retrying(
            retry=retry_if_exception_type((DatabaseDown, EmbeddedDatabaseError)),
            stop=lambda state: stop_after_delay(self._wait_seconds)(state) or self._interrupted(),
            wait=wait_exponential(multiplier=0.5, max=3),
            before_sleep=self._tell,
            reraise=True,
        )
        try:
            for attempt in away:
                with attempt:
                    again = attempt.retry_state.attempt_number > 1
                    if again:
                        self._store.reconnect()
                    done = call()
                    if again:
                        self._say("the database is back; going on.")
                    return done
        finally:
            self.seconds += time.monotonic() - start
        raise AssertionError("tenacity gives up by raising")

    def _tell(self, state: RetryCallState) -> None:
        if state.attempt_number == 1 and state.outcome is not None:
            error = state.outcome.exception()
            assert isinstance(error, DatabaseUnavailable)
            self._say(f"{error} Waiting for it, up to {self._wait_seconds:g} s.")
