"""The explorer's rules, on small environments of plain Python and with a store that only remembers."""

from __future__ import annotations

import pytest

from autocontext.environments.generic import GenericReader
from autocontext.environments.playing import Playing
from autocontext.errors import StepFailure
from autocontext.explorer.actor import ActionActor
from autocontext.explorer.extractor.rules import RuleExtractor
from autocontext.explorer.extractor.validate import validate
from autocontext.explorer.forest import Forest, load_forest
from autocontext.explorer.key_results.plain import PlainKeyResults
from autocontext.explorer.knowledge import Knowledge
from autocontext.explorer.loop import explore
from autocontext.explorer.planner.random_walk import RandomPlanner
from autocontext.explorer.planner.systematic import SystematicPlanner
from autocontext.explorer.promoter.place import PlacePromoter
from autocontext.explorer.stop import Budget, BudgetStop
from autocontext.types import Edit, Fact, InstanceRecord, Observation, RejectedEdit, Revealed, State, Step, Triplet
from tests.environments.house import House


class Remembering:
    """A store that keeps the iterations in a list."""

    def __init__(self):
        self.iterations, self.reason = [], None

    def commit(self, instance, iteration):
        self.iterations.append(iteration)

    def finish(self, instance, reason, why):
        self.reason = reason


def explored(env=None, *, planner=SystematicPlanner, **budget):
    env = env or House()
    playing = Playing(env)
    forest, knowledge, store = Forest(GenericReader()), Knowledge(), Remembering()
    forest.add_state(State(id="S0", step=Step(number=0, action="", observation=playing.reset())))
    limits = Budget(**{"steps": 40, "patience": None, **budget})
    turns = explore(
        "house", forest, knowledge,
        planner=planner(env.suggest, limits.steps), actor=ActionActor(playing), key_results=PlainKeyResults(),
        extractor=RuleExtractor(), promoter=PlacePromoter(), stop=BudgetStop(limits), store=store,
    )  # fmt: skip
    list(turns)
    return forest, knowledge, store


def test_nothing_is_repeated_where_nothing_has_changed_and_then_the_frontier_is_empty():
    forest, _, store = explored(steps=500)
    tried = [(forest.nodes[t.parent].place, t.text, forest.nodes[t.parent].changed) for t in forest.todos.values()]
    assert len(tried) == len(set(tried))
    assert store.reason == "frontier_empty"


def test_a_refused_action_is_tried_again_where_something_has_changed():
    """The key can be taken only once the chest is open, and the gate passed only with the key."""
    forest, knowledge, _ = explored(steps=500)
    takes = [todo for todo in forest.todos.values() if todo.text == "take key"]
    tries = [(todo.outcome, forest.actions_to(todo.id)[:-1]) for todo in takes]
    assert ("refused", ["go down"]) in tries
    assert any(outcome == "done" and "open chest" in path for outcome, path in tries)
    assert knowledge.says("hall", "go north leads to")


def test_the_same_seed_gives_the_same_exploration():
    def run(seed):
        return [t.text for t in explored(planner=lambda c, n: RandomPlanner(c, seed))[0].todos.values()]

    assert run(1) == run(1) != run(2)


def test_steps_are_a_hard_limit_and_iterations_count_up():
    forest, _, store = explored(steps=7)
    assert forest.steps_used == 7
    assert store.reason == "steps"
    assert [iteration.n for iteration in store.iterations] == list(range(1, len(store.iterations) + 1))


def test_patience_ends_a_run_that_finds_nothing_new():
    _, _, store = explored(planner=lambda c, n: RandomPlanner(c, 0), steps=500, patience=5)
    assert store.reason == "patience"


def test_promotion_keeps_the_trees_shallow():
    forest, _, _ = explored(steps=500)
    places = {forest.nodes[state].place for state in forest.states}
    assert places == {"hall", "cellar", "garden"}


def test_a_rebuilt_forest_knows_what_the_grown_one_knew():
    forest, _, store = explored(steps=200)
    edits = [edit for iteration in store.iterations for edit in iteration.edits]
    facts: dict[Triplet, Fact] = {}
    for edit in edits:
        old = facts.get(edit.triplet)
        evidence = tuple(sorted({*(old.evidence if old else ()), *edit.evidence}))
        facts[edit.triplet] = Fact(id="-", kind=edit.kind, added=(1,), evidence=evidence, **edit.triplet.model_dump())
    record = InstanceRecord(
        id="h", environment="custom", source="-", source_hash="-", applied_iteration=forest.iterations
    )
    again = load_forest(
        GenericReader(), record, list(forest.states.values()), list(forest.todos.values()), list(facts.values())
    )
    assert again.classes == forest.classes
    assert again.actions == forest.actions
    assert (again.done, again.refused, again.tried) == (forest.done, forest.refused, forest.tried)
    assert again.steps_used == forest.steps_used
    assert {n.id: n.changed for n in again.nodes.values()} == {n.id: n.changed for n in forest.nodes.values()}


def test_an_action_is_worth_what_its_class_revealed_elsewhere():
    forest, knowledge = Forest(GenericReader()), Knowledge()
    forest.add_state(
        State(id="S0", step=Step(number=0, action="", observation=Observation(text="You are in the hall.")))
    )
    learned = {"open chest": Revealed(tried=10, names=50), "go": Revealed(tried=10, names=1)}
    planner = SystematicPlanner(House().suggest, 10, learned=learned)
    assert planner.propose(forest, knowledge).accepted[0].actions == ("open chest",)


class Shifty(House):
    """Shows something else in the cellar from the third visit on."""

    visits = 0

    def step(self, action):
        text = super().step(action)
        if self.room == "cellar" and action == "go down":
            Shifty.visits += 1
            return text + (" Water drips." if Shifty.visits > 1 else "")
        return text

    def snapshot(self):
        return None


def test_a_replay_that_differs_is_marked_and_nothing_is_explored_below_it():
    Shifty.visits = 0
    forest, _, store = explored(Shifty(), steps=500)
    diverged = [node.id for node in forest.nodes.values() if node.diverged and node.todo]
    assert len(diverged) == 1
    assert diverged[0] in {name for iteration in store.iterations for name in iteration.diverged}
    assert store.reason == "frontier_empty"


class Broken(House):
    def step(self, action):
        raise ValueError("out of order")


def test_an_environment_that_raises_says_what_it_was_doing():
    with pytest.raises(StepFailure, match=r"ValueError: out of order"):
        explored(Broken())


@pytest.fixture
def taken():
    """A forest in which the chest was opened and the key taken."""
    forest, knowledge, _ = explored(steps=500)
    step = next(t for t in forest.todos.values() if t.text == "take key" and t.key_result == "Taken.").steps[0]
    return forest, knowledge, step.number


def edit(subject, predicate, object, *evidence, **more):
    return Edit(triplet=Triplet(subject=subject, predicate=predicate, object=object), evidence=evidence, **more)


def test_a_facet_that_the_path_changed_is_not_recorded(taken):
    forest, knowledge, number = taken
    refused = validate(edit("key", "at", "cellar", number), forest, knowledge)
    assert isinstance(refused, RejectedEdit)
    assert "already changed the location of 'key'" in refused.why


def test_evidence_is_kept_where_it_holds(taken):
    forest, knowledge, number = taken
    assert validate(edit("key", "at", "hall", 0, number), forest, knowledge).evidence == (0,)


@pytest.mark.parametrize(
    ("proposed", "why"),
    [
        (edit("", "at", "cellar", 0), "the subject is empty"),
        (edit("key", " ", "cellar", 0), "the predicate is empty"),
        (edit("key", "at", "x" * 10_001, 0), "longer than 10000"),
        (edit("key", "at", "cellar"), "no step is given"),
        (edit("well", "is", "deep", 999), "there is no step 999"),
        (edit("well", "is", "deep", 0, op="remove"), "no such live fact"),
        (edit("a", "leads to", "b", 0, kind="inferred", rule="guess"), "declares no inference rule 'guess'"),
    ],
)
def test_an_edit_that_breaks_a_rule_is_refused_with_the_reason(taken, proposed, why):
    forest, knowledge, _ = taken
    refused = validate(proposed, forest, knowledge)
    assert isinstance(refused, RejectedEdit)
    assert why in refused.why
