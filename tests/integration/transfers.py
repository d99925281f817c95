"""What the tests of exports and imports share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path as File
from typing import Any

from autocontext.graph.store import GraphStore
from autocontext.graph.transfer.lines import Fingerprint, line_of
from autocontext.types import Episode, Path, RejectedPath, Revealed, State, Todo, Triplet

from .conftest import Book, edit


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
    recorded = Episode(id="e1", source=text("log"), start=6, steps=(book.step(6), book.step(7, text=text("seen"))))
    book.n = 5
    book.commit(edit("add", (hall, "has", key), (7,)), todos=(), episodes=(recorded,), steps_used=5)
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


def nothing_of(store: GraphStore, name: str) -> bool:
    rows = store.query("MATCH (n {scope: $scope}) RETURN count(n)", {"scope": name}).rows
    return rows == [[0]] and name not in [record.id for record in store.instances()]
