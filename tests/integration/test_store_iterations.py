"""One iteration is one transaction; what was tried is kept whole; instances come, go and are told apart."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from autocontext.errors import DatabaseError, InstanceMismatch, InvalidEdit, UnknownInstance, UsageError
from autocontext.graph.connection import Transaction
from autocontext.types import Iteration, Path, RejectedPath, Revealed, Spec, State, Step, Todo

from .conftest import SPEC, Book, edit

DOOR = ("door", "is", "locked")


def history(book: Book) -> None:
    """Four iterations with all that an iteration can hold."""
    rejected = RejectedPath(path=Path(start="S0", actions=("jump",)), why="it is known already")
    book.commit(edit("add", DOOR, (1,)), rejected_paths=(rejected,), templates={"open {x}": Revealed(tried=1)})
    promoted = State(id="S1", promoted_from="a2", summary="the hall", iteration=2)
    book.commit(edit("add", ("key", "in", "hall"), (1, 2)), promoted=(promoted,), usage={"planner": 12})
    book.commit(edit("remove", DOOR, (3,)), diverged=("a1",), replayed=7)
    todo = Todo(id="a4", parent="S1", text="look around", kind="task", steps=(book.step(4), book.step(5)))
    more = {"todos": (todo,), "steps_used": 5, "templates": {"open {x}": Revealed(tried=2, names=0.5, words=3)}}
    book.commit(edit("add", DOOR, (5,)), **more)


def test_the_forest_comes_back_whole_and_in_order(book: Book) -> None:
    history(book)
    states, todos = book.store.load_forest(book.id)
    assert states[0] == book.start()
    assert [(state.id, state.promoted_from, state.iteration) for state in states] == [("S0", None, 0), ("S1", "a2", 2)]
    assert [(todo.id, todo.parent) for todo in todos] == [("a1", "S0"), ("a2", "a1"), ("a3", "a2"), ("a4", "S1")]
    assert [todo.outcome for todo in todos] == ["diverged", "done", "done", "done"]
    assert todos[3].kind == "task"
    assert todos[3].steps == (book.step(4), book.step(5))
    assert todos[3].iteration == 4


def test_an_environment_that_lists_no_actions_is_not_one_that_lists_none(book: Book) -> None:
    silent, empty = book.step(1, admissible=None, inventory=None), book.step(2, admissible=(), inventory="")
    todo = Todo(id="a1", parent="S0", text="wait", steps=(silent, empty))
    book.commit(todos=(todo,))
    assert book.store.load_forest(book.id)[1][0].steps == (silent, empty)


def test_committing_an_iteration_again_changes_nothing(book: Book) -> None:
    history(book)
    before = book.store.canonical(book.id)
    again = Book(book.store, book.id)
    history(again)
    assert book.store.canonical(book.id) == before


def test_a_failure_in_the_middle_of_a_commit_leaves_nothing(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    history(book)
    before = book.store.canonical(book.id)
    run = Transaction.run
    names = ["create_todos", "link_todos", "upsert_entities", "create_facts", "close_iteration"]

    def failing(name: str) -> Any:
        def replaced(self: Transaction, called: str, **parameters: Any) -> Any:
            found = run(self, called, **parameters)
            if called == name:
                raise RuntimeError("the power is out")
            return found

        return replaced

    iteration = book.iteration(edit("add", ("lamp", "is", "lit"), (6,)), todos=(_todo(book, 6),), steps_used=6)
    for name in names:
        monkeypatch.setattr(Transaction, "run", failing(name))
        with pytest.raises(RuntimeError):
            book.store.commit(book.id, iteration)
        monkeypatch.setattr(Transaction, "run", run)
        assert book.store.canonical(book.id) == before, name
    book.store.commit(book.id, iteration)
    assert book.store.instance(book.id).applied_iteration == 5


def test_an_iteration_that_does_not_follow_is_refused(book: Book) -> None:
    with pytest.raises(DatabaseError, match="is at iteration 0, so iteration 2 cannot be committed"):
        book.store.commit(book.id, Iteration(n=2))


def test_two_explorers_of_one_instance_are_found_out(book: Book) -> None:
    book.commit(edit("add", DOOR, (1,)))
    with pytest.raises(DatabaseError, match="has another iteration 1 already: something else explores it"):
        Book(book.store, book.id).commit(edit("add", ("door", "is", "open"), (1,)))
    assert book.texts() == ["door is locked"]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"todos": (Todo(id="a9", parent="a8", text="x"),)}, "of 1 parents of todos only 0"),
        ({"promoted": (State(id="S5", promoted_from="a8"),)}, "of 1 todos to promote only 0"),
        ({"diverged": ("a8",)}, "of 1 todos that diverged only 0"),
        ({"todos": (Todo(id="a/9", parent="S0", text="x"),)}, "'a/9' is no id"),
    ],
)
def test_what_hangs_on_nothing_is_refused(book: Book, wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(DatabaseError, match=why):
        book.commit(**wrong)
    assert book.store.instance(book.id).applied_iteration == 0
    assert book.store.load_forest(book.id)[1] == []


def test_a_step_number_is_given_once(book: Book) -> None:
    book.commit()
    with pytest.raises(DatabaseError, match="numbers a step twice"):
        book.commit(todos=(_todo(book, 1),))


def test_text_that_is_no_unicode_is_refused(book: Book) -> None:
    with pytest.raises(InvalidEdit, match="no valid Unicode"):
        book.commit(todos=(Todo(id="a1", parent="S0", text="x", steps=(book.step(1, text="\udcff"),)),))
    assert book.store.instance(book.id).applied_iteration == 0


def test_iterations_say_what_they_did(book: Book) -> None:
    history(book)
    rows = book.store.iterations(book.id)
    assert [row["n"] for row in rows] == [1, 2, 3, 4]
    assert [(row["added"], row["retired"], row["promoted"]) for row in rows] == [
        (1, 0, 0),
        (1, 0, 1),
        (0, 1, 0),
        (1, 0, 0),
    ]
    assert rows[0]["strategies"] == {"depth": 1}
    assert rows[0]["rejected_paths"][0]["why"] == "it is known already"
    assert (rows[1]["usage"], rows[2]["replayed"], rows[3]["last_step"]) == ({"planner": 12}, 7, 5)


def test_the_record_follows_the_exploration(book: Book) -> None:
    assert book.store.instance(book.id).status == "new"
    history(book)
    record = book.store.instance(book.id)
    assert (record.status, record.steps_used, record.applied_iteration) == ("exploring", 5, 4)
    book.store.finish(book.id, "patience")
    record = book.store.instance(book.id)
    assert (record.status, record.stopped_because) == ("explored", "patience")
    record = book.store.begin_run(book.id, {"planner": "random"}, {"go": Revealed(tried=1)})
    assert (record.status, record.stopped_because, record.settings) == ("exploring", None, {"planner": "random"})
    assert book.store.instance(book.id) == record


def test_registering_again_gives_what_is_there(book: Book) -> None:
    history(book)
    before = book.store.canonical(book.id)
    record = book.register()
    assert record.applied_iteration == 4
    assert book.store.canonical(book.id) == before


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"environment": "bash"}, "its environment is house, not bash"),
        ({"source_hash": "beef"}, "its source hash is c0ffee, not beef"),
        ({"naming": "exact"}, "its naming is folded, not exact"),
    ],
)
def test_an_id_of_another_game_is_refused(book: Book, change: dict[str, str], says: str) -> None:
    with pytest.raises(InstanceMismatch, match=rf"{says}.*--instance"):
        book.register(SPEC.model_copy(update=change))


@pytest.mark.parametrize("identifier", ["", " ", "x" * 201, "a\nb", "environment:bash"])
def test_some_names_are_no_ids(book: Book, identifier: str) -> None:
    with pytest.raises(UsageError, match="is no id for an instance"):
        Book(book.store, identifier).register()


def test_an_unknown_instance_names_the_nearest(book: Book) -> None:
    calls: list[Callable[[str], Any]] = [
        book.store.instance,
        book.store.facts,
        book.store.all_facts,
        book.store.load_forest,
        book.store.canonical,
    ]
    calls += [book.store.iterations, book.store.forget, lambda name: book.store.finish(name, "steps")]
    calls += [lambda name: book.store.facts(name, 1), lambda name: book.store.fact(name, "x")]
    for call in calls:
        with pytest.raises(UnknownInstance, match=f"nearest: .*{book.id}"):
            call(book.id + "x")


def test_forgetting_takes_everything_of_one_instance_and_nothing_of_another(books: Any) -> None:
    one, two = books(), books()
    history(one)
    history(two)
    kept = two.store.canonical(two.id)
    one.store.forget(one.id)
    rows = one.store.query("MATCH (n {scope: $scope}) RETURN count(n)", {"scope": one.id}).rows
    assert rows == [[0]]
    assert one.id not in [record.id for record in one.store.instances()]
    assert two.store.canonical(two.id) == kept


def test_a_forgetting_cut_short_is_no_instance_and_is_completed_by_the_next_start(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    history(book)
    monkeypatch.setattr("autocontext.graph.store._FORGOTTEN_IN_ORDER", ("forget_entities", "no such block"))
    with pytest.raises(KeyError):
        book.store.forget(book.id)
    monkeypatch.undo()
    with pytest.raises(UnknownInstance):
        book.store.facts(book.id)
    assert book.id not in [record.id for record in book.store.instances()]
    with pytest.raises(DatabaseError, match="is being forgotten"):
        book.commit()
    assert book.register().applied_iteration == 0
    assert book.store.load_forest(book.id)[1] == []


def test_what_was_learned_is_the_sum_over_other_games_of_the_environment(books: Any) -> None:
    one = books(Spec(environment="sums", source="a", source_hash="1"))
    two = books(Spec(environment="sums", source="b", source_hash="2"))
    other = books(Spec(environment="no-sums", source="c", source_hash="3"))
    for book in (one, two, other):
        book.commit(templates={"open {x}": Revealed(tried=2, names=0.1)})
        book.commit(templates={"open {x}": Revealed(tried=3, names=0.2), "go": Revealed(tried=1)})
    both = {"go": Revealed(tried=2), "open {x}": Revealed(tried=6, names=0.4)}
    assert one.store.learned("sums") == both
    assert one.store.learned("sums", exclude_source_hash="1") == {
        "go": Revealed(tried=1),
        "open {x}": Revealed(tried=3, names=0.2),
    }
    two.store.forget(two.id)
    assert one.store.learned("sums", exclude_source_hash="1") == {}


def test_equal_explorations_are_equal_whatever_they_are_called_and_cost(books: Any) -> None:
    one, two = books(), books()
    two.store.begin_run(two.id, {"planner": "other"}, {"go": Revealed(tried=1)})
    history(one)
    history(two)
    assert one.store.canonical(one.id) == two.store.canonical(two.id)
    one.commit(todos=(), usage={"planner": 1})
    two.commit(todos=(), replayed=100)
    assert one.store.canonical(one.id) == two.store.canonical(two.id)
    one.commit(edit("add", ("lamp", "is", "lit"), (7,)), todos=(_todo(one, 7),))
    two.commit(edit("add", ("lamp", "is", "dim"), (7,)), todos=(_todo(two, 7),))
    assert one.store.canonical(one.id) != two.store.canonical(two.id)


def test_every_node_and_relationship_carries_its_scope_and_every_node_an_id(book: Book) -> None:
    history(book)
    nodes = "MATCH (n) WHERE n.id IS NULL OR n.scope IS NULL RETURN n"
    links = (
        "MATCH (a {scope: $scope})-[r]->(b) WHERE r.scope IS NULL OR r.scope <> a.scope OR b.scope <> a.scope RETURN r"
    )
    assert book.store.query(nodes).rows == []
    assert book.store.query(links, {"scope": book.id}).rows == []


def test_two_that_commit_the_same_at_once_commit_it_once(book: Book) -> None:
    for n in (1, 2, 3):
        iteration = book.iteration(edit("add", DOOR, (n,)), edit("add", (f"key {n}", "is", "red"), (n,)))
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _, iteration=iteration: book.store.commit(book.id, iteration), range(4)))
    assert book.store.instance(book.id).applied_iteration == 3
    assert book.store.fact(book.id, "door is locked").evidence == (1, 2, 3)
    assert [todo.id for todo in book.store.load_forest(book.id)[1]] == ["a1", "a2", "a3"]


def test_instances_are_explored_side_by_side(books: Any) -> None:
    many = [books() for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(history, many))
    assert len({str(book.store.canonical(book.id)) for book in many}) == 1


def test_two_that_register_at_once_make_one_instance(book: Book) -> None:
    other = Book(book.store, book.id + "-other")
    with ThreadPoolExecutor(4) as pool:
        records = list(pool.map(lambda _: other.register(), range(4)))
    assert len({record.created_at for record in records}) == 1
    assert len(book.store.load_forest(other.id)[0]) == 1
    book.store.forget(other.id)


def _todo(book: Book, number: int) -> Todo:
    step: Step = book.step(number)
    return Todo(id=f"b{number}", parent="S0", text=step.action, steps=(step,))
