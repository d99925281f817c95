"""Reads an instance: each kind in one stream, put in order on disk. Its rows are those of a full export."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from autocontext.graph import forest
from autocontext.graph.connection import Transaction
from autocontext.graph.spool import Spool, sort_key
from autocontext.graph.transfer.lines import KINDS, line_of

Row = dict[str, Any]
JSON_OF_ITERATION = ("strategies", "usage", "rejected_paths", "rejected_edits", "failures")
"""Properties of an Iteration node that are JSON, as they have a structure of their own."""


def collect(transaction: Transaction, scope: str, spool: Spool) -> None:
    """Puts every row of the instance into the spool, each kind into a table of its own."""
    corrected: set[str] = set()
    for kind, (query, convert) in _KINDS.items():
        for found in transaction.stream(query, scope=scope):
            key, row = convert(found)
            spool.put(kind, key, line_of({"row": kind, **row}))
            if kind == "iteration":
                corrected.update(row["fact_ids"])
            elif kind == "fact" and (identifier := found["fact"]["id"]) in corrected:
                spool.put("said", identifier.encode(), _says(found))


def collect_shown(transaction: Transaction, scope: str, spool: Spool) -> None:
    """Puts into the spool what each fact says, and which facts each step shows by what is stored with the step."""
    for found in transaction.stream("all_facts", scope=scope):
        spool.put("says", found["fact"]["id"].encode(), _says(found))
    spool.index("says")
    for found in transaction.stream("export_steps", scope=scope):
        spool.put("shows", sort_key(found["step"]["number"]), json.dumps(found["step"]["fact_ids"]).encode())
    spool.index("shows")


def shown(spool: Spool, number: int) -> list[Any]:
    """What the facts say that a step shows."""
    return _said(spool, "says", json.loads(spool.get("shows", sort_key(number)) or b"[]"))


def collected(spool: Spool) -> Iterator[bytes]:
    """The lines of all rows in their order."""
    for kind in KINDS:
        for _, line in spool.in_order(kind):
            if kind == "iteration":
                row = json.loads(line)
                row["facts"] = _said(spool, "said", row.pop("fact_ids"))
                line = line_of(row)
            yield line


def _says(found: Mapping[str, Any]) -> bytes:
    says = [found["subject"], found["fact"]["predicate"], found["object"], bool(found["object_is_value"])]
    return json.dumps(says, ensure_ascii=False).encode()


def _said(spool: Spool, table: str, identifiers: list[str]) -> list[Any]:
    contents = (spool.get(table, identifier.encode()) for identifier in identifiers)
    return sorted((json.loads(content) for content in contents if content), key=json.dumps)


def _state(found: Mapping[str, Any]) -> tuple[bytes, Row]:
    promoted_from = forest.local_id(found["promoted_from"]) if found["promoted_from"] else None
    return _of_forest(found["state"], promoted_from=promoted_from)


def _todo(found: Mapping[str, Any]) -> tuple[bytes, Row]:
    return _of_forest(found["todo"], parent=forest.local_id(found["parent"]))


def _episode(found: Mapping[str, Any]) -> tuple[bytes, Row]:
    return _of_forest(found["episode"])


def _of_forest(stored: Mapping[str, Any], **more: Any) -> tuple[bytes, Row]:
    row = {**_own(stored), "id": forest.local_id(stored["id"]), **more}
    return sort_key(row["iteration"], row["position"], row["id"]), row


def _step(found: Mapping[str, Any]) -> tuple[bytes, Row]:
    row = {**_own(found["step"]), "below": str(found["below"][0]).lower(), "parent": forest.local_id(found["parent"])}
    del row["fact_ids"]
    return sort_key(row["number"]), row


def _entity(found: Mapping[str, Any]) -> tuple[bytes, Row]:
    return sort_key(found["value"], found["key"]), {"name": found["name"], "value": found["value"]}


def _fact(found: Mapping[str, Any]) -> tuple[bytes, Row]:
    names = {name: found[name] for name in ("subject", "object", "object_is_value")}
    row = {**_own(found["fact"]), **names}
    return sort_key(found["subject_key"], row["predicate"], found["object_key"], row["object_is_value"]), row


def _template(found: Mapping[str, Any]) -> tuple[bytes, Row]:
    return sort_key(found["class"]), dict(found)


def _iteration(found: Mapping[str, Any]) -> tuple[bytes, Row]:
    unknown_before = {"idle": 0, "because": "", "fact_ids": [], "episodes": 0}
    row = {**unknown_before, **_own(found["iteration"])}
    row |= {name: json.loads(row[name]) for name in JSON_OF_ITERATION}
    return sort_key(row["n"]), row


def _own(stored: Mapping[str, Any]) -> Row:
    """Properties without those that hold the instance's name."""
    return {name: value for name, value in stored.items() if name not in ("id", "scope")}


_KINDS: dict[str, tuple[str, Callable[[Mapping[str, Any]], tuple[bytes, Row]]]] = {
    "iteration": ("iterations", _iteration),
    "state": ("export_states", _state),
    "todo": ("export_todos", _todo),
    "episode": ("episodes", _episode),
    "step": ("export_steps", _step),
    "entity": ("export_entities", _entity),
    "fact": ("all_facts", _fact),
    "template": ("templates", _template),
}
"""The query of each kind, and what makes a sortable row of what it finds. Iterations name facts: they come first."""
