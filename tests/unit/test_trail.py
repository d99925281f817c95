"""Paths and changes that share their beginnings are the same as if they did not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from autocontext.environments.generic import GenericReader
from autocontext.environments.textworld.reader import TextWorldReader
from autocontext.environments.trail import Trail, follow_path
from autocontext.explorer.changes import Changes
from autocontext.types import Facet, Observation, Step

TEXTS = ("You are in the hall.", "-= Cellar =-\nDark.", "Taken.", "You can't do that.", "")
LISTS = (None, (), ("take key", "go down"), ("open chest with key",))


def step(draw: tuple[int, int, int, bool]) -> Step:
    text, listed, action, refused = draw
    observation = Observation(text=TEXTS[text], admissible=LISTS[listed])
    return Step(number=0, action=("", "take key", "go down")[action], observation=observation, refused=refused)


steps = st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 2), st.booleans()).map(step)


@given(st.lists(steps, min_size=1, max_size=8), st.lists(steps, max_size=4), st.integers(1, 8))
def test_a_trail_is_what_a_tuple_would_be(first: list[Step], more: list[Step], at: int) -> None:
    trail, plain = Trail(first), tuple(first)
    branches = [(trail + more, plain + tuple(more)), (trail[:at] + more, plain[:at] + tuple(more)), (trail, plain)]
    for mine, theirs in branches:
        assert tuple(mine) == theirs
        assert mine == theirs
        assert len(mine) == len(theirs)
        assert list(reversed(mine)) == list(reversed(theirs))
        for cut in (slice(None, -1), slice(1, None), slice(None, at), slice(-3, None), slice(None, None, 2)):
            assert tuple(mine[cut]) == theirs[cut]
        assert theirs == () or (mine[0], mine[-1]) == (theirs[0], theirs[-1])


@given(st.lists(steps, min_size=1, max_size=8), st.lists(steps, max_size=4), st.integers(1, 8))
def test_what_readers_remember_of_a_trail_is_what_they_find_without(
    first: list[Step], more: list[Step], at: int
) -> None:
    trail = Trail(first)
    for reader in (GenericReader(), TextWorldReader()):
        for path in (trail, trail[:at] + more, trail + more, trail[:at]):
            plain = tuple(path)
            assert reader.place(path) == reader.place(plain)
            assert reader.changed_facets(path) == reader.changed_facets(plain)
            assert reader.read(path, ()) == reader.read(plain, ())


def test_each_step_of_a_trail_is_looked_at_once() -> None:
    looked = []

    def follow(before: int, path: object) -> int:
        looked.append(path)
        return before + 1

    trail = Trail([step((0, 0, 0, False))] * 100)
    for end in range(1, 101):
        assert follow_path(trail[:end], "count", 0, follow) == end
    assert len(looked) == 100


facets = st.sets(st.builds(Facet, entity=st.sampled_from("abcKey"), aspect=st.sampled_from("xy")))


@given(st.lists(facets, max_size=5), facets, facets, st.integers(0, 5))
def test_changes_are_what_a_frozen_set_would_be(
    parts: list[set[Facet]], one: set[Facet], two: set[Facet], at: int
) -> None:
    grown, plain = [Changes()], [frozenset[Facet]()]
    for part in parts:
        grown.append(grown[-1].and_then(part))
        plain.append(plain[-1] | part)
    base, same = grown[min(at, len(parts))], plain[min(at, len(parts))]
    found = [*grown, base.and_then(one), base.and_then(two)]
    expected = [*plain, same | one, same | two]
    for mine, theirs in zip(found, expected, strict=True):
        assert set(mine) == theirs
        assert (len(mine), bool(mine)) == (len(theirs), bool(theirs))
        assert mine == theirs
        for other, others in zip(found, expected, strict=True):
            assert (mine == other) == (theirs == others)
            assert mine != other or hash(mine) == hash(other)
        for entity in "abcKey":
            named = {facet.aspect for facet in theirs if facet.entity.casefold() == entity.casefold()}
            assert mine.aspects(entity) == named
