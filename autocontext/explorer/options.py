"""How to explore, beyond the budget: which part does each role, and how it is set."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from autocontext.errors import UsageError
from autocontext.explorer.planner.model import STRATEGIES, Strategy
from autocontext.types import Data

PlannerName = Literal["systematic", "random", "model"]
Reads = Literal["rules", "model"]


class Options(Data):
    """Every role may be done by rules or by a model, in any mix. What is not chosen (None) is done by the model if
    there is one, else by rules."""

    planner: PlannerName | None = None
    extractor: Reads | None = None
    key_results: Reads | None = None
    promotion: Reads | None = None
    model: str | None = Field(default=None, description="`provider:name` of the model of every role.")
    extractor_model: str | None = Field(default=None, description="Another one for the extractor.")
    strategies: tuple[Strategy, ...] = Field(default=STRATEGIES, min_length=1, description="Of the model's planner.")
    fallback: Literal["systematic"] | None = Field(default=None, description="What goes on where the model fails.")
    record: Path | None = Field(default=None, description="File that keeps every reply of the models.")
    replay: Path | None = Field(default=None, description="Such a file, instead of the models.")
    prompt_tokens: int = Field(default=6000, ge=500, description="Estimated tokens of data in one prompt.")
    seed: int = 0
    paths: int | None = Field(default=None, ge=1, description="Proposals per iteration; default 1, or 3 by a model.")
    learned: bool = Field(default=True, description="Read and write what classes of actions reveal.")
    step_seconds: float | None = Field(default=60, gt=0, description="Longest time for one call; None: no limit.")
    without_rules: frozenset[str] = Field(default=frozenset(), description="Inference rules not to be used.")

    def resolved(self, *, model: bool = False) -> Options:
        """The same with every role decided.

        Args:
            model: a model was given as an object.

        Raises:
            UsageError: a role wants a model and there is none, or an option has nothing to act on.
        """
        if self.record and self.replay:
            raise UsageError("--record and --replay exclude each other: a run is recorded or repeated.")
        there = model or bool(self.model or self.replay)
        roles: dict[str, PlannerName | Reads] = {
            "planner": self.planner or ("model" if there else "systematic"),
            "extractor": self.extractor or ("model" if there or self.extractor_model else "rules"),
            **{name: getattr(self, name) or ("model" if there else "rules") for name in ("key_results", "promotion")},
        }
        wanting = [name for name, by in roles.items() if by == "model"]
        only_extractor = wanting == ["extractor"] and self.extractor_model
        if wanting and not there and not only_extractor:
            raise UsageError(
                f"{wanting[0].replace('_', ' ')} by a model needs one: --model provider:name, e.g. openai:gpt-4.1-mini."
            )
        if not wanting and (there or self.extractor_model or self.record or self.fallback):
            raise UsageError("a model was given, but no role is done by it; leave it out, or choose a role for it.")
        paths = self.paths or (3 if roles["planner"] == "model" else 1)
        return self.model_copy(update={**roles, "paths": paths})

    @property
    def asks(self) -> bool:
        """Does any role ask a model? (Of resolved options.)"""
        return "model" in (self.planner, self.extractor, self.key_results, self.promotion)

    def settings(self) -> dict[str, str]:
        """What the instance keeps of them."""
        return {
            "planner": self.planner or "",
            "extractor": self.extractor or "",
            "key_results": self.key_results or "",
            "promotion": self.promotion or "",
            "model": self.model or "",
            "extractor_model": self.extractor_model or "",
            "strategies": " ".join(self.strategies),
            "fallback": self.fallback or "",
            "seed": str(self.seed),
            "paths": str(self.paths),
            "learned": "yes" if self.learned else "no",
            "without_rules": " ".join(sorted(self.without_rules)),
        }
