"""When to stop: budgets and patience. Each is one small callable; the first that gives a reason ends the run."""

from __future__ import annotations

import time
from collections.abc import Callable

from autocontext.explorer.forest import Forest
from autocontext.llm.ledger import Ledger
from autocontext.types import Data, StopReason

MOST_FAILING = 3
"""Iterations in a row in which the model gave nothing that could be used."""
MOST_FRUITLESS = 6
"""Plans in a row without a path that could be carried out: asking on would only cost."""


class Budget(Data):
    """Limits of one exploration. `steps` and `iterations` are the instance's totals, not this run's."""

    steps: int = 200
    iterations: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    """Of models, in and out, as `steps` over every run; an iteration that has begun is finished."""
    cost: float | None = None
    """In USD, the same."""
    patience: int | None = 60
    """Stop after so many iterations in a row without a new fact; None: never."""


class BudgetStop:
    """Stops at the budget, or when `interrupted()` says that somebody wants it to end after this iteration."""

    def __init__(
        self,
        budget: Budget,
        interrupted: Callable[[], bool] = lambda: False,
        ledger: Ledger | None = None,
        *,
        most_failing: int | None = MOST_FAILING,
    ) -> None:
        self.budget = budget
        self.interrupted = interrupted
        self.ledger = ledger or Ledger()
        self.most_failing = most_failing
        self.started = time.monotonic()
        self.why = ""

    def __call__(self, forest: Forest) -> StopReason | None:
        budget = self.budget
        if self.interrupted():
            return "interrupted"
        if forest.steps_used >= budget.steps:
            return "steps"
        if budget.iterations is not None and forest.explored >= budget.iterations:
            return "iterations"
        if budget.seconds is not None and time.monotonic() - self.started >= budget.seconds:
            return "time"
        if budget.tokens is not None and self.ledger.tokens >= budget.tokens:
            return "tokens"
        if budget.cost is not None and (self.ledger.cost or 0) >= budget.cost:
            return "cost"
        if self.most_failing is not None and self.ledger.failing >= self.most_failing:
            self.why = f"{self.ledger.failing} iterations in a row without a reply that could be used"
            return "model"
        if forest.fruitless >= MOST_FRUITLESS:
            refused = f"; the last was refused: {forest.rejected_paths[0].why}" if forest.rejected_paths else ""
            self.why = f"{forest.fruitless} plans in a row without a path that could be tried{refused}"
            return "model"
        if budget.patience is not None and forest.idle >= budget.patience:
            return "patience"
        return None
