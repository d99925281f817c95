"""The model-free extractor: the environment's reader, its inference rules, the validator."""

from __future__ import annotations

from collections.abc import Sequence

from autocontext.explorer.extractor.taken import Taken
from autocontext.explorer.forest import Forest
from autocontext.explorer.knowledge import Knowledge
from autocontext.explorer.steps import Reading
from autocontext.types import Todo


class RuleExtractor:
    """Reads each new step with the reader, then infers.

    Args:
        without: names of inference rules that are not to be used.
    """

    def __init__(self, without: frozenset[str] = frozenset()) -> None:
        self.without = without

    def read(self, todos: Sequence[Todo], forest: Forest, knowledge: Knowledge) -> Reading:
        """Edits of the todos, in order. The first iteration reads the reset's observation too."""
        taken = Taken(forest, knowledge)
        reader = forest.reader
        if forest.explored == 0:
            taken.take(reader.read(forest.nodes["S0"].path, knowledge.triplets()))
        for todo in todos:
            path = forest.nodes[todo.id].path
            new = range(len(path) - len(todo.steps) + 1, len(path) + 1)
            names = sum(taken.take(reader.read(path[:end], knowledge.triplets())) for end in new)
            forest.reveal(todo, names)
        taken.take(reader.infer(knowledge.proven(), frozenset(reader.rules) - self.without))
        return Reading(tuple(taken.edits), tuple(taken.rejected), taken.fresh)
