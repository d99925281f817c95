"""Where exits must lead, by two rules of TextWorld's maps. Everything here is of kind `inferred`.

`way_back`: who came through an exit can go back, if the room on the other side has an exit facing it.
`grid`: rooms lie on a grid, so an exit towards an occupied cell leads to the room there, if that room has an exit
facing it. A map with two rooms on one cell is no grid, and nothing is said of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autocontext.environments.base import shows
from autocontext.environments.textworld.phrases import DIRECTIONS, OFFSETS
from autocontext.types import Edit, Triplet

RULES = ("way_back", "grid")

Steps = tuple[int, ...]
Leads = dict[tuple[str, str], tuple[str, Steps]]
"""(room, direction) -> (room behind the exit, steps that show it)."""
Faces = dict[tuple[str, str], Steps]
"""(room, direction) of the exits seen -> steps that show them."""
Cells = dict[str, tuple[tuple[int, int], Steps]]
"""Room -> its cell on the grid, and the steps that place it there."""


def infer_exits(known: Sequence[tuple[Triplet, Sequence[int]]], rules: frozenset[str]) -> list[Edit]:
    """What the named rules say beyond the proven facts, with the premise steps as evidence."""
    leads: Leads = {}
    faces: Faces = {}
    for triplet, evidence in known:
        words = triplet.predicate.split()
        if triplet.predicate == "has exit":
            faces[triplet.subject, triplet.object] = tuple(evidence)
        elif len(words) == 3 and words[0] == "leads" and words[2] == "to":
            leads[triplet.subject, words[1]] = (triplet.object, tuple(evidence))
    edits = []
    if "way_back" in rules:
        for (room, where), (other, proof) in list(leads.items()):
            back = DIRECTIONS[where]
            if (other, back) in faces and (other, back) not in leads:
                edits.append(shows(other, f"leads {back} to", room, "inferred", *proof[:1], rule="way_back"))
                leads[other, back] = (room, proof)
    if "grid" in rules:
        edits += [edit for component in _grids(leads) for edit in _neighbours(component, leads, faces)]
    return edits


def _neighbours(component: Cells, leads: Leads, faces: Faces) -> Iterator[Edit]:
    """Exits of placed rooms towards cells where a room with a facing exit lies."""
    rooms = {cell: room for room, (cell, _) in component.items()}
    if len(rooms) < len(component):
        return  # two rooms on one cell: this map is no grid
    for room, ((x, y), premise) in component.items():
        for where, (dx, dy) in OFFSETS.items():
            other = rooms.get((x + dx, y + dy))
            back = DIRECTIONS[where]
            if other is None or (room, where) in leads or (room, where) not in faces or (other, back) not in faces:
                continue
            proof = {*premise, *component[other][1], faces[room, where][0], faces[other, back][0]}
            yield shows(room, f"leads {where} to", other, "inferred", *sorted(proof), rule="grid")


def _grids(leads: Leads) -> list[Cells]:
    """Connected sets of rooms, each laid out from its first room at (0, 0)."""
    near: dict[str, list[tuple[str, int, int, Steps]]] = {}
    for (room, where), (other, proof) in leads.items():
        dx, dy = OFFSETS[where]
        near.setdefault(room, []).append((other, dx, dy, proof))
        near.setdefault(other, []).append((room, -dx, -dy, proof))
    found: list[Cells] = []
    placed: set[str] = set()
    for start in near:
        if start in placed:
            continue
        component: Cells = {start: ((0, 0), ())}
        queue = [start]
        for room in queue:
            (x, y), premise = component[room]
            for other, dx, dy, proof in near[room]:
                if other not in component:
                    component[other] = ((x + dx, y + dy), (*premise, *proof[:1]))
                    queue.append(other)
        placed |= set(component)
        found.append(component)
    return found
