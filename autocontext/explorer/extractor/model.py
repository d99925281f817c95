"""The model-driven extractor: a language model reads new steps and answers with edits of the facts.

It sees the new steps and the facts that touch them, not the whole graph. Its edits pass the validator that everybody's
pass; what is refused comes back, with the reason, in its next prompt. Source: the published method's extractor
(method, section 4.4).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from autocontext.errors import ReplyUnusable
from autocontext.explorer.excerpt import CHARACTERS_PER_TOKEN, facts_touching
from autocontext.explorer.extractor.taken import Taken
from autocontext.explorer.forest import Forest, Node
from autocontext.explorer.knowledge import Knowledge
from autocontext.explorer.protocols import Extractor
from autocontext.explorer.steps import Reading
from autocontext.llm.asking import Asker, Prompt
from autocontext.llm.prompts import render
from autocontext.types import Edit, Step, Todo, Triplet

MOST_EDITS = 60
LONGEST_NAME = 300
MOST_LISTED = 60
"""Listed actions of a step that the prompt shows."""

_Name = Annotated[str, StringConstraints(max_length=LONGEST_NAME)]


class ProposedEdit(BaseModel):
    """An edit in the model's words."""

    model_config = ConfigDict(extra="ignore")

    op: Literal["add", "remove"] = "add"
    subject: _Name
    predicate: _Name
    object: _Name
    object_is_value: bool = False
    kind: Literal["place", "property", "mechanics"] = "property"
    evidence: list[int] = Field(default_factory=list, max_length=20)


class ExtractorReply(BaseModel):
    """What the extractor has to answer."""

    model_config = ConfigDict(extra="ignore")

    edits: list[ProposedEdit] = Field(default_factory=list, max_length=MOST_EDITS)


class ModelExtractor:
    """Asks a model for edits.

    Args:
        asker: the model.
        prompt_tokens: estimated tokens of steps and facts in one prompt; more steps are read in several.
        fallback: reads what the model's reply could not be used for; None: it is tried once more.
    """

    def __init__(self, asker: Asker, *, prompt_tokens: int = 6000, fallback: Extractor | None = None) -> None:
        self.asker = asker
        self.prompt_tokens = prompt_tokens
        self.fallback = fallback

    def read(self, todos: Sequence[Todo], forest: Forest, knowledge: Knowledge) -> Reading:
        """Edits of the todos. The first iteration reads the reset's observation too. Where a reply cannot be used (the
        asker records the failure) the new steps that it was about are read once more with the next iteration's.

        Raises:
            ModelUnavailable: the model cannot be reached.
        """
        steps = [forest.nodes["S0"].step] if forest.explored == 0 else []
        new = [step for todo in todos for step in todo.steps]
        steps += [step for step in map(forest.step, forest.unread) if step is not None] + new
        first_time = {step.number for step in steps} - set(forest.unread)
        unread: list[int] = []
        taken = Taken(forest, knowledge, strict=True)
        rejected_before = forest.rejected_edits
        names: dict[str, int] = {}
        for part in self._parts(steps, forest):
            try:
                reply = self.asker.ask(
                    "extractor", self.prompt(part, forest, knowledge, rejected_before), ExtractorReply
                )
            except ReplyUnusable:
                if self.fallback is not None:
                    return self._without_model(taken, todos, forest, knowledge)
                unread += [entry["step"] for entry in part if entry["step"] in first_time]
                continue
            rejected_before = ()
            for edit in reply.edits:
                self._take(edit, taken, forest, names)
        for todo in todos:
            forest.reveal(todo, names.pop(todo.id, 0))
        for todo_id, more in names.items():
            forest.name_more(forest.todos[todo_id], more)
        return Reading(tuple(taken.edits), tuple(taken.rejected), taken.fresh, tuple(unread))

    def prompt(
        self, steps: Sequence[dict[str, Any]], forest: Forest, knowledge: Knowledge, rejected: Sequence[Any] = ()
    ) -> Prompt:
        """What the model is told: instructions in the system message, everything that was observed as data."""
        texts = [str(step[part]) for step in steps for part in ("at", "action", "observed", "carried") if part in step]
        facts, left_out = facts_touching(knowledge, texts, max_tokens=self.prompt_tokens * 40 // 100)
        return Prompt(
            system=render("extractor_system", most=MOST_EDITS),
            user=render("extractor", steps=steps, facts=facts, left_out=left_out, rejected=rejected),
        )

    def _take(self, proposed: ProposedEdit, taken: Taken, forest: Forest, names: dict[str, int]) -> None:
        """Validate and apply one edit; a new name counts for the todo of its first evidence."""
        edit = Edit(
            op=proposed.op,
            triplet=Triplet(
                subject=proposed.subject.strip(),
                predicate=proposed.predicate.strip(),
                object=proposed.object.strip(),
                object_is_value=proposed.object_is_value,
            ),
            kind=proposed.kind,
            evidence=tuple(sorted(set(proposed.evidence))),
        )
        count = len(taken.edits)
        new = taken.take([edit])
        if new and len(taken.edits) > count:
            node = forest.node_of_step(min(taken.edits[-1].evidence))
            if node is not None and node.todo is not None:
                names[node.todo.id] = names.get(node.todo.id, 0) + new

    def _without_model(self, taken: Taken, todos: Sequence[Todo], forest: Forest, knowledge: Knowledge) -> Reading:
        """What the fallback reads, after what the model has said so far."""
        assert self.fallback is not None
        other = self.fallback.read(todos, forest, knowledge)
        return Reading((*taken.edits, *other.edits), (*taken.rejected, *other.rejected), taken.fresh + other.fresh)

    def _parts(self, steps: Sequence[Step], forest: Forest) -> Iterator[list[dict[str, Any]]]:
        """The steps as the prompt shows them, in parts that fit into one each."""
        room = self.prompt_tokens * 60 // 100 * CHARACTERS_PER_TOKEN
        part: list[dict[str, Any]] = []
        size = 0
        for step in steps:
            entry = _entry(step, forest)
            weight = sum(len(str(value)) + 12 for value in entry.values())
            if part and size + weight > room:
                yield part
                part, size = [], 0
            part.append(entry)
            size += weight
        if part:
            yield part


def _entry(step: Step, forest: Forest) -> dict[str, Any]:
    node = forest.node_of_step(step.number)
    assert node is not None  # the step has just been added
    before = forest.nodes[node.parent] if node.parent else None
    entry: dict[str, Any] = {"step": step.number}
    if before is not None:
        entry |= {"at": before.place, "changed_before": _changed(before), "action": step.action}
    if step.refused:
        entry["refused"] = True
    entry["observed"] = step.observation.text
    if step.observation.inventory:
        entry["carried"] = step.observation.inventory
    if step.observation.admissible is not None:
        entry["possible"] = list(step.observation.admissible[:MOST_LISTED])
    return entry


def _changed(node: Node) -> list[str]:
    return sorted(f"{facet.entity}: {facet.aspect}" for facet in node.changed)
