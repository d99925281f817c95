"""Three games of a few actions, each of which gives its treasure only to one of the planner's strategies."""

from __future__ import annotations

from autocontext.types import Observation, StepResult


class _Puzzle:
    """A game that lists no actions and plays by replaying what was done."""

    def reset(self) -> Observation:
        self.done: list[str] = []
        return Observation(text=self.look())

    def step(self, action: str) -> StepResult:
        text = self.act(action)
        refused = text is None or text.startswith("You can't")
        if not refused:
            self.done.append(action)
        return StepResult(observation=Observation(text=text or "You can't do that."), refused=refused)

    def snapshot(self) -> None:
        return None

    def restore(self, snapshot: object) -> None:
        raise NotImplementedError

    def close(self) -> None:
        pass

    def look(self) -> str:
        raise NotImplementedError

    def act(self, action: str) -> str | None:
        raise NotImplementedError


class Lamp(_Puzzle):
    """Needs action correction: the lamp can be lit, in other words than the first that come to mind."""

    def look(self) -> str:
        return "Attic\nAn oil lamp stands in the dark. Matches lie beside it."

    def act(self, action: str) -> str | None:
        if action == "light lamp":
            return "You can't light it just so. Say with what, as in: light lamp with matches"
        if action == "light lamp with matches":
            return "In the light a golden idol can be seen."
        return None


class Gate(_Puzzle):
    """Needs dependency resolution: the key lies in the cellar, the gate is in the yard."""

    @property
    def below(self) -> bool:
        return [action for action in self.done if action in ("go down", "go up")][-1:] == ["go down"]

    def look(self) -> str:
        if self.below:
            return "Cellar\nAn iron key lies here. A stair leads up."
        return "Yard\nA gate stands in the east. A stair leads down."

    def act(self, action: str) -> str | None:
        if action == "go down" and not self.below:
            self.done.append(action)
            text = self.look()
            self.done.pop()
            return text
        if action == "go up" and self.below:
            return "Yard\nA gate stands in the east. A stair leads down."
        if action == "take iron key" and self.below and "take iron key" not in self.done:
            return "Taken: the iron key."
        if action == "unlock gate" and not self.below:
            return "The gate is unlocked." if "take iron key" in self.done else "You can't: you need the iron key."
        if action == "go east" and not self.below:
            if "unlock gate" in self.done:
                return "Garden\nA golden idol stands among roses."
            return "You can't: the gate is locked, you need the iron key."
        return None


class Drawers(_Puzzle):
    """Needs pattern exploitation: what is in one drawer may be in the others."""

    def look(self) -> str:
        return "Study\nA desk with drawer 1, drawer 2, drawer 3, drawer 4, drawer 5 stands here."

    def act(self, action: str) -> str | None:
        verb, _, rest = action.partition(" ")
        if verb != "open" or rest not in {f"drawer {n}" for n in range(1, 6)} or action in self.done:
            return None
        return {"drawer 1": "In drawer 1 lies a pen.", "drawer 4": "In drawer 4 lies a golden idol."}.get(
            rest, f"{rest} is empty."
        )
