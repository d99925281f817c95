"""Paths that share their beginnings, and what is remembered of them: reading a long one costs a little per step.

Readers are given the path from the reset to a step, for every step anew. Copied each time, and looked through from its
start, a path of 100,000 steps would take hours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, overload

from autocontext.types import Step

T = TypeVar("T")


class Trail(Sequence[Step]):
    """An immutable path. Its beginnings (`trail[:-1]`) and its first continuation use the same memory."""

    __slots__ = ("_end", "_memos", "_steps")

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        """A path of these steps."""
        self._steps = list(steps)  # only ever appended to
        self._end = len(self._steps)
        self._memos: dict[str, list[Any]] = {}

    def __add__(self, steps: Sequence[Step]) -> Trail:
        if self._end == len(self._steps):
            whole, memos = self._steps, self._memos
        else:  # another path goes on from here already
            whole = self._steps[: self._end]
            memos = {name: values[: self._end] for name, values in self._memos.items()}
        whole.extend(steps)
        return self._view(whole, len(whole), memos)

    def __len__(self) -> int:
        return self._end

    def __iter__(self) -> Iterator[Step]:
        return (self._steps[index] for index in range(self._end))

    def __reversed__(self) -> Iterator[Step]:
        return (self._steps[index] for index in range(self._end - 1, -1, -1))

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Step]: ...
    def __getitem__(self, index: int | slice) -> Step | Sequence[Step]:
        if isinstance(index, int):
            return self._steps[range(self._end)[index]]
        start, stop, stride = index.indices(self._end)
        if start == 0 and stride == 1:
            return self._view(self._steps, max(stop, 0), self._memos)
        return tuple(self._steps[at] for at in range(start, stop, stride))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Trail({list(self)!r})"

    def remembered(self, name: str, first: T, follow: Callable[[T, Sequence[Step]], T]) -> T:
        """See `follow_path`."""
        values: list[T] = self._memos.setdefault(name, [])
        while len(values) < self._end:
            end = len(values) + 1
            values.append(follow(values[-1] if values else first, self[:end]))
        return values[self._end - 1] if self._end else first

    @classmethod
    def _view(cls, steps: list[Step], end: int, memos: dict[str, list[Any]]) -> Trail:
        made = cls.__new__(cls)
        made._steps, made._end, made._memos = steps, end, memos
        return made


def follow_path(path: Sequence[Step], name: str, first: T, follow: Callable[[T, Sequence[Step]], T]) -> T:
    """What follows from a path step by step: `follow(what held before, the path up to a step)` for each of its steps.

    Of a `Trail` the values are remembered under `name`, which must stand for this very function.
    """
    if isinstance(path, Trail):
        return path.remembered(name, first, follow)
    value = first
    for end in range(1, len(path) + 1):
        value = follow(value, path[:end])
    return value
