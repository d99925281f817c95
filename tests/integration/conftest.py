"""Databases for the store's contract suite: every test runs on the embedded engine and on a real Neo4j.

Where that Neo4j comes from is in tests/services/databases.py. The tests make instances of random names and delete them.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autocontext.config import Settings
from autocontext.graph import embedded
from autocontext.graph.connection import Connection
from autocontext.graph.endpoint import Endpoint
from autocontext.graph.store import GraphStore, endpoint_of
from autocontext.types import Edit, Fact, Iteration, Observation, Spec, State, Step, Todo, Triplet

SPEC = Spec(environment="house", source="house.z8", source_hash="c0ffee", description="a small house")


def edit(op: str, triplet: tuple[str, str, str] | Triplet, evidence: tuple[int, ...], **more: Any) -> Edit:
    """One edit; a triplet may be a tuple."""
    if isinstance(triplet, tuple):
        triplet = Triplet(subject=triplet[0], predicate=triplet[1], object=triplet[2])
    return Edit.model_validate({"op": op, "triplet": triplet, "evidence": evidence, **more})


@dataclass
class Book:
    """One instance in a store, with short ways to write a history into it: iteration n does step n."""

    store: GraphStore
    id: str
    n: int = 0

    def step(self, number: int | None = None, **more: Any) -> Step:
        number = self.n if number is None else number
        fields = {"text": f"you see step {number}", "inventory": "nothing", "admissible": ("go east", "wait")} | more
        return Step(number=number, action=f"action {number}", observation=Observation.model_validate(fields))

    def iteration(self, *edits: Edit, **more: Any) -> Iteration:
        """The next iteration, not yet committed: one todo of one step below the one before."""
        n = self.n = self.n + 1
        parent = "S0" if n == 1 else f"a{n - 1}"
        todo = Todo(id=f"a{n}", parent=parent, text=f"action {n}", strategy="depth", iteration=n, steps=(self.step(),))
        fields = {"n": n, "todos": (todo,), "edits": edits, "steps_used": n} | more
        return Iteration.model_validate(fields)

    def commit(self, *edits: Edit, **more: Any) -> Iteration:
        iteration = self.iteration(*edits, **more)
        self.store.commit(self.id, iteration)
        return iteration

    def add(self, *triplet: str, kind: str = "property", evidence: tuple[int, ...] | None = None) -> Fact:
        """An iteration that adds one triplet; the fact as it is then."""
        self.commit(edit("add", (triplet[0], triplet[1], triplet[2]), evidence or (self.n + 1,), kind=kind))
        return self.store.fact(self.id, " ".join(triplet))

    def remove(self, *triplet: str, kind: str = "property") -> Fact:
        """An iteration that removes one triplet; the fact as it is then."""
        self.commit(edit("remove", (triplet[0], triplet[1], triplet[2]), (self.n + 1,), kind=kind))
        return self.store.fact(self.id, " ".join(triplet))

    def facts(self, as_of: int | None = None) -> list[Fact]:
        return self.store.facts(self.id, as_of=as_of)

    def texts(self, as_of: int | None = None) -> list[str]:
        return [f"{fact.subject} {fact.predicate} {fact.object}" for fact in self.facts(as_of)]

    def start(self) -> State:
        observation = Observation(text="you are at the start", inventory="nothing", admissible=("go east",))
        return State(id="S0", summary="the start", step=Step(number=0, action="", observation=observation))

    def register(self, spec: Spec = SPEC) -> Any:
        return self.store.register(self.id, spec, self.start())


@pytest.fixture(
    scope="session",
    params=[pytest.param("embedded", marks=pytest.mark.service), pytest.param("neo4j", marks=pytest.mark.service)],
)
def endpoint(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A database of each engine."""
    if request.param == "neo4j":
        yield request.getfixturevalue("neo4j_for_tests").endpoint
        return
    pytest.importorskip("arcadedb_embedded", reason="the embedded engine is not installed")
    settings = Settings(neo4j_uri=None, home=tmp_path_factory.mktemp("database"), embedded_idle_seconds=120)
    yield endpoint_of(settings)
    embedded.stop(settings)


@pytest.fixture(scope="session")
def store(endpoint: Endpoint) -> Iterator[GraphStore]:
    """A store on it."""
    with GraphStore(endpoint) as found:
        yield found


@pytest.fixture
def connection(endpoint: Endpoint) -> Iterator[Connection]:
    """A connection of the test's own that may write."""
    found = Connection(endpoint, endpoint.writer)
    yield found
    found.close()


def rows(connection: Connection, cypher: str, **parameters: Any) -> list[list[Any]]:
    """What a query of the test's own gives."""
    found = connection.driver.execute_query(cypher, parameters, database_=connection.endpoint.database)
    return [list(record.values()) for record in found.records]


@pytest.fixture
def books(store: GraphStore) -> Iterator[Any]:
    """Makes instances of random names, and forgets them afterwards."""
    made: list[Book] = []

    def make(spec: Spec = SPEC) -> Book:
        book = Book(store, f"test-{uuid.uuid4().hex[:12]}")
        book.register(spec)
        made.append(book)
        return book

    yield make
    there = {record.id for record in store.instances()}
    for book in made:
        if book.id in there:
            store.forget(book.id)


@pytest.fixture
def book(books: Any) -> Book:
    """One new instance."""
    found: Book = books()
    return found


@pytest.fixture
def log(tmp_path: Path) -> Callable[..., Path]:
    """Writes a log of recorded steps."""

    def write(*lines: dict[str, Any], name: str = "run.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(found) + "\n" for found in lines))
        return path

    return write


@pytest.fixture
def other(book: Book) -> Iterator[str]:
    """A name for an import; whatever is stored under it is deleted afterwards."""
    yield f"{book.id}-2"
    if any(record.id == f"{book.id}-2" for record in book.store.instances()):
        book.store.forget(f"{book.id}-2")
