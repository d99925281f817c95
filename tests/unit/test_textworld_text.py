"""TextWorld's texts: what is cut off, what is kept, what is refused. Needs no TextWorld."""

from __future__ import annotations

import pytest

from autocontext.environments.textworld import text
from autocontext.environments.textworld.refusals import is_refusal
from autocontext.environments.textworld.suggest import Suggester, names_in
from autocontext.types import Observation, Step

OPENING = (
    "\n\n                    ________  __    __ \n                   |        \\|  \\  |  \\\n"
    "                    \\$$$$$$$$| $$  | $$\n\n"
    "You are hungry! Let's cook.\n\n-= Bedroom =-\nA normal one.\n\nThere is an exit to the east.\n\n"
    ">                                          -= Bedroom =-0/1"
)

LOST = (
    "\nYou burned it!\n\n\n    *** You lost! ***\n\n\nYou scored 1 out of a possible 3, in 9 turns.\n\n"
    "Would you like to RESTART, RESTORE a saved game, QUIT or UNDO the last command?\n> "
)


def test_an_opening_begins_with_its_room() -> None:
    assert text.clean(OPENING, opening=True) == "-= Bedroom =-\nA normal one.\n\nThere is an exit to the east."


def test_with_the_task_only_banner_and_prompt_go() -> None:
    assert text.clean(OPENING, opening=True, task=True).startswith("You are hungry! Let's cook.\n\n-= Bedroom =-")


@pytest.mark.parametrize(
    ("reply", "left"),
    [
        ("\nTaken.\n\nYour score has just gone up by one point.\n\n>      -= Kitchen =-1/7", "Taken."),
        ("\n[Your score has just gone up by two points.]\nTaken.\n>  -= K =-1/7", "Taken."),
        (
            LOST,
            "You burned it!",
        ),
        ("\nTime passes.\n", "Time passes."),
        ("\na\n\n\n\n\nb\n>", "a\n\nb"),
        ("Commands:\n  look:  look\n  goal:   print the goal\n  go:  go\n", "Commands:\n  look:  look\n  go:  go"),
    ],
)  # fmt: skip
def test_score_end_and_prompt_go(reply: str, left: str) -> None:
    assert text.clean(reply) == left


def test_the_score_is_read_from_the_status_line() -> None:
    assert text.score("Taken.\n\n>     -= Living room =-12/70") == 12
    assert text.score("Would you like to RESTART?\n> ") is None


@pytest.mark.parametrize("action", ["go north", "take all", "examine goal", "open red door.", "wait"])
def test_what_a_player_does_in_the_world_is_passed_on(action: str) -> None:
    assert text.forbidden(action) is None


@pytest.mark.parametrize("action", ["goal", "Full score", "look. goal", "me, score", "transcripts", "oops score"])
def test_what_speaks_of_the_task_is_not(action: str) -> None:
    assert text.forbidden(action)


def test_the_task_may_be_asked_for_by_those_who_have_it() -> None:
    assert text.forbidden("goal", task=True) is None
    assert text.forbidden("undo", task=True)


@pytest.mark.parametrize(
    "reply",
    [
        "You can't see any such thing.",
        "That's not a verb I recognise.",
        "You can't go that way.",
        "You have to unlock the oak door with the oak key first.",
        "You need to take the iron key first.",
        "(with the iron key)\nThat doesn't seem to fit the lock.",
        "rug: You already have that.\nfridge: That's fixed in place.",
        "What do you want to unlock?",
        "First you would have to close the crate.",
        "The carrot has already been cut.",
    ],
)
def test_refusals(reply: str) -> None:
    assert is_refusal(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "You open the crate.",
        "The crate is empty.",
        "You smell nothing unexpected.",
        "(first opening the crate)\nYou can't see any such thing.",
        "-= Hall =-\nYou can't go that way.",
        "rug: You pick up the rug from the ground.\nfridge: That's fixed in place.",
        "The fridge looks grand. It is closed.",
    ],
)
def test_no_refusals(reply: str) -> None:
    assert not is_refusal(reply)


HELP = """Available commands:
  look:                describe the current room
  inventory:           print player's inventory
  go <dir>:            move the player north, east, south or west
  examine ...:         examine something more closely
  open ...:            open a door or a container
  take ...:            take an object that is on the floor
  put ... on ...:      place an object on a supporter
  unlock ... with ...: unlock a door or a container with a key"""


def step(number: int, action: str, shown: str, *, refused: bool = False) -> Step:
    return Step(number=number, action=action, observation=Observation(text=shown), refused=refused)


HALL = (
    "-= Hall =-\nYou see a locked iron chest. On the stone bench you make out a raw red onion and an oak key.\n\n"
    "There is a closed oak door leading east. There is an exit to the north."
)


def test_names_are_read_without_articles_and_states() -> None:
    names = names_in(
        "You see a closed BBQ, a block of cheese, and a raw white onion on the patio chair. The lid's shut."
    )
    assert names == ["BBQ", "block of cheese", "white onion", "patio chair"]


def test_suggestions_are_of_this_place() -> None:
    path = [step(0, "", HALL)]
    first = Suggester(HELP).suggest(path)
    assert first[:3] == ["go east", "go north", "inventory"]
    assert {"open iron chest", "open oak door", "take red onion", "take oak key", "examine stone bench"} <= set(first)
    assert "take oak door" not in first
    path += [step(1, "take oak key", "You take the oak key."), step(2, "go north", "-= Shed =-\nYou see a toolbox.")]
    then = Suggester(HELP).suggest(path)
    assert not any("onion" in command or "chest" in command for command in then)
    assert {"examine toolbox", "examine oak key", "put oak key on toolbox"} <= set(then)


def test_what_was_refused_is_not_proposed_again() -> None:
    path = [
        step(0, "", HALL),
        step(1, "examine iron chest", "You can't see any such thing.", refused=True),
        step(2, "take stone bench", "That's fixed in place.", refused=True),
        step(3, "open oak door", "You have to unlock the oak door with the oak key first.", refused=True),
    ]
    commands = Suggester(HELP).suggest(path)
    assert not any("iron chest" in command for command in commands)
    assert "take stone bench" not in commands
    assert "unlock oak door" in commands


def test_the_end_suggests_nothing() -> None:
    over = step(1, "eat onion", "Gone.").model_copy(update={"terminated": True})
    assert Suggester(HELP).suggest([step(0, "", HALL), over]) == []
