"""The reader for environments that have none: place, action, outcome, refusal.

It knows no grammar. A place is a heading ("Cellar" on a line of its own, or "You are in the cellar"); things are what
the listed actions name; what an action did at a place is mechanics. It assumes the least about change: an action that
succeeded may have moved what it names, and may have changed how the place looks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from autocontext.environments.base import shows
from autocontext.environments.trail import follow_path
from autocontext.types import Edit, Facet, Observation, Step, Triplet

LENGTH = 200
"""An outcome longer than this is cut."""
_PREPOSITIONS = re.compile(r"\s+(?:in|on|into|onto|from|with|to|at|under|using)\s+")
_DIRECTIONS = frozenset("north south east west up down left right back n s e w u d in out".split())
_IN_PLACE = re.compile(
    r"^you(?:'re| are)(?: now| standing| back)? (?:in|at|on) (?:the |a |an )?([^.,;:!\n]{1,60})", re.I
)
_REFUSAL = re.compile(
    r"\b(?:can(?:no|')t|could(?: no|n')t|(?:do|does|did)(?: no|n')t (?:know|understand|work|see|do anything)"
    r"|not (?:possible|allowed|found)|nothing happens|(?:does|did|do) nothing|impossible|invalid|unknown|unable"
    r"|no such|there is no|is locked|denied|refused|failed|error)\b",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^[-=#*\s\[]*([^.!?;:\n]{1,60}?)[-=#*\s\]]*$")


class GenericReader:
    """Reads what any text environment shows, without inference."""

    rules: tuple[str, ...] = ()

    def place(self, path: Sequence[Step]) -> str:
        """The last heading on the path; before any, the first sentence of the reset."""
        if found := follow_path(path, "generic.place", "", _heading_after):
            return found
        first = path[0].observation.text.strip() if path else ""
        return re.split(r"[.!?\n]", first, maxsplit=1)[0].strip()[:60]

    def read(self, path: Sequence[Step], known: Iterable[Triplet]) -> list[Edit]:
        """Where the path is, what is there, what the last action did or why it was refused."""
        step = path[-1]
        here = self.place(path)
        return [*self._place(step, here), *self._outcome(path, step, here)] if here else []

    def infer(self, known: Sequence[tuple[Triplet, Sequence[int]]], rules: frozenset[str]) -> list[Edit]:
        """Nothing: without a grammar nothing follows."""
        return []

    def refused(self, observation: Observation) -> bool:
        """A short reply in one of the phrases by which programs commonly refuse."""
        return len(observation.text) <= LENGTH and bool(_REFUSAL.search(observation.text))

    def changed_facets(self, path: Sequence[Step]) -> frozenset[Facet]:
        """Where the named things are, and how the place looks if one is still there."""
        step = path[-1]
        if step.refused or len(path) < 2:
            return frozenset()
        changed = {Facet(entity=name, aspect="location") for name in objects(step.action)}
        before = self.place(path[:-1])
        if before == self.place(path):
            changed.add(Facet(entity=before, aspect="look"))
        return frozenset(changed)

    def facet(self, triplet: Triplet) -> Facet | None:
        """Location of a thing and look of a place can change; what an action did there cannot."""
        if triplet.predicate == "at":
            return Facet(entity=triplet.subject, aspect="location")
        if triplet.predicate == "looks like":
            return Facet(entity=triplet.subject, aspect="look")
        return None

    def action_class(self, action: str) -> str:
        """First word, and the last word of the first object."""
        words = action.split()
        named = objects(action)
        if len(words) < 2 or not named or words[-1] in _DIRECTIONS:
            return words[0] if words else ""
        return f"{words[0]} {named[0].split()[-1]}"

    def implied_by(self, action: str, place: str) -> tuple[str, str] | None:
        """Nothing is known beforehand."""
        return None

    def _place(self, step: Step, here: str) -> Iterator[Edit]:
        text = " ".join(step.observation.text.split())
        if heading(step.observation.text) and not step.refused and text.casefold() != here.casefold():
            yield shows(here, "looks like", _cut(text), "place", step.number, value=True)
        carried = (step.observation.inventory or "").casefold()
        for action in step.observation.admissible or ():
            for name in objects(action):
                if name.casefold() not in carried and name.casefold() != here.casefold():
                    yield shows(name, "at", here, "place", step.number)

    def _outcome(self, path: Sequence[Step], step: Step, here: str) -> Iterator[Edit]:
        if len(path) < 2:
            yield shows(here, "is", "the start", "place", step.number, value=True)
            return
        before = self.place(path[:-1])
        if not before:
            return
        text = _cut(" ".join(step.observation.text.split()))
        if step.refused:
            yield shows(
                before, f"refuses: {step.action}", text or "no reason given", "mechanics", step.number, value=True
            )
        elif here != before:
            yield shows(before, f"{step.action} leads to", here, "mechanics", step.number)
        elif text:
            yield shows(before, f"{step.action} gives", text, "mechanics", step.number, value=True)


def _heading_after(before: str, path: Sequence[Step]) -> str:
    """The last heading up to the end of the path, if `before` was the one until then."""
    return before if path[-1].refused else heading(path[-1].observation.text) or before


def heading(text: str) -> str | None:
    """The place that a text names at its head, or None."""
    lines = text.strip().splitlines()
    if not lines:
        return None
    if found := _IN_PLACE.match(lines[0].strip()):
        return found.group(1).strip()
    if len(lines) > 1 and (found := _HEADING.match(lines[0].strip())):
        return found.group(1).strip() or None
    return None


def objects(action: str) -> list[str]:
    """What an action names beyond its verb: "put red ball in box" -> red ball, box. Directions are no things."""
    _, _, rest = action.strip().partition(" ")
    parts = (re.sub(r"^(?:the|a|an) ", "", part.strip()) for part in _PREPOSITIONS.split(rest))
    return [part for part in parts if part and part.casefold() not in _DIRECTIONS]


def _cut(text: str) -> str:
    return text if len(text) <= LENGTH else text[: LENGTH - 2].rstrip() + " …"
