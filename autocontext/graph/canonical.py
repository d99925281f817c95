"""An instance as rows that are equal if and only if two graphs are: without its name, times, and what it cost.

Ids that hold the instance's name are replaced by what they stand for. Steps replayed only to restore are a cost: a run
that was killed and resumed replays more of them and still makes the same graph.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from autocontext.graph.connection import Transaction
from autocontext.graph.spool import Spool
from autocontext.graph.transfer.collect import collect, collect_shown, collected, shown
from autocontext.types import InstanceRecord

_INSTANCE = {"environment", "source_hash", "naming", "mode", "stopped_because", "steps_used", "applied_iteration"}
_LEFT_OUT = ("at", "usage", "replayed", "digest", "position")


def read(transaction: Transaction, scope: str, spool: Spool) -> None:
    """Puts into the spool what `rows` needs."""
    collect(transaction, scope, spool)
    collect_shown(transaction, scope, spool)


def rows(record: InstanceRecord, spool: Spool) -> Iterator[dict[str, Any]]:
    """All rows of an instance: itself, then those of a full export without what may differ."""
    yield dict(sorted({"row": "instance", **record.model_dump(include=_INSTANCE)}.items()))
    for line in collected(spool):
        row = {name: value for name, value in json.loads(line).items() if name not in _LEFT_OUT}
        if row["row"] == "step":
            row["facts"] = shown(spool, row["number"])
        elif row["row"] == "episode":
            del row["source"]
        yield dict(sorted(row.items()))
