"""What the parts of the loop hand to each other."""

from __future__ import annotations

from dataclasses import dataclass

from autocontext.types import Edit, Path, RejectedEdit, RejectedPath, StopReason


@dataclass(frozen=True)
class Plan:
    """Paths to carry out, proposals refused with their reason, or a reason to stop."""

    accepted: tuple[Path, ...] = ()
    rejected: tuple[RejectedPath, ...] = ()
    stop: StopReason | None = None
    why: str = ""
    """The planner's own words for stopping."""


@dataclass(frozen=True)
class Reading:
    """What an extractor made of new todos; `fresh` counts the facts that nothing had said before."""

    edits: tuple[Edit, ...] = ()
    rejected: tuple[RejectedEdit, ...] = ()
    fresh: int = 0
    unread: tuple[int, ...] = ()
    """Numbers of steps for which the model's reply could not be used: read again with the next ones, once."""
