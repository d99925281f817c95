"""The rules that every edit passes, a reader's and a model's alike.

The graph is true at the start of every task (initial-state truth per facet): a step proves a fact about a
changeable facet only if nothing on the path from s0 had changed that facet. Taking a thing hides only where it was,
cooking it only its food state, opening it only its openness.
"""

from __future__ import annotations

from autocontext.explorer.forest import Forest, Node
from autocontext.explorer.knowledge import Knowledge
from autocontext.types import Edit, Facet, RejectedEdit, Triplet

MAX_LENGTH = 10_000


def validate(edit: Edit, forest: Forest, knowledge: Knowledge, *, strict: bool = False) -> Edit | RejectedEdit:
    """The edit with the evidence that holds, or why none does.

    Args:
        strict: the edit is in free words, of which the reader may not know what facet they speak of. Unless it is
            mechanics, it then needs a step up to which nothing of its subject was changed. (What is seen in a thing
            that was opened may be recorded of what is in it: seeing is no change.)
    """
    triplet = edit.triplet
    for part, text in (("subject", triplet.subject), ("predicate", triplet.predicate), ("object", triplet.object)):
        if not text.strip():
            return RejectedEdit(edit=edit, why=f"the {part} is empty")
        if len(text) > MAX_LENGTH:
            return RejectedEdit(edit=edit, why=f"the {part} is longer than {MAX_LENGTH} characters")
    if not edit.evidence:
        return RejectedEdit(edit=edit, why="no step is given as evidence")
    if edit.op == "remove" and knowledge.key(triplet) not in knowledge.facts:
        return RejectedEdit(edit=edit, why="there is no such live fact to remove")
    if edit.kind == "person":
        return RejectedEdit(edit=edit, why="only a person's own corrections are of kind 'person'")
    if word := knowledge.word_against(edit):
        return RejectedEdit(edit=edit, why=word)
    if edit.kind == "inferred":
        if edit.rule not in forest.reader.rules:
            return RejectedEdit(edit=edit, why=f"the environment declares no inference rule {edit.rule!r}")
        missing = [number for number in edit.evidence if not 0 <= number <= forest.last_step]
        return RejectedEdit(edit=edit, why=f"there is no step {missing[0]}") if missing else edit
    facet = forest.reader.facet(triplet)
    holding = []
    for number in edit.evidence:
        node = forest.node_of_step(number)
        if node is None:
            return RejectedEdit(edit=edit, why=f"there is no step {number}")
        if facet is not None:
            holds = not _changed(facet, node)
        else:
            holds = not strict or edit.kind == "mechanics" or not _touched(triplet, node)
        if holds:
            holding.append(number)
    if not holding:
        what = f"the {facet.aspect} of {facet.entity!r}" if facet else f"something of {triplet.subject!r}"
        return RejectedEdit(edit=edit, why=f"the path had already changed {what}: it may be another at the start")
    return edit.model_copy(update={"evidence": tuple(holding)})


def _changed(facet: Facet, node: Node) -> bool:
    """Had the path up to that node (included) changed the facet?"""
    return facet.aspect in node.changed.aspects(facet.entity)


def _touched(triplet: Triplet, node: Node) -> bool:
    """Had the path up to that node (included) changed anything of the triplet's subject but how it looks?"""
    return bool(node.changed.aspects(triplet.subject) - {"look"})
