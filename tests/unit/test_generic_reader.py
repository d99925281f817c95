"""The generic reader: it assumes the least."""

from __future__ import annotations

import pytest

from autocontext.environments.generic import GenericReader, heading, objects
from autocontext.types import Observation, Step


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("You are in the cellar. It is dark.", "cellar"),
        ("You're now at a Crossroads", "Crossroads"),
        ("-= Attic =-\nDust everywhere.", "Attic"),
        ("Taken.", None),
        ("The chest is open; a key lies in it.", None),
        ("", None),
    ],
)
def test_a_place_is_a_heading_or_said_to_be_one(text, place):
    assert heading(text) == place


def test_what_an_action_names():
    assert objects("put the red ball in box") == ["red ball", "box"]
    assert objects("go north") == []
    assert objects("look") == []


def test_outcomes_and_refusals_are_mechanics_of_the_place():
    reader = GenericReader()
    start = Step(number=0, action="", observation=Observation(text="You are in the hall."))
    refused = Step(number=1, action="fly", observation=Observation(text="You cannot fly."), refused=True)
    moved = Step(number=2, action="go down", observation=Observation(text="You are in the cellar. Dark."))
    assert [(e.triplet.predicate, e.triplet.object, e.kind) for e in reader.read((start, refused), [])] == [
        ("refuses: fly", "You cannot fly.", "mechanics")
    ]
    facts = {(e.triplet.subject, e.triplet.predicate, e.triplet.object) for e in reader.read((start, moved), [])}
    assert facts == {
        ("hall", "go down leads to", "cellar"),
        ("cellar", "looks like", "You are in the cellar. Dark."),
    }


def test_a_thing_that_was_taken_is_not_placed_by_the_list_of_actions():
    reader = GenericReader()
    seen = Observation(text="You are in the hall.", admissible=("take lamp", "go down"))
    path = [Step(number=0, action="", observation=seen)]
    assert any(e.triplet.subject == "lamp" for e in reader.read(path, []))
    path.append(Step(number=1, action="take lamp", observation=Observation(text="Taken.")))
    assert any(facet.entity == "lamp" and facet.aspect == "location" for facet in reader.changed_facets(path))
