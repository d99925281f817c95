"""What a proposed path has to keep to before it is carried out, whoever proposes it."""

from __future__ import annotations

from collections.abc import Sequence

from autocontext.explorer.forest import Forest
from autocontext.types import Path, RejectedPath, Todo

LONGEST_ACTION = 500
SHOWN = 120
"""Characters of a key result in a reason."""


def check_proposals(
    proposals: Sequence[Path], forest: Forest, *, room: int, strategies: Sequence[str]
) -> tuple[tuple[Path, ...], tuple[RejectedPath, ...]]:
    """Those that can be carried out, without the part of each that is explored already; and the others, with reasons.

    A path starts at an existing node that is open, adds at least one new node, repeats nothing, and fits into the
    budget (method, section 4.1).

    Args:
        room: steps that are left for all of them together.
        strategies: those that are switched on.
    """
    accepted: list[Path] = []
    rejected: list[RejectedPath] = []
    begun: set[tuple[str, str]] = set()
    for path in proposals:
        found = _check(path, forest, room, strategies)
        if isinstance(found, Path) and (found.start, found.actions[0]) in begun:
            found = "another path of the same plan begins with the same action at the same place"
        if isinstance(found, str):
            rejected.append(RejectedPath(path=path, why=found))
            continue
        begun.add((found.start, found.actions[0]))
        room -= len(found.actions)
        accepted.append(found)
    return tuple(accepted), tuple(rejected)


def _check(path: Path, forest: Forest, room: int, strategies: Sequence[str]) -> Path | str:
    """The path from its deepest explored node on, or what is wrong with it."""
    if path.strategy not in strategies:
        return f"the strategy '{path.strategy}' is switched off; there are: {', '.join(strategies)}"
    if path.start not in forest.nodes:
        return f"there is no state or node '{path.start}'; start at one that the forest shows"
    actions = tuple(action.strip() for action in path.actions)
    for action in actions:
        if not action:
            return "an action is empty"
        if len(action) > LONGEST_ACTION:
            return f"an action has {len(action)} characters, more than {LONGEST_ACTION}"
        if not action.isprintable():
            return "an action holds a line break or another control character; one action is one line"
    if not actions:
        return "it has no action"
    start, new = forest.deepest(path.start, actions)
    node = forest.nodes[start]
    if not node.open:
        return f"{_named(start, node.todo)} is where it ends: {_ending(node.todo)}; nothing can be done from there"
    if not new:
        done = f"{_named(start, node.todo)} did that already: {_result(node.todo)}"
        return f"nothing in it is new: {done}; start there with an action that was not done"
    if len(new) > room:
        return f"it needs {len(new)} steps, {max(0, room)} are left"
    return path.model_copy(update={"start": forest.root_of(start), "actions": new})


def _named(node_id: str, todo: Todo | None) -> str:
    return f"{node_id} ({todo.text})" if todo else node_id


def _result(todo: Todo | None) -> str:
    text = todo.key_result if todo else ""
    return text if len(text) <= SHOWN else text[: SHOWN - 2] + " …"


def _ending(todo: Todo | None) -> str:
    if todo is None or todo.outcome == "diverged":
        return "it replays differently"
    return "the episode ended" if todo.outcome == "terminated" else _result(todo) or "it was refused"
