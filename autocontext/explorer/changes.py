"""What a path has changed of the start: a set of facets that shares its beginnings, as paths do.

A path of 100,000 steps may change 100,000 facets; a set of its own for every step would be out of the question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from autocontext.types import Facet, normalise


class Changes(Set[Facet]):
    """An immutable set, in the order in which things were changed. What first goes on from it uses the same memory."""

    __slots__ = ("_aspects", "_at", "_code", "_end", "_facets")

    def __init__(self, facets: Iterable[Facet] = ()) -> None:
        """A set of these facets."""
        self._facets: list[Facet] = []  # this and the next two are only ever added to
        self._at: dict[Facet, int] = {}
        self._aspects: dict[str, dict[str, int]] = {}
        self._end = 0
        self._code = 0
        self._append(facets)

    def and_then(self, facets: Iterable[Facet]) -> Changes:
        """What is changed when these are changed too; the same object if all of them were before."""
        new = [facet for facet in facets if facet not in self]
        if not new:
            return self
        if self._end < len(self._facets):  # another path goes on from here already
            return Changes((*self, *new))
        more = Changes.__new__(Changes)
        more._facets, more._at, more._aspects = self._facets, self._at, self._aspects
        more._end, more._code = self._end, self._code
        more._append(new)
        return more

    def aspects(self, entity: str) -> set[str]:
        """What of an entity is changed."""
        found = self._aspects.get(normalise(entity), {})
        return {aspect for aspect, at in found.items() if at < self._end}

    def __contains__(self, facet: object) -> bool:
        return self._at.get(facet, self._end) < self._end  # type: ignore[call-overload, no-any-return]

    def __iter__(self) -> Iterator[Facet]:
        return (self._facets[at] for at in range(self._end))

    def __len__(self) -> int:
        return self._end

    def __hash__(self) -> int:
        return self._code

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Changes) and self._code != other._code:
            return False
        return Set.__eq__(self, other)

    def __repr__(self) -> str:
        return f"Changes({list(self)!r})"

    def _append(self, facets: Iterable[Facet]) -> None:
        for facet in sorted(facets, key=lambda facet: (facet.entity, facet.aspect)):
            if facet in self._at:
                continue
            self._at[facet] = self._end
            self._aspects.setdefault(normalise(facet.entity), {}).setdefault(facet.aspect, self._end)
            self._facets.append(facet)
            self._end += 1
            self._code ^= hash(facet)
