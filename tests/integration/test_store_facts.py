"""What edits make of facts, on every engine."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autocontext.errors import InvalidEdit, UnknownFact, UnknownInstance, UsageError
from autocontext.graph.store import GraphStore
from autocontext.types import Edit, Spec, Triplet

from .conftest import Book, edit

DOOR = ("door", "is", "locked")


def test_a_fact_that_comes_back_is_absent_in_the_gap_and_keeps_its_id(book: Book) -> None:
    first, retired, back = book.add(*DOOR), book.remove(*DOOR), book.add(*DOOR)
    assert [len(book.facts(as_of)) for as_of in (0, 1, 2, 3, None, 99)] == [0, 1, 0, 1, 1, 1]
    assert first.id == retired.id == back.id
    assert (back.added, back.retired, back.live) == ((1, 3), (2,), True)
    assert (back.evidence, back.retired_evidence) == ((1, 3), (2,))


def test_as_of_shows_the_history_and_the_evidence_up_to_then(book: Book) -> None:
    book.add(*DOOR)
    book.add(*DOOR)
    book.remove(*DOOR)
    assert book.facts(as_of=1)[0].evidence == (1,)
    assert book.facts(as_of=2)[0].evidence == (1, 2)
    assert book.facts(as_of=2)[0].live
    assert book.facts(as_of=2)[0].retired == ()
    assert not book.facts()


def test_adding_what_is_there_adds_evidence_not_a_twin(book: Book) -> None:
    book.add(*DOOR)
    fact = book.add("Door", "IS", " locked ", evidence=(2, 1))
    assert len(book.store.all_facts(book.id)) == 1
    assert (fact.evidence, fact.added, fact.subject) == ((1, 2), (1,), "door")


def test_retiring_keeps_the_past_readable(book: Book) -> None:
    book.add(*DOOR)
    fact = book.remove(*DOOR)
    assert not fact.live
    assert book.facts() == []
    assert book.store.all_facts(book.id) == [fact]


def test_removing_what_is_not_there_changes_nothing(book: Book) -> None:
    book.commit(edit("remove", DOOR, (1,)))
    assert book.store.all_facts(book.id) == []
    book.add(*DOOR)
    book.remove(*DOOR)
    again = book.remove(*DOOR)
    assert again.retired == (3,)


def test_the_last_edit_of_a_fact_in_one_iteration_wins(book: Book) -> None:
    book.commit(edit("add", DOOR, (1,)), edit("remove", DOOR, (1,)))
    assert book.store.all_facts(book.id) == []
    book.commit(edit("remove", DOOR, (2,)), edit("add", DOOR, (2,)))
    assert book.texts() == ["door is locked"]
    book.commit(edit("add", DOOR, (3,)), edit("remove", DOOR, (3,)))
    assert book.facts() == []
    assert book.facts(as_of=2)[0].added == (2,)


def test_edits_of_one_iteration_that_agree_join_their_evidence(book: Book) -> None:
    book.commit(edit("add", DOOR, (1,)))
    book.commit(edit("add", DOOR, (2,)), edit("add", DOOR, (0, 2)))
    assert book.facts()[0].evidence == (0, 1, 2)


def test_what_was_inferred_and_is_then_seen_is_no_longer_inferred(book: Book) -> None:
    assert book.add(*DOOR, kind="inferred").kind == "inferred"
    assert book.add(*DOOR, kind="place").kind == "place"
    assert book.add(*DOOR, kind="inferred").kind == "place"


def test_what_a_person_asserted_is_retired_only_by_a_person(book: Book) -> None:
    assert book.add(*DOOR, kind="person").kind == "person"
    assert book.remove(*DOOR).live
    assert book.add(*DOOR).kind == "person"
    assert not book.remove(*DOOR, kind="person").live


def test_what_a_person_retired_is_brought_back_only_by_a_person(book: Book) -> None:
    book.add(*DOOR)
    assert not book.remove(*DOOR, kind="person").live
    assert not book.add(*DOOR).live
    assert book.add(*DOOR, kind="person").live


def test_every_step_knows_the_facts_it_yielded(book: Book) -> None:
    one = book.add(*DOOR)
    two = book.add("key", "is", "red", evidence=(1, 2))
    query = "MATCH (s:Step {scope: $scope}) RETURN s.number, s.fact_ids ORDER BY s.number"
    rows = book.store.query(query, {"scope": book.id}).rows
    assert rows == [[0, []], [1, [one.id, two.id]], [2, [two.id]]]


def test_evidence_is_the_steps_with_all_that_was_seen(book: Book) -> None:
    fact = book.add(*DOOR)
    book.remove(*DOOR)
    assert book.store.evidence(book.id, fact.id) == [book.step(1)]
    assert book.store.evidence(book.id, fact.id, retired=True) == [book.step(2)]


def test_an_entity_and_a_value_of_one_name_are_two(book: Book) -> None:
    value = Triplet(subject="door", predicate="is", object="locked", object_is_value=True)
    book.commit(edit("add", DOOR, (1,)), edit("add", value, (1,)))
    assert [fact.object_is_value for fact in book.facts()] == [False, True]
    rows = book.store.query("MATCH (e:Entity {scope: $s, key: 'locked'}) RETURN count(e)", {"s": book.id}).rows
    assert rows == [[2]]


def test_folded_names_are_one_and_exact_names_are_two(books: Any) -> None:
    folded, exact = books(), books(Spec(environment="bash", source="x", source_hash="1", naming="exact"))
    for book in (folded, exact):
        book.commit(edit("add", ("README", "is", "long"), (1,)), edit("add", ("readme", "is", "long"), (1,)))
    assert (len(folded.facts()), len(exact.facts())) == (1, 2)


def test_names_that_are_alike_are_not_the_same(book: Book) -> None:
    book.commit(edit("add", ("drawer 1", "is", "shut"), (1,)), edit("add", ("drawer 2", "is", "shut"), (1,)))
    assert book.texts() == ["drawer 1 is shut", "drawer 2 is shut"]


def test_facts_come_in_a_fixed_order(book: Book) -> None:
    triplets = [("b", "is", "y"), ("B", "in", "x"), ("a", "is", "z"), ("b", "is", "X")]
    book.commit(*(edit("add", triplet, (1,)) for triplet in triplets))
    assert book.texts() == ["a is z", "b in x", "b is x", "b is y"]


HOSTILE = [
    'it\'s "quoted" `ticked`',
    "back\\slash \\u0041 \\n",
    "two\nlines\r\n\tand a tab",
    "NUL \x00 and \x1b[31m and \x7f",
    "\N{SLIGHTLY SMILING FACE}\N{ZERO WIDTH JOINER}\N{MAN}",
    "x" * 10_000,
    "'}) DETACH DELETE (n) //",
    "$rows {name: $name}",
    "e\u0301 is not \u00e9",
    "\u2028\u2029\ufeff\ufffe\uffff",
    " leading and trailing ",
    "\U0010ffff",
]


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_names_are_kept_exactly(books: Any, name: str) -> None:
    book = books(Spec(environment="bash", source="x", source_hash="1", naming="exact"))
    value = Triplet(subject=name, predicate=name, object=name, object_is_value=True)
    book.commit(edit("add", (name, name, name), (1,)), edit("add", value, (1,)))
    for fact in book.facts():
        assert (fact.subject, fact.predicate, fact.object) == (name, name, name)
    assert len(book.facts()) == 2
    assert book.store.fact(book.id, book.facts()[0].id).subject == name


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    st.lists(
        st.text(st.characters(), min_size=1, max_size=30).filter(lambda text: text.strip()), min_size=1, max_size=8
    )
)
def test_any_text_is_kept_exactly_or_refused_before_anything_is_written(books: Any, names: list[str]) -> None:
    book = books(Spec(environment="bash", source="x", source_hash="1", naming="exact"))
    edits = [
        edit("add", Triplet(subject="x", predicate="is", object=name, object_is_value=True), (1,)) for name in names
    ]
    try:
        book.commit(*edits)
    except InvalidEdit:
        assert book.store.all_facts(book.id) == []
    else:
        assert {fact.object for fact in book.facts()} == set(names)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (edit("add", ("", "is", "x"), (1,)), "the subject is empty"),
        (edit("add", ("x", " ", "y"), (1,)), "the predicate is empty"),
        (edit("add", ("x", "is", "\t"), (1,)), "the object is empty"),
        (edit("add", ("x", "is", "\ud800"), (1,)), "the object has a lone surrogate at character 0"),
        (edit("add", ("y" * 70_000, "is", "x"), (1,)), "the subject has 70000 characters"),
        (edit("add", DOOR, ()), "no step is named as its evidence"),
        (edit("remove", DOOR, ()), "no step is named as its evidence"),
        (edit("add", DOOR, (7,)), "names step 7; the steps are 0 to 1"),
        (edit("add", DOOR, (-1,)), "names step -1"),
    ],
)
def test_an_edit_that_breaks_a_rule_is_refused_and_nothing_is_written(book: Book, wrong: Edit, why: str) -> None:
    before = book.store.canonical(book.id)
    with pytest.raises(InvalidEdit, match=why):
        book.commit(edit("add", ("good", "is", "good"), (1,)), wrong)
    assert book.store.canonical(book.id) == before


def test_an_empty_value_is_a_value(book: Book) -> None:
    book.commit(edit("add", Triplet(subject="IFS", predicate="is", object="", object_is_value=True), (1,)))
    assert book.facts()[0].object == ""


def test_a_fact_answers_to_its_id_a_part_of_it_and_its_text(book: Book) -> None:
    fact = book.add(*DOOR)
    book.add("key", "is", "red")
    for reference in (fact.id, fact.id[:12], fact.id[-12:], "door is locked", "Door IS Locked"):
        assert book.store.fact(book.id, reference) == fact


def test_a_reference_that_names_nothing_or_much_names_the_nearest(book: Book) -> None:
    book.commit(edit("add", DOOR, (1,)), edit("add", ("door", "is", "red"), (1,)))
    with pytest.raises(UnknownFact, match=r"answers to 'door is lockd' \(nearest: .*door is locked"):
        book.store.fact(book.id, "door is lockd")
    with pytest.raises(UnknownFact, match="names 2 facts of"):
        book.store.fact(book.id, book.facts()[0].id[:20])
    with pytest.raises(UnknownFact):
        book.store.fact(book.id, "")


def test_before_the_start_there_is_no_iteration(book: Book) -> None:
    with pytest.raises(UsageError, match="there is no iteration -1"):
        book.facts(as_of=-1)


def test_many_facts_of_one_iteration_are_written_in_batches(book: Book) -> None:
    book.commit(*(edit("add", (f"thing {n}", "in", "room"), (1,)) for n in range(1203)))
    assert len(book.facts()) == 1203


def test_one_entity_is_read_by_itself(book: Book) -> None:
    book.add("Kitchen", "leads east to", "hall")
    book.add("door", "in", "kitchen")
    book.add("kitchen", "next to", "kitchen")
    book.add("hall", "is", "dark")
    book.remove("door", "in", "kitchen")

    def texts(name: str, as_of: int | None = None) -> list[str]:
        found = book.store.entity_facts(book.id, name, as_of)
        assert found == [fact for fact in book.facts(as_of) if fact in found]
        return [f"{fact.subject} {fact.predicate} {fact.object}" for fact in found]

    now = ["Kitchen leads east to hall", "Kitchen next to Kitchen"]
    assert texts(" KITCHEN ") == now == texts("kitchen", 5) == texts("kitchen", 99)
    assert texts("kitchen", 4) == ["door in Kitchen", *now]
    assert texts("kitchen", 2) == ["door in Kitchen", "Kitchen leads east to hall"]
    assert texts("hall", 3) == ["Kitchen leads east to hall"]
    assert texts("kitchen", 0) == texts("attic") == texts("attic", 2) == []
    with pytest.raises(UsageError, match="there is no iteration -1"):
        texts("kitchen", -1)
    with pytest.raises(UnknownInstance):
        book.store.entity_facts(book.id + "x", "kitchen")


def test_a_fact_by_its_whole_id_is_read_by_itself(books: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    book, other = books(), books()
    fact = book.add("door", "is", "locked")
    monkeypatch.setattr(GraphStore, "all_facts", lambda self, instance_id: pytest.fail("all facts were read"))
    assert book.store.fact(book.id, fact.id) == fact
    assert [step.number for step in book.store.evidence(book.id, fact.id)] == [1]
    for wrong in (f"{fact.id[:-1]}{'0' if fact.id[-1] != '0' else '1'}", f"{'0' * 32}-{'0' * 16}"):
        with pytest.raises(UnknownFact, match=f"no fact of '{book.id}' answers to '{wrong}'"):
            book.store.fact(book.id, wrong)
    with pytest.raises(UnknownFact):
        book.store.fact(other.id, fact.id)
