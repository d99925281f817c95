"""Progress on standard error: a live panel on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.live import Live
from rich.text import Text

from autocontext.cli.output import messages
from autocontext.explorer.run import Progress

SECONDS_BETWEEN_LINES = 5.0
RECENT = 10
"""Iterations over which new facts and speed are told."""


@contextmanager
def show_progress() -> Iterator[Callable[[Progress], None]]:
    """Yields what to call after every iteration."""
    meter = _Meter()
    if messages.is_terminal:
        with Live(console=messages, refresh_per_second=8, transient=True) as live:

            def draw(progress: Progress) -> None:
                live.update(Text(meter.line(progress, bar=True), overflow="ellipsis", no_wrap=True))

            yield draw
    else:
        last = [time.monotonic()]

        def tell(progress: Progress) -> None:
            line = meter.line(progress, bar=False)
            if time.monotonic() - last[0] >= SECONDS_BETWEEN_LINES:
                last[0] = time.monotonic()
                messages.print(line, markup=False, soft_wrap=True)

        yield tell


class _Meter:
    """Makes a line of the latest progress and what led to it."""

    def __init__(self) -> None:
        self.recent: deque[tuple[float, Progress]] = deque(maxlen=RECENT + 1)
        self.started = time.monotonic()

    def line(self, progress: Progress, *, bar: bool) -> str:
        self.recent.append((time.monotonic(), progress))
        since, first = self.recent[0]
        seconds = time.monotonic() - (since if len(self.recent) > 1 else self.started)
        steps = progress.steps - (first.steps if len(self.recent) > 1 else 0)
        speed = f"{steps / seconds:.0f} steps/s" if seconds > 0 and steps > 0 else ""
        fresh = sum(at.fresh for _, at in self.recent)
        done = ""
        if bar:
            full = min(20, 20 * progress.steps // max(1, progress.budget))
            done = "━" * full + "╌" * (20 - full) + " "
        return (
            f"{done}{progress.steps}/{progress.budget} steps · {progress.entities} entities · {progress.facts} facts "
            f"(+{fresh} lately) · {speed} · {progress.doing}"
        )
