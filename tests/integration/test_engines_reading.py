"""Reading around some entities and searching for names, in the forms that give the same on both engines."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from autocontext.graph import facts as rules
from autocontext.graph.connection import Connection
from autocontext.graph.store import GraphStore

from .conftest import Book, edit, rows

# --- reading around some entities ---------------------------------------------------------------------

AROUND = """
UNWIND $seeds AS sid
MATCH (s:Entity {id: sid})-[r:FACT]-(o:Entity) WHERE r.live AND NOT r.predicate IN $without
WITH DISTINCT r LIMIT 200
RETURN r.id AS id, startNode(r).id AS subject, endNode(r).id AS object
"""
"""One step from the seeds: their facts, each once. (With `WHERE s.id IN $seeds`, Neo4j forgets the DISTINCT.)"""


@pytest.fixture
def rooms(book: Book) -> dict[str, str]:
    """A ring of six rooms with a short cut that is a rumour; names and their ids."""
    doors = [(f"room {n}", "leads to", f"room {(n + 1) % 6}") for n in range(6)]
    book.commit(*(edit("add", door, (1,)) for door in [*doors, ("room 0", "is said to lead to", "room 3")]))
    found = book.store.query("MATCH (e:Entity {scope: $s}) RETURN e.name, e.id", {"s": book.id}).rows
    return dict(found)


def around(connection: Connection, seeds: list[str], without: tuple[str, ...] = ()) -> list[list[Any]]:
    return rows(connection, AROUND, seeds=seeds, without=list(without))


def test_around_several_entities_nothing_comes_twice(connection: Connection, rooms: dict[str, str]) -> None:
    seeds = [rooms["room 0"], rooms["room 1"], rooms["room 2"]]
    found = [identifier for identifier, _, _ in around(connection, seeds)]
    assert len(found) == len(set(found)) == 5
    far = "UNWIND $seeds AS sid MATCH (s:Entity {id: sid})-[:FACT*1..2]-(o:Entity) RETURN DISTINCT o.id"
    reached = rows(connection, far, seeds=seeds)
    assert sorted(row[0] for row in reached) == sorted(rooms.values())


def test_the_shortest_way_is_found_step_by_step(connection: Connection, rooms: dict[str, str]) -> None:
    """shortestPath filters after its search on the embedded engine: it would find nothing here."""

    def distance(without: tuple[str, ...]) -> int:
        seen, edge, steps = {rooms["room 0"]}, {rooms["room 0"]}, 0
        while rooms["room 3"] not in seen:
            steps += 1
            edge = {end for _, *ends in around(connection, sorted(edge), without) for end in ends} - seen
            seen |= edge
        return steps

    assert distance(()) == 1
    assert distance(("is said to lead to",)) == 3


# --- searching for names ------------------------------------------------------------------------------

SEARCH = (
    "CALL db.index.fulltext.queryNodes('entity_name', $q, {limit: 200}) YIELD node, score "
    "RETURN node.name AS name, node.scope AS scope ORDER BY score DESC, node.id"
)
_SPECIAL = re.compile(r'([+\-!(){}\[\]^"~*?:\\/&|])')


def search(connection: Connection, scope: str, text: str) -> list[str]:
    """Names with one of the words. The scope is in the query, because the limit comes before any filter.

    A word of signs only is left out: nothing would be left of it, and then the scope alone would be searched for.
    """
    words = [_SPECIAL.sub(r"\\\1", word) for word in text.lower().split() if any(map(str.isalnum, word))]
    if not words:
        return []
    found = rows(connection, SEARCH, q=f"+scope_token:{rules.scope_token(scope)} +name:({' OR '.join(words)})")
    assert {row[1] for row in found} <= {scope}
    return [row[0] for row in found]


def test_a_search_stays_within_its_instance(store: GraphStore, connection: Connection, book: Book) -> None:
    other = Book(store, f"{book.id}-copy")  # whose id an analyser would split into words of the first one's
    other.register()
    for one in (book, other):
        one.commit(*(edit("add", (f"drawer {n}", "in", "hall"), (1,)) for n in range(3)))
    assert eventually(lambda: sorted(search(connection, book.id, "drawer"))) == ["drawer 0", "drawer 1", "drawer 2"]
    assert search(connection, book.id, "hall lamp") == ["hall"]
    assert search(connection, book.id, "lamp") == []
    store.forget(other.id)


HOSTILE = ["a+b", "-x", "!", "(lamp)", 'the "lamp"', "la*p?", "a:b", "\\", "/lamp/", "AND OR NOT", "lamp^2 ~"]
HOSTILE += ["{x} [y TO z]", "&& ||", "", " ", "'; DROP", "*"]


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_may_be_searched_for(connection: Connection, book: Book, text: str) -> None:
    book.add("brass lamp", "in", "hall")
    assert eventually(lambda: search(connection, book.id, "LAMP")) == ["brass lamp"]
    assert search(connection, book.id, text) == (["brass lamp"] if re.search(r"\blamp\b", text) else [])


def eventually(call: Any) -> Any:
    """What a call gives, once that is something: the full-text index of Neo4j may lag behind a commit."""
    deadline = time.monotonic() + 10
    while not (found := call()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found
