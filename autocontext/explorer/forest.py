"""The TODO forest while exploring: what was tried, from where, and what it revealed.

Everything in it follows from what the database holds, so a run that was killed continues as if nothing had
happened. Two numbers say what an action revealed: names of entities never recorded before, and words never read
before; half of that goes to the action's parent too, which made it possible.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from autocontext.environments.base import Reader
from autocontext.environments.playing import Diverged
from autocontext.environments.trail import Trail
from autocontext.errors import StepFailure
from autocontext.explorer.changes import Changes
from autocontext.explorer.steps import Plan, Reading
from autocontext.types import (
    Fact,
    InstanceRecord,
    Iteration,
    RejectedEdit,
    RejectedPath,
    Revealed,
    State,
    Step,
    Todo,
)

PARENT_CREDIT = 0.5
RESET_DIFFERS = (
    "the environment's reset shows something else than when this instance was first explored; "
    "explore it under another name with --instance, or make it start the same every time."
)

Situation = Changes
"""What a path has changed of the start."""

_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass
class Node:
    """A state or todo with what follows from its place in the forest."""

    id: str
    parent: str | None
    todo: Todo | None
    path: Trail
    place: str
    changed: Situation
    diverged: bool = False

    @property
    def step(self) -> Step:
        return self.path[-1]

    @property
    def depth(self) -> int:
        """Actions from s0."""
        return len(self.path) - 1

    @property
    def open(self) -> bool:
        """Can anything be done from here?"""
        return not (self.diverged or self.step.terminated or self.step.refused)


@dataclass
class Forest:
    """All states and todos, their paths from s0, and the classes' statistics."""

    reader: Reader
    nodes: dict[str, Node] = field(default_factory=dict)
    states: dict[str, State] = field(default_factory=dict)
    todos: dict[str, Todo] = field(default_factory=dict)
    classes: dict[str, Revealed] = field(default_factory=dict)
    actions: dict[str, Revealed] = field(default_factory=dict)
    done: set[tuple[str, str]] = field(default_factory=set)
    """(place, action) pairs that were carried out."""
    moves: dict[str, dict[str, str]] = field(default_factory=dict)
    """place -> action -> the other place to which it led."""
    refused: set[tuple[str, str]] = field(default_factory=set)
    """(place, action) pairs that were only refused so far."""
    tried: dict[tuple[str, str, Situation], str] = field(default_factory=dict)
    """(place, action, situation) of every try -> the todo that made it first."""
    keep_templates: bool = True
    """Whether what classes revealed is written for other instances to learn from."""
    iterations: int = 0
    """Number of the newest iteration, whoever made it."""
    explored: int = 0
    """Iterations of exploration; a person's corrections and what was ingested are none."""
    last_step: int = 0
    """Number of the newest step; those that were ingested belong to no node here."""
    steps_used: int = 0
    replayed: int = 0
    idle: int = 0
    """Iterations in a row that brought nothing new."""
    fruitless: int = 0
    """Plans in a row, of this run, without a path that could be carried out."""
    rejected_paths: tuple[RejectedPath, ...] = ()
    """What was refused in the last iteration: the next prompts show it."""
    rejected_edits: tuple[RejectedEdit, ...] = ()
    unread: tuple[int, ...] = ()
    """Steps that the last iteration's extractor could not read."""
    _below: dict[tuple[str, str], str] = field(default_factory=dict)
    """(node, action) -> the todo that did it from there."""
    _roots: dict[str, str] = field(default_factory=dict)
    _words: set[str] = field(default_factory=set)
    _touched: set[str] = field(default_factory=set)
    _diverged: list[str] = field(default_factory=list)
    _step_nodes: dict[int, str] = field(default_factory=dict)

    # --- growing --------------------------------------------------------------------------------------

    def add_state(self, state: State) -> None:
        """S0, or the promotion of a todo that is already here."""
        self.states[state.id] = state
        if state.step is not None:
            path = Trail((state.step,))
            self._insert(Node(state.id, None, None, path, self.reader.place(path), Situation()))
            self._words.update(_words(state.step))
        elif state.promoted_from is not None:
            origin = self.nodes[state.promoted_from]
            self._roots[origin.id] = state.id
            self.nodes[state.id] = Node(
                state.id, origin.id, None, origin.path, origin.place, origin.changed, origin.diverged
            )

    def add_todo(self, todo: Todo) -> Node:
        """A node below its parent; `revealed` is told once its facts are known."""
        parent = self.nodes[todo.parent]
        path = parent.path + todo.steps
        changed = parent.changed
        for end in range(len(parent.path), len(path)):
            changed = changed.and_then(self.reader.changed_facets(path[: end + 1]))
        node = Node(todo.id, parent.id, todo, path, self.reader.place(path), changed)
        self.todos[todo.id] = todo
        pair = (parent.place, todo.text)
        self.tried.setdefault((*pair, parent.changed), todo.id)
        self._below.setdefault((self.root_of(parent.id), todo.text), todo.id)
        if todo.outcome == "refused":
            self.refused |= {pair} - self.done
        else:
            self.done.add(pair)
            self.refused.discard(pair)
            if node.place != parent.place and not node.step.terminated:
                self.moves.setdefault(parent.place, {})[todo.text] = node.place
        self.steps_used += len(todo.steps)
        self._insert(node)
        return node

    def reveal(self, todo: Todo, names: int) -> Revealed:
        """Count what a todo revealed (`names`: entities recorded for the first time) and credit its parent."""
        words = set().union(*(_words(step) for step in todo.steps)) - self._words
        self._words |= words
        found = Revealed(tried=1, names=names, words=len(words))
        self._credit(todo, found)
        return found

    def name_more(self, todo: Todo, names: int) -> None:
        """A later reading recorded more names that this todo had shown."""
        if names:
            self._credit(todo, Revealed(names=names))

    def close_iteration(
        self, plan: Plan, todos: Sequence[Todo], reading: Reading, promoted: Sequence[State]
    ) -> Iteration:
        """Put together what the next transaction has to hold, and count it."""
        self.iterations += 1
        self.explored += 1
        self.todos.update((todo.id, todo) for todo in todos)  # now with their key results
        for todo in todos:
            self.nodes[todo.id].todo = todo
        self.rejected_paths, self.rejected_edits, self.unread = plan.rejected, reading.rejected, reading.unread
        self.idle = 0 if reading.fresh else self.idle + 1
        self.fruitless = 0 if plan.accepted else self.fruitless + 1
        touched, self._touched = self._touched, set()
        diverged, self._diverged = self._diverged, []
        return Iteration(
            n=self.iterations,
            todos=tuple(todos),
            promoted=tuple(promoted),
            diverged=tuple(diverged),
            edits=reading.edits,
            rejected_paths=plan.rejected,
            rejected_edits=reading.rejected,
            templates={name: self.classes[name] for name in sorted(touched)} if self.keep_templates else {},
            steps_used=self.steps_used,
            replayed=self.replayed,
            unread=reading.unread,
            idle=self.idle,
        )

    def mark_diverged_at(self, node_id: str, divergence: Diverged) -> None:
        """A replay towards `node_id` first differed after the action of that index on its path.

        Raises:
            StepFailure: already the reset shows something else (index -1).
        """
        if divergence.index < 0:
            raise StepFailure(RESET_DIFFERS) from divergence
        node = self.node_of_step(self.nodes[node_id].path[divergence.index + 1].number)
        assert node is not None  # every step on a path belongs to a node
        self.mark_diverged(node.id)
        self._diverged.append(node.id)

    def mark_diverged(self, node_id: str) -> None:
        """Nothing is expanded from this node any more, nor from its promotion."""
        for same in (node_id, self.root_of(node_id)):
            self.nodes[same].diverged = True

    # --- reading --------------------------------------------------------------------------------------

    def root_of(self, node_id: str) -> str:
        """The state that a todo was promoted to, or the node itself: what is done from there grows in its own tree."""
        return self._roots.get(node_id, node_id)

    def actions_to(self, node_id: str) -> list[str]:
        """The low-level actions from s0 to a node: its checkpoint."""
        return [step.action for step in self.nodes[node_id].path[1:]]

    def node_of_step(self, number: int) -> Node | None:
        """The node whose step has that number."""
        found = self._step_nodes.get(number)
        return self.nodes[found] if found else None

    def step(self, number: int) -> Step | None:
        """The step of that number, if it belongs to a node here."""
        node = self.node_of_step(number)
        return next((step for step in node.path if step.number == number), None) if node else None

    def deepest(self, start: str, actions: Sequence[str]) -> tuple[str, tuple[str, ...]]:
        """Follow a path through what was done already: the last node on it, and the actions that are new from there.

        An action counts as done when it was done from that node, or at its place in the same situation (restoring is
        free, so it would show the same again). One that was refused, or ended the episode, is where the path stops.
        """
        node, left = self.nodes[start], tuple(actions)
        while left and node.open:
            found = self._below.get((self.root_of(node.id), left[0]))
            if found is None and node.place:
                found = self.tried.get((node.place, left[0], node.changed))
            if found is None:
                break
            node, left = self.nodes[found], left[1:]
        return node.id, left

    def next_todo_id(self) -> str:
        return f"a{len(self.todos) + 1}"

    def next_state_id(self) -> str:
        return f"S{len(self.states)}"

    def _insert(self, node: Node) -> None:
        self.nodes[node.id] = node
        for step in node.todo.steps if node.todo else node.path:
            self._step_nodes[step.number] = node.id
            self.last_step = max(self.last_step, step.number)

    def _credit(self, todo: Todo, found: Revealed) -> None:
        self._count(todo, found)
        parent = self.nodes[todo.parent]
        if parent.todo is None and parent.parent is not None:
            parent = self.nodes[parent.parent]
        if parent.todo is not None:
            share = Revealed(tried=0, names=found.names * PARENT_CREDIT, words=found.words * PARENT_CREDIT)
            self._count(parent.todo, share)

    def _count(self, todo: Todo, found: Revealed) -> None:
        name = self.reader.action_class(todo.text)
        self._touched.add(name)
        self.classes[name] = self.classes.get(name, Revealed()) + found
        self.actions[todo.text] = self.actions.get(todo.text, Revealed()) + found


def load_forest(
    reader: Reader,
    record: InstanceRecord,
    states: Sequence[State],
    todos: Sequence[Todo],
    facts: Sequence[Fact],
    *,
    keep_templates: bool = True,
) -> Forest:
    """Rebuild the forest from what is stored, in the order in which it grew.

    A name counts for the step that is its first evidence, which is what it counted for when it was recorded.
    """
    first: dict[str, int] = {}
    for fact in facts:
        for name in fact.triplet.entities:
            if fact.evidence:
                first[name] = min(first.get(name, fact.evidence[0]), *fact.evidence)
    names = Counter(first.values())
    forest = Forest(
        reader,
        keep_templates=keep_templates,
        iterations=record.applied_iteration,
        explored=record.explored_iterations,
        last_step=record.last_step,
        replayed=record.replayed,
        idle=record.idle,
    )
    waiting = {state.promoted_from: state for state in states if state.promoted_from}
    for state in states:
        if state.step is not None:
            forest.add_state(state)
    for todo in todos:
        forest.add_todo(todo)
        if todo.outcome == "diverged":
            forest.mark_diverged(todo.id)
        forest.reveal(todo, sum(names[step.number] for step in todo.steps))
        if todo.id in waiting:
            forest.add_state(waiting[todo.id])
    forest._touched.clear()
    return forest


def _words(step: Step) -> set[str]:
    return {word.casefold() for word in _WORD.findall(step.observation.text)}
