"""What models have used and failed at, by role: counted as it happens, handed over with every iteration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from autocontext.llm.prices import Price
from autocontext.types import Data, Failure

CHARACTERS_PER_TOKEN = 3
"""A cautious estimate for models that do not tell what they used."""
ESSENTIAL = ("planner", "extractor")
"""Roles without which an iteration brings nothing."""
LONGEST_WHAT = 300
LONGEST_REPLY = 500


class Used(Data):
    """What one call of a model used."""

    input_tokens: int
    output_tokens: int
    measured: bool = True
    """False: the model did not tell; estimated from the characters."""


class Ledger:
    """Usage is flat: `ROLE.calls`, `ROLE.input_tokens`, `ROLE.output_tokens`, `ROLE.unmeasured` (calls whose tokens are
    estimated) and, where the price is known, `ROLE.microusd` (millionths of a US dollar)."""

    def __init__(self) -> None:
        self.run: dict[str, int] = {}
        """Usage of this run."""
        self.failures = 0
        """Replies of this run that could not be used."""
        self.failing = 0
        """Iterations in a row in which an essential role failed."""
        self._earlier: dict[str, int] = {}
        self._pending: dict[str, int] = {}
        self._failures: list[Failure] = []
        self._unpriced = False

    def begin(self, earlier: Iterable[Mapping[str, int]]) -> None:
        """Count on from what the runs before have used: limits are totals."""
        for usage in earlier:
            _add(self._earlier, usage)

    def count(self, role: str, used: Used, price: Price | None) -> None:
        """One call of a model."""
        found = {
            f"{role}.calls": 1,
            f"{role}.input_tokens": used.input_tokens,
            f"{role}.output_tokens": used.output_tokens,
        }
        if not used.measured:
            found[f"{role}.unmeasured"] = 1
        if price is not None:
            found[f"{role}.microusd"] = round(price.input * used.input_tokens + price.output * used.output_tokens)
        self.add(found)

    def add(self, usage: Mapping[str, int]) -> None:
        """Usage as it was counted elsewhere: in a recording."""
        roles = [name.removesuffix(".calls") for name in usage if name.endswith(".calls")]
        if any(f"{role}.microusd" not in usage for role in roles):
            self._unpriced = True
        _add(self.run, usage)
        _add(self._pending, usage)

    def failed(self, role: str, error: Exception) -> None:
        """A reply could not be used."""
        self.failures += 1
        what, reply = (_storable(str(text)) for text in (error, getattr(error, "reply", "")))
        self._failures.append(Failure(role=role, what=what[:LONGEST_WHAT], reply=reply[:LONGEST_REPLY]))

    def take(self) -> tuple[dict[str, int], tuple[Failure, ...]]:
        """What has come up since the last taking: usage and failures of one iteration."""
        usage, failures = dict(sorted(self._pending.items())), tuple(self._failures)
        self._pending, self._failures = {}, []
        if any(failure.role in ESSENTIAL for failure in failures):
            self.failing += 1
        elif usage:
            self.failing = 0
        return usage, failures

    @property
    def tokens(self) -> int:
        """In and out, of all runs."""
        return sum(
            count
            for usage in (self._earlier, self.run)
            for name, count in usage.items()
            if name.endswith(".input_tokens") or name.endswith(".output_tokens")
        )

    @property
    def cost(self) -> float | None:
        """In USD, of all runs as far as their prices were known; None: not of this one."""
        if self._unpriced:
            return None
        both = (self._earlier, self.run)
        return sum(count for usage in both for name, count in usage.items() if name.endswith(".microusd")) / 1e6


def _storable(text: str) -> str:
    """Without half characters, which no database or file takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _add(total: dict[str, int], usage: Mapping[str, int]) -> None:
    for name, count in usage.items():
        total[name] = total.get(name, 0) + int(count)
