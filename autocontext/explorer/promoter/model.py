"""Promotion by a model: which new situations become roots of trees of their own, each with a summary.

Source: the published method's promotion and state summaries (method, section 4.5).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from autocontext.errors import ReplyUnusable
from autocontext.explorer.forest import Forest
from autocontext.explorer.protocols import Promoter
from autocontext.explorer.steps import Reading
from autocontext.llm.asking import Asker, Prompt
from autocontext.llm.prompts import render
from autocontext.types import State, Todo

LONGEST = 200


class ProposedState(BaseModel):
    """A state in the model's words."""

    model_config = ConfigDict(extra="ignore")

    todo: Annotated[str, StringConstraints(max_length=20)]
    summary: Annotated[str, StringConstraints(min_length=1, max_length=2 * LONGEST)]


class PromoterReply(BaseModel):
    """What has to be answered."""

    model_config = ConfigDict(extra="ignore")

    states: list[ProposedState] = Field(default_factory=list, max_length=50)


class ModelPromoter:
    """Asks a model whenever new nodes have shown something.

    Args:
        asker: the model.
        fallback: chooses where the reply cannot be used; None: nothing is promoted then.
    """

    def __init__(self, asker: Asker, *, fallback: Promoter | None = None) -> None:
        self.asker = asker
        self.fallback = fallback

    def choose(self, todos: Sequence[Todo], reading: Reading, forest: Forest) -> list[State]:
        """New states, of new todos from which something can be done.

        Raises:
            ModelUnavailable: the model cannot be reached.
        """
        shown = [number for edit in reading.edits if edit.op == "add" for number in edit.evidence]
        open_ = {todo.id: todo for todo in todos if forest.nodes[todo.id].open}
        facts = {todo.id: sum(step.number in shown for step in todo.steps) for todo in todos}
        if not any(facts[todo_id] for todo_id in open_):
            return []
        entries = [
            {
                "todo": todo.id,
                "from": todo.parent,
                "at": forest.nodes[todo.id].place,
                "action": todo.text,
                "result": todo.key_result,
                "carried": todo.steps[-1].observation.inventory or "",
                "facts": facts[todo.id],
            }
            for todo in open_.values()
        ]
        prompt = Prompt(
            system=render("promoter_system", most=LONGEST),
            user=render("promoter", states=list(forest.states.values())[-30:], entries=entries),
        )
        try:
            reply = self.asker.ask("promoter", prompt, PromoterReply)
        except ReplyUnusable:
            return self.fallback.choose(todos, reading, forest) if self.fallback else []
        chosen: list[State] = []
        for proposed in reply.states:
            todo = open_.pop(proposed.todo, None)  # a node that is unknown, closed or named twice is no choice
            if todo is None:
                continue
            summary = " ".join(proposed.summary.split())[:LONGEST]
            state = State(id=forest.next_state_id(), promoted_from=todo.id, summary=summary, iteration=todo.iteration)
            forest.add_state(state)
            chosen.append(state)
        return chosen
