"""What could be done next: every action that is possible somewhere and has not been tried at that place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from autocontext.explorer.forest import Forest, Node
from autocontext.explorer.knowledge import Knowledge
from autocontext.types import Step

Candidates = Callable[[Sequence[Step]], Sequence[str]]
"""Actions possible at the end of a path."""


class Frontier:
    """(place, action) pairs not yet tried, each with the node from which to try it.

    Each pair is tried once, globally: restoring is free, so what matters is not where the explorer stands. Of the
    nodes that offer a pair the one with the shortest path is taken: it has changed least of the start.
    """

    def __init__(self, candidates: Candidates) -> None:
        self._candidates = candidates
        self._offers: dict[tuple[str, str], Node] = {}
        self._seen: set[str] = set()

    def open(self, forest: Forest, knowledge: Knowledge) -> Iterator[tuple[str, Node]]:
        """(action, node) of all that is left to try, without what the facts already answer."""
        for node in forest.nodes.values():
            if (node.id not in self._seen and node.id not in forest.states) or (
                node.id == "S0" and "S0" not in self._seen
            ):
                self._seen.add(node.id)
                if node.open:
                    self._offer(node)
        for key in [key for key in self._offers if key in forest.tried]:
            del self._offers[key]
        for (place, action), node in self._offers.items():
            if not node.open:
                continue
            question = forest.reader.implied_by(action, place)
            if question is None or not knowledge.says(*question):
                yield action, node

    def _offer(self, node: Node) -> None:
        for action in self._candidates(node.path):
            held = self._offers.get((node.place, action))
            if held is None or not held.open or node.depth < held.depth:
                self._offers[node.place, action] = node
