"""Does a file hold a whole instance whose parts fit together? Asked of every row before the first one is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autocontext.errors import ImportFailed
from autocontext.graph import facts as rules
from autocontext.graph.spool import Spool, sort_key
from autocontext.graph.transfer import lines
from autocontext.graph.transfer.ids import Ids
from autocontext.graph.transfer.source import Source
from autocontext.types import InstanceRecord, normalise


def check(source: Source, record: InstanceRecord, spool: Spool) -> dict[str, int]:
    """Reads the whole file, as one of the instance that `record` names.

    Which facts each step shows is in the spool afterwards, by the step's number.

    Returns:
        How many rows there are of each kind.

    Raises:
        ImportFailed: something is wrong with it; the message names the first line.
    """
    checking = _Check(record, spool)
    for number, row in source.rows():
        try:
            checking.take(number, row)
        except _Wrong as wrong:
            raise ImportFailed(f"{source.name}: line {number}: {wrong}.") from None
    try:
        checking.whole()
    except _Wrong as wrong:
        raise ImportFailed(f"{source.name}: {wrong}.") from None
    return checking.counts


class _Wrong(Exception):
    """What is wrong with a row."""


class _Check:
    """Keeps of each row as much as later ones may name: ids, and of entities and facts hashes of 16 bytes."""

    def __init__(self, record: InstanceRecord, spool: Spool) -> None:
        self._record, self._spool = record, spool
        self.counts = dict.fromkeys(lines.KINDS, 0)
        self._ids = Ids(record.id, record.naming)
        self._kind = 0
        self._parents: dict[str, dict[str, tuple[str, int]]] = {"state": {}, "todo": {}, "episode": {}}
        """Of nodes of the forest: what each hangs on, and the line that says so."""
        self._starts: dict[int, int] = {}
        """Steps that show where an episode starts, and the line that says so."""
        self._steps: set[int] = set()
        self._last_step = -1
        self._entities: set[bytes] = set()
        self._facts: set[bytes] = set()
        self._templates: set[str] = set()
        self._take: dict[str, Callable[[int, Any], None]] = {
            "state": self._state,
            "todo": self._todo,
            "episode": self._episode,
            "step": self._step,
            "entity": self._entity,
            "fact": self._fact,
            "template": self._template,
            "iteration": self._iteration,
        }

    def take(self, number: int, row: lines.Row) -> None:
        """The row of that line."""
        kind = lines.KINDS.index(row.row)
        if kind < self._kind:
            raise _Wrong(f"a row of kind '{row.row}' after one of kind '{lines.KINDS[self._kind]}'")
        self._kind = kind
        self.counts[row.row] += 1
        self._take[row.row](number, row)

    def whole(self) -> None:
        """Is there all that an instance needs?"""
        record = self._record
        if self.counts["iteration"] != record.applied_iteration:
            raise _Wrong(f"it has {self.counts['iteration']} of {record.applied_iteration} iterations")
        if self._parents["state"].get("S0", ("?", 0))[0] or 0 not in self._steps:
            raise _Wrong("it has no first state S0 with step 0")
        if self._last_step != record.last_step:
            raise _Wrong(f"its last step is {self._last_step}, not {record.last_step}")
        for start, number in self._starts.items():
            if start not in self._steps:
                raise _Wrong(f"line {number}: an episode starts with step {start}, which is not there")
        self._forest()

    # --- kinds ----------------------------------------------------------------------------------------

    def _state(self, number: int, row: lines.StateRow) -> None:
        self._node("state", row.id, row.promoted_from or "", number, row.iteration)

    def _todo(self, number: int, row: lines.TodoRow) -> None:
        self._node("todo", row.id, row.parent, number, row.iteration)

    def _episode(self, number: int, row: lines.EpisodeRow) -> None:
        self._node("episode", row.id, "", number, row.iteration)
        self._starts[row.start] = number

    def _node(self, kind: str, identifier: str, parent: str, number: int, iteration: int) -> None:
        if identifier in self._parents[kind]:
            raise _Wrong(f"{kind} '{identifier}' is there already")
        self._of_iteration(iteration)
        self._parents[kind][identifier] = parent, number

    def _step(self, number: int, row: lines.StepRow) -> None:
        if row.number <= self._last_step:
            raise _Wrong(f"step {row.number} comes after step {self._last_step}")
        if row.parent not in self._parents[row.below]:
            raise _Wrong(f"it is a step of {row.below} '{row.parent}', which is not there")
        self._of_iteration(row.iteration)
        self._steps.add(row.number)
        self._last_step = row.number

    def _entity(self, number: int, row: lines.EntityRow) -> None:
        if len(row.name) > rules.LONGEST_NAME:
            raise _Wrong(f"a name has {len(row.name)} characters, more than {rules.LONGEST_NAME}")
        if not row.value and not normalise(row.name, self._record.naming):
            raise _Wrong("a name is empty")
        key = bytes.fromhex(self._ids.entity(row.name, value=row.value))
        if key in self._entities:
            raise _Wrong(f"{'value' if row.value else 'entity'} '{row.name[:80]}' is there already")
        self._entities.add(key)

    def _fact(self, number: int, row: lines.FactRow) -> None:
        for name, is_value in ((row.subject, False), (row.object, row.object_is_value)):
            if bytes.fromhex(self._ids.entity(name, value=is_value)) not in self._entities:
                raise _Wrong(f"a fact is about '{name[:80]}', which is not among the entities")
        self._predicate(row)
        identifier = self._ids.fact(row.subject, row.predicate, row.object, is_value=row.object_is_value)
        key = bytes.fromhex(identifier.replace("-", ""))
        if key in self._facts:
            raise _Wrong(f"the fact '{row.subject[:80]} {row.predicate[:80]} {row.object[:80]}' is there already")
        self._facts.add(key)
        for name, numbers in (("added", row.added), ("retired", row.retired)):
            if numbers != sorted(set(numbers)) or any(not 1 <= n <= self._record.applied_iteration for n in numbers):
                raise _Wrong(f"it was {name} in iterations {numbers[:5]}, which cannot be")
        if row.live != (len(row.added) > len(row.retired)) or not 0 <= len(row.added) - len(row.retired) <= 1:
            raise _Wrong("it is live by one of its properties, and not by another")
        self._shown(row, identifier)

    def _predicate(self, row: lines.FactRow) -> None:
        if not normalise(row.predicate) or len(row.predicate) > rules.LONGEST_NAME:
            raise _Wrong("a predicate is empty, or too long")

    def _shown(self, row: lines.FactRow, identifier: str) -> None:
        for numbers in (row.evidence, row.retired_evidence):
            if numbers != sorted(set(numbers)):
                raise _Wrong("its evidence is not in order")
        if not row.evidence and row.kind != "person":
            raise _Wrong("no step is named as its evidence")
        for number in {*row.evidence, *row.retired_evidence}:
            if number not in self._steps:
                raise _Wrong(f"its evidence names step {number}, which is not there")
            self._spool.put("shown", sort_key(number), identifier.encode())

    def _template(self, number: int, row: lines.TemplateRow) -> None:
        if row.name in self._templates:
            raise _Wrong(f"template '{row.name[:80]}' is there already")
        self._templates.add(row.name)

    def _iteration(self, number: int, row: lines.IterationRow) -> None:
        if row.n != self.counts["iteration"]:
            raise _Wrong(f"it is iteration {row.n}, and should be {self.counts['iteration']}")
        for subject, predicate, target, is_value in row.facts:
            identifier = self._ids.fact(subject, predicate, target, is_value=is_value)
            if bytes.fromhex(identifier.replace("-", "")) not in self._facts:
                raise _Wrong(f"it corrects '{subject[:80]} {predicate[:80]} {target[:80]}', which is no fact here")

    # --- together -------------------------------------------------------------------------------------

    def _of_iteration(self, n: int) -> None:
        if n > self._record.applied_iteration:
            raise _Wrong(f"it is of iteration {n}, and there are {self._record.applied_iteration}")

    def _forest(self) -> None:
        """Does every node hang on one that is there, and none on itself?"""
        states, todos = self._parents["state"], self._parents["todo"]
        rooted = {("state", "S0")}
        for kind, nodes in (("state", states), ("todo", todos)):
            for identifier in nodes:
                way: list[tuple[str, str]] = []
                node = (kind, identifier)
                while node not in rooted:
                    if node in way[-1:] or len(way) > len(states) + len(todos):
                        raise _Wrong(f"{kind} '{identifier}' hangs on itself")
                    way.append(node)
                    node = self._above(*node)
                rooted.update(way)

    def _above(self, kind: str, identifier: str) -> tuple[str, str]:
        parent, number = self._parents[kind][identifier]
        if kind == "todo" and parent in self._parents["state"]:
            return "state", parent
        if parent not in self._parents["todo"]:
            raise _Wrong(f"line {number}: {kind} '{identifier}' hangs on '{parent}', which is not there")
        return "todo", parent
