"""What edits make of facts: pure rules, without a database.

Adding what is live adds evidence; adding what was retired brings it back under the same id; removing retires, and the
past stays readable. The last edit of a fact in one iteration wins.

A person's word stands: a fact of kind `person` that is live was asserted by a person and other edits do not retire
it; one that is retired was retired by a person and other edits do not bring it back (so a person's retirement turns
the fact's kind into `person`). Within one iteration a person's edits of a fact are the only ones that count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from autocontext.errors import InvalidEdit
from autocontext.types import Edit, Fact, FactKind, Naming, Triplet, entity_id, fact_id, normalise

LONGEST_NAME = 65_536
"""Characters of a subject, predicate or object."""


@dataclass(frozen=True)
class Verdict:
    """What all edits of one fact in one iteration come to."""

    id: str
    op: Literal["add", "remove"]
    triplet: Triplet
    kind: FactKind
    evidence: tuple[int, ...]


def check(edit: Edit, naming: Naming, last_step: int) -> None:
    """Does an edit keep the rules of the data model?

    Raises:
        InvalidEdit: a name is empty, too long or no valid Unicode, or the evidence is missing or names steps that
            were never made.
    """
    triplet = edit.triplet
    parts = {"subject": triplet.subject, "predicate": triplet.predicate, "object": triplet.object}
    for part, text in parts.items():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InvalidEdit(
                f"{_shown(edit)}: the {part} has a lone surrogate at character {error.start}, which is no text; "
                "decode the source with errors='replace'."
            ) from None
        if len(text) > LONGEST_NAME:
            raise InvalidEdit(f"{_shown(edit)}: the {part} has {len(text)} characters, more than {LONGEST_NAME}.")
        is_value = part == "object" and triplet.object_is_value
        if not is_value and not normalise(text, "folded" if part == "predicate" else naming):
            raise InvalidEdit(f"{_shown(edit)}: the {part} is empty.")
    if not edit.evidence and edit.kind != "person":
        raise InvalidEdit(f"{_shown(edit)}: no step is named as its evidence.")
    if wrong := [number for number in edit.evidence if not 0 <= number <= last_step]:
        raise InvalidEdit(f"{_shown(edit)}: its evidence names step {wrong[0]}; the steps are 0 to {last_step}.")


def settle(edits: Iterable[Edit], scope: str, naming: Naming) -> list[Verdict]:
    """One verdict for each fact that the edits are about, in the order in which the facts are first named.

    The last edit says whether the fact is added or removed; the edits before it that say the same, without one
    between that says otherwise, join their evidence.
    """
    by_fact: dict[str, list[Edit]] = {}
    for edit in edits:
        by_fact.setdefault(fact_id(scope, edit.triplet, naming), []).append(edit)
    return [_verdict(identifier, group) for identifier, group in by_fact.items()]


def apply(old: Fact | None, verdict: Verdict, iteration: int) -> Fact | None:
    """The fact as it is after the verdict; None: the verdict has no effect."""
    personal = verdict.kind == "person"
    if verdict.op == "remove":
        if old is None or not old.live or (old.kind == "person" and not personal):
            return None
        return old.model_copy(
            update={
                "live": False,
                "kind": "person" if personal else old.kind,
                "retired": (*old.retired, iteration),
                "retired_evidence": merged(old.retired_evidence, verdict.evidence),
            }
        )
    if old is None:
        fields = verdict.triplet.model_dump()
        return Fact(
            id=verdict.id, **fields, kind=verdict.kind, added=(iteration,), evidence=merged((), verdict.evidence)
        )
    evidence = merged(old.evidence, verdict.evidence)
    if old.live:
        return old.model_copy(update={"kind": _stronger(old.kind, verdict.kind), "evidence": evidence})
    if old.kind == "person" and not personal:
        return None
    return old.model_copy(
        update={"live": True, "kind": verdict.kind, "added": (*old.added, iteration), "evidence": evidence}
    )


def as_of(fact: Fact, iteration: int, last_step: int) -> Fact:
    """A fact's history up to the end of an iteration, whose last step is given."""
    return fact.model_copy(
        update={
            "live": True,
            "added": tuple(n for n in fact.added if n <= iteration),
            "retired": tuple(n for n in fact.retired if n <= iteration),
            "evidence": tuple(number for number in fact.evidence if number <= last_step),
            "retired_evidence": tuple(number for number in fact.retired_evidence if number <= last_step),
        }
    )


def merged(one: Sequence[int], two: Sequence[int]) -> tuple[int, ...]:
    """Both, sorted, each number once."""
    return tuple(sorted({*one, *two}))


def scope_token(scope: str) -> str:
    """A scope as one token to every analyser: full-text indexes would take `game-1` apart."""
    return "i" + hashlib.blake2b(scope.encode(), digest_size=8).hexdigest()


# --- rows of the database -----------------------------------------------------------------------------


def fact_of(row: Mapping[str, Any]) -> Fact:
    """A row of `all_facts` and the like as a fact."""
    stored = row["fact"]
    return Fact(
        id=stored["id"],
        subject=row["subject"],
        predicate=stored["predicate"],
        object=row["object"],
        object_is_value=bool(row["object_is_value"]),
        kind=stored["kind"],
        live=stored["live"],
        added=tuple(stored["added"]),
        retired=tuple(stored["retired"]),
        evidence=tuple(stored["evidence"]),
        retired_evidence=tuple(stored["retired_evidence"]),
    )


def facts_in_order(rows: Iterable[Mapping[str, Any]]) -> list[Fact]:
    """Facts by subject, predicate and object, whatever order the engine gave."""

    def order(row: Mapping[str, Any]) -> tuple[Any, ...]:
        stored = row["fact"]
        return row["subject_key"], stored["predicate"], row["object_key"], row["object_is_value"], stored["id"]

    return [fact_of(row) for row in sorted(rows, key=order)]


def fact_row(fact: Fact, scope: str, naming: Naming) -> dict[str, Any]:
    """A fact as a row of `create_facts` and `update_facts`."""
    row = fact.model_dump(exclude={"object_is_value"}) | ends_row(fact.id, fact.triplet, scope, naming)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in row.items()}


def ends_row(identifier: str, triplet: Triplet, scope: str, naming: Naming) -> dict[str, Any]:
    """A fact's id and those of its ends, as a row of `touched_facts`."""
    return {
        "id": identifier,
        "subject": entity_id(scope, triplet.subject, naming=naming),
        "object": entity_id(scope, triplet.object, value=triplet.object_is_value, naming=naming),
    }


def entity_rows(facts: Iterable[Fact], scope: str, naming: Naming) -> list[dict[str, Any]]:
    """The ends of some facts as rows of `upsert_entities`, each once, under the spelling that comes first."""
    rows: dict[str, dict[str, Any]] = {}
    for fact in facts:
        for name, value in ((fact.subject, False), (fact.object, fact.object_is_value)):
            identifier = entity_id(scope, name, value=value, naming=naming)
            key = name if value else normalise(name, naming)
            rows.setdefault(identifier, {"id": identifier, "name": name, "key": key, "value": value})
    return list(rows.values())


def _verdict(identifier: str, edits: Sequence[Edit]) -> Verdict:
    counted = [edit for edit in edits if edit.kind == "person"] or list(edits)
    last = counted[-1]
    run: list[Edit] = []
    for edit in reversed(counted):
        if edit.op != last.op:
            break
        run.insert(0, edit)
    kind = run[0].kind
    for edit in run[1:]:
        kind = _stronger(kind, edit.kind)
    evidence = merged((), [number for edit in run for number in edit.evidence])
    return Verdict(identifier, last.op, run[0].triplet, kind, evidence)


def _stronger(old: FactKind, new: FactKind) -> FactKind:
    """What was seen is no longer merely inferred, and what a person says is theirs; otherwise the first kind stays."""
    return new if new == "person" or old == "inferred" else old


def _shown(edit: Edit) -> str:
    def brief(text: str) -> str:
        return repr(text if len(text) <= 60 else text[:59] + "…")

    triplet = edit.triplet
    return f"{edit.op} ({brief(triplet.subject)}, {brief(triplet.predicate)}, {brief(triplet.object)})"
