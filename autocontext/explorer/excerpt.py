"""The part of the graph that a prompt shows: facts that touch something, within a budget."""

from __future__ import annotations

from collections.abc import Iterable

from autocontext.explorer.knowledge import Knowledge, Known
from autocontext.types import normalise

CHARACTERS_PER_TOKEN = 3
"""A cautious estimate: English in common tokenizers has about four."""


def facts_touching(knowledge: Knowledge, texts: Iterable[str], *, max_tokens: int) -> tuple[list[Known], int]:
    """Live facts of which a text names the subject or the object; newest first where not all fit, then in their own
    order. Also how many were left out.

    Args:
        texts: names or whole observations.
    """
    named = " ".join(normalise(text) for text in texts)
    found = [
        known for known in knowledge.facts.values() if any(normalise(name) in named for name in known.triplet.entities)
    ]
    return _within(found, max_tokens)


def newest_facts(knowledge: Knowledge, *, max_tokens: int) -> tuple[list[Known], int]:
    """Live facts, the newest if not all fit, in their own order; and how many were left out."""
    return _within(list(knowledge.facts.values()), max_tokens)


def _within(found: list[Known], max_tokens: int) -> tuple[list[Known], int]:
    room = max_tokens * CHARACTERS_PER_TOKEN
    kept: list[Known] = []
    for known in sorted(found, key=lambda known: (-max(known.evidence, default=0), *_order(known))):
        triplet = known.triplet
        room -= len(triplet.subject) + len(triplet.predicate) + len(triplet.object) + 8
        if room < 0:
            break
        kept.append(known)
    kept.sort(key=_order)
    return kept, len(found) - len(kept)


def _order(known: Known) -> tuple[str, str, str]:
    """By what they say and not by when they were met: a run that goes on has read them in another order."""
    return normalise(known.triplet.subject), known.triplet.predicate, known.triplet.object
