"""The baseline: a random action after the last one, as an agent without a plan would go."""

from __future__ import annotations

import random

from autocontext.explorer.forest import Forest
from autocontext.explorer.knowledge import Knowledge
from autocontext.explorer.planner.frontier import Candidates
from autocontext.explorer.steps import Plan
from autocontext.types import Path


class RandomPlanner:
    """Walks on from the newest node; begins again at s0 where the episode has ended. Deterministic for a seed."""

    def __init__(self, candidates: Candidates, seed: int = 0) -> None:
        self.candidates = candidates
        self.seed = seed

    def propose(self, forest: Forest, knowledge: Knowledge) -> Plan:
        """One action; the choice depends on the seed and the number of steps so far, not on a hidden state."""
        rng = random.Random(f"{self.seed}:{forest.steps_used}")
        last = next(reversed(forest.todos), "S0")
        node = forest.nodes[last]
        while node.parent is not None and node.step.refused:  # a refusal leaves one where one was
            node = forest.nodes[node.parent]
        if node.step.terminated or node.diverged:
            node = forest.nodes["S0"]
        actions = self.candidates(node.path)
        if not actions:
            return Plan(stop="frontier_empty")
        return Plan((Path(start=forest.root_of(node.id), actions=(rng.choice(sorted(actions)),), strategy="random"),))
