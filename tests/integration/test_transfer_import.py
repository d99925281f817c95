"""Imports: who may, who must wait, and that nothing is left of one that did not come to its end."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path as File
from typing import Any

import pytest

from autocontext.errors import ImportFailed, InstanceBusy, LeaseLost, UnknownInstance, UsageError
from autocontext.graph import leases
from autocontext.graph.connection import Transaction
from autocontext.graph.endpoint import Endpoint
from autocontext.graph.leases import Owner
from autocontext.graph.store import GraphStore
from benchmarks import store_data

from .conftest import SPEC, Book
from .transfers import exported, nothing_of, rich

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
    assert book.store.load(path, other).applied_iteration == 6  # what was left is cleaned up


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
