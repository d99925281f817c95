"""What the driver returns as values that JSON can hold."""

from __future__ import annotations

import math
from typing import Any

from neo4j.graph import Node, Path, Relationship
from neo4j.spatial import Point


def plain(value: Any) -> Any:
    """Nodes, relationships and paths as dicts; times as ISO text; what is not finite as text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Node):
        return {"labels": sorted(value.labels), "properties": plain(dict(value.items()))}
    if isinstance(value, Relationship):
        ends = {"start": value.start_node, "end": value.end_node}
        ids = {name: node.get("id") if node is not None else None for name, node in ends.items()}
        return {"type": value.type, "properties": plain(dict(value.items())), **ids}
    if isinstance(value, Path):
        return {
            "nodes": [plain(node) for node in value.nodes],
            "relationships": [plain(relationship) for relationship in value.relationships],
        }
    if isinstance(value, Point):
        return {"srid": value.srid, "coordinates": [plain(part) for part in value]}
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    iso = getattr(value, "iso_format", None)
    return iso() if callable(iso) else str(value)
