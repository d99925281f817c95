"""What a person asserts and retires: stored with the reason, kept by later runs, refused where it makes no sense."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import autocontext
from autocontext.errors import InstanceBusy, InvalidEdit, UnknownFact, UnknownInstance
from autocontext.explorer.corrections import assert_fact, retire_fact
from autocontext.graph.store import GraphStore
from autocontext.types import Triplet
from tests.environments.house import House
from tests.integration.conftest import Book, edit

DOOR = Triplet(subject="door", predicate="is", object="locked", object_is_value=True)


def status(book: Book) -> Any:
    return book.store.instance(book.id).model_dump(include={"status", "stopped_because", "stopped_why", "steps_used"})


def test_an_asserted_fact_needs_no_steps_and_tells_its_reason(book: Book) -> None:
    done = assert_fact(book.store, book.id, DOOR, "I have the plans")
    assert (done.iteration, done.fact.kind, done.fact.evidence) == (1, "person", ())
    client = autocontext.ContextClient(book.store)
    (event,) = client.events(book.id, done.fact.id)
    assert (event.iteration, event.what, event.because) == (1, "added", "I have the plans")
    assert client.evidence(book.id, done.fact.id) == []
    (turn,) = book.store.iterations(book.id)
    assert (turn["because"], turn["fact_ids"], turn["added"]) == ("I have the plans", [done.fact.id], 1)


def test_retired_facts_keep_their_past(book: Book) -> None:
    fact = book.add("key", "at", "hall")
    done = retire_fact(book.store, book.id, "key at hall", "it is a painting of a key")
    assert (done.fact.live, done.fact.kind, done.fact.retired) == (False, "person", (2,))
    assert book.texts() == []
    assert book.texts(as_of=1) == ["key at hall"]
    assert [step.number for step in book.store.evidence(book.id, fact.id)] == [1]
    events = autocontext.ContextClient(book.store).events(book.id, fact.id)
    assert [(e.what, e.because) for e in events] == [("added", ""), ("retired", "it is a painting of a key")]


def test_a_person_may_confirm_what_is_live_and_bring_back_what_a_person_retired(book: Book) -> None:
    fact = book.add("key", "at", "hall")
    triplet = fact.triplet
    assert assert_fact(book.store, book.id, triplet, "I saw it too").fact.kind == "person"
    retire_fact(book.store, book.id, fact.id, "on second thoughts")
    again = assert_fact(book.store, book.id, triplet, "it is there after all").fact
    assert (again.live, again.added, again.retired, again.evidence) == (True, (1, 4), (3,), (1,))
    events = autocontext.ContextClient(book.store).events(book.id, fact.id)
    assert [e.what for e in events] == ["added", "confirmed", "retired", "added"]
    assert [e.because for e in events] == ["", "I saw it too", "on second thoughts", "it is there after all"]


def test_how_the_instance_stands_is_left_as_it_was(book: Book) -> None:
    assert_fact(book.store, book.id, DOOR, "before any run")
    assert status(book)["status"] == "new"
    book.n = 1
    book.commit(todos=(), steps_used=0)
    assert status(book)["status"] == "exploring"
    book.store.finish(book.id, "planner", "all is known")
    before = status(book)
    retire_fact(book.store, book.id, "door is locked", "it was opened")
    assert status(book) == before
    record = book.store.instance(book.id)
    assert (record.applied_iteration, record.explored_iterations) == (3, 1)
    book.n = 3
    book.commit(todos=(), steps_used=0)
    assert status(book)["status"] == "exploring"
    assert status(book)["stopped_because"] is None


def test_what_a_person_said_stands_against_other_edits(book: Book) -> None:
    fact = book.add("key", "at", "hall")
    retire_fact(book.store, book.id, fact.id, "it moved")
    assert_fact(book.store, book.id, DOOR, "I locked it")
    book.n = 3
    book.commit(edit("add", fact.triplet, (0,)), edit("remove", DOOR, (0,)), todos=())
    assert book.texts() == ["door is locked"]


def test_nobody_corrects_while_somebody_explores(book: Book) -> None:
    fact = book.add("key", "at", "hall")
    with book.store.lease(book.id):
        with pytest.raises(InstanceBusy):
            retire_fact(book.store, book.id, fact.id, "no")
        with pytest.raises(InstanceBusy):
            assert_fact(book.store, book.id, DOOR, "no")
    assert book.store.instance(book.id).applied_iteration == 1
    retire_fact(book.store, book.id, fact.id, "now it is free")
    assert book.store.instance(book.id).lease is None


@pytest.mark.parametrize(
    ("parts", "because", "said"),
    [
        (("", "is", "open"), "why", "subject is empty"),
        (("door", " \t", "open"), "why", "predicate is empty"),
        (("door", "is", "  "), "why", "object is empty"),
        (("door", "is", "open"), "", "reason"),
        (("door", "is", "open"), " \n", "reason"),
        (("door", "is", "\udcff"), "why", "Unicode"),
        (("door", "is", "open"), "\ud800", "Unicode"),
        (("d" * 70_000, "is", "open"), "why", "70000 characters"),
        (("door", "is", "open"), "w" * 10_001, "10001 characters"),
    ],
)
def test_what_is_empty_or_no_text_is_refused(book: Book, parts: Any, because: str, said: str) -> None:
    subject, predicate, object = parts
    for value in (False, True):
        triplet = Triplet(subject=subject, predicate=predicate, object=object, object_is_value=value)
        with pytest.raises(InvalidEdit, match=said) as refused:
            assert_fact(book.store, book.id, triplet, because)
        assert "\n" not in str(refused.value)
    record = book.store.instance(book.id)
    assert (record.applied_iteration, record.lease) == (0, None)


def test_what_makes_no_sense_is_refused(book: Book) -> None:
    fact = book.add("key", "at", "hall")
    retire_fact(book.store, book.id, fact.id, "gone")
    with pytest.raises(InvalidEdit, match="retired already, since iteration 2"):
        retire_fact(book.store, book.id, fact.id, "again")
    with pytest.raises(UnknownFact, match="nearest"):
        retire_fact(book.store, book.id, "key at hill", "a slip")
    with pytest.raises(UnknownInstance):
        retire_fact(book.store, "no-such-instance", fact.id, "why")
    with pytest.raises(UnknownInstance):
        assert_fact(book.store, "no-such-instance", DOOR, "why")
    assert_fact(book.store, book.id, DOOR, "once")
    with pytest.raises(InvalidEdit, match="asserted 'door is locked' already"):
        assert_fact(book.store, book.id, DOOR, "twice")
    assert book.store.instance(book.id).applied_iteration == 3


def test_hostile_texts_are_stored_exactly(book: Book) -> None:
    text = "'); MATCH (n) DETACH DELETE n //\n\t\"[red]\\u0041 ß İ \x00 \U0001f511"
    triplet = Triplet(subject=f"door {text}", predicate=f"is {text}", object=text, object_is_value=True)
    done = assert_fact(book.store, book.id, triplet, text)
    assert done.fact.triplet == triplet
    assert book.store.iterations(book.id)[0]["because"] == text


def test_corrections_are_part_of_what_makes_two_graphs_the_same(books: Any) -> None:
    one, two, other = books(), books(), books()
    for book, reason in ((one, "because"), (two, "because"), (other, "for another reason")):
        assert_fact(book.store, book.id, DOOR, reason)
    assert one.store.canonical(one.id) == two.store.canonical(two.id) != other.store.canonical(other.id)


def explore(store: GraphStore, name: str, steps: int) -> autocontext.Report:
    options = autocontext.Options(learned=False)
    return autocontext.explore(House(), store, budget=steps, instance=name, options=options)


def test_a_run_goes_on_after_a_correction_as_if_it_had_been_one_run(store: GraphStore, books: Any) -> None:
    """The same corrections between the same steps: a process that goes on knows what one that restarts knows."""
    names = [books().id for _ in range(2)]
    for name in names:
        store.forget(name)
    for name, stops in zip(names, ((6, 20), (6, 9, 13, 20)), strict=True):
        for steps in stops:
            explore(store, name, steps)
            if steps == 6:
                assert_fact(store, name, DOOR, "I know")
                retire_fact(store, name, store.facts(name)[0].id, "I know better")

    def grown(name: str) -> Any:
        rows = store.canonical(name)
        return [row for row in rows if row["row"] != "instance"]

    assert grown(names[0]) == grown(names[1])
    record = store.instance(names[0])
    assert record.applied_iteration == record.explored_iterations + 2


def test_what_a_person_retired_is_not_found_again(store: GraphStore, book: Book) -> None:
    store.forget(book.id)
    explore(store, book.id, 8)
    found = store.facts(book.id)
    for fact in found:
        retire_fact(store, book.id, fact.id, "not here")
    assert_fact(store, book.id, DOOR, "I know")
    report = explore(store, book.id, 40)
    facts = store.facts(book.id)
    assert not {fact.id for fact in found} & {fact.id for fact in facts}
    assert DOOR in [fact.triplet for fact in facts]
    assert report.facts == len(facts)
    whys = {r["why"] for turn in store.iterations(book.id) for r in turn["rejected_edits"]}
    assert "a person retired this fact" in whys


def test_corrections_use_up_neither_patience_nor_the_limit_of_iterations(store: GraphStore, book: Book) -> None:
    store.forget(book.id)
    for budget in (3, 5):
        limits = autocontext.Budget(iterations=budget, patience=None)
        report = autocontext.explore(House(), store, budget=limits, instance=book.id)
        assert report.stopped_because == "iterations"
        assert store.instance(book.id).explored_iterations == budget
        idle = store.instance(book.id).idle
        for n in range(4):
            triplet = Triplet(subject=f"thing {budget}", predicate="has number", object=str(n))
            assert_fact(store, book.id, triplet, "counted")
        assert store.instance(book.id).idle == idle


# --- the command line -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def explored(home: Path) -> str:
    with autocontext.open_store() as store:
        explore(store, "house", 10)
    return "house"


@pytest.mark.service
def test_the_command_line_corrects_and_tells_why(explored: str, run_cli: Any) -> None:
    said = run_cli("assert", explored, "gate", "is", "rusty", "--value", "--because", "I painted it").stdout
    assert "gate | is | rusty" in said
    shown = json.loads(run_cli("show", explored, "--json").stdout)["facts"]
    (fact,) = [fact for fact in shown if fact["subject"] == "gate" and fact["kind"] == "person"]
    assert fact["object_is_value"] is True
    assert "a person said so: I painted it" in run_cli("evidence", explored, "gate is rusty").stdout
    done = json.loads(run_cli("retire", explored, fact["id"], "--because", "painted over", "--json").stdout)
    assert (done["fact"]["live"], done["because"]) == (False, "painted over")
    history = run_cli("history", explored, fact["id"]).stdout
    assert "I painted it" in history
    assert "painted over" in history
    events = json.loads(run_cli("history", explored, fact["id"], "--json").stdout)["events"]
    assert [event["what"] for event in events] == ["added", "retired"]


@pytest.mark.service
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["retire", "house", "nothing like it", "--because", "x"], 1),
        (["retire", "house", "", "--because", "x"], 1),
        (["retire", "no-house", "a fact", "--because", "x"], 1),
        (["retire", "house", "a fact"], 2),
        (["assert", "house", "a", "b", "c"], 2),
        (["assert", "house", "a", "b", "--because", "x"], 2),
        (["assert", "house", "a", "b", "c", "--because", " "], 1),
        (["assert", "house", "a", "", "c", "--because", "x"], 1),
        (["assert", "no-house", "a", "b", "c", "--because", "x"], 1),
    ],
)
def test_a_wrong_correction_is_one_line_and_changes_nothing(
    explored: str, run_cli: Any, words: list[str], code: int
) -> None:
    with autocontext.open_client() as client:
        before = client.instance(explored).applied_iteration
    done = run_cli(*words, check=False)
    assert (done.returncode, done.stdout) == (code, "")
    assert len(done.stderr.splitlines()) == 1
    with autocontext.open_client() as client:
        assert client.instance(explored).applied_iteration == before
