"""The model-free extractor: the environment's reader, its inference rules, the validator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from autocontext.explorer.extractor.validate import validate
from autocontext.explorer.forest import Forest
from autocontext.explorer.knowledge import Knowledge, Known
from autocontext.explorer.steps import Reading
from autocontext.types import Edit, RejectedEdit, Todo

ENOUGH_EVIDENCE = 3
"""A fact that so many steps show is not proven further: every look at a room would rewrite all of its facts."""


class RuleExtractor:
    """Reads each new step with the reader, then infers.

    Args:
        without: names of inference rules that are not to be used.
    """

    def __init__(self, without: frozenset[str] = frozenset()) -> None:
        self.without = without

    def read(self, todos: Sequence[Todo], forest: Forest, knowledge: Knowledge) -> Reading:
        """Edits of the todos, in order. The first iteration reads the reset's observation too."""
        taken = _Taken(forest, knowledge)
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


@dataclass
class _Taken:
    """What of the proposed edits is worth a write, and passes."""

    forest: Forest
    knowledge: Knowledge
    edits: list[Edit] = field(default_factory=list)
    rejected: list[RejectedEdit] = field(default_factory=list)
    fresh: int = 0

    def take(self, proposals: Sequence[Edit]) -> int:
        """Validate and apply; returns how many entities are new by it."""
        names = 0
        for proposed in proposals:
            known = self.knowledge.facts.get(self.knowledge.key(proposed.triplet))
            seen_now = known is not None and known.kind == "inferred" and proposed.kind != "inferred"
            if proposed.op == "add" and known is not None and not seen_now and _proven(known, proposed):
                continue
            checked = validate(proposed, self.forest, self.knowledge)
            if isinstance(checked, RejectedEdit):
                self.rejected.append(checked)
                continue
            self.fresh += checked.op == "remove" or known is None
            names += len(self.knowledge.apply(checked))
            self.edits.append(checked)
        return names


def _proven(known: Known, edit: Edit) -> bool:
    """Would the edit add nothing that matters to the evidence?"""
    return len(known.evidence) >= ENOUGH_EVIDENCE or set(edit.evidence) <= set(known.evidence)
