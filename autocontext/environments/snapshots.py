"""Live snapshots of an environment, kept by the path of actions that leads to them, in bounded memory."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

ActionPath = tuple[str, ...]
"""All actions from s0 on."""

_GUESS = 64 * 1024  # bytes of a snapshot that does not tell its size
_KEEP = 0.9  # share of the limit that is left filled when room is made: sorting for every snapshot would be slow


@dataclass
class _Entry:
    snapshot: Any
    size: int
    used: int


class SnapshotCache:
    """Snapshots by path. When the limit is passed, the least valuable go.

    A snapshot is worth the steps that would be replayed without it (those down from the nearest snapshot above),
    divided by its age in uses. The one of s0 stays. Nothing here depends on time: the same calls drop the same ones.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.bytes = 0
        self._entries: dict[ActionPath, _Entry] = {}
        self._clock = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, path: ActionPath) -> bool:
        return path in self._entries

    def put(self, path: ActionPath, snapshot: Any) -> None:
        """Keep a snapshot of where `path` leads."""
        self._drop(path)
        entry = _Entry(snapshot, snapshot_size(snapshot), self._tick())
        if entry.size > self.limit_bytes:
            return
        self._entries[path] = entry
        self.bytes += entry.size
        if self.bytes > self.limit_bytes:
            self._make_room()

    def deepest(self, actions: Sequence[str]) -> tuple[int, Any] | None:
        """Depth and snapshot of the deepest kept point on the way; None if there is none."""
        path = tuple(actions)
        depth = self._depth(path)
        if depth is None:
            return None
        entry = self._entries[path[:depth]]
        entry.used = self._tick()
        return depth, entry.snapshot

    def drop_from(self, path: ActionPath) -> None:
        """Forget that point and all below it."""
        for key in [key for key in self._entries if key[: len(path)] == path]:
            self._drop(key)

    def clear(self) -> None:
        """Forget all."""
        self._entries.clear()
        self.bytes = 0

    def _depth(self, path: ActionPath) -> int | None:
        return next((depth for depth in range(len(path), -1, -1) if path[:depth] in self._entries), None)

    def _make_room(self) -> None:
        for path in sorted(self._entries, key=self._value):
            if self.bytes <= _KEEP * self.limit_bytes:
                return
            if path:
                self._drop(path)

    def _value(self, path: ActionPath) -> tuple[float, ActionPath]:
        above = self._depth(path[:-1]) or 0 if path else 0
        return (len(path) - above) / (1 + self._clock - self._entries[path].used), path

    def _drop(self, path: ActionPath) -> None:
        entry = self._entries.pop(path, None)
        if entry:
            self.bytes -= entry.size

    def _tick(self) -> int:
        self._clock += 1
        return self._clock


def snapshot_size(snapshot: Any) -> int:
    """Bytes that a snapshot says it takes (`size`); of plain bytes or text the real size; else a guess."""
    size = getattr(snapshot, "size", None)
    if isinstance(size, int) and size >= 0:
        return size
    return sys.getsizeof(snapshot) if isinstance(snapshot, bytes | bytearray | str) else _GUESS
