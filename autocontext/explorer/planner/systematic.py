"""The model-free planner: a systematic frontier, ordered by what actions of the same class have revealed.

An action is worth what its class (verb and kind of object) revealed per try so far, shrunk towards its verb, the verb
towards what is known from elsewhere (other instances, or the adapter's small prior), plus a small bonus for what has
been tried little. New names count fully, new words a little: words alone lead to recipes, labels and manuals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from autocontext.explorer.forest import Forest
from autocontext.explorer.knowledge import Knowledge
from autocontext.explorer.planner.frontier import Candidates, Frontier
from autocontext.explorer.steps import Plan
from autocontext.types import Path, Revealed

WORD = 0.1
"""Worth of a new word, in new names."""
BONUS = 0.1
"""Weight of the exploration bonus; 0.5 doubles the steps to full coverage."""
SHRINK_ACTION, SHRINK_CLASS, SHRINK_VERB = 1.0, 1.0, 2.0
"""Imagined tries with which the more general estimate enters the more special one."""
CARRY, CARRY_TO_REFUSED = 0.02, 0.3
"""Worth of a known move that carries a change to another place; to one where something was refused."""
OPTIMISM = 1.0
"""Worth of a verb of which nothing is known."""


class SystematicPlanner:
    """Proposes the `paths` most promising untried actions.

    Args:
        candidates: actions possible at the end of a path.
        budget: steps of the whole exploration; proposals fit into what is left.
        prior: worth of verbs where nothing has been learnt (the adapter's data); may be empty.
        learned: what classes of actions revealed in other instances of the environment.
        paths: proposals per iteration.
    """

    def __init__(
        self,
        candidates: Candidates,
        budget: int,
        *,
        prior: Mapping[str, float] | None = None,
        learned: Mapping[str, Revealed] | None = None,
        paths: int = 1,
    ) -> None:
        self.frontier = Frontier(candidates)
        self.budget = budget
        self.prior = dict(prior or {})
        self.learned = dict(learned or {})
        self.paths = paths

    def propose(self, forest: Forest, knowledge: Knowledge) -> Plan:
        """The best few; `frontier_empty` when nothing is left to try."""
        worth = Worth(forest, self.prior, self.learned)
        offers = [(worth.of(action), node, action) for action, node in self.frontier.open(forest, knowledge)]
        for action, node, promising in self.frontier.carries(forest, knowledge):
            offers.append((CARRY_TO_REFUSED if promising else CARRY, node, action))
        if not offers:
            return Plan(stop="frontier_empty")
        offers.sort(key=lambda offer: (-offer[0], offer[1].depth, offer[1].step.number, offer[2]))
        room = max(1, min(self.paths, self.budget - forest.steps_used))
        return Plan(
            tuple(
                Path(
                    start=forest.root_of(node.id), actions=(action,), strategy="systematic", reason=f"worth {value:.2f}"
                )
                for value, node, action in offers[:room]
            )
        )


class Worth:
    """Expected worth of actions, from the statistics at one moment."""

    def __init__(self, forest: Forest, prior: Mapping[str, float], learned: Mapping[str, Revealed]) -> None:
        self.forest = forest
        self.prior = prior
        self.learned = learned
        self.total = 1 + len(forest.todos)
        self._classes: dict[str, float] = {}
        self._verbs: dict[str, Revealed] = _by_verb(forest.classes)
        self._learned_verbs = _by_verb(learned)

    def of(self, action: str) -> float:
        """Expected names (and words) that the action reveals, with the bonus."""
        name = self.forest.reader.action_class(action)
        if name not in self._classes:
            self._classes[name] = self._class(name)
        own = self.forest.actions.get(action, Revealed())
        return _shrunk(own, self._classes[name], SHRINK_ACTION)

    def _class(self, name: str) -> float:
        here = self.forest.classes.get(name, Revealed())
        value = _shrunk(here, self._elsewhere(name), SHRINK_CLASS)
        return value + BONUS * math.sqrt(math.log(self.total) / (1 + here.tried))

    def _elsewhere(self, name: str) -> float:
        """Before the class is tried here: its worth in other instances, shrunk to the verb's, here and there."""
        verb = name.split(" ", 1)[0]
        general = self.prior.get(verb, self.prior.get("*", OPTIMISM))
        general = _shrunk(self._learned_verbs.get(verb, Revealed()), general, SHRINK_VERB)
        general = _shrunk(self._verbs.get(verb, Revealed()), general, SHRINK_VERB)
        return _shrunk(self.learned.get(name, Revealed()), general, SHRINK_CLASS)


def _shrunk(found: Revealed, general: float, weight: float) -> float:
    return (found.names + WORD * found.words + weight * general) / (found.tried + weight)


def _by_verb(classes: Mapping[str, Revealed]) -> dict[str, Revealed]:
    verbs: dict[str, Revealed] = {}
    for name, found in classes.items():
        verb = name.split(" ", 1)[0]
        verbs[verb] = verbs.get(verb, Revealed()) + found
    return verbs
