"""Keeps a run going without its model, and says so: only when asked for (`--fallback systematic`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pydantic import BaseModel

from autocontext.errors import ModelUnavailable, ReplyUnusable
from autocontext.explorer.forest import Forest
from autocontext.explorer.knowledge import Knowledge
from autocontext.explorer.protocols import Planner
from autocontext.explorer.steps import Plan
from autocontext.llm.asking import Asker, Prompt
from autocontext.llm.ledger import Ledger

T = TypeVar("T", bound=BaseModel)
Say = Callable[[str], None]


class ForgivingAsker:
    """A model that cannot be reached is not asked again in this run: each question then counts as not answered."""

    def __init__(self, asker: Asker, ledger: Ledger, say: Say) -> None:
        self.asker = asker
        self.ledger = ledger
        self.say = say
        self.reachable = True

    def ask(self, role: str, prompt: Prompt, reply: type[T]) -> T:
        """The model's reply.

        Raises:
            ReplyUnusable: it could not be used, or there is none.
        """
        if self.reachable:
            try:
                return self.asker.ask(role, prompt, reply)
            except ModelUnavailable as error:
                self.reachable = False
                self.ledger.failed(role, error)
                self.say(f"{error} The run goes on without it.")
        raise ReplyUnusable("the model cannot be reached.")


class FallbackPlanner:
    """Asks `first`; where that has no path and no reason to stop, `second`."""

    def __init__(self, first: Planner, second: Planner, say: Say) -> None:
        self.first = first
        self.second = second
        self.say = say
        self._told = False

    def propose(self, forest: Forest, knowledge: Knowledge) -> Plan:
        """The first planner's plan if there is anything in it, else the second's, with the first's refusals."""
        plan = self.first.propose(forest, knowledge)
        if plan.accepted or plan.stop:
            self._told = False
            return plan
        if not self._told:  # once for as long as it lasts
            self._told = True
            self.say(f"iteration {forest.iterations + 1}: the model proposed nothing valid; planned systematically.")
        other = self.second.propose(forest, knowledge)
        # That the other one knows nothing is no reason to end: the model may know something the next time.
        return Plan(other.accepted, plan.rejected + other.rejected)
