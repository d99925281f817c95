"""Made-up instances of any size for `store.py`: always the same, and shaped as explorations are.

An iteration has 10 todos of one step each and 50 facts; an entity is in about 9 facts, never in more than 20; a fifth
of the facts has a value (`open`, `12 rows`) as its object, and a tenth was retired later.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autocontext.graph.transfer.lines import VERSION, Fingerprint, line_of
from autocontext.types import Edit, Iteration, Observation, Revealed, State, Step, Todo, Triplet

FACTS, TODOS = 50, 10
"""Of one iteration."""
PER_SUBJECT = 5
VALUES = 100
PREDICATES = ("in", "leads east to", "opened by", "next to", "is")
LOOK = "You are in the {place}. It is an ordinary room with a low ceiling. You can see a table, a chest and a door."


def iteration(n: int, facts: int = FACTS, todos: int = TODOS) -> Iteration:
    """The iteration of that number: its facts are new, half of their objects known from the one before."""
    first = (n - 1) * todos + 1
    tried = tuple(
        Todo(id=f"a{number}", parent="S0", text=f"go to room {number}", key_result=f"You are in room {number}.",
             strategy="systematic", iteration=n, steps=(_step(number),))
        for number in range(first, first + todos)
    )  # fmt: skip
    edits = tuple(
        Edit(
            triplet=Triplet(
                subject=f"thing {n} {index // PER_SUBJECT}",
                predicate=PREDICATES[index % PER_SUBJECT],
                object=f"value {index % 7}"
                if index % PER_SUBJECT == 4
                else f"thing {n - index % 2} {(index * 7 + 3) % 10}",
                object_is_value=index % PER_SUBJECT == 4,
            ),
            evidence=(first + index % todos,),
        )
        for index in range(facts)
    )
    return Iteration(n=n, todos=tried, edits=edits, steps_used=n * todos, templates={"go to {x}": Revealed(tried=n)})


def start() -> State:
    """The first state."""
    return State(id="S0", summary="the start", step=_step(0))


def _step(number: int) -> Step:
    seen = Observation(
        text=LOOK.format(place=f"room {number}"),
        inventory="You are carrying nothing.",
        admissible=("look", "go east", "go west", "open chest", "open door"),
    )
    return Step(number=number, action=f"go to room {number}" if number else "", observation=seen)


def entity(i: int) -> str:
    """The name of an entity of a made-up file."""
    return f"thing {i:07d}"


def write(path: Path, facts: int) -> None:
    """An export with so many facts, as `autocontext export` would write it."""
    turns = max(1, facts // FACTS)
    header = {
        "autocontext_export": VERSION, "kind": "full", "id": "made-up", "environment": "made-up", "source": "made-up",
        "source_hash": f"{facts}", "naming": "folded", "mode": "action", "description": "", "status": "explored",
        "stopped_because": "steps", "stopped_why": "", "steps_used": turns * TODOS, "replayed": 0,
        "last_step": turns * TODOS, "applied_iteration": turns, "created_at": 1_700_000_000_000, "settings": {},
        "learned": {}, "closing_usage": {},
    }  # fmt: skip
    fingerprint = Fingerprint(header)
    with path.open("wb") as file:
        file.write(line_of(header))
        for row in rows(facts):
            line = line_of(row)
            fingerprint.add(line)
            file.write(line)
        file.write(line_of(fingerprint.end()))


def rows(facts: int) -> Iterator[dict[str, Any]]:
    """The rows of such a file."""
    turns, entities = max(1, facts // FACTS), max(1, facts // PER_SUBJECT)
    yield {"row": "state", "id": "S0", "promoted_from": None, "summary": "the start", "iteration": 0, "position": 0}
    for number in range(1, turns * TODOS + 1):
        yield {
            "row": "todo", "id": f"a{number}", "parent": "S0" if number <= TODOS else f"a{number - TODOS}",
            "text": f"go to room {number}", "kind": "action", "outcome": "done",
            "key_result": f"You are in room {number}.", "strategy": "systematic",
            "iteration": _turn(number), "position": (number - 1) % TODOS,
        }  # fmt: skip
    for number in range(turns * TODOS + 1):
        step = _step(number)
        yield {
            "row": "step", "number": number, "below": "todo" if number else "state",
            "parent": f"a{number}" if number else "S0", "iteration": _turn(number), "action": step.action,
            "observation": step.observation.text, "inventory": step.observation.inventory,
            "admissible": list(step.observation.admissible or ()), "terminated": False, "refused": False,
        }  # fmt: skip
    yield from ({"row": "entity", "name": entity(i), "value": False} for i in range(entities))
    yield from ({"row": "entity", "name": f"value {i}", "value": True} for i in range(min(VALUES, entities)))
    for i in range(entities):
        for k, predicate in enumerate(PREDICATES):
            is_value = k == PER_SUBJECT - 1
            turn = (i * PER_SUBJECT + k) * turns // (entities * PER_SUBJECT) + 1
            retired = [min(turn + 1 + i % 50, turns)] if i % 10 == k and turn < turns else []
            yield {
                "row": "fact", "subject": entity(i), "predicate": predicate, "object_is_value": is_value,
                "object": f"value {i % VALUES}" if is_value else entity((i * (2 * k + 3) + 7919 * k + 1) % entities),
                "kind": "property" if is_value else "place", "live": not retired, "added": [turn], "retired": retired,
                "evidence": [(turn - 1) * TODOS + 1 + i % TODOS],
                "retired_evidence": [(retired[0] - 1) * TODOS + 1] if retired else [],
            }  # fmt: skip
    yield {"row": "template", "class": "go to {x}", "tried": turns, "names": 1.5, "words": 7}
    for n in range(1, turns + 1):
        yield {
            "row": "iteration", "n": n, "steps_used": n * TODOS, "replayed": 0, "last_step": n * TODOS, "todos": TODOS,
            "promoted": 0, "episodes": 0, "added": FACTS, "retired": 0, "strategies": {"systematic": TODOS},
            "usage": {}, "rejected_paths": [], "rejected_edits": [], "failures": [], "unread": [], "idle": 0,
            "because": "", "facts": [], "digest": f"{n:032x}", "at": 1_700_000_000_000 + n,
        }  # fmt: skip


def _turn(number: int) -> int:
    """The iteration of a step."""
    return (number + TODOS - 1) // TODOS
