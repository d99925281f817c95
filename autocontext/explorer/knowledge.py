"""The live facts while exploring: what the planner, the reader and the validator ask about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from autocontext.types import Edit, Fact, FactKind, Naming, Triplet, normalise

Key = tuple[str, str, str, bool]


@dataclass
class Known:
    """One fact: how it is known, and by which steps."""

    triplet: Triplet
    kind: FactKind
    evidence: tuple[int, ...]


@dataclass(frozen=True)
class _Triplets:
    facts: Mapping[Key, Known]

    def __iter__(self) -> Iterator[Triplet]:
        return (known.triplet for known in self.facts.values())


@dataclass
class Knowledge:
    """Live facts by identity, and the names of the entities in them."""

    naming: Naming = "folded"
    facts: dict[Key, Known] = field(default_factory=dict)
    entities: set[str] = field(default_factory=set)
    said: dict[tuple[str, str], str] = field(default_factory=dict)
    """(subject, predicate) of the live facts, normalised -> one object that was said."""
    retired: dict[Key, Known] = field(default_factory=dict)
    """Facts that were live: one that comes back has its old evidence too, and those that a person retired stay so."""
    _shown: set[str] = field(default_factory=set)
    """Entities that a step has shown; a person may name others."""
    _spelled: dict[str, str] = field(default_factory=dict)
    """Entities, normalised -> as they were written first: so the store keeps them."""
    _predicates: dict[Key, str] = field(default_factory=dict)
    """The same for the predicate of each fact that there is or was."""

    @classmethod
    def load(cls, facts: Iterable[Fact], naming: Naming) -> Knowledge:
        """From stored facts; retired ones count for the names they brought, and in case they come back."""
        knowledge = cls(naming)
        for fact in facts:
            knowledge.spelled(fact.triplet)
            if fact.live:
                edit = Edit(triplet=fact.triplet, kind=fact.kind, evidence=fact.evidence)
                knowledge.apply(edit)
                continue
            names = knowledge.names(fact.triplet)
            knowledge.entities |= names
            if fact.evidence:
                knowledge._shown |= names
            knowledge.retired[knowledge.key(fact.triplet)] = Known(fact.triplet, fact.kind, fact.evidence)
        return knowledge

    def key(self, triplet: Triplet) -> Key:
        """Identity of a triplet under the instance's naming."""
        target = triplet.object if triplet.object_is_value else normalise(triplet.object, self.naming)
        subject = normalise(triplet.subject, self.naming)
        return subject, normalise(triplet.predicate), target, triplet.object_is_value

    def names(self, triplet: Triplet) -> set[str]:
        """Normalised names of the entities in a triplet; a value is none."""
        return {normalise(name, self.naming) for name in triplet.entities}

    def spelled(self, triplet: Triplet) -> Triplet:
        """The same as it was written first. Prompts show names, so they have to be those that a run which goes on
        finds in the store."""
        known = self._spelled

        def first(name: str) -> str:
            return known.setdefault(normalise(name, self.naming), name)

        fields = {
            "subject": first(triplet.subject),
            "predicate": self._predicates.setdefault(self.key(triplet), triplet.predicate),
            "object": triplet.object if triplet.object_is_value else first(triplet.object),
        }
        return triplet.model_copy(update=fields)

    def word_against(self, edit: Edit) -> str:
        """What a person said that forbids an edit of another kind; '': nothing. The store keeps the same rule."""
        known = (self.retired if edit.op == "add" else self.facts).get(self.key(edit.triplet))
        if known is None or known.kind != "person":
            return ""
        return f"a person {'retired' if edit.op == 'add' else 'asserted'} this fact"

    def apply(self, edit: Edit) -> set[str]:
        """Add, add evidence or remove; returns the names that no step had shown before.

        An edit that a person's word forbids changes nothing.
        """
        key = self.key(edit.triplet)
        personal = edit.kind == "person"
        if not personal and self.word_against(edit):
            return set()
        if edit.op == "remove":
            if (gone := self.facts.pop(key, None)) is not None:
                self.retired[key] = Known(gone.triplet, "person" if personal else gone.kind, gone.evidence)
            self.said = {found[:2]: known.triplet.object for found, known in self.facts.items()}
            return set()
        live, past = self.facts.get(key), self.retired.pop(key, None)
        old = live or past
        kind = edit.kind if live is None or personal or live.kind == "inferred" else live.kind
        evidence = {*edit.evidence, *(old.evidence if old else ())}
        self.facts[key] = Known(old.triplet if old else edit.triplet, kind, tuple(sorted(evidence)))
        self.said[key[:2]] = edit.triplet.object
        names = self.names(edit.triplet)
        self.entities |= names
        new = names - self._shown if evidence else set()
        self._shown |= new
        return new

    def says(self, subject: str, predicate: str) -> str | None:
        """The object of a live fact of this subject and predicate, if there is one."""
        return self.said.get((normalise(subject, self.naming), normalise(predicate)))

    def triplets(self) -> Iterable[Triplet]:
        """Those that are live while one looks: readers are given them with every step, and few look at them."""
        return _Triplets(self.facts)

    def proven(self) -> list[tuple[Triplet, Sequence[int]]]:
        """Live facts that steps show and that are not themselves inferred, with their evidence."""
        return [
            (known.triplet, known.evidence)
            for known in self.facts.values()
            if known.kind != "inferred" and known.evidence
        ]
