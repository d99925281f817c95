"""The TextWorld reader: what a sentence says, and what it must not be taken to say."""

from __future__ import annotations

from autocontext.environments.textworld import phrases
from autocontext.environments.textworld.commands import parse_command
from autocontext.environments.textworld.reader import TextWorldReader
from autocontext.types import Facet, Observation, Step, Triplet

KITCHEN = """-= Kitchen =-
You have entered a kitchen. Not the kitchen you'd expect. No, this is a kitchen.

You can make out a closed fridge. You can see a closed oven, which looks conventional, close by. Hey, want to see a \
table? Look over there, a table. On the table you can see a cookbook and a knife, so there's that. You make out a \
stove. The stove is conventional. But the thing is empty. Oh! Why couldn't there just be stuff on it?

There is a closed sliding patio door leading west. There is an exit to the east. Don't worry, there is no door."""
COMMANDS = (
    "examine cookbook", "examine fridge", "examine knife", "examine oven", "examine stove", "examine table", "go east",
    "inventory", "look", "open fridge", "open oven", "open sliding patio door", "take cookbook from table",
    "take knife from table",
)  # fmt: skip


def step(
    number: int, action: str, text: str, admissible=COMMANDS, inventory="You are carrying nothing.", **more
) -> Step:
    seen = Observation(text=text, admissible=admissible, inventory=inventory)
    return Step(number=number, action=action, observation=seen, **more)


def read(*path: Step) -> set[tuple[str, str, str]]:
    edits = TextWorldReader().read(path, [])
    return {(edit.triplet.subject, edit.triplet.predicate, edit.triplet.object) for edit in edits}


def test_a_room_is_read_whole():
    assert read(step(0, "", KITCHEN)) == {
        ("kitchen", "is", "the start"),
        ("kitchen", "has exit", "east"),
        ("kitchen", "has exit", "west"),
        ("sliding patio door", "leads west from", "kitchen"),
        ("sliding patio door", "is", "closed"),
        ("fridge", "at", "kitchen"),
        ("fridge", "is", "closed"),
        ("oven", "at", "kitchen"),
        ("oven", "is", "closed"),
        ("table", "at", "kitchen"),
        ("stove", "at", "kitchen"),
        ("stove", "contains", "nothing"),
        ("cookbook", "on", "table"),
        ("knife", "on", "table"),
    }


def test_the_longest_name_wins():
    assert [name for _, name in phrases.mentions("a patio table and a table", ["table", "patio table"])] == [
        "patio table",
        "table",
    ]


def test_states_of_food_are_not_part_of_its_name():
    assert phrases.bare("diced fried carrot") == ("carrot", ["diced", "fried"])
    assert phrases.bare("red hot pepper") == ("red hot pepper", [])


def test_a_name_with_from_or_with_in_a_command_is_taken_apart():
    assert parse_command("take white tuna from showcase").b == "showcase"
    assert parse_command("cook carrot with BBQ").b == "BBQ"
    assert parse_command("prepare meal").verb == "prepare meal"


def test_an_emptied_fridge_is_not_read_as_empty_by_its_opening():
    reply = step(
        1, "open fridge", "You open the fridge, revealing a carrot.",
        admissible=("close fridge", "examine carrot", "examine fridge", "take carrot from fridge"),
    )  # fmt: skip
    facts = read(step(0, "", KITCHEN), reply)
    assert ("carrot", "in", "fridge") in facts
    assert not any(predicate == "contains" for _, predicate, _ in facts)


def test_an_opened_empty_container_is_a_fact():
    reply = step(1, "open fridge", "You open the fridge.", admissible=("close fridge", "examine fridge"))
    assert ("fridge", "contains", "nothing") in read(step(0, "", KITCHEN), reply)


def test_the_recipe_is_read_food_by_food():
    text = (
        "You open the copy and start reading:\n\nRecipe #1\n---------\nGather.\n\nIngredients:\ncarrot\n  red apple\n\n"
    )
    text += "Directions:\ndice the carrot\n  fry the carrot\n  prepare meal"
    facts = read(step(0, "", KITCHEN), step(1, "examine cookbook", text))
    assert {
        ("cookbook", "recipe needs", "carrot"),
        ("cookbook", "recipe needs", "red apple"),
        ("carrot", "recipe says to", "dice"),
        ("carrot", "recipe says to", "fry"),
        ("cookbook", "recipe says to", "prepare meal"),
    } <= facts


def test_a_refused_door_tells_its_key():
    text = "You have to unlock the rusty gate with the rusty key first."
    facts = read(step(0, "", KITCHEN), step(1, "open rusty gate", text, refused=True))
    assert facts == {("rusty gate", "is", "locked"), ("rusty gate", "needs", "rusty key")}


def test_taking_changes_where_a_thing_is_and_nothing_else_of_it():
    reader = TextWorldReader()
    path = (step(0, "", KITCHEN), step(1, "take knife from table", "You take the knife from the table."))
    changed = reader.changed_facets(path)
    assert reader.facet(Triplet(subject="knife", predicate="on", object="table")) in changed
    assert Facet(entity="table", aspect="contents") in changed
    assert Facet(entity="knife", aspect="food") not in changed


def test_a_refused_command_changes_nothing():
    path = (step(0, "", KITCHEN), step(1, "take moon", "You can't see any such thing.", refused=True))
    assert TextWorldReader().changed_facets(path) == frozenset()


def test_the_grid_rule_closes_a_square_only_where_both_rooms_have_the_exit():
    leads = [("a", "east", "b"), ("a", "north", "c"), ("c", "east", "d")]
    exits = [("a", "east"), ("a", "north"), ("b", "north"), ("c", "east"), ("d", "south")]
    known = [(Triplet(subject=s, predicate=f"leads {w} to", object=o), (n,)) for n, (s, w, o) in enumerate(leads, 1)]
    known += [(Triplet(subject=s, predicate="has exit", object=w, object_is_value=True), (9,)) for s, w in exits]
    edits = TextWorldReader().infer(known, frozenset({"grid"}))
    assert {(e.triplet.subject, e.triplet.predicate, e.triplet.object) for e in edits} == {
        ("b", "leads north to", "d"),
        ("d", "leads south to", "b"),
    }
    assert all(edit.kind == "inferred" and edit.rule == "grid" and edit.evidence for edit in edits)
    assert not TextWorldReader().infer(known, frozenset())
