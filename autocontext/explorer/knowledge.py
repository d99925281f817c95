"""The live facts while exploring: what the planner, the reader and the validator ask about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from autocontext.types import Edit, Fact, FactKind, Naming, Triplet, normalise

Key = tuple[str, str, str, bool]


@dataclass
class Known:
    """One live fact: how it is known, and by which steps."""

    triplet: Triplet
    kind: FactKind
    evidence: tuple[int, ...]


@dataclass
class Knowledge:
    """Live facts by identity, and the names of the entities in them."""

    naming: Naming = "folded"
    facts: dict[Key, Known] = field(default_factory=dict)
    entities: set[str] = field(default_factory=set)
    said: dict[tuple[str, str], str] = field(default_factory=dict)
    """(subject, predicate) of the live facts, normalised -> one object that was said."""

    @classmethod
    def load(cls, facts: Iterable[Fact], naming: Naming) -> Knowledge:
        """From stored facts; retired ones count only for the names they brought."""
        knowledge = cls(naming)
        for fact in facts:
            if fact.live:
                edit = Edit(triplet=fact.triplet, kind=fact.kind, evidence=fact.evidence)
                knowledge.apply(edit)
            else:
                knowledge.entities |= knowledge.names(fact.triplet)
        return knowledge

    def key(self, triplet: Triplet) -> Key:
        """Identity of a triplet under the instance's naming."""
        target = triplet.object if triplet.object_is_value else normalise(triplet.object, self.naming)
        subject = normalise(triplet.subject, self.naming)
        return subject, normalise(triplet.predicate), target, triplet.object_is_value

    def names(self, triplet: Triplet) -> set[str]:
        """Normalised names of the entities in a triplet; a value is none."""
        return {normalise(name, self.naming) for name in triplet.entities}

    def apply(self, edit: Edit) -> set[str]:
        """Add, add evidence or remove; returns the names that are new by it."""
        key = self.key(edit.triplet)
        if edit.op == "remove":
            self.facts.pop(key, None)
            self.said = {found[:2]: known.triplet.object for found, known in self.facts.items()}
            return set()
        old = self.facts.get(key)
        kind, evidence = edit.kind, set(edit.evidence)
        if old is not None:
            kind = edit.kind if old.kind == "inferred" else old.kind
            evidence |= set(old.evidence)
        self.facts[key] = Known(old.triplet if old else edit.triplet, kind, tuple(sorted(evidence)))
        self.said[key[:2]] = edit.triplet.object
        new = self.names(edit.triplet) - self.entities
        self.entities |= new
        return new

    def says(self, subject: str, predicate: str) -> str | None:
        """The object of a live fact of this subject and predicate, if there is one."""
        return self.said.get((normalise(subject, self.naming), normalise(predicate)))

    def triplets(self) -> list[Triplet]:
        return [known.triplet for known in self.facts.values()]

    def proven(self) -> list[tuple[Triplet, Sequence[int]]]:
        """Live facts that are not themselves inferred, with their evidence."""
        return [(known.triplet, known.evidence) for known in self.facts.values() if known.kind != "inferred"]
