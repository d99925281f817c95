"""The truth about a TextWorld game, read from its `.json`. Only evaluation may look at it.

Entities: everything that has a name but the player, the inventory, recipes, their slots and ingredients, and the meal
(it does not exist at the start). Relations: what the world's facts say at s0, in the predicates of the TextWorld
reader. What a game cannot be asked about is unchecked, not right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from autocontext.errors import GameFileError
from autocontext.types import Triplet, normalise

UNNAMED = {"P", "I", "RECIPE", "ingredient", "slot", "meal"}
_DIRECTIONS = ("north", "south", "east", "west")
_USES = {"stove": "frying", "oven": "roasting", "toaster": "grilling"}
_CUTS = {"slicing": "sliced", "dicing": "diced", "chopping": "chopped"}
_COOKS = {"fried": "fry", "roasted": "roast", "grilled": "grill"}
_CUTTING = {"sliced": "slice", "diced": "dice", "chopped": "chop"}
_OPENNESS = ("open", "closed", "locked")
_STATES = ("fried", "roasted", "grilled", "burned", "sliced", "diced", "chopped")

Key = tuple[str, str, str]


@dataclass
class Truth:
    """What is true at s0, and which predicates it can answer."""

    entities: dict[str, str] = field(default_factory=dict)
    """normalised name -> name"""
    facts: set[Key] = field(default_factory=set)
    core: set[Key] = field(default_factory=set)
    """The relations that an agent needs most: exits, doors, places, closed, recipe, use of appliances."""

    def check(self, triplet: Triplet) -> bool | None:
        """Right, wrong, or None: the game's data cannot say."""
        key = key_of(triplet)
        if key[1] not in _CHECKED and not key[1].startswith("leads "):
            return None
        if (
            key[1] == "is"
            and key[2] in _OPENNESS
            and not any((key[0], "is", state) in self.facts for state in _OPENNESS)
        ):
            return None  # a barbecue is printed as closed, but the world's facts do not say whether it is
        return key in self.facts

    def add(self, subject: str, predicate: str, object: str, *, core: bool = True) -> None:
        key = key_of(Triplet(subject=subject, predicate=predicate, object=object))
        self.facts.add(key)
        if core:
            self.core.add(key)


_CHECKED = {
    "has exit", "is", "at", "in", "on", "contains", "recipe needs", "recipe says to", "used for", "unlocks", "needs",
    "works in",
}  # fmt: skip


def key_of(triplet: Triplet) -> Key:
    """By what a triplet is compared with the truth."""
    return normalise(triplet.subject), normalise(triplet.predicate), normalise(triplet.object)


def read_truth(path: Path) -> Truth:
    """Read the `.json` beside a game.

    Raises:
        GameFileError: it is missing or no TextWorld game.
    """
    from textworld.generator.game import Game

    file = path.with_suffix(".json")
    if not file.is_file():
        raise GameFileError(f"no ground truth: '{file}' is missing; keep the .json that was made with the game.")
    try:
        game = Game.load(str(file))
    except Exception as error:
        raise GameFileError(f"'{file}' is no TextWorld game ({error}); make the game again.") from error
    truth = Truth()
    names = {info.id: info.name for info in game.infos.values() if info.name and info.type not in UNNAMED}
    types = {info.id: info.type for info in game.infos.values()}
    truth.entities = {normalise(name): name for name in names.values()}
    facts = [(fact.name, [argument.name for argument in fact.arguments]) for fact in game.world.facts]
    _map(truth, facts, names)
    _places(truth, facts, names)
    _states(truth, facts, names, types)
    _recipe(truth, names, game.metadata.get("ingredients") or [], game.infos)
    return truth


def _map(truth: Truth, facts: list[tuple[str, list[str]]], names: dict[str, str]) -> None:
    towards: dict[tuple[str, str], str] = {}
    for predicate, arguments in facts:
        where = predicate.removesuffix("_of")
        if where in _DIRECTIONS:
            there, here = arguments
            towards[here, there] = where
            truth.add(names[here], f"leads {where} to", names[there])
            truth.add(names[here], "has exit", where, core=False)
    for predicate, arguments in facts:
        if predicate == "link":
            here, door, there = arguments
            truth.add(names[door], f"leads {towards[here, there]} from", names[here])


def _places(truth: Truth, facts: list[tuple[str, list[str]]], names: dict[str, str]) -> None:
    full = set()
    for predicate, arguments in facts:
        if predicate in ("at", "in", "on"):
            thing, holder = arguments
            if thing in names and holder in names:
                truth.add(names[thing], predicate, names[holder])
                full.add(holder)
            elif thing == "P":
                truth.add(names[holder], "is", "the start", core=False)
            elif holder == "I" and thing in names:
                truth.add(names[thing], "is", "carried at the start")
        elif predicate == "match":
            key, thing = arguments
            truth.add(names[key], "unlocks", names[thing])
            truth.add(names[thing], "needs", names[key], core=False)
        elif predicate == "cooking_location":
            truth.add("prepare meal", "works in", names[arguments[0]], core=False)
    for holder in names.keys() - full:
        truth.add(names[holder], "contains", "nothing", core=False)


def _states(truth: Truth, facts: list[tuple[str, list[str]]], names: dict[str, str], types: dict[str, str]) -> None:
    for predicate, arguments in facts:
        subject = arguments[0]
        if subject not in names:
            continue
        if predicate in ("closed", "open", "locked"):
            truth.add(names[subject], "is", predicate, core=predicate != "open")
            if predicate == "locked":  # and so closed, which is how rooms word it
                truth.add(names[subject], "is", "closed", core=False)
        elif predicate == "needs_cooking":
            truth.add(names[subject], "is", "raw", core=False)
        elif predicate in _STATES:
            truth.add(names[subject], "is", predicate, core=False)
        elif predicate == "sharp":
            for cut in _CUTS:
                truth.add(names[subject], "used for", cut, core=False)
    for thing, kind in types.items():
        if kind in _USES and thing in names:
            truth.add(names[thing], "used for", _USES[kind])


def _recipe(
    truth: Truth,
    names: dict[str, str],
    ingredients: list[tuple[str, str, str]],
    infos: dict[str, object],
) -> None:
    for thing, name in names.items():
        text = getattr(infos[thing], "desc", "") or ""
        if not re.search(r"Ingredients:.*Directions:", text, re.DOTALL):
            continue
        truth.add(name, "recipe says to", "prepare meal")
        for food, cooking, cutting in ingredients:
            truth.add(name, "recipe needs", food)
            for verb in (_COOKS.get(cooking), _CUTTING.get(cutting)):
                if verb and f"{verb} the {food}" in text:
                    truth.add(food, "recipe says to", verb)
