"""What TextWorld's sentences say: the patterns of its grammar, as data, and the small parsers over them.

TextWorld words a room afresh in every game ("On the table you make out a knife, so there's that."), but from one
published grammar; the patterns here are of that grammar, not of any game. Names are matched longest first and
masked, so that "table" is not found inside "patio table".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

DIRECTIONS = {"north": "south", "south": "north", "east": "west", "west": "east"}
OFFSETS = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}
COOKED = ("raw", "fried", "roasted", "grilled", "burned")
LONGEST_NAME = 4
"""Words of a name that is believed unseen."""
CUT = ("sliced", "diced", "chopped")
OPENNESS = {"open": "open", "opened": "open", "closed": "closed", "locked": "locked"}

_HEADER = re.compile(r"^-=\s*(.+?)\s*=-\s*$", re.MULTILINE)
_DOOR = re.compile(r"There is an? (open|closed|locked) ([^.,!?\n]+?) leading (north|south|east|west)\b")
_EXITS = (
    re.compile(r"There is an exit to the (north|south|east|west)\b"),
    re.compile(r"You should try going (north|south|east|west)\b"),
    re.compile(r"Why not try going (north|south|east|west)\b"),
)
_FLOOR = re.compile(r"There (?:is|are) ([^.!?\n]+?) on the floor\b")
_ON = (  # (pattern, whether the holder comes first)
    (re.compile(r"\bOn the ([^.,!?\n]+?),? you (?:can )?(?:see|make out) ([^.!?\n]+)"), True),
    (re.compile(r"\bYou see ([^.!?\n]+?) on the ([^.,!?\n]+)"), False),
    (re.compile(r"\bOn the ([^.,!?\n]+?) (?:is|are) ([^.!?\n]+)"), True),
)
_IN = (
    re.compile(r"\bThe ([^.,!?\n]+?) contains ([^.!?\n]+)"),
    re.compile(r"\bYou open the ([^.,!?\n]+?), revealing ([^.!?\n]+)"),
)
_STATED = re.compile(
    r"\b(?:an? |A |An )(open|opened|closed|locked) "
    r"([^.,!?\n]+?)(?=[.,!?\n]| is | here\b| in the room| nearby| close by| right there| looking )"
)
_EMPTY = re.compile(
    r"\bthe thing is empty\b|isn't a thing on it|hasn't got anything on it|nothing on (?:it|this piece of)"
    r"|taken everything off it|appears to be empty|has nothing on it|is empty\b|(?<=[.\s])Empty!"
)
_WHOLE = re.compile(r"\b(?:an?|the|some|open|opened|closed|locked) $", re.IGNORECASE)
"""Before a name: it is the whole one, not the end of a longer one that is not known yet."""
_ITEM = re.compile(r"(?:\ban?|\bsome|\bthe) ([^,.!?\n]+?)(?=,| and (?:an?|some|the) |[.!?\n]|$)")
_ADJECTIVES = re.compile(rf"^((?:(?:{'|'.join((*COOKED, *CUT))}) )+)(?=\S)")


@dataclass
class Seen:
    """What one observation says, in names: nothing of it is judged yet."""

    room: str | None = None
    exits: set[str] = field(default_factory=set)
    doors: list[tuple[str, str, str]] = field(default_factory=list)
    """(door, direction, open | closed | locked)"""
    stated: dict[str, str] = field(default_factory=dict)
    """thing -> open | closed | locked"""
    floor: list[str] = field(default_factory=list)
    on: list[tuple[str, str]] = field(default_factory=list)
    inside: list[tuple[str, str]] = field(default_factory=list)
    empty: set[str] = field(default_factory=set)
    things: set[str] = field(default_factory=set)
    """everything named as present, but doors"""
    states: dict[str, list[str]] = field(default_factory=dict)
    """food -> its adjectives"""


def room_of(text: str) -> str | None:
    """Name in the last `-= Room =-` header, in lower case as the commands spell it; None without one."""
    found = _HEADER.findall(text)
    return str(found[-1]).lower() if found else None


def bare(phrase: str) -> tuple[str, list[str]]:
    """A food's name without the adjectives of its state, and those: "diced fried carrot" -> carrot."""
    phrase = phrase.strip()
    match = _ADJECTIVES.match(phrase)
    if not match:
        return phrase, []
    return phrase[match.end() :], match.group(1).split()


def items(phrase: str) -> list[str]:
    """The noun phrases of a list: "a carrot, a red onion and a knife, so there's that" -> three of them."""
    return [found.strip() for found in _ITEM.findall(phrase)]


def mentions(text: str, names: Iterable[str]) -> list[tuple[int, str]]:
    """(position, name) of every mention, longest name first with masking, in the order of the text."""
    left = text.casefold()
    found = []
    for name in sorted(names, key=len, reverse=True):
        for match in re.finditer(rf"(?<!\w){re.escape(name.casefold())}(?!\w)", left):
            found.append((match.start(), name))
        left = re.sub(rf"(?<!\w){re.escape(name.casefold())}(?!\w)", lambda m: "\0" * len(m.group()), left)
    return sorted(found)


def parse(text: str, names: frozenset[str], *, strict: bool = True) -> Seen:
    """Read one observation.

    Strict: only `names` (what the listed commands call things) are believed. Otherwise, where no commands are
    listed, the grammar's lists ("on the table you see a knife") are believed too; what merely stands in a sentence
    ("you can see a recent ...") must still be among the names, that is, have answered to a command.
    """
    seen = Seen(room=room_of(text))
    for pattern in _EXITS:
        seen.exits.update(pattern.findall(text))
    seen.doors = [(door, where, state) for state, door, where in _DOOR.findall(text)]
    doors = {door for door, _, _ in seen.doors}
    for state, phrase in _STATED.findall(text):
        if (thing := phrase.strip()) in names and thing not in doors:
            seen.stated[thing] = OPENNESS[state]
    for phrase in _FLOOR.findall(text):
        seen.floor += _things(phrase, names, strict, seen)
    for pattern, holder_first in _ON:
        for pair in pattern.findall(text):
            holder, listed = pair if holder_first else reversed(pair)
            if (supporter := _name(holder, names, strict)) is not None and supporter != "floor":
                seen.on += [(thing, supporter) for thing in _things(listed, names, strict, seen)]
    for pattern in _IN:
        for holder, listed in pattern.findall(text):
            if (container := _name(holder, names, strict)) is not None:
                seen.inside += [(thing, container) for thing in _things(listed, names, strict, seen)]
    if not strict and seen.room:
        seen.things.update(name for at, name in mentions(text, names) if _WHOLE.search(text[:at]))
    held = seen.on + seen.inside
    seen.things.update(seen.stated, seen.floor, (thing for thing, _ in held), (holder for _, holder in held))
    seen.empty = _empties(text, (names | seen.things) - doors, strict)
    return seen


def carried(inventory: str | None, names: frozenset[str]) -> dict[str, list[str]]:
    """Name -> adjectives of what the inventory lists."""
    if not inventory or "carrying nothing" in inventory:
        return {}
    seen = Seen()
    listed = _things(inventory.partition(":")[2], names, True, seen)
    return {thing: seen.states.get(thing, []) for thing in listed}


def _things(phrase: str, names: frozenset[str], strict: bool, seen: Seen) -> list[str]:
    found = []
    for item in items(phrase):
        name, adjectives = bare(item)
        if (thing := _name(name, names, strict)) is not None:
            found.append(thing)
            if adjectives:
                seen.states[thing] = adjectives
    return found


def _name(phrase: str, names: frozenset[str], strict: bool) -> str | None:
    """The phrase as a name, without the adjective of openness; None if it is not to be believed."""
    phrase = re.sub(r"^(?:open|opened|closed|locked) ", "", phrase.strip())
    if phrase in names:
        return phrase
    return phrase if not strict and 0 < len(phrase.split()) <= LONGEST_NAME else None


def _empties(text: str, names: Iterable[str], strict: bool) -> set[str]:
    """Things said to be empty: the last one named before the remark, if that is its whole name."""
    named = mentions(text, names)
    found = set()
    for match in _EMPTY.finditer(text):
        before = [(position, name) for position, name in named if position < match.end()]
        if before and (strict or _WHOLE.search(text[: before[-1][0]])):
            found.add(before[-1][1])
    return found
