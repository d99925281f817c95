"""One writer per instance, on every engine: who is refused, who takes over, and who is kept out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from autocontext.errors import InstanceBusy, LeaseLost, UnknownInstance
from autocontext.graph import leases
from autocontext.graph.leases import Owner
from autocontext.graph.store import GraphStore
from autocontext.types import Lease
from tests.integration.conftest import Book, edit


@contextmanager
def another(book: Book, monkeypatch: pytest.MonkeyPatch, **differs: Any) -> Iterator[Lease]:
    """A lease held by a process that is not this one; it is not released."""
    mine = Owner.here()
    other = Owner(**{**mine.__dict__, "owner": "another", **differs})
    with monkeypatch.context() as patch:
        patch.setattr(Owner, "here", lambda: other)
        lease = book.store.lease(book.id).lease
    yield lease


def aged(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the holder's last sign of life were too old."""
    monkeypatch.setattr(leases, "LEASE_SECONDS", -1.0)


def test_a_second_holder_is_refused_with_who_holds_it_and_since_when(book: Book) -> None:
    with book.store.lease(book.id), pytest.raises(InstanceBusy) as refused:
        book.store.lease(book.id)
    said = str(refused.value)
    assert re.search(rf"'{book.id}' is being explored by pid {os.getpid()} on host '.+' since \d\d:\d\d", said)
    assert "(last sign 0 s ago)" in said
    assert "--instance" in said


def test_it_is_free_again_when_it_is_left_and_the_fence_rises(book: Book) -> None:
    with book.store.lease(book.id) as first:
        assert book.store.instance(book.id).lease == first.lease
    assert book.store.instance(book.id).lease is None
    with book.store.lease(book.id) as second:
        assert second.lease.fence == first.lease.fence + 1


def test_a_dead_process_of_this_host_is_replaced_at_once(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    with another(book, monkeypatch, pid=child.pid, started=leases._started(child.pid)) as lost:
        child.wait()
        with book.store.lease(book.id) as mine:
            assert mine.lease.fence == lost.fence + 1


@pytest.mark.parametrize("differs", [{"started": 1}, {"boot": "an earlier one"}], ids=["pid reused", "host restarted"])
def test_so_is_one_whose_pid_belongs_to_another(book: Book, monkeypatch: pytest.MonkeyPatch, differs: Any) -> None:
    with another(book, monkeypatch, **differs), book.store.lease(book.id):
        pass


def test_a_process_of_another_host_is_waited_for(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    with another(book, monkeypatch, host="elsewhere", pid=1) as lost:
        with pytest.raises(InstanceBusy, match="pid 1 on host 'elsewhere'"):
            book.store.lease(book.id)
        aged(book, monkeypatch)
        with book.store.lease(book.id) as mine:
            assert mine.lease.fence == lost.fence + 1


def test_who_lost_it_writes_nothing(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    book.add("door", "is", "locked")
    before = book.store.canonical(book.id)
    with another(book, monkeypatch, host="elsewhere") as lost:
        aged(book, monkeypatch)
        with book.store.lease(book.id) as mine:
            late = book.iteration(edit("add", ("door", "is", "open"), (2,)))
            with pytest.raises(LeaseLost, match="was taken by pid"):
                book.store.commit(book.id, late, lost)
            with pytest.raises(LeaseLost):
                book.store.finish(book.id, "patience", lease=lost)
            with pytest.raises(LeaseLost):
                book.store.begin_run(book.id, {}, {}, lost)
            assert book.store.canonical(book.id) == before
            book.store.commit(book.id, late, mine.lease)
        with pytest.raises(LeaseLost, match="ended meanwhile"):
            book.store.commit(book.id, book.iteration(), lost)


def test_who_was_away_but_not_replaced_goes_on(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    with book.store.lease(book.id) as mine:
        aged(book, monkeypatch)
        book.store.commit(book.id, book.iteration(), mine.lease)
    assert book.store.instance(book.id).applied_iteration == 1


def test_without_a_lease_nothing_is_written_while_somebody_holds_it(book: Book) -> None:
    with book.store.lease(book.id):
        for write in (
            lambda: book.store.commit(book.id, book.iteration()),
            lambda: book.store.finish(book.id, "steps"),
            lambda: book.store.forget(book.id),
        ):
            with pytest.raises(InstanceBusy):
                write()
    assert book.store.instance(book.id).applied_iteration == 0


def test_a_commit_is_a_sign_of_life_only_of_who_holds_the_lease(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    def seen() -> int | None:
        rows = book.store.query("MATCH (i:Instance {id: $id}) RETURN i.lease_seen", {"id": book.id}).rows
        return rows[0][0]  # type: ignore[no-any-return]

    book.commit()
    assert seen() is None
    with book.store.lease(book.id) as mine:
        before = seen()
        time.sleep(0.01)
        with mine.writing():
            book.store.commit(book.id, book.iteration(), mine.lease)
        after = seen()
        assert before is not None
        assert after is not None
        assert after > before
    with another(book, monkeypatch, host="elsewhere"):
        before = seen()
        aged(book, monkeypatch)
        book.commit()  # without a lease, as that one has expired: it does not come to life by this
        assert seen() == before
        with book.store.lease(book.id):
            pass


def test_no_sign_of_life_gets_in_the_way_of_a_write(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "HEARTBEAT_SECONDS", 0.0)
    with book.store.lease(book.id) as mine, mine.writing():
        before = book.store.instance(book.id).lease
        time.sleep(2.5)
        assert book.store.instance(book.id).lease == before


def test_signs_of_life_are_given_meanwhile(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "HEARTBEAT_SECONDS", 0.0)
    with book.store.lease(book.id) as mine:
        for _ in range(100):
            lease = book.store.instance(book.id).lease
            assert lease is not None
            if lease.seen > mine.lease.seen:
                return
            mine._over.wait(0.1)
    raise AssertionError("no sign of life within ten seconds")


def test_of_many_at_once_one_gets_it(book: Book) -> None:
    def attempt(_: int) -> Any:
        try:
            return book.store.lease(book.id)
        except InstanceBusy:
            return None

    with ThreadPoolExecutor(8) as pool:
        held = [found for found in pool.map(attempt, range(8)) if found]
    assert len(held) == 1
    with held[0]:
        pass


def test_an_unknown_instance_has_no_lease(store: GraphStore) -> None:
    with pytest.raises(UnknownInstance):
        store.lease("nobody knows it")
