"""Recorded steps become the same facts with the same evidence as explored ones, on every engine."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import autocontext
from autocontext.errors import DatabaseError, EnvironmentFailure, InstanceBusy, LogRefused, UsageError
from autocontext.explorer import episodes as ingesting
from autocontext.explorer.corrections import retire_fact
from autocontext.explorer.ingest import ingest
from autocontext.explorer.steps import Reading
from autocontext.graph.store import GraphStore
from autocontext.types import Edit, Triplet
from tests.environments.house import House
from tests.integration.recorded import HOUSE, ROUND, played, proofs, texts


@pytest.fixture
def names(store: GraphStore) -> Iterator[Callable[[], str]]:
    """Names for instances that are forgotten afterwards."""
    made: list[str] = []

    def name() -> str:
        made.append(f"test-{uuid.uuid4().hex[:12]}")
        return made[-1]

    yield name
    for record in store.instances():
        if record.id in made:
            store.forget(record.id)


@pytest.fixture
def name(names: Callable[[], str]) -> str:
    return names()


def test_episodes_are_kept_and_prove_the_facts(store: GraphStore, name: str, log: Any) -> None:
    done = ingest(log(*played(*ROUND), *played("look", "go north")), store, instance=name)
    assert (done.episodes, done.steps, done.iterations, done.skipped) == (2, 9, 1, 0)
    assert done.facts == len(store.facts(name)) > 5
    record = store.instance(name)
    assert (record.environment, record.status, record.stopped_because) == ("log", "new", None)
    assert (record.steps_used, record.last_step, record.applied_iteration, record.explored_iterations) == (0, 9, 1, 0)
    states, todos = store.load_forest(name)
    assert ([state.id for state in states], todos) == (["S0"], [])
    first, second = store.episodes(name)
    assert [step.action for step in first.steps] == list(ROUND)
    assert [step.action for step in second.steps] == ["", "look", "go north"]
    assert (first.start, second.start) == (0, 7)
    assert ([s.number for s in first.steps], [s.number for s in second.steps]) == ([1, 2, 3, 4, 5, 6], [7, 8, 9])
    for fact in store.facts(name):
        assert fact.evidence
        assert [step.number for step in store.evidence(name, fact.id)] == list(fact.evidence)
    steps = autocontext.ContextClient(store).steps(name)
    assert [step.number for step in steps] == list(range(10))


def test_what_the_path_had_changed_is_not_true_at_the_start(store: GraphStore, name: str, log: Any) -> None:
    seen = {"observation": "Shed\nA shed.", "admissible": ["take rake", "take hoe", "drop rake"]}
    moved = {"action": "take rake", "observation": "Taken.", "admissible": ["drop rake", "take hoe"]}
    porch = {"action": "go out", "observation": "Porch\nA porch.", "admissible": ["take rake", "take fork"]}
    ingest(log(seen, moved, porch), store, instance=name)
    found = texts(store, name)
    assert ("rake", "at", "Shed", "place") in found
    assert ("fork", "at", "Porch", "place") in found
    assert ("rake", "at", "Porch", "place") not in found
    (turn,) = store.iterations(name)
    assert any("already changed the location of 'rake'" in row["why"] for row in turn["rejected_edits"])


def test_the_same_log_twice_changes_nothing(store: GraphStore, name: str, log: Any) -> None:
    lines = [*played(*ROUND), *played("look")]
    path = log(*lines, *played("look"))
    first = ingest(path, store, instance=name)
    assert (first.episodes, first.skipped) == (2, 1)
    before = store.canonical(name)
    again = ingest(path, store, instance=name)
    assert (again.episodes, again.skipped, again.steps, again.iterations, again.fresh) == (0, 3, 0, 0, 0)
    assert store.canonical(name) == before
    longer = ingest(log(*lines, *played("go down"), name="longer.jsonl"), store, instance=name)
    assert (longer.episodes, longer.skipped, longer.steps) == (1, 2, 2)


def test_two_logs_make_the_same_graph_wherever_they_lie(store: GraphStore, names: Any, log: Any) -> None:
    one, two, other = names(), names(), names()
    lines = [*played(*ROUND), *played("look")]
    ingest(log(*lines), store, instance=one)
    ingest(log(*lines, name="elsewhere.jsonl"), store, instance=two)
    ingest(log(*lines[:-1]), store, instance=other)
    assert store.canonical(one) == store.canonical(two) != store.canonical(other)
    store.forget(one)
    assert store.query("MATCH (n {scope: $scope}) RETURN count(n)", {"scope": one}).rows == [[0]]


def test_episodes_and_corrections_survive_export_and_import(
    store: GraphStore, names: Any, log: Any, tmp_path: Path
) -> None:
    one, two = names(), names()
    lines = [*played(*ROUND), *played("look")]
    ingest(log(*lines), store, instance=one)
    retire_fact(store, one, store.facts(one)[0].id, "no")
    (tmp_path / "export").write_text("".join(f"{row}\n" for row in store.export(one)))
    store.load(tmp_path / "export", two)
    assert store.canonical(one) == store.canonical(two)
    assert store.episodes(one) == store.episodes(two)
    assert store.iterations(two)[-1]["because"] == "no"
    assert ingest(log(*lines, *played("go up")), store, instance=two).skipped == 2


def test_it_may_be_cut_short_anywhere_and_goes_on(
    store: GraphStore, names: Any, log: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long episode comes in several iterations; what is there already is not stored again."""
    monkeypatch.setattr(ingesting, "COMMIT_STEPS", 4)
    monkeypatch.setattr(ingesting, "READ_STEPS", 3)
    whole, cut = names(), names()
    path = log(*played("look"), *played(*ROUND * 3), *played("go north", *ROUND))
    ingest(path, store, instance=whole)
    commit = GraphStore.commit
    for at in range(1, 12):
        count = iter(range(1, 100))

        def failing(self: GraphStore, *args: Any, at: int = at, count: Iterator[int] = count) -> None:
            if next(count) > at % 3:
                raise DatabaseError("the power is out")
            commit(self, *args)

        with monkeypatch.context() as patch:
            patch.setattr(GraphStore, "commit", failing)
            try:
                ingest(path, store, instance=cut)
            except DatabaseError:
                continue
            break
    else:
        raise AssertionError("it never came to its end")
    assert len(store.iterations(cut)) > 4
    assert texts(store, cut) == texts(store, whole)
    assert [e.model_dump(exclude={"source"}) for e in store.episodes(cut)] == [
        e.model_dump(exclude={"source"}) for e in store.episodes(whole)
    ]
    assert proofs(store, cut) == proofs(store, whole)


def test_hostile_texts_are_stored_exactly(store: GraphStore, name: str, log: Any) -> None:
    text = "'); MATCH (n) DETACH DELETE n //\n\t\"[red]\\u0041 ß İ \x00\x1b \u2028 \U0001f511"
    lines = [{"observation": text}, {"action": text, "observation": text, "inventory": text, "admissible": [text]}]
    ingest(log(*lines), store, instance=name)
    (episode,) = store.episodes(name)
    (step,) = episode.steps
    assert (step.action, step.observation.text, step.observation.inventory) == (text, text, text)
    assert step.observation.admissible == (text,)


def test_an_explored_instance_learns_from_logs_and_is_explored_further(
    store: GraphStore, name: str, log: Any, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(checkout)
    options = autocontext.Options(learned=False)
    autocontext.explore(House(), store, budget=4, instance=name, options=options)
    before = store.instance(name)
    done = ingest(log(*played(*ROUND)), store, instance=name)
    after = store.instance(name)
    assert done.environment == "custom"
    assert (after.steps_used, after.last_step) == (4, 4 + 7)  # the reset has a number of its own now
    assert (after.status, after.stopped_because, after.idle) == (before.status, "steps", before.idle)
    assert ("cellar", "open chest gives") in {(fact.subject, fact.predicate) for fact in store.facts(name)}
    report = autocontext.explore(House(), store, budget=9, instance=name, options=options)
    assert (report.steps, store.instance(name).steps_used, store.instance(name).last_step) == (9, 9, 16)
    steps = autocontext.ContextClient(store).steps(name)
    assert [step.number for step in steps] == list(range(17))
    assert report.facts == len(store.facts(name))


def test_an_instance_that_was_only_ingested_is_explored_further(
    store: GraphStore, names: Any, log: Any, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(checkout)
    name = names()
    ingest(log(*played(*ROUND)), store, instance=name, environment=HOUSE)
    report = autocontext.explore(House(), store, budget=60, instance=name)
    fresh = names()
    autocontext.explore(House(), store, budget=60, instance=fresh)
    assert texts(store, fresh) <= texts(store, name) | {("hall", "is", "the start", "place")}
    assert report.steps == store.instance(name).steps_used
    other = names()
    ingest(log({"observation": "You are elsewhere."}), store, instance=other, environment=HOUSE)
    with pytest.raises(EnvironmentFailure, match="reset shows something else"):
        autocontext.explore(House(), store, budget=5, instance=other)


def test_what_a_person_said_stands_against_logs_too(store: GraphStore, name: str, log: Any) -> None:
    ingest(log(*played("look")), store, instance=name)
    fact = store.facts(name)[0]
    retire_fact(store, name, fact.id, "no")
    ingest(log(*played("go down", "go up", "look")), store, instance=name)
    assert fact.id not in {found.id for found in store.facts(name)}


def test_any_extractor_may_read(store: GraphStore, name: str, log: Any) -> None:
    """It sees each episode as a chain of todos below a root of its own."""
    seen: list[list[str]] = []

    class Extractor:
        def read(self, todos: Any, forest: Any, knowledge: Any) -> Reading:
            assert forest.explored == 0
            assert [forest.nodes[todo.parent].step.number + 1 for todo in todos] == [t.steps[0].number for t in todos]
            seen.append([forest.nodes["S0"].step.observation.text, *(todo.text for todo in todos)])
            number = todos[-1].steps[-1].number
            triplet = Triplet(subject="step", predicate="is", object=str(number), object_is_value=True)
            edit = Edit(triplet=triplet, evidence=(number,))
            knowledge.apply(edit)
            return Reading((edit,), (), 1)

    ingest(log(*played("look", "go down"), *played("look")), store, instance=name, extractor=Extractor())
    assert [row[1:] for row in seen] == [["look", "go down"], ["look"]]
    assert {fact.object for fact in store.facts(name)} == {"2", "4"}


def test_a_model_may_read_and_what_it_uses_and_fails_at_is_recorded(store: GraphStore, name: str, log: Any) -> None:
    pytest.importorskip("langchain_core", reason="the extra llm is not installed")
    from autocontext.explorer.extractor.model import ModelExtractor
    from autocontext.llm.asking import ModelAsker
    from autocontext.llm.ledger import Ledger
    from tests.scripted_model import scripted

    deep = {"subject": "cellar", "predicate": "is", "object": "deep", "object_is_value": True, "evidence": [2]}
    moved = {"subject": "key", "predicate": "lies in", "object": "chest", "kind": "place", "evidence": [3]}
    replies = iter(["no JSON", "still none", {"edits": [deep, moved, {**deep, "evidence": [99]}]}])
    model, ledger = scripted(lambda system, user: next(replies)), Ledger()
    asker = ModelAsker(model, ledger, name="scripted:model")
    done = ingest(log(*played(*ROUND)), store, instance=name, extractor=ModelExtractor(asker), ledger=ledger)
    assert texts(store, name) == {("cellar", "is", "deep", "property")}
    assert (done.fresh, done.rejected) == (1, 2)  # the key had been taken by then, and there is no step 99
    (turn,) = store.iterations(name)
    assert turn["usage"]["extractor.calls"] == 3
    assert [failure["role"] for failure in turn["failures"]] == ["extractor"]
    assert "go down" in model.calls[-1][1]


# --- what is refused ------------------------------------------------------------------------------------


def test_a_log_of_another_instance_is_refused_as_a_whole(store: GraphStore, name: str, log: Any) -> None:
    strange = [*played("look"), {"observation": "You are elsewhere."}]
    with pytest.raises(LogRefused, match=r"line 3: this episode begins with another text"):
        ingest(log(*strange), store, instance=name)
    assert name not in {record.id for record in store.instances()}
    assert ingest(log(*strange), store, instance=name, any_start=True).episodes == 2


def test_a_wrong_line_at_the_end_means_that_nothing_is_stored(store: GraphStore, name: str, log: Any) -> None:
    with pytest.raises(LogRefused, match="line 3"):
        ingest(log(*played("look"), {"action": "wait"}), store, instance=name)
    assert name not in {record.id for record in store.instances()}


def test_nobody_ingests_while_somebody_explores(store: GraphStore, name: str, log: Any) -> None:
    ingest(log(*played("look")), store, instance=name)
    with store.lease(name), pytest.raises(InstanceBusy):
        ingest(log(*played("go down")), store, instance=name)
    assert len(store.episodes(name)) == 1


def test_calls_that_make_no_sense(store: GraphStore, name: str, log: Any, books: Any) -> None:
    path = log(*played("look"))
    with pytest.raises(UsageError, match="there is no environment 'nowhere'"):
        ingest(path, store, instance=name, environment="nowhere")
    with pytest.raises(EnvironmentFailure, match="cannot import"):
        ingest(path, store, instance=name, environment="no.such.module:House")
    with pytest.raises(UsageError, match="no id for an instance"):
        ingest(path, store, instance=" ")
    assert name not in {record.id for record in store.instances()}
    known = books()  # of an environment of which nothing but its name is known
    start = known.start().step.observation.text
    with pytest.raises(UsageError, match="the reader of 'house' is not known here"):
        ingest(log({"observation": start}), store, instance=known.id)
    ingest(log({"observation": start}), store, instance=known.id, environment="log")
