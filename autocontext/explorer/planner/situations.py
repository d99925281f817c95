"""Where a planner may start: for each place and each change of it, what is seen, carried and possible there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autocontext.explorer.excerpt import CHARACTERS_PER_TOKEN
from autocontext.explorer.forest import Forest, Node
from autocontext.types import Step

LONGEST_TEXT = 700
MOST_POSSIBLE = 40
MOST_TRIED = 60


def situations(forest: Forest, *, max_tokens: int) -> tuple[list[dict[str, Any]], int]:
    """One entry for each (place, what the path changed), by the shortest way there; the newest if not all fit. Also
    how many were left out.

    Entries have `node`, `place`, `seen` (the place as it looked on arrival), `last` (the last reply, if that is
    another), `carried`, `changed`, `tried` (actions done there in this situation), and, where the environment lists
    actions, `possible`: those not tried there yet.
    """
    nearest: dict[tuple[str, Any], Node] = {}
    for node in forest.nodes.values():
        if not node.open or (node.todo is None and node.parent is not None):  # a promoted todo stands for its state
            continue
        held = nearest.get((node.place, node.changed))
        if held is None or node.depth < held.depth:
            nearest[node.place, node.changed] = node
    tried: dict[tuple[str, Any], list[str]] = {}
    for place, action, changed in forest.tried:
        tried.setdefault((place, changed), []).append(action)
    entries = [_entry(node, forest, tried.get(where, [])) for where, node in nearest.items()]
    room = max_tokens * CHARACTERS_PER_TOKEN
    kept: list[dict[str, Any]] = []
    for entry in reversed(entries):
        room -= sum(len(str(value)) + 12 for value in entry.values())
        if room < 0:
            break
        kept.insert(0, entry)
    return kept, len(entries) - len(kept)


def arrival(path: Sequence[Step], forest: Forest) -> Step:
    """The step of a path by which it came to the place where it ends."""
    here = forest.reader.place(path)
    last = len(path)
    while last > 1 and forest.reader.place(path[: last - 1]) == here:
        last -= 1
    return path[last - 1]


def _entry(node: Node, forest: Forest, tried: Sequence[str]) -> dict[str, Any]:
    came = arrival(node.path, forest)
    seen, last = _cut(came.observation.text), _cut(node.step.observation.text)
    entry: dict[str, Any] = {"node": forest.root_of(node.id), "place": node.place, "seen": seen}
    if node.step.number != came.number:
        entry["last"] = last
    if node.step.observation.inventory:
        entry["carried"] = _cut(node.step.observation.inventory)
    if node.changed:
        entry["changed"] = sorted({facet.entity for facet in node.changed})
    if tried:
        entry["tried"] = list(tried[-MOST_TRIED:])
    listed = node.step.observation.admissible
    if listed is not None:
        untried = [action for action in listed if (node.place, action, node.changed) not in forest.tried]
        entry["possible"] = untried[:MOST_POSSIBLE]
    return entry


def known_places(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """The texts of some entries: what a planner that reads them may have in view."""
    return [str(entry[part]) for entry in entries for part in ("place", "seen") if part in entry]


def _cut(text: str) -> str:
    text = text.strip()
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 2] + " …"
