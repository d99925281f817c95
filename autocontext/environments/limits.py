"""A time limit around one call into an environment.

The limit uses the process's interval timer (SIGALRM), so it holds on the main thread of a POSIX process only; on
another thread or on Windows a call is not limited. It interrupts Python code and blocking system calls; a loop inside
a C library is interrupted only when that library returns to Python.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from autocontext.errors import EnvironmentHung

DEFAULT_SECONDS = 60.0
"""Long enough for any step that is meant to end, short enough to be noticed."""

_AGAIN = 1.0  # seconds: an environment that catches everything is interrupted again until it lets go


@contextmanager
def time_limit(seconds: float | None, what: str) -> Iterator[None]:
    """Raise `EnvironmentHung`, naming `what`, if the block takes longer than `seconds` (None: no limit)."""
    if seconds is None or not _available():
        yield
        return
    outer, interval = signal.getitimer(signal.ITIMER_REAL)
    if 0 < outer <= seconds:  # somebody's earlier alarm comes first: it must not be put off
        yield
        return
    hung = EnvironmentHung(f"{what} took longer than {seconds:g} s; check the environment, or raise the step limit.")
    fired = False

    def ring(_number: int, _frame: FrameType | None) -> None:
        nonlocal fired
        fired = True
        raise hung

    started = time.monotonic()
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if outer > 0:
            left = max(outer - (time.monotonic() - started), 0.001)
            signal.setitimer(signal.ITIMER_REAL, left, interval)
    if fired:  # the environment swallowed the alarm: what it returned afterwards is not to be trusted
        raise hung


def _available() -> bool:
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
