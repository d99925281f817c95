"""How people name a fact: by its id, a part of it, or its text."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence

from autocontext.errors import UnknownFact
from autocontext.types import Fact, normalise

_FULL = re.compile(r"[0-9a-f]{32}-[0-9a-f]{16}")


def is_full_id(reference: str) -> bool:
    """Is it the whole id of a fact? Then only its subject's facts need to be looked at."""
    return _FULL.fullmatch(reference) is not None


def pick(facts: Sequence[Fact], reference: str, instance_id: str) -> Fact:
    """The one fact that a reference names.

    Raises:
        UnknownFact: nothing, or more than one, answers to it; the message names the nearest.
    """
    texts = {fact.id: f"{fact.subject} {fact.predicate} {fact.object}" for fact in facts}
    wanted = normalise(reference)
    tests: tuple[Callable[[Fact], bool], ...] = (
        lambda fact: fact.id == reference,
        lambda fact: texts[fact.id] == reference,
        lambda fact: normalise(texts[fact.id]) == wanted,
        lambda fact: fact.id.startswith(reference) or fact.id.endswith(reference),
    )
    for test in tests if wanted else ():
        found = [fact for fact in facts if test(fact)]
        if len(found) == 1:
            return found[0]
        if found:
            several = "; ".join(f"{fact.id} ({texts[fact.id]})" for fact in found[:3])
            raise UnknownFact(f"'{reference}' names {len(found)} facts of '{instance_id}': {several}; give a full id.")
    near = set(difflib.get_close_matches(wanted, [normalise(text) for text in texts.values()], n=3, cutoff=0.4))
    shown = [f"{fact.id} ({texts[fact.id]})" for fact in facts if normalise(texts[fact.id]) in near][:3]
    nearest = f"nearest: {'; '.join(shown)}" if shown else "nothing is near it"
    raise UnknownFact(f"no fact of '{instance_id}' answers to '{reference[:200]}' ({nearest}).")
