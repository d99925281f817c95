"""An instance as rows that are equal if and only if two graphs are: without its name, times, and what it cost.

Ids that hold the instance's name are replaced by what they stand for. Steps replayed only to restore are a cost: a run
that was killed and resumed replays more of them and still makes the same graph.
"""

from __future__ import annotations

import json
from typing import Any

from autocontext.graph import facts as rules
from autocontext.graph import forest
from autocontext.graph.connection import Transaction
from autocontext.types import Fact, InstanceRecord

_COST = ("id", "scope", "at", "usage", "replayed", "digest")


def rows(transaction: Transaction, record: InstanceRecord) -> list[dict[str, Any]]:
    """All rows of an instance: the instance, its states, todos, steps, entities, facts, templates, iterations."""
    scope = record.id
    instance = record.model_dump(
        include={"environment", "source_hash", "naming", "mode", "stopped_because", "steps_used", "applied_iteration"}
    )
    facts = rules.facts_in_order(transaction.run("all_facts", scope=scope))
    names = {fact.id: [fact.subject, fact.predicate, fact.object, fact.object_is_value] for fact in facts}
    found = [{"row": "instance", **instance}]
    steps: list[dict[str, Any]] = []
    for row in transaction.run("states", scope=scope):
        found.append(
            {
                "row": "state",
                "id": forest.local_id(row["state"]["id"]),
                "promoted_from": forest.local_id(row["promoted_from"] or "") or None,
                "summary": row["state"]["summary"],
                "iteration": row["state"]["iteration"],
            }
        )
        if row["step"]:
            steps.append(_step(row["step"], forest.local_id(row["state"]["id"]), names))
    for row in transaction.run("todos", scope=scope):
        plain = {name: value for name, value in row["todo"].items() if name not in ("id", "scope", "position")}
        identifier, parent = forest.local_id(row["todo"]["id"]), forest.local_id(row["parent"])
        found.append({"row": "todo", "id": identifier, "parent": parent, **plain})
    for row in transaction.run("todo_steps", scope=scope):
        steps.append(_step(row["step"], forest.local_id(row["todo"]), names))
    found += sorted(steps, key=lambda step: int(step["number"]))
    entities = transaction.run("entities", scope=scope)
    found += [{"row": "entity", **row} for row in sorted(entities, key=lambda row: (row["value"], row["key"]))]
    found += [_fact(fact) for fact in facts]
    templates = transaction.run("templates", scope=scope)
    found += [{"row": "template", **row} for row in sorted(templates, key=lambda row: str(row["class"]))]
    found += [_iteration(row["iteration"]) for row in transaction.run("iterations", scope=scope)]
    return [dict(sorted(row.items())) for row in found]


def _step(stored: dict[str, Any], parent: str, names: dict[str, list[Any]]) -> dict[str, Any]:
    step = forest.step_of(stored).model_dump(mode="json")
    facts = sorted((names.get(identifier, [identifier]) for identifier in stored["fact_ids"]), key=json.dumps)
    return {"row": "step", "parent": parent, "facts": facts, **step}


def _fact(fact: Fact) -> dict[str, Any]:
    return {"row": "fact", **fact.model_dump(mode="json", exclude={"id"})}


def _iteration(stored: dict[str, Any]) -> dict[str, Any]:
    plain = {name: value for name, value in stored.items() if name not in _COST}
    for name in ("strategies", "rejected_paths", "rejected_edits"):
        plain[name] = json.loads(plain[name])
    return {"row": "iteration", **plain}
