"""Exact moments of a running TextWorld game, taken and put back in about a millisecond.

TextWorld's own `copy()` starts a second interpreter (80 to 400 ms). A moment is made of less: the Z-machine's memory,
kept as its compressed difference to the memory at the reset, and the few fields by which TextWorld's wrappers follow
the game in Python. It relies on private fields of TextWorld 1.7; the environments' contract suite pins that the
result is exact.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from textworld.core import GameState

_NARRATIVE = 1000  # bytes, about: the registers, and the interpreter's copy of its last reply


@dataclass(frozen=True)
class Tracked:
    """What TextWorld's wrappers know in Python: the symbolic state, and values carried from turn to turn."""

    state: Any
    valid_actions: Any  # replaced at each turn, never changed in place: it need not be copied
    last_action: Any
    moves: int
    infos: dict[str, Any]

    @property
    def size(self) -> int:
        """Bytes, about: the propositions are shared between moments, the tables that hold them are not."""
        facts = sum(map(len, self.state._facts.values()))
        return 60 * facts + 200 * len(self.state._vars_by_name) + 700 * len(self.valid_actions)


@dataclass(frozen=True)
class MachineState:
    """The interpreter and, when the game is played with its `.json`, the wrappers' fields."""

    memory: bytes
    stack: bytes
    registers: tuple[Any, ...]
    tracked: Tracked | None
    size: int = field(default=0)


class Machine:
    """The interpreter below a TextWorld environment, and the wrappers above it."""

    def __init__(self, env: Any) -> None:
        self._interpreter = getattr(env, "unwrapped", env)
        self._tracker = _layer(env, "StateTracking")
        self._infos = _layer(env, "Inform7Data")
        self._base: Any = None

    def begin(self) -> None:
        """Remember the memory as it is now, after the first reset: states are kept as differences to it."""
        if self._base is None:
            self._base = self._interpreter._jericho.get_state()[0].copy()

    def take(self) -> MachineState:
        """The present state."""
        ram, stack, *registers = self._interpreter._jericho.get_state()
        memory = zlib.compress((ram ^ self._base).tobytes(), 1)
        packed = zlib.compress(stack.tobytes(), 1)
        tracked = self._take_tracked()
        size = len(memory) + len(packed) + _NARRATIVE + (tracked.size if tracked else 0)
        return MachineState(memory, packed, tuple(registers), tracked, size)

    def put(self, saved: MachineState) -> None:
        """Back to exactly that state."""
        ram = np.frombuffer(zlib.decompress(saved.memory), dtype=np.uint8) ^ self._base
        stack = np.frombuffer(zlib.decompress(saved.stack), dtype=np.uint8).copy()
        self._interpreter._jericho.set_state((ram, stack, *saved.registers))
        if saved.tracked:
            self._put_tracked(saved.tracked)

    def _take_tracked(self) -> Tracked | None:
        if self._tracker is None:
            return None
        progression = self._tracker._game_progression
        return Tracked(
            state=progression.state.copy(),
            valid_actions=progression._valid_actions,
            last_action=self._tracker._last_action,
            moves=self._tracker._moves,
            infos={name: self._infos.state.get(name) for name in self._infos._tracked_infos},
        )

    def _put_tracked(self, tracked: Tracked) -> None:
        # GameProgression.copy() would enumerate all actions again (6 to 40 ms); without quests these two are all
        # of its fields that change.
        progression = self._tracker._game_progression
        progression.state = tracked.state.copy()
        progression._valid_actions = tracked.valid_actions
        self._tracker._last_action = tracked.last_action
        self._tracker._moves = tracked.moves
        self._infos.state = GameState(tracked.infos)  # a step carries over from it what the game does not repeat


def _layer(env: Any, name: str) -> Any:
    """The wrapper of that class; None if the environment has none."""
    while env is not None:
        if type(env).__name__ == name:
            return env
        env = env.__dict__.get("_wrapped_env")
    return None
