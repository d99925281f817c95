"""What an extractor's proposed edits come to: validated, applied to what is known, and worth a write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from autocontext.explorer.extractor.validate import validate
from autocontext.explorer.forest import Forest
from autocontext.explorer.knowledge import Knowledge, Known
from autocontext.types import Edit, RejectedEdit

ENOUGH_EVIDENCE = 3
"""A fact that so many steps show is not proven further: every look at a room would rewrite all of its facts."""


@dataclass
class Taken:
    """What of the proposed edits is worth a write, and passes."""

    forest: Forest
    knowledge: Knowledge
    edits: list[Edit] = field(default_factory=list)
    rejected: list[RejectedEdit] = field(default_factory=list)
    fresh: int = 0
    strict: bool = False
    """For edits in free words: see `validate`."""

    def take(self, proposals: Sequence[Edit]) -> int:
        """Validate and apply; returns how many entities are new by it."""
        names = 0
        for proposed in proposals:
            known = self.knowledge.facts.get(self.knowledge.key(proposed.triplet))
            seen_now = known is not None and known.kind == "inferred" and proposed.kind != "inferred"
            if proposed.op == "add" and known is not None and not seen_now and _proven(known, proposed):
                continue
            checked = validate(proposed, self.forest, self.knowledge, strict=self.strict)
            if isinstance(checked, RejectedEdit):
                self.rejected.append(checked)
                continue
            checked = checked.model_copy(update={"triplet": self.knowledge.spelled(checked.triplet)})
            self.fresh += checked.op == "remove" or known is None
            names += len(self.knowledge.apply(checked))
            self.edits.append(checked)
        return names


def _proven(known: Known, edit: Edit) -> bool:
    """Would the edit add nothing that matters to the evidence?"""
    return len(known.evidence) >= ENOUGH_EVIDENCE or set(edit.evidence) <= set(known.evidence)
