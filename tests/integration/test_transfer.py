"""Instances as files, on every engine: nothing is lost on the way, and nothing is stored that is not whole."""

from __future__ import annotations

import itertools
import json
from pathlib import Path as File
from typing import Any

import pytest

from autocontext.errors import DatabaseError, UnknownInstance
from autocontext.graph.connection import Transaction
from autocontext.graph.store import GraphStore
from autocontext.types import Spec

from .conftest import SPEC, Book, edit
from .transfers import exported, rich

HOSTILE = [
    "it's \"quoted\" \\ back\\\\slash", "nul \x00 in it", "line\nbreak\r\n", "sep \u2028 and \u2029", "🐉 émoji",
    "}) DETACH DELETE n //", "$scope", "`tick`", "\ttab", "[bold]x[/bold]", "x" * 10_000, "ß ẞ ﬁ Å", "a/b", "-",
]  # fmt: skip


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
    assert store.episodes(other) == store.episodes(book.id)
    for as_of in (None, *range(7), 99):
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
        return  # the run that starts on the embedded engine crosses both; a skip would count as a missing service
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
