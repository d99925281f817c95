"""What could be done next: every action that is possible somewhere and has not been tried at that place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from autocontext.explorer.forest import Forest, Node, Situation
from autocontext.explorer.knowledge import Knowledge
from autocontext.types import Step

Candidates = Callable[[Sequence[Step]], Sequence[str]]
"""Actions possible at the end of a path."""


class Frontier:
    """(place, action) pairs that are still open, each with the node from which to try it.

    A pair is tried once, globally: restoring is free, so what matters is not where the explorer stands. One that was
    refused is open again wherever the path has changed something else meanwhile: what it lacked may be there now. Of
    the nodes that offer a pair in one situation the one with the shortest path is taken: it is closest to the start.
    """

    def __init__(self, candidates: Candidates) -> None:
        self._candidates = candidates
        self._offers: dict[tuple[str, str], dict[Situation, Node]] = {}
        self._seen: set[str] = set()

    def open(self, forest: Forest, knowledge: Knowledge) -> Iterator[tuple[str, Node]]:
        """(action, node) of all that is left to try, without what the facts already answer. (That a way leads to where
        nobody has been, which a log or a person may have told, is a reason to go there.)"""
        places = {node.place for node in forest.nodes.values()}
        for node in forest.nodes.values():
            promoted = node.todo is None and node.parent is not None  # offers nothing that its todo does not
            if node.id not in self._seen and not promoted:
                self._seen.add(node.id)
                if node.open:
                    self._offer(node)
        for pair in [pair for pair in self._offers if pair in forest.done]:
            del self._offers[pair]
        for (place, action), situations in self._offers.items():
            question = forest.reader.implied_by(action, place)
            if question is not None and knowledge.says(*question) in places:
                continue
            untried = [
                node
                for changed, node in situations.items()
                if node.open and (place, action, changed) not in forest.tried
            ]
            if untried:
                yield action, min(untried, key=lambda node: (node.depth, node.step.number))

    def carries(self, forest: Forest, knowledge: Knowledge) -> Iterator[tuple[str, Node, bool]]:
        """(move, node, promising) that would bring what a path has changed to where it has not been seen yet.

        Carrying a key to its door or food to a stove repeats moves that are done, or takes exits of which it is known
        where they lead; promising is where something was refused. Without this a precondition could only be met where
        it arises.
        """
        nearest: dict[tuple[str, Situation], Node] = {}
        for node in forest.nodes.values():
            if node.open and node.changed:
                held = nearest.get((node.place, node.changed))
                if held is None or node.depth < held.depth:
                    nearest[node.place, node.changed] = node
        wanting = {place for place, _ in forest.refused}
        for (place, changed), node in nearest.items():
            for action, there in self._moves(node, forest, knowledge).items():
                if (there, changed) not in nearest and (place, action, changed) not in forest.tried:
                    yield action, node, there in wanting

    def _moves(self, node: Node, forest: Forest, knowledge: Knowledge) -> dict[str, str]:
        """Possible actions that lead to another place, as tried or as the facts say."""
        tried = forest.moves.get(node.place, {})
        listed = node.step.observation.admissible
        if listed is None:
            return tried
        moves = {action: there for action, there in tried.items() if action in listed}
        for action in listed:
            question = forest.reader.implied_by(action, node.place)
            there = knowledge.says(*question) if question and action not in moves else None
            if there:
                moves[action] = there
        return moves

    def _offer(self, node: Node) -> None:
        for action in self._candidates(node.path):
            situations = self._offers.setdefault((node.place, action), {})
            held = situations.get(node.changed)
            if held is None or not held.open or node.depth < held.depth:
                situations[node.changed] = node
