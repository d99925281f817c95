"""What is known while exploring is what a run that goes on finds in the store, to the letter."""

from __future__ import annotations

import random

from autocontext.explorer.excerpt import facts_touching
from autocontext.explorer.knowledge import Knowledge
from autocontext.types import Edit, Fact, Triplet, fact_id


def edit(subject: str, predicate: str, target: str, number: int, *, value: bool = False, op: str = "add") -> Edit:
    triplet = Triplet(subject=subject, predicate=predicate, object=target, object_is_value=value)
    return Edit(op=op, triplet=triplet, evidence=(number,))  # type: ignore[arg-type]


def stored(knowledge: Knowledge) -> list[Fact]:
    """As a store gives them back, in any order."""
    facts = [
        Fact(
            id=fact_id("i", known.triplet), **known.triplet.model_dump(), kind=known.kind, live=True, added=(1,),
            evidence=known.evidence,
        )
        for known in knowledge.facts.values()
    ]  # fmt: skip
    random.Random(1).shuffle(facts)
    return facts


def test_a_name_is_spelled_as_it_was_written_first():
    knowledge = Knowledge()
    first = knowledge.spelled(Triplet(subject="Rusty  Key", predicate="lies in", object="the Hall"))
    assert first == Triplet(subject="Rusty  Key", predicate="lies in", object="the Hall")
    again = knowledge.spelled(Triplet(subject="rusty key", predicate="Lies In", object="The hall"))
    assert again == first
    other = knowledge.spelled(Triplet(subject="THE HALL", predicate="Lies In", object="rusty KEY"))
    assert other == Triplet(subject="the Hall", predicate="Lies In", object="Rusty  Key")


def test_values_keep_their_own_spelling_and_exact_names_too():
    knowledge = Knowledge()
    knowledge.spelled(Triplet(subject="door", predicate="is", object="Closed"))
    value = Triplet(subject="door", predicate="says", object="closed", object_is_value=True)
    assert knowledge.spelled(value) == value
    exact = Knowledge("exact")
    exact.spelled(Triplet(subject="Door", predicate="is", object="x"))
    assert exact.spelled(Triplet(subject="door", predicate="is", object="x")).subject == "door"


def test_what_a_retired_fact_was_called_is_kept():
    knowledge = Knowledge()
    for op in ("add", "remove"):
        knowledge.apply(edit("Door", "Is", "open", 1, value=True, op=op))
        knowledge.spelled(Triplet(subject="Door", predicate="Is", object="open", object_is_value=True))
    again = knowledge.spelled(Triplet(subject="door", predicate="is", object="open", object_is_value=True))
    assert (again.subject, again.predicate) == ("Door", "Is")


def test_an_excerpt_is_the_same_after_loading():
    knowledge = Knowledge()
    for number in range(40):
        for name in ("box", "lid", "key"):
            found = edit(f"{name} {number % 7}", f"p{number}", f"hall {number % 3}", number // 4)
            knowledge.apply(found.model_copy(update={"triplet": knowledge.spelled(found.triplet)}))
    loaded = Knowledge.load(stored(knowledge), "folded")
    for tokens in (10, 50, 200, 5000):
        shown, left_out = facts_touching(knowledge, ["hall 1", "key 2"], max_tokens=tokens)
        again, left_out_again = facts_touching(loaded, ["hall 1", "key 2"], max_tokens=tokens)
        assert [known.triplet for known in shown] == [known.triplet for known in again]
        assert left_out == left_out_again
