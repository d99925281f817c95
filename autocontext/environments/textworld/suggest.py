"""Candidate commands for games that list none, grown from nothing but the texts on the path.

Verbs are those of the game's own `help`, of recipes and of hints ("You should cook the tuna first."); names are noun
phrases of the texts read in this room, and of what is carried. It knows no grammar beyond articles and a few words
at which a name ends, so some candidates name no thing: the game refuses those, and they are not proposed again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from autocontext.environments.textworld.phrases import COOKED, CUT, DIRECTIONS
from autocontext.environments.textworld.text import HEADER
from autocontext.types import Step

MOST = 80
"""Length of a list of candidates."""

_DIRECTIONS = tuple(DIRECTIONS)
_STATES = frozenset("open opened closed locked shut empty".split())
_FOOD = frozenset((*COOKED, *CUT))
_PLAIN = frozenset(
    "bit chance copy couple day dream end exit exits floor ground idea kind lid lot minute moment name one ones piece "
    "place point reason room second shape sort spot state stuff thing things time use way while world of".split()
) | frozenset(_DIRECTIONS)
"""Nouns that name no thing of a game's world."""

_ENDS = (
    "a an the and or but nor is are was were be been has have had that which who where when while with without on in "
    "into onto to from at by for as against beside behind under over near next leading looks look here there right "
    "close standing sitting you your it its he she they if so then than also just not too very can could would should "
    "must will first appears seems opens contains makes reveals"
)
_NAME = re.compile(
    rf"\b(?:an?|some|the) (?P<name>(?:(?!(?:{'|'.join(_ENDS.split())})\b)[\w-]+(?![\w']) ?){{1,5}})",
    re.IGNORECASE,
)
_COMMAND = re.compile(r"^ {2,}(?P<form>[a-z][^:\n]*?): ", re.MULTILINE)
_DIRECTIVE = re.compile(r"^ *(?P<verb>[a-z]+) (?:the )?(?P<name>[a-z][a-z' -]*)$", re.MULTILINE)
_HINT = re.compile(r"You (?:should|need to|have to) (?P<verb>[a-z]+) (?:the )?(?P<name>[^.]+?)(?: with [^.]+)? first\.")
_CARRYING = re.compile(r"You are carrying:? (?P<what>[^.]*)")
_STATED = re.compile(
    r"\b(?P<state>closed|locked|shut|open|opened) (?P<after>[\w -]+)"
    r"|(?P<before>[\w -]+?) is (?P<now>closed|locked|shut|open)\b"
)
_NO_SUCH = ("You can't see any such thing.", "You must supply a noun.")
_NO_VERB = "That's not a verb I recognise."
_FIXED = re.compile(r".*fixed in place\.")
_TAKEN = re.compile(r"(?:take|get|pick up) (?P<name>.+?)(?: from .+)?")
_LEFT = re.compile(r"(?:drop|put|insert|eat|drink) (?P<name>.+?)(?: (?:on|in|into) .+)?")


@dataclass
class _Scene:
    """What the path shows of where it ends."""

    room: str = ""
    names: list[str] = field(default_factory=list)  # in the order of the latest mention, the latest first
    carried: list[str] = field(default_factory=list)
    listed: bool = False  # the game has said what is carried
    exits: list[str] = field(default_factory=list)
    closed: set[str] = field(default_factory=set)
    opened: set[str] = field(default_factory=set)
    hints: list[tuple[str, str]] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)
    no_verbs: set[str] = field(default_factory=set)
    fixed: set[str] = field(default_factory=set)


class Suggester:
    """Proposes commands after a path; the same path gives the same list."""

    def __init__(self, help_text: str) -> None:
        forms = [match["form"].strip() for match in _COMMAND.finditer(help_text)]
        self._bare = [form for form in forms if "..." not in form and "<" not in form]
        self._unary = [form.removesuffix(" ...") for form in forms if form.count("...") == 1 and form.endswith(" ...")]
        self._binary = [tuple(form.split(" ... ")) for form in forms if form.count("...") == 2]

    def suggest(self, path: Sequence[Step]) -> list[str]:
        """Commands worth trying after `path`, the most promising first."""
        if path and path[-1].terminated:
            return []
        scene = _read(path)
        unique = dict.fromkeys(command for command in self._candidates(scene) if _verb(command) not in scene.no_verbs)
        return list(unique)[:MOST]

    def _candidates(self, scene: _Scene) -> Iterator[str]:
        here = [name for name in scene.names if name not in scene.unknown]
        loose = [name for name in here if name not in scene.carried]
        yield from (f"go {direction}" for direction in scene.exits or _DIRECTIONS)
        if not scene.listed:
            yield from (command for command in self._bare if command.startswith("inventory"))
        yield from (f"open {name}" for name in here if name in scene.closed)
        yield from self._with_two(("unlock",), [name for name in here if name in scene.closed], scene.carried)
        for verb, name in scene.hints:
            if name in here or name in scene.carried or name == "meal":
                yield f"{verb} {name}"
        takeable = [name for name in loose if name not in scene.fixed and not name.endswith("door")]
        for name in loose[:12]:
            yield f"examine {name}"
            if name in takeable:
                yield f"take {name}"
        yield from (command for command in self._bare if command != "goal")
        yield from (f"examine {name}" for name in [*scene.carried, *loose[12:]])
        yield from (f"take {name}" for name in takeable[12:])
        yield from (f"open {name}" for name in loose if name not in scene.closed | scene.opened)
        hinted = dict.fromkeys(verb for verb, _ in scene.hints)
        for verb in hinted:
            yield from (f"{verb} {name} with {tool}" for name in scene.carried[:4] for tool in here[:8] if tool != name)
        for verb in self._unary:
            if verb not in ("examine", "take", "open", "close"):
                yield from (f"{verb} {name}" for name in scene.carried)
        yield from self._with_two(("put", "insert"), scene.carried[:3], loose[:6])
        yield from (f"close {name}" for name in loose if name in scene.opened)
        yield from self._with_two(("lock",), loose[:6], scene.carried[:3])

    def _with_two(self, verbs: tuple[str, ...], firsts: Iterable[str], seconds: Iterable[str]) -> Iterator[str]:
        seconds = list(seconds)
        for first in firsts:
            for form in self._binary:
                if form[0] in verbs:
                    link = form[1].removesuffix(" ...")
                    yield from (f"{form[0]} {first} {link} {second}" for second in seconds if second != first)


def _read(path: Sequence[Step]) -> _Scene:
    scene = _Scene()
    by_room: dict[str, list[Step]] = {}
    room = ""
    for step in path:
        title = HEADER.search(step.observation.text)
        room = title.group().strip("-= \t") if title else room
        by_room.setdefault(room, []).append(step)
        _carry(scene, step)
        text = step.observation.text
        scene.hints += [(hint["verb"], _bare(hint["name"])) for hint in _HINT.finditer(text)]
        if "\n" in text.strip() and not title:
            scene.hints += [(line["verb"], _bare(line["name"])) for line in _DIRECTIVE.finditer(text)]
        if text == _NO_VERB:
            scene.no_verbs.add(_verb(step.action))
    scene.room = room.lower()
    for step in by_room.get(room, []):
        _look(scene, step)
    return scene


def _look(scene: _Scene, step: Step) -> None:
    """Take in what one step in this room showed."""
    text = step.observation.text
    argument = _bare(step.action.partition(" ")[2])
    if text in _NO_SUCH:
        scene.unknown.add(argument)
        return
    if _FIXED.fullmatch(text):
        scene.fixed.add(argument)
    if not step.refused and step.action.startswith(("open ", "close ")):
        _set_open(scene, [argument], opened=step.action.startswith("open "))
    described = HEADER.sub("", text)
    names = [name for name in dict.fromkeys(names_in(described)) if name.lower() != scene.room]
    scene.names = names + [name for name in scene.names if name not in names]
    for match in _STATED.finditer(described):
        stated = [name for name in names if name in (match["after"] or match["before"])]
        _set_open(scene, stated, opened=(match["state"] or match["now"]).startswith("open"))
    exits = [word for word in re.findall(r"[a-z]+", described.lower()) if word in _DIRECTIONS]
    scene.exits = list(dict.fromkeys([*scene.exits, *exits]))


def _set_open(scene: _Scene, names: list[str], *, opened: bool) -> None:
    is_now, was = (scene.opened, scene.closed) if opened else (scene.closed, scene.opened)
    is_now.update(names)
    was.difference_update(names)


def _carry(scene: _Scene, step: Step) -> None:
    """Follow what is carried, by what was done and by what the game lists."""
    listed = _CARRYING.search(step.observation.inventory or step.observation.text)
    if listed:
        scene.listed = True
        scene.carried = list(dict.fromkeys(names_in(listed["what"])))
    elif step.refused:
        return
    elif taken := _TAKEN.fullmatch(step.action):
        scene.carried = [taken["name"], *(name for name in scene.carried if name != taken["name"])]
    elif left := _LEFT.fullmatch(step.action):
        scene.carried = [name for name in scene.carried if name != left["name"]]


def names_in(text: str) -> list[str]:
    """Noun phrases of a text, without their articles and states, in order."""
    found = (_bare(match["name"]) for match in _NAME.finditer(text))
    return [
        name for name in found if name and not _PLAIN & {word.lower() for word in (name.split()[0], name.split()[-1])}
    ]


def _bare(phrase: str) -> str:
    """A phrase without article and adjectives of state: those change, and the parser needs none of them."""
    words = [word for word in _words(phrase) if word.lower() not in ("a", "an", "the", "some")]
    if "looking" in words[:-1]:  # "a closed recent looking BBQ"
        words = words[words.index("looking") + 1 :]
    while len(words) > 1 and words[0].lower() in _STATES | _FOOD:
        words = words[1:]
    return " ".join(words)


def _words(phrase: str) -> list[str]:
    return re.findall(r"[\w'-]+", phrase)


def _verb(command: str) -> str:
    return command.partition(" ")[0]
