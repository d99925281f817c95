"""Small environments in plain Python, for the contract suite and for what may go wrong."""

from __future__ import annotations

from typing import Any

from autocontext.types import Observation, StepResult

_WAYS = {("gate", "north"): "yard", ("yard", "south"): "gate", ("yard", "east"): "well", ("well", "west"): "yard"}


class Vault:
    """Three places, a lamp that can be carried, and a well one can fall into, which is the end."""

    def __init__(self) -> None:
        self.place, self.lamp, self.over, self.closed = "gate", "yard", False, 0

    def reset(self) -> Observation:
        self.place, self.lamp, self.over = "gate", "yard", False
        return self._seen("")

    def step(self, action: str) -> StepResult:
        if self.over or action not in self._admissible():
            return StepResult(observation=self._seen("Nothing of the kind. "), terminated=self.over, refused=True)
        match action.split():
            case ["go", way]:
                self.place = _WAYS[self.place, way]
            case ["take", "lamp"]:
                self.lamp = "hand"
            case ["drop", "lamp"]:
                self.lamp = self.place
            case ["jump"]:
                self.over = True
        return StepResult(observation=self._seen(f"You {action}. "), terminated=self.over)

    def snapshot(self) -> Any:
        return self.place, self.lamp, self.over

    def restore(self, snapshot: Any) -> None:
        self.place, self.lamp, self.over = snapshot

    def close(self) -> None:
        self.closed += 1

    def _admissible(self) -> tuple[str, ...]:
        if self.over:
            return ()
        ways = [f"go {way}" for place, way in _WAYS if place == self.place]
        lamp = ["take lamp"] if self.lamp == self.place else ["drop lamp"] if self.lamp == "hand" else []
        return tuple(sorted([*ways, *lamp, *(["jump"] if self.place == "well" else [])]))

    def _seen(self, reply: str) -> Observation:
        lies = " A lamp lies here." if self.lamp == self.place else ""
        carried = "a lamp" if self.lamp == "hand" else "nothing"
        return Observation(text=f"{reply}At the {self.place}.{lies}", inventory=carried, admissible=self._admissible())


class ReplayedVault(Vault):
    """The same without snapshots: every return is a replay."""

    def snapshot(self) -> None:
        return None

    def restore(self, snapshot: Any) -> None:
        raise NotImplementedError


class Fickle(Vault):
    """The n-th reset leads into another world: what no replay reproduces."""

    def __init__(self, *, changes_at_reset: int, snapshots: bool = False) -> None:
        super().__init__()
        self.resets, self.changes_at, self.snapshots = 0, changes_at_reset, snapshots

    def reset(self) -> Observation:
        self.resets += 1
        seen = super().reset()
        if self.resets >= self.changes_at:
            self.lamp = "gate" if self.changes_at < 0 else "well"
        return seen

    def snapshot(self) -> Any:
        return super().snapshot() if self.snapshots else None
