"""What is known while exploring agrees with what the store would keep, above all where a person has had a word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocontext.environments.generic import GenericReader
from autocontext.explorer.extractor.rules import RuleExtractor
from autocontext.explorer.extractor.taken import Taken
from autocontext.explorer.extractor.validate import validate
from autocontext.explorer.forest import Forest
from autocontext.explorer.knowledge import Knowledge
from autocontext.graph import facts as rules
from autocontext.types import Edit, Fact, Observation, RejectedEdit, State, Step, Triplet

KEY = Triplet(subject="key", predicate="at", object="hall")


def forest() -> Forest:
    found = Forest(GenericReader())
    seen = Observation(text="You are in the hall.", admissible=("take key",))
    found.add_state(State(id="S0", step=Step(number=0, action="", observation=seen)))
    return found


def said(op: str, triplet: Triplet = KEY, kind: str = "person", evidence: tuple[int, ...] = ()) -> Edit:
    return Edit.model_validate({"op": op, "triplet": triplet, "kind": kind, "evidence": evidence})


def fact(**more: object) -> Fact:
    return Fact.model_validate({"id": "-", **KEY.model_dump(), **more})


edits = st.builds(
    said,
    st.sampled_from(["add", "remove"]),
    st.builds(
        Triplet, subject=st.sampled_from(["key", "Key "]), predicate=st.just("at"), object=st.sampled_from(["a", "b"])
    ),
    st.sampled_from(["person", "place", "property", "inferred"]),
    st.sets(st.integers(0, 5), max_size=2).map(tuple),
)


@given(st.lists(edits, max_size=12))
def test_edit_by_edit_it_knows_what_the_store_keeps(history: list[Edit]) -> None:
    knowledge, stored = Knowledge(), dict[str, Fact]()
    for n, edit in enumerate(history, start=1):
        knowledge.apply(edit)
        (verdict,) = rules.settle([edit], "scope", "folded")
        after = rules.apply(stored.get(verdict.id), verdict, n)
        if after is not None:
            stored[verdict.id] = after
    live = {(f.triplet, f.kind, f.evidence) for f in stored.values() if f.live}
    assert {(known.triplet, known.kind, known.evidence) for known in knowledge.facts.values()} == live
    again = Knowledge.load(stored.values(), "folded")
    assert again.facts == knowledge.facts
    assert again.retired == knowledge.retired


def test_a_live_fact_of_a_person_is_not_removed_by_others() -> None:
    knowledge = Knowledge.load([fact(kind="person")], "folded")
    refused = validate(said("remove", kind="place", evidence=(0,)), forest(), knowledge)
    assert isinstance(refused, RejectedEdit)
    assert refused.why == "a person asserted this fact"
    assert knowledge.apply(said("remove", kind="place", evidence=(0,))) == set()
    assert knowledge.says("key", "at") == "hall"


def test_a_fact_retired_by_a_person_is_not_brought_back_by_others() -> None:
    knowledge = Knowledge.load([fact(kind="person", live=False, evidence=(0,))], "folded")
    refused = validate(said("add", kind="place", evidence=(0,)), forest(), knowledge)
    assert isinstance(refused, RejectedEdit)
    assert refused.why == "a person retired this fact"
    found = RuleExtractor().read([], forest(), knowledge)
    assert KEY not in [edit.triplet for edit in found.edits]
    assert found.fresh == len(found.edits)
    assert KEY not in knowledge.triplets()


def test_a_fact_that_others_retired_may_come_back() -> None:
    knowledge = Knowledge.load([fact(kind="place", live=False)], "folded")
    assert isinstance(validate(said("add", kind="place", evidence=(0,)), forest(), knowledge), Edit)


@pytest.mark.parametrize("op", ["add", "remove"])
def test_neither_a_reader_nor_a_model_speaks_for_a_person(op: str) -> None:
    knowledge = Knowledge.load([fact()], "folded")
    taken = Taken(forest(), knowledge)
    taken.take([said(op, evidence=(0,))])
    assert [rejected.why for rejected in taken.rejected] == ["only a person's own corrections are of kind 'person'"]
    assert knowledge.facts[knowledge.key(KEY)].kind == "property"


def test_a_name_counts_as_new_when_a_step_first_shows_it_whatever_people_said_before() -> None:
    knowledge = Knowledge.load([fact(kind="person")], "folded")
    assert knowledge.entities == {"key", "hall"}
    other = Triplet(subject="key", predicate="is", object="rusty", object_is_value=True)
    assert knowledge.apply(said("add", other, "property", (0,))) == {"key"}
    assert knowledge.apply(said("add", other, "property", (1,))) == set()


def test_what_only_a_person_says_is_no_premise() -> None:
    knowledge = Knowledge.load([fact(kind="person")], "folded")
    assert knowledge.proven() == []
    knowledge.apply(said("add", kind="place", evidence=(3,)))
    assert knowledge.proven() == [(KEY, (3,))]
