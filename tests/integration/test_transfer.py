"""Instances as files, on every engine: nothing is lost on the way, and nothing is stored that is not whole."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path as File
from typing import Any

import pytest

from autocontext.errors import DatabaseError, ImportFailed, InstanceBusy, LeaseLost, UnknownInstance, UsageError
from autocontext.graph import leases
from autocontext.graph.connection import Transaction
from autocontext.graph.endpoint import Endpoint
from autocontext.graph.leases import Owner
from autocontext.graph.store import GraphStore
from autocontext.graph.transfer.lines import Fingerprint, line_of
from autocontext.types import Path, RejectedPath, Revealed, Spec, State, Todo, Triplet
from benchmarks import store_data

from .conftest import SPEC, Book, edit

HOSTILE = [
    "it's \"quoted\" \\ back\\\\slash", "nul \x00 in it", "line\nbreak\r\n", "sep \u2028 and \u2029", "🐉 émoji",
    "}) DETACH DELETE n //", "$scope", "`tick`", "\ttab", "[bold]x[/bold]", "x" * 10_000, "ß ẞ ﬁ Å", "a/b", "-",
]  # fmt: skip
SCRIPT = """
import sys, json
from pathlib import Path
from pydantic import SecretStr
from autocontext.graph.endpoint import Endpoint, Login
from autocontext.graph.store import GraphStore
engine, uri, database, user, password, file, name = json.loads(sys.argv[1])
endpoint = Endpoint(engine, uri, database, Login(user, SecretStr(password)))
with GraphStore(endpoint) as store:
    store.load(Path(file), name)
"""


def rich(book: Book, text: Callable[[str], str] = lambda name: name) -> None:
    """A history with all that an instance can hold."""
    door, key, hall = (text(name) for name in ("door", "key", "hall"))
    rejected = RejectedPath(path=Path(start="S0", actions=(text("jump"),)), why=text("known"))
    templates = {text("open {x}"): Revealed(tried=3, names=0.1 + 0.2, words=1e-9)}
    book.store.begin_run(book.id, {"planner": text("systematic")}, {text("go {x}"): Revealed(tried=2, names=0.5)})
    book.commit(edit("add", (door, text("is"), "locked"), (1,)), edit("add", (key, "in", hall), (0, 1)),
                rejected_paths=(rejected,), templates=templates, usage={"planner.calls": 3})  # fmt: skip
    promoted = State(id="S1", promoted_from="a2", summary=text("the hall"), iteration=2)
    value = Triplet(subject=key, predicate="has", object=text("1,234 Rows"), object_is_value=True)
    book.commit(edit("add", value, (2,)), edit("remove", (key, "in", hall), (2,)), promoted=(promoted,))
    book.commit(edit("add", (door.upper(), text("is"), "Locked"), (3,)), diverged=("a1",), replayed=7)
    steps = (book.step(4, inventory=None, admissible=None), book.step(5, text=text("seen"), admissible=()))
    todo = Todo(id="a4", parent="S1", text=text("look"), kind="task", key_result=text("nothing"), steps=steps)
    book.n = 4
    book.store.commit(book.id, book.iteration(edit("add", (key, "in", hall), (5,))).model_copy(
        update={"n": 4, "todos": (todo,), "steps_used": 5}))  # fmt: skip
    book.n = 5
    book.store.commit(book.id, book.iteration(
        edit("remove", (door, text("is"), "locked"), (), kind="person"),
        edit("add", (hall, "is", "dark"), (), kind="person")
    ).model_copy(update={"n": 5, "todos": (), "steps_used": 5, "because": text("I know it")}))  # fmt: skip
    book.n = 5
    book.store.finish(book.id, "planner", text("all is known"), usage={"planner.calls": 1})


def exported(store: GraphStore, name: str, folder: File, canonical: bool = False) -> File:
    path = folder / f"{name}{'-canonical' if canonical else ''}.jsonl"
    path.write_bytes("".join(f"{line}\n" for line in store.export(name, canonical=canonical)).encode())
    return path


def signed(lines: list[Any]) -> bytes:
    """A file of these contents with a right end."""
    fingerprint = Fingerprint(lines[0])
    for row in lines[1:]:
        fingerprint.add(line_of(row))
    return b"".join(map(line_of, [*lines, fingerprint.end()]))


@pytest.fixture
def other(book: Book) -> Iterator[str]:
    """A name for an import; whatever is stored under it is deleted afterwards."""
    yield f"{book.id}-2"
    if any(record.id == f"{book.id}-2" for record in book.store.instances()):
        book.store.forget(f"{book.id}-2")


def nothing_of(store: GraphStore, name: str) -> bool:
    rows = store.query("MATCH (n {scope: $scope}) RETURN count(n)", {"scope": name}).rows
    return rows == [[0]] and name not in [record.id for record in store.instances()]


# --- round trips --------------------------------------------------------------------------------------


@pytest.mark.parametrize("hostile", [False, True])
def test_nothing_is_lost_on_the_way(book: Book, other: str, tmp_path: File, hostile: bool) -> None:
    store = book.store
    texts = itertools.cycle(HOSTILE) if hostile else itertools.repeat("")
    rich(book, lambda name: f"{name} {next(texts)}")
    for text in HOSTILE if hostile else ():
        book.commit(edit("add", (text, text, text), (1,)), todos=())
    first = exported(store, book.id, tmp_path)
    record = store.load(first, other)
    second = exported(store, other, tmp_path)
    header = first.read_bytes().partition(b"\n")[0]
    assert second.read_bytes() == first.read_bytes().replace(
        header, header.replace(book.id.encode(), other.encode()), 1
    )
    assert record == store.instance(book.id).model_copy(update={"id": other})
    assert store.canonical(other) == store.canonical(book.id)
    assert store.load_forest(other) == store.load_forest(book.id)
    for as_of in (None, 0, 1, 2, 3, 4, 5, 99):
        both = [[fact.model_dump(exclude={"id"}) for fact in store.facts(name, as_of)] for name in (book.id, other)]
        assert both[0] == both[1], as_of
    drop = {"fact_ids"}
    turns = [
        [{k: v for k, v in turn.items() if k not in drop} for turn in store.iterations(n)] for n in (book.id, other)
    ]
    assert turns[0] == turns[1]
    whole = exported(store, book.id, tmp_path, canonical=True).read_bytes()
    assert exported(store, other, tmp_path, canonical=True).read_bytes() == whole


def test_every_node_and_link_is_there_with_its_scope(book: Book, other: str, tmp_path: File) -> None:
    rich(book)
    book.store.load(exported(book.store, book.id, tmp_path), other)
    for query in (
        "MATCH (n {scope: $scope}) RETURN labels(n)[0] AS what, count(n) AS n ORDER BY what",
        "MATCH ({scope: $scope})-[r {scope: $scope}]->({scope: $scope}) RETURN type(r) AS t, count(r) AS n ORDER BY t",
        "MATCH (n:Step {scope: $scope}) RETURN n.number, size(n.fact_ids) ORDER BY n.number",
        "MATCH (e:Entity {scope: $scope}) RETURN e.name, e.key, e.value ORDER BY e.key, e.value",
    ):
        found = [book.store.query(query, {"scope": name}).rows for name in (book.id, other)]
        assert found[0] == found[1], query
    names = "MATCH (i:Instance {scope: $scope}) RETURN keys(i)"
    keys = [set(book.store.query(names, {"scope": name}).rows[0][0]) for name in (book.id, other)]
    assert {key for key in keys[1] if not key.startswith("lease_")} - keys[0] == set()
    token = book.store.query("MATCH (e:Entity {scope: $scope}) RETURN DISTINCT e.scope_token", {"scope": other}).rows
    assert len(token) == 1


def test_exploration_goes_on_after_an_import(book: Book, other: str, tmp_path: File) -> None:
    book.add("door", "is", "locked")
    last = book.commit(edit("add", ("key", "in", "hall"), (2,)))
    book.store.load(exported(book.store, book.id, tmp_path), other)
    copy = Book(book.store, other, n=2)
    copy.store.commit(other, last)  # again: changes nothing
    with pytest.raises(DatabaseError, match="has another iteration 2 already"):
        copy.store.commit(other, last.model_copy(update={"todos": ()}))
    for one in (book, copy):
        one.remove("door", "is", "locked")
    assert copy.store.canonical(other) == book.store.canonical(book.id)
    assert copy.register().applied_iteration == 3


def test_an_instance_that_was_only_just_made(book: Book, other: str, tmp_path: File) -> None:
    path = exported(book.store, book.id, tmp_path)
    assert book.store.load(path, other).status == "new"
    assert book.store.canonical(other) == book.store.canonical(book.id)


def test_names_that_must_be_exact(books: Any, tmp_path: File) -> None:
    book = books(Spec(environment="bash", source="x", source_hash="1", naming="exact"))
    for name in ("a", "A", " a", "ﬁ", "fi"):
        book.add(name, "is", "file")
    copy = books(SPEC)
    book.store.forget(copy.id)
    book.store.load(exported(book.store, book.id, tmp_path), copy.id)
    assert book.store.canonical(copy.id) == book.store.canonical(book.id)


def test_over_both_engines_and_back_it_is_the_same_file(
    book: Book, other: str, tmp_path: File, request: pytest.FixtureRequest
) -> None:
    if book.store.endpoint.engine == "neo4j":
        pytest.skip("it starts on the embedded engine")
    rich(book, lambda name: f"{name} {HOSTILE[1]} {HOSTILE[2]} {HOSTILE[5]}")
    files = [exported(book.store, book.id, tmp_path), exported(book.store, book.id, tmp_path, canonical=True)]
    before = [file.read_bytes() for file in files]
    with GraphStore(request.getfixturevalue("neo4j_for_tests").endpoint) as neo4j:
        neo4j.load(files[0])
        try:
            files = [exported(neo4j, book.id, tmp_path, canonical=canonical) for canonical in (False, True)]
            assert [file.read_bytes() for file in files] == before
        finally:
            neo4j.forget(book.id)
    book.store.load(files[0], other)
    assert exported(book.store, other, tmp_path, canonical=True).read_bytes() == before[1]


def test_equal_graphs_give_equal_canonical_files(books: Any, tmp_path: File) -> None:
    one, two = books(), books()
    for book, runs in ((one, 1), (two, 2)):
        for _ in range(runs):
            book.store.begin_run(book.id, {"planner": str(runs)}, {})
        book.add("door", "is", "locked")
        book.commit(usage={"planner.calls": runs}, replayed=runs)
    texts = [exported(book.store, book.id, tmp_path, canonical=True).read_bytes() for book in (one, two)]
    assert texts[0] == texts[1]
    rows = [json.loads(line) for line in texts[0].splitlines()]
    assert rows[0] == {"autocontext_export": 1, "kind": "canonical"}
    assert rows[1:-1] == one.store.canonical(one.id)
    two.add("lamp", "is", "lit")
    assert exported(two.store, two.id, tmp_path, canonical=True).read_bytes() != texts[0]


# --- export -------------------------------------------------------------------------------------------


def test_the_lease_of_who_explores_it_is_not_exported(book: Book, other: str, tmp_path: File) -> None:
    with book.store.lease(book.id):
        path = exported(book.store, book.id, tmp_path)
        assert "lease" not in path.read_text()
        assert book.store.load(path, other).lease is None


def test_what_is_written_meanwhile_is_noticed(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    book.add("door", "is", "locked")
    stream, left = Transaction.stream, [1]

    def meanwhile(self: Transaction, name: str, **parameters: Any) -> Any:
        if name == "all_facts" and left[0]:
            left[0] -= 1
            book.commit()
        return stream(self, name, **parameters)

    monkeypatch.setattr(Transaction, "stream", meanwhile)
    rows = [json.loads(line) for line in book.store.export(book.id)]
    assert (rows[0]["applied_iteration"], sum(row.get("row") == "iteration" for row in rows)) == (2, 2)
    left[0] = 99
    with pytest.raises(DatabaseError, match="written to all the time; export it when nothing explores it"):
        list(book.store.export(book.id))


def test_an_unknown_instance(book: Book) -> None:
    with pytest.raises(UnknownInstance, match="nearest"):
        list(book.store.export(book.id + "x"))


# --- import: who may, and what is left ----------------------------------------------------------------


def test_an_instance_that_is_there_is_left_alone(book: Book, tmp_path: File) -> None:
    book.add("door", "is", "locked")
    path, before = exported(book.store, book.id, tmp_path), book.store.canonical(book.id)
    with pytest.raises(ImportFailed, match=f"there is an instance '{book.id}' already; .*--instance"):
        book.store.load(path)
    assert book.store.canonical(book.id) == before


@pytest.mark.parametrize("name", ["", "environment:x", "a\nb", "x" * 201])
def test_a_name_that_is_none(book: Book, tmp_path: File, name: str) -> None:
    with pytest.raises(UsageError, match="is no id for an instance"):
        book.store.load(exported(book.store, book.id, tmp_path), name)


@pytest.mark.parametrize("block", ["import_todos", "import_facts", "link_todos", "end_import"])
def test_a_failure_in_the_middle_leaves_nothing(
    book: Book, other: str, tmp_path: File, monkeypatch: pytest.MonkeyPatch, block: str
) -> None:
    rich(book)
    path, run = exported(book.store, book.id, tmp_path), Transaction.run

    def failing(self: Transaction, name: str, **parameters: Any) -> Any:
        if name == block:
            raise RuntimeError("the power is out")
        return run(self, name, **parameters)

    monkeypatch.setattr(Transaction, "run", failing)
    with pytest.raises(RuntimeError):
        book.store.load(path, other)
    monkeypatch.undo()
    assert nothing_of(book.store, other)
    book.store.load(path, other)


def test_a_lost_acknowledgement_stores_nothing_twice(
    book: Book, other: str, tmp_path: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    rich(book)
    connection = type(book.store._connection)
    write = connection.write
    monkeypatch.setattr(connection, "write", lambda self, work: (write(self, work), write(self, work))[1])
    book.store.load(exported(book.store, book.id, tmp_path), other)
    assert book.store.canonical(other) == book.store.canonical(book.id)


def test_while_it_is_stored_it_is_nobody_elses(
    book: Book, other: str, tmp_path: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    rich(book)
    path, run, seen = exported(book.store, book.id, tmp_path), Transaction.run, []

    def meanwhile(self: Transaction, name: str, **parameters: Any) -> Any:
        if name == "import_facts":
            monkeypatch.undo()
            assert other not in [record.id for record in book.store.instances()]
            with pytest.raises(UnknownInstance):
                book.store.facts(other)
            for attempt in (lambda: book.store.load(path, other), lambda: Book(book.store, other).register()):
                with pytest.raises(InstanceBusy):
                    attempt()
            seen.append(name)
        return run(self, name, **parameters)

    monkeypatch.setattr(Transaction, "run", meanwhile)
    book.store.load(path, other)
    assert seen
    assert book.store.canonical(other) == book.store.canonical(book.id)


def test_who_lost_the_lease_writes_nothing_more(
    book: Book, other: str, tmp_path: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    rich(book)
    path, run = exported(book.store, book.id, tmp_path), Transaction.run

    def meanwhile(self: Transaction, name: str, **parameters: Any) -> Any:
        if name == "lock_import" and parameters["batch"] == 4:
            monkeypatch.setattr(Transaction, "run", run)
            monkeypatch.setattr(leases, "LEASE_SECONDS", -1.0)
            with book.store.lease(other):
                pass
        return run(self, name, **parameters)

    monkeypatch.setattr(Transaction, "run", meanwhile)
    with pytest.raises(LeaseLost):
        book.store.load(path, other)
    monkeypatch.undo()
    assert book.store.load(path, other).applied_iteration == 5  # what was left is cleaned up


def test_a_killed_import_is_no_instance_and_the_next_one_cleans_up(
    book: Book, other: str, tmp_path: File, endpoint: Endpoint, checkout: File
) -> None:
    path = tmp_path / "large.jsonl"
    store_data.write(path, 20_000)
    login = endpoint.writer
    words = [endpoint.engine, endpoint.uri, endpoint.database, login.username, login.password.get_secret_value()]
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, json.dumps([*words, str(path), other])], cwd=checkout)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        rows = book.store.query("MATCH (i:Instance {id: $id}) RETURN i.imported", {"id": other}).rows
        if rows and (rows[0][0] or 0) >= 3:
            break
        time.sleep(0.02)
    assert process.poll() is None, "it ended before it could be killed"
    process.kill()
    process.wait()
    assert other not in [record.id for record in book.store.instances()]
    with pytest.raises(UnknownInstance):
        book.store.instance(other)
    assert not nothing_of(book.store, other)  # something is left, and hidden
    rich(book)
    book.store.load(exported(book.store, book.id, tmp_path), other)
    assert book.store.canonical(other) == book.store.canonical(book.id)


def test_a_start_under_that_name_cleans_up_too(
    book: Book, other: str, tmp_path: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    rich(book)
    path = exported(book.store, book.id, tmp_path)
    monkeypatch.setattr(Owner, "here", classmethod(lambda cls: Owner("dead", "elsewhere", "x", 1, 1)))
    monkeypatch.setattr(GraphStore, "forget", lambda self, name: None)
    monkeypatch.setattr(GraphStore, "_writable", lambda self: None)
    run = Transaction.run
    monkeypatch.setattr(
        Transaction, "run", lambda self, name, **more: run(self, "no such" if name == "import_facts" else name, **more)
    )
    with pytest.raises(KeyError):
        book.store.load(path, other)
    monkeypatch.undo()
    other_game = SPEC.model_copy(update={"source_hash": "another"})
    assert Book(book.store, other).register(other_game).applied_iteration == 0
    assert book.store.load_forest(other)[1] == []
