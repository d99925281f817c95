"""Promotion without a model: a todo that first reached a place, and found something there, becomes a state."""

from __future__ import annotations

from collections.abc import Sequence

from autocontext.explorer.forest import Forest
from autocontext.explorer.steps import Reading
from autocontext.types import State, Todo


class PlacePromoter:
    """Keeps the trees shallow: exploring goes on from each new place as from a root."""

    def choose(self, todos: Sequence[Todo], reading: Reading, forest: Forest) -> list[State]:
        """States for the todos that reached a place in which no state stands yet."""
        proven = {number for edit in reading.edits if edit.op == "add" for number in edit.evidence}
        promoted = []
        for todo in todos:
            node = forest.nodes[todo.id]
            taken = {forest.nodes[state_id].place for state_id in forest.states}
            if not node.place or node.place in taken or not node.open or node.step.number not in proven:
                continue
            carried = " ".join((node.step.observation.inventory or "").split())
            summary = f"in {node.place}" + (f"; {carried}" if carried else "")
            state = State(id=forest.next_state_id(), promoted_from=todo.id, summary=summary, iteration=todo.iteration)
            forest.add_state(state)
            promoted.append(state)
        return promoted
