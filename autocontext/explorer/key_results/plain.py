"""Key results without a model: a short observation is its own, a long one is cut to its beginning."""

from __future__ import annotations

from collections.abc import Sequence

from autocontext.explorer.forest import Forest
from autocontext.types import Todo

LENGTH = 160


class PlainKeyResults:
    """The observation on one line, cut at `LENGTH` characters; failures say so."""

    def tell(self, todos: Sequence[Todo], forest: Forest) -> list[Todo]:
        return [todo.model_copy(update={"key_result": self._of(todo)}) for todo in todos]

    def _of(self, todo: Todo) -> str:
        text = " ".join(todo.steps[-1].observation.text.split()) if todo.steps else ""
        if len(text) > LENGTH:
            text = text[: LENGTH - 1].rsplit(" ", 1)[0] + " …"
        if todo.outcome == "refused":
            return f"FAILED {text}"
        return f"{text} (the episode ended)".strip() if todo.outcome == "terminated" else text
