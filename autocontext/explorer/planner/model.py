"""The model-driven planner: a language model reads forest, situations and facts, and proposes paths.

Three strategies (action correction, dependency resolution, pattern exploitation), each a section of the prompt of its
own that can be switched off. The reply is validated like anybody's proposals; what is refused comes back, with the
reason, in the next prompt. Source: the published method's planner (method, section 4.1).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from autocontext.client import render_forest
from autocontext.errors import ReplyUnusable
from autocontext.explorer.excerpt import facts_touching
from autocontext.explorer.forest import Forest
from autocontext.explorer.knowledge import Knowledge
from autocontext.explorer.planner.proposals import check_proposals
from autocontext.explorer.planner.situations import known_places, situations
from autocontext.explorer.steps import Plan
from autocontext.llm.asking import Asker, Prompt
from autocontext.llm.prompts import render
from autocontext.types import Path, RejectedPath, Spec

Strategy = Literal["correction", "dependency", "pattern"]
STRATEGIES: tuple[Strategy, ...] = ("correction", "dependency", "pattern")
MOST_ACTIONS = 8
MOST_PATHS = 8
MOST_FAILED = 12
"""Failed attempts that the prompt lists; older ones are in the forest."""

_Short = Annotated[str, StringConstraints(max_length=400)]


class Proposal(BaseModel):
    """A path in the model's words."""

    model_config = ConfigDict(extra="ignore")

    strategy: Strategy
    start: Annotated[str, StringConstraints(max_length=20)]
    actions: list[_Short] = Field(min_length=1, max_length=MOST_ACTIONS)
    reason: _Short = ""


class PlannerReply(BaseModel):
    """What the planner has to answer."""

    model_config = ConfigDict(extra="ignore")

    paths: list[Proposal] = Field(default_factory=list, max_length=MOST_PATHS)
    explored: bool = False
    why: _Short = ""


class ModelPlanner:
    """Asks a model for paths.

    Args:
        asker: the model.
        spec: what is explored; its goal goes into the prompt.
        budget: steps of the whole exploration.
        strategies: which sections the prompt has.
        paths: proposals at most per iteration.
        prompt_tokens: estimated tokens that forest, situations and facts may take together.
    """

    def __init__(
        self,
        asker: Asker,
        spec: Spec,
        budget: int,
        *,
        strategies: tuple[Strategy, ...] = STRATEGIES,
        paths: int = 3,
        prompt_tokens: int = 6000,
    ) -> None:
        self.asker = asker
        self.spec = spec
        self.budget = budget
        self.strategies = tuple(name for name in STRATEGIES if name in strategies)
        self.paths = min(paths, MOST_PATHS)
        self.prompt_tokens = prompt_tokens

    def propose(self, forest: Forest, knowledge: Knowledge) -> Plan:
        """Valid paths and refused ones; `stop` when the model finds the instance explored. A reply that cannot be used
        gives an empty plan (the asker records the failure).

        Raises:
            ModelUnavailable: the model cannot be reached.
        """
        try:
            reply = self.asker.ask("planner", self.prompt(forest, knowledge), PlannerReply)
        except ReplyUnusable:
            return Plan()
        proposals = [
            Path(start=path.start.strip(), actions=tuple(path.actions), strategy=path.strategy, reason=path.reason)
            for path in reply.paths
        ]
        room = self.budget - forest.steps_used
        accepted, rejected = check_proposals(proposals, forest, room=room, strategies=self.strategies)
        rejected += tuple(RejectedPath(path=path, why=f"only {self.paths} paths are tried at a time")
                          for path in accepted[self.paths :])  # fmt: skip
        if reply.explored and not accepted:
            if forest.todos:
                return Plan((), rejected, stop="planner", why=reply.why)
            rejected += (RejectedPath(path=Path(start="S0", actions=()), why="nothing has been tried yet"),)
        return Plan(accepted[: self.paths], rejected)

    def prompt(self, forest: Forest, knowledge: Knowledge) -> Prompt:
        """What the model is told: instructions in the system message, everything that was observed as data."""
        starts, hidden = situations(forest, max_tokens=self.prompt_tokens * 35 // 100)
        facts, left_out = facts_touching(knowledge, known_places(starts), max_tokens=self.prompt_tokens * 20 // 100)
        text = render_forest(
            list(forest.states.values()), list(forest.todos.values()), max_tokens=self.prompt_tokens * 35 // 100
        )
        failed = [todo for todo in forest.todos.values() if todo.outcome == "refused"]
        return Prompt(
            system=render("planner_system", goal=self.spec.goal, strategies=self.strategies, most=MOST_ACTIONS),
            user=render(
                "planner",
                iteration=forest.iterations + 1,
                used=forest.steps_used,
                left=self.budget - forest.steps_used,
                paths=self.paths,
                forest=text,
                situations=starts,
                hidden=hidden,
                failed=failed[-MOST_FAILED:],
                facts=facts,
                left_out=left_out,
                rejected=forest.rejected_paths,
            ),
        )
