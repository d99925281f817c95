"""Instances as rows of the database, and back; which names they may have."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from autocontext.errors import InstanceMismatch, UsageError
from autocontext.graph.leases import lease_of
from autocontext.graph.schema import VERSION
from autocontext.types import InstanceRecord, Revealed, Spec

LONGEST_ID = 200


def check_id(instance_id: str) -> None:
    """May an instance have that id?

    Raises:
        UsageError: no; the message says why.
    """
    wrong = (
        "it is empty" if not instance_id.strip()
        else f"it is longer than {LONGEST_ID} characters" if len(instance_id) > LONGEST_ID
        else "it holds characters that cannot be printed" if not instance_id.isprintable()
        else "such names are kept for what belongs to all instances" if instance_id.startswith("environment:")
        else None
    )  # fmt: skip
    if wrong:
        raise UsageError(f"{instance_id[:80]!r} is no id for an instance: {wrong}.")


def instance_row(instance_id: str, spec: Spec) -> dict[str, Any]:
    """A new instance's properties; what has a structure of its own is JSON."""
    return {
        "id": instance_id,
        "scope": instance_id,
        "environment": spec.environment,
        "source": spec.source,
        "source_hash": spec.source_hash,
        "naming": spec.naming,
        "mode": spec.mode,
        "description": spec.description,
        "status": "new",
        "steps_used": 0,
        "replayed": 0,
        "applied_iteration": 0,
        "explored_iterations": 0,
        "idle": 0,
        "last_step": 0,
        "schema_version": VERSION,
        "created_at": now(),
        "settings": "{}",
        "learned": "{}",
    }


def row_of(record: InstanceRecord) -> dict[str, Any]:
    """A record as the properties of a node: the reverse of `record_of`, but for the lease."""
    row = record.model_dump(exclude={"lease", "settings", "learned", "closing_usage"}, exclude_none=True)
    return {
        **row,
        "scope": record.id,
        "schema_version": VERSION,
        "settings": json_of(record.settings),
        "learned": learned_json(record.learned),
        "closing_usage": json_of(record.closing_usage),
    }


def record_of(stored: Mapping[str, Any]) -> InstanceRecord:
    """An Instance node's properties as a record."""
    fields = {name: stored[name] for name in InstanceRecord.model_fields if stored.get(name) is not None}
    fields["settings"] = json.loads(stored["settings"])
    fields["learned"] = json.loads(stored["learned"])
    fields["closing_usage"] = json.loads(stored.get("closing_usage") or "{}")
    fields["lease"] = lease_of(stored)
    return InstanceRecord(**fields)


def same_instance(record: InstanceRecord, spec: Spec) -> InstanceRecord:
    """The stored record, if it is of the instance that `spec` describes. Of one that was only ingested it may not be
    known what it is, and a spec of recordings may not say so: then the hash is empty.

    Raises:
        InstanceMismatch: it is of another; the message says what differs.
    """
    known = bool(record.source_hash and spec.source_hash)
    pairs = {
        "environment": (record.environment, spec.environment),
        "source hash": (record.source_hash, spec.source_hash) if known else ("", ""),
        "naming": (record.naming, spec.naming),
        "mode": (record.mode, spec.mode),
    }
    differing = [f"its {name} is {old}, not {new}" for name, (old, new) in pairs.items() if old != new]
    if differing:
        raise InstanceMismatch(
            f"instance '{record.id}' is another one (from {record.source}): {'; '.join(differing)}. "
            "Explore this one under another name with --instance."
        )
    return record


def json_of(value: Any) -> str:
    """JSON that is the same for the same value."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def learned_json(learned: Mapping[str, Revealed]) -> str:
    """A snapshot of what classes of actions revealed, as JSON."""
    return json_of({name: revealed.model_dump() for name, revealed in learned.items()})


def now() -> int:
    """Epoch milliseconds."""
    return int(time.time() * 1000)
