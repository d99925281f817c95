"""TextWorld's command language: which command says what about the things it names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from autocontext.environments.textworld.phrases import bare
from autocontext.types import Facet

CUTTING = {"slice": "slicing", "dice": "dicing", "chop": "chopping"}
COOKING = {"fried": "frying", "roasted": "roasting", "grilled": "grilling"}

_FORMS = (
    re.compile(r"(?P<verb>take) (?P<a>.+?) from (?P<b>.+)"),
    re.compile(r"(?P<verb>put) (?P<a>.+?) on (?P<b>.+)"),
    re.compile(r"(?P<verb>insert) (?P<a>.+?) into (?P<b>.+)"),
    re.compile(r"(?P<verb>cook|slice|dice|chop|unlock|lock) (?P<a>.+?) with (?P<b>.+)"),
    re.compile(r"(?P<verb>go) (?P<a>north|south|east|west)"),
    re.compile(r"(?P<verb>examine|take|open|close|eat|drink|drop) (?P<a>.+)"),
    re.compile(r"(?P<verb>.+)"),
)


@dataclass(frozen=True)
class Command:
    """A command taken apart: its verb, what it is done to, and with, on, in or from what."""

    verb: str
    a: str = ""
    b: str = ""


@lru_cache(maxsize=8192)  # the planner asks of every command that is possible anywhere
def parse_command(action: str) -> Command:
    """Take a command apart; one of an unknown form is all verb."""
    text = " ".join(action.split())
    for form in _FORMS:
        if match := form.fullmatch(text):
            parts = match.groupdict()
            return Command(parts["verb"], parts.get("a") or "", parts.get("b") or "")
    return Command(text)


def full_name(name: str, reply: str) -> str:
    """The whole name of a thing that was called by a part of it: `table` is the one of "The patio table is wobbly."

    The parser answers to parts of names; its reply tells the whole one, after an article or the verb.
    """
    found = re.search(
        rf"\b(?:the|an?|some|open|close|lock|unlock) ((?:[\w'-]+ ){{0,3}}{re.escape(name)})\b", reply, re.I
    )
    return bare(found.group(1))[0] if found else name


@dataclass(frozen=True)
class Affordances:
    """What a list of admissible commands shows of the things that are here."""

    names: set[str] = field(default_factory=set)
    exits: set[str] = field(default_factory=set)
    inside_or_on: list[tuple[str, str]] = field(default_factory=list)
    loose: set[str] = field(default_factory=set)
    here: set[str] = field(default_factory=set)
    closed: set[str] = field(default_factory=set)
    opened: set[str] = field(default_factory=set)
    unlockable: list[tuple[str, str]] = field(default_factory=list)
    dishes: set[str] = field(default_factory=set)
    """Commands without an object that make something here."""


@lru_cache(maxsize=4096)  # read again with every step of the paths that lead through
def affordances(admissible: tuple[str, ...] | None) -> Affordances:
    """Read the list; without one (None) nothing is afforded."""
    found = Affordances()
    for action in admissible or ():
        command = parse_command(action)
        if command.verb == "go":
            found.exits.add(command.a)
            continue
        found.names.update(name for name in (command.a, command.b) if name)
        if command.verb == "take" and command.b:
            found.inside_or_on.append((command.a, command.b))
        elif command.verb == "take":
            found.loose.add(command.a)
        elif command.verb == "examine":
            found.here.add(command.a)
        elif command.verb == "open":
            found.closed.add(command.a)
        elif command.verb == "close":
            found.opened.add(command.a)
        elif command.verb == "unlock":
            found.unlockable.append((command.a, command.b))
        elif command.verb == "prepare meal":
            found.dishes.add(command.verb)
    return found


def changed_by(command: Command, *, room: str, carried: Iterable[str]) -> frozenset[Facet]:
    """Facets that a successful command changes: taking a thing moves it, and no more than that."""
    moved = Facet(entity=command.a, aspect="location")
    match command.verb:
        case "take" | "drop" | "put" | "insert":
            return frozenset({moved, Facet(entity=command.b or room, aspect="contents")})
        case "open" | "close" | "lock" | "unlock":
            return frozenset({Facet(entity=command.a, aspect="openness")})
        case "cook" | "slice" | "dice" | "chop":
            return frozenset({Facet(entity=command.a, aspect="food")})
        case "eat" | "drink":
            return frozenset({moved, Facet(entity=command.a, aspect="food")})
        case "prepare meal":  # uses up what is carried, and makes a meal
            return frozenset(Facet(entity=name, aspect="location") for name in ("meal", *carried))
        case _:
            return frozenset()
