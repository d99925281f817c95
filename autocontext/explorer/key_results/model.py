"""Key results by a model: long observations are abstracted, in one call for all new todos of an iteration.

A short observation is its own key result, and one that the model leaves out keeps its beginning. Source: the published
method's abstraction of key results (method, section 4.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from autocontext.errors import ReplyUnusable
from autocontext.explorer.forest import Forest
from autocontext.explorer.key_results.plain import LENGTH, PlainKeyResults
from autocontext.llm.asking import Asker, Prompt
from autocontext.llm.prompts import render
from autocontext.types import Todo

LONGEST = 240


class KeyResult(BaseModel):
    """One todo's key result in the model's words."""

    model_config = ConfigDict(extra="ignore")

    todo: Annotated[str, StringConstraints(max_length=20)]
    key_result: Annotated[str, StringConstraints(min_length=1, max_length=2 * LONGEST)]


class KeyResultsReply(BaseModel):
    """What has to be answered."""

    model_config = ConfigDict(extra="ignore")

    results: list[KeyResult] = Field(default_factory=list, max_length=100)


class ModelKeyResults:
    """Asks a model where an observation is longer than a line."""

    def __init__(self, asker: Asker) -> None:
        self.asker = asker
        self.plain = PlainKeyResults()

    def tell(self, todos: Sequence[Todo], forest: Forest) -> list[Todo]:
        """The todos with their key results. Where the reply cannot be used the observation's beginning stands (the
        asker records the failure).

        Raises:
            ModelUnavailable: the model cannot be reached.
        """
        plain = self.plain.tell(todos, forest)
        long = [todo for todo in todos if todo.steps and len(todo.steps[-1].observation.text) > LENGTH]
        if not long:
            return plain
        entries = [
            {"todo": todo.id, "action": todo.text, "outcome": todo.outcome, "observed": todo.steps[-1].observation.text}
            for todo in long
        ]
        prompt = Prompt(system=render("key_results_system", most=LONGEST), user=render("key_results", entries=entries))
        try:
            reply = self.asker.ask("key_results", prompt, KeyResultsReply)
        except ReplyUnusable:
            return plain
        asked = {todo.id for todo in long}
        told = {
            result.todo: " ".join(result.key_result.split())[:LONGEST]
            for result in reply.results
            if result.todo in asked
        }
        return [todo.model_copy(update={"key_result": told.get(todo.id) or todo.key_result}) for todo in plain]
