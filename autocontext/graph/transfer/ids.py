"""Ids of entities and facts under the name of the import; a file holds none, as they depend on it."""

from __future__ import annotations

from functools import lru_cache

from autocontext.types import Naming, entity_id, fact_id_between

_REMEMBERED = 2**15
_SHORT = 200
"""Characters. Longer names are not remembered: the memory is bounded."""


class Ids:
    """Of one instance. Names come again and again, so what was computed is remembered for a while."""

    def __init__(self, scope: str, naming: Naming) -> None:
        def compute(name: str, value: bool) -> str:
            return entity_id(scope, name, value=value, naming=naming)

        self._compute = compute
        self._short = lru_cache(_REMEMBERED)(compute)

    def entity(self, name: str, *, value: bool = False) -> str:
        """Of an entity or a value."""
        return self._short(name, value) if len(name) <= _SHORT else self._compute(name, value)

    def fact(self, subject: str, predicate: str, target: str, *, is_value: bool) -> str:
        """Of a fact, by the names in it."""
        return fact_id_between(self.entity(subject), predicate, self.entity(target, value=is_value))
