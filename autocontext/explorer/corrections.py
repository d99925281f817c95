"""What a person knows better: facts asserted and retired by hand, each with a reason.

A correction is an iteration of its own, without todos, and needs no evidence. It stands: what later runs see neither
retires what a person asserted nor brings back what a person retired (`autocontext.graph.facts`).
"""

from __future__ import annotations

from autocontext.errors import InvalidEdit
from autocontext.graph.store import GraphStore
from autocontext.types import Data, Edit, Fact, InstanceRecord, Iteration, Triplet, fact_id

LONGEST_REASON = 10_000


class Correction(Data):
    """What was done: the fact as it is now, and the iteration that holds the reason."""

    instance: str
    iteration: int
    because: str
    fact: Fact


def assert_fact(store: GraphStore, instance: str, triplet: Triplet, because: str) -> Correction:
    """Add a fact on a person's word. One that is live already becomes a person's, so that nothing else retires it.

    Raises:
        UnknownInstance: there is no such instance.
        InstanceBusy: another process explores it.
        InvalidEdit: a part or the reason is empty or no text, or a person has asserted the fact already.
    """
    _must_be_text(because, triplet)
    with store.lease(instance) as held:
        record = store.instance(instance)
        identifier = fact_id(instance, triplet, record.naming)
        before = {fact.id: fact for fact in store.facts(instance)}.get(identifier)
        if before is not None and before.kind == "person":
            raise InvalidEdit(f"a person has asserted '{_shown(before.triplet)}' already ({before.id}).")
        iteration = _iteration(record, Edit(triplet=triplet, kind="person"), because)
        with held.writing():
            store.commit(instance, iteration, held.lease)
        return _done(store, record, iteration, identifier)


def retire_fact(store: GraphStore, instance: str, reference: str, because: str) -> Correction:
    """Retire a fact on a person's word; its past stays readable.

    Args:
        reference: its id, an unambiguous part of it, or `subject predicate object`.

    Raises:
        UnknownInstance: there is no such instance.
        UnknownFact: nothing, or more than one fact, answers to the reference.
        InstanceBusy: another process explores the instance.
        InvalidEdit: the reason is empty or no text, or the fact is retired already.
    """
    _must_be_text(because)
    with store.lease(instance) as held:
        record = store.instance(instance)
        fact = store.fact(instance, reference)
        if not fact.live:
            raise InvalidEdit(f"'{_shown(fact.triplet)}' is retired already, since iteration {fact.retired[-1]}.")
        iteration = _iteration(record, Edit(op="remove", triplet=fact.triplet, kind="person"), because)
        with held.writing():
            store.commit(instance, iteration, held.lease)
        return _done(store, record, iteration, fact.id)


def _iteration(record: InstanceRecord, edit: Edit, because: str) -> Iteration:
    """The next iteration: what the exploration has used, and whether it was idle, stays as it is."""
    return Iteration(
        n=record.applied_iteration + 1,
        edits=(edit,),
        because=because,
        steps_used=record.steps_used,
        replayed=record.replayed,
        idle=record.idle,
    )


def _done(store: GraphStore, record: InstanceRecord, iteration: Iteration, identifier: str) -> Correction:
    fact = store.fact(record.id, identifier)
    return Correction(instance=record.id, iteration=iteration.n, because=iteration.because, fact=fact)


def _must_be_text(because: str, triplet: Triplet | None = None) -> None:
    parts = {"reason (--because)": because}
    if triplet is not None:
        parts |= {"subject": triplet.subject, "predicate": triplet.predicate, "object": triplet.object}
    for name, text in parts.items():
        if not text.strip():
            raise InvalidEdit(f"the {name} is empty; nothing was changed.")
        if any("\ud800" <= char <= "\udfff" for char in text):
            raise InvalidEdit(f"the {name} is no valid Unicode; nothing was changed.")
    if len(because) > LONGEST_REASON:
        raise InvalidEdit(f"the reason has {len(because)} characters, more than {LONGEST_REASON}; say it shorter.")


def _shown(triplet: Triplet) -> str:
    text = f"{triplet.subject} {triplet.predicate} {triplet.object}"
    return text if len(text) <= 120 else f"{text[:119]}…"
