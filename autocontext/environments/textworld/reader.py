"""Reads TextWorld's observations, inventories and command lists into triplets.

Sees what a player sees. Everything is written as it stands at the start of every task: what the path has moved,
opened or cooked is left out by the validator's facet rule, which asks `facet` and `changed_facets` here. Objective,
score and endings are no facts; the adapter has already taken them out of the text.

Predicates: `leads DIRECTION to`, `has exit` (place) · `is` (closed, locked, raw ...) · `at`, `in`, `on`, `contains`
(place) · `leads DIRECTION from` (a door) · `recipe needs`, `recipe says to` · `used for`, `unlocks`, `needs`,
`works in` (mechanics).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from autocontext.environments.base import shows
from autocontext.environments.textworld import phrases
from autocontext.environments.textworld.commands import (
    COOKING,
    CUTTING,
    Affordances,
    Command,
    affordances,
    changed_by,
    full_name,
    parse_command,
)
from autocontext.environments.textworld.inference import RULES, infer_exits
from autocontext.environments.trail import follow_path
from autocontext.types import Edit, Facet, Observation, Step, Triplet

_RECIPE = re.compile(r"Ingredients:\s*\n(?P<needs>.*?)\n\s*\nDirections:\s*\n(?P<does>.*)", re.DOTALL)
_USEFUL = re.compile(r"\bUseful for (frying|roasting|grilling) things\b")
_COOKED = re.compile(r"\bYou (fried|roasted|grilled) the ")
_NEEDS_KEY = re.compile(r"(?:unlock|open) the ([^.,!?\n]+?) with the ([^.,!?\n]+?) first")
_STATE = re.compile(r"\bIt is (open|closed|locked)\.")
_TAKEN_FROM = re.compile(r"^You take .+? from the ([^.\n]+)\.")
_BARRIERS = {"door", "gate", "gateway", "hatch", "portal", "passageway", "screen"}
"""Head nouns of what stands between rooms: such a thing is not in either of them."""
_PLACES = {"at", "in", "on"}
_NO_NAMES: frozenset[str] = frozenset()


class TextWorldReader:
    """The reader of every game that TextWorld makes; knows its grammar, not its games."""

    rules = RULES

    def place(self, path: Sequence[Step]) -> str:
        """The room named by the last header on the path."""
        return follow_path(path, "textworld.place", "", _room_after)

    def read(self, path: Sequence[Step], known: Iterable[Triplet]) -> list[Edit]:
        """Everything that the last step of the path shows, whether new or seen before."""
        step = path[-1]
        if step.refused:
            return list(self._refusal(step))
        names = self._names(path, known)
        edits = self._shown(path, step, names)
        if len(path) == 1:
            edits += self._start(step, self.place(path), names)
        elif step.observation.admissible is None:
            edits += self._named_late(path, known)
        return edits

    def _shown(self, path: Sequence[Step], step: Step, names: frozenset[str]) -> list[Edit]:
        """What the step's own observation shows of the things with these names."""
        can = affordances(step.observation.admissible)
        seen = phrases.parse(step.observation.text, names, strict=step.observation.admissible is not None)
        room = self.place(path)
        return [
            *self._moved(path, seen),
            *self._exits(step, room, seen, can),
            *self._things(step, room, names, seen, can),
            *self._states(step, names, seen, can),
            *self._learnt(step, room, can),
        ]

    def _named_late(self, path: Sequence[Step], known: Iterable[Triplet]) -> list[Edit]:
        """Where no commands are listed, a thing's name is certain once it has answered to a command; then the last
        look at this room, earlier on the path, is read again with that name."""
        command, names = _command(path[-1]), self._names(path[:-1], known)
        if not command.a or command.verb == "go" or command.a in names:
            return []
        for end in range(len(path) - 1, 0, -1):
            if phrases.room_of(path[end - 1].observation.text):
                return self._shown(path[:end], path[end - 1], names | {command.a})
        return []

    def infer(self, known: Sequence[tuple[Triplet, Sequence[int]]], rules: frozenset[str]) -> list[Edit]:
        """Where exits lead, by the rules `way_back` and `grid`."""
        return infer_exits(known, rules)

    def refused(self, observation: Observation) -> bool:
        """Never: the adapter itself knows the parser's refusals."""
        return False

    def changed_facets(self, path: Sequence[Step]) -> frozenset[Facet]:
        """What the last command changed, if it was not refused."""
        if path[-1].refused or len(path) < 2:
            return frozenset()
        names = self._names(path, ())
        carried = phrases.carried(path[-2].observation.inventory, names)
        taking = "(first taking " in path[-1].observation.text  # from where is not told
        implied = frozenset(Facet(entity=name, aspect="contents") for name in names if taking)
        return implied | changed_by(_command(path[-1]), room=self.place(path[:-1]), carried=carried)

    def facet(self, triplet: Triplet) -> Facet | None:
        """Location, contents, openness or food state; exits, recipes and uses are of no facet."""
        if triplet.predicate in _PLACES or triplet.object == "carried at the start":
            return Facet(entity=triplet.subject, aspect="location")
        if triplet.predicate == "contains":
            return Facet(entity=triplet.subject, aspect="contents")
        if triplet.predicate == "is" and triplet.object in phrases.OPENNESS:
            return Facet(entity=triplet.subject, aspect="openness")
        if triplet.predicate == "is" and triplet.object in (*phrases.COOKED, *phrases.CUT):
            return Facet(entity=triplet.subject, aspect="food")
        return None

    def action_class(self, action: str) -> str:
        """Verb and head noun of its object; directions are one class."""
        command = parse_command(action)
        if command.verb == "go" or not command.a:
            return command.verb
        return f"{command.verb} {command.a.split()[-1]}"

    def implied_by(self, action: str, place: str) -> tuple[str, str] | None:
        """Going through an exit shows nothing new once it is known where it leads."""
        command = parse_command(action)
        return (place, f"leads {command.a} to") if command.verb == "go" else None

    # --- parts of reading ----------------------------------------------------------------------------

    def _names(self, path: Sequence[Step], known: Iterable[Triplet]) -> frozenset[str]:
        """Names by which commands call things: those listed on the path, or, where none are listed, those that
        answered to a command and those of the facts."""
        if path[-1].observation.admissible is not None:
            return follow_path(path, "textworld.listed", _NO_NAMES, _listed_after)
        answered = follow_path(path, "textworld.answered", _NO_NAMES, _answered_after)
        names = set(answered)
        for triplet in known:
            if triplet.predicate in _PLACES:
                names |= {triplet.subject} if triplet.predicate == "at" else {triplet.subject, triplet.object}
        return frozenset(names - {"", *phrases.DIRECTIONS})

    def _start(self, step: Step, room: str, names: frozenset[str]) -> Iterator[Edit]:
        if room:
            yield shows(room, "is", "the start", "place", step.number, value=True)
        for thing in phrases.carried(step.observation.inventory, names):
            yield shows(thing, "is", "carried at the start", "place", step.number, value=True)

    def _moved(self, path: Sequence[Step], seen: phrases.Seen) -> Iterator[Edit]:
        command = parse_command(path[-1].action)
        if command.verb == "go" and seen.room and (origin := self.place(path[:-1])):
            yield shows(origin, f"leads {command.a} to", seen.room, "place", path[-1].number)

    def _exits(self, step: Step, room: str, seen: phrases.Seen, can: Affordances) -> Iterator[Edit]:
        if not room:
            return
        for where in sorted(seen.exits | can.exits | {where for _, where, _ in seen.doors}):
            yield shows(room, "has exit", where, "place", step.number, value=True)
        for door, where, state in seen.doors:
            yield shows(door, f"leads {where} from", room, "place", step.number)
            yield shows(door, "is", state, "property", step.number, value=True)

    def _things(
        self, step: Step, room: str, names: frozenset[str], seen: phrases.Seen, can: Affordances
    ) -> Iterator[Edit]:
        """Where things are. With a command list a holder that can be opened or closed holds inside, another on it."""
        if not room:
            return
        carried = set(phrases.carried(step.observation.inventory, names))
        placed: dict[str, tuple[str, str]] = {}
        for thing, supporter in seen.on:
            placed.setdefault(thing, ("on", supporter))
        for thing, container in seen.inside:
            placed.setdefault(thing, ("in", container))
        openable = can.closed | can.opened | {thing for thing, _ in can.unlockable} | set(seen.stated)
        for thing, holder in can.inside_or_on:
            placed[thing] = ("in" if holder in openable else "on", holder)
        for thing in {*seen.floor, *can.loose}:
            placed.setdefault(thing, ("at", room))
        doors = {door for door, _, _ in seen.doors} | {name for name in names if name.split()[-1] in _BARRIERS}
        for thing in sorted((can.here | seen.things) - carried - doors - set(placed)):
            placed[thing] = ("at", room)
        for thing, (predicate, holder) in sorted(placed.items()):
            if thing not in carried and thing != holder:
                yield shows(thing, predicate, holder, "place", step.number)
        full = {holder for _, holder in placed.values()}
        for holder in sorted(seen.empty - full):
            yield shows(holder, "contains", "nothing", "place", step.number, value=True)
        opened = _command(step)
        if opened.verb == "open" and opened.a in can.opened & can.here and "revealing" not in step.observation.text:
            yield shows(opened.a, "contains", "nothing", "place", step.number, value=True)
        if seen.room and not placed and step.observation.admissible is not None:
            yield shows(room, "contains", "nothing", "place", step.number, value=True)

    def _states(self, step: Step, names: frozenset[str], seen: phrases.Seen, can: Affordances) -> Iterator[Edit]:
        openness = dict(seen.stated)
        openness.update(dict.fromkeys(can.closed, "closed"))
        openness.update(dict.fromkeys(can.opened, "open"))
        openness.update({thing: "locked" for thing, _ in can.unlockable})
        for thing, state in sorted(openness.items()):
            yield shows(thing, "is", state, "property", step.number, value=True)
        states = {**phrases.carried(step.observation.inventory, names), **seen.states}
        for food, adjectives in sorted(states.items()):
            for adjective in adjectives:
                yield shows(food, "is", adjective, "property", step.number, value=True)

    def _learnt(self, step: Step, room: str, can: Affordances) -> Iterator[Edit]:
        """What the command did or told: recipes, uses, keys."""
        command, text = _command(step), step.observation.text
        for thing, key in can.unlockable:
            yield shows(key, "unlocks", thing, "mechanics", step.number)
        for dish in sorted(can.dishes) if room else ():
            yield shows(dish, "works in", room, "mechanics", step.number)
        if command.verb == "examine":
            if state := _STATE.search(text):
                yield shows(command.a, "is", state.group(1), "property", step.number, value=True)
            if use := _USEFUL.search(text):
                yield shows(command.a, "used for", use.group(1), "mechanics", step.number, value=True)
            if recipe := _RECIPE.search(text):
                yield from self._recipe(step, command.a, recipe)
        elif command.verb == "cook" and (done := _COOKED.search(text)):
            yield shows(command.b, "used for", COOKING[done.group(1)], "mechanics", step.number, value=True)
        elif command.verb in CUTTING and f"You {command.verb} the" in text:
            yield shows(command.b, "used for", CUTTING[command.verb], "mechanics", step.number, value=True)
        elif command.verb == "unlock" and text.startswith("You unlock"):
            yield shows(command.b, "unlocks", command.a, "mechanics", step.number)

    def _recipe(self, step: Step, book: str, recipe: re.Match[str]) -> Iterator[Edit]:
        needed = [line.strip() for line in recipe["needs"].splitlines() if line.strip()]
        for food in needed:
            yield shows(book, "recipe needs", food, "property", step.number)
        for line in (line.strip() for line in recipe["does"].splitlines() if line.strip()):
            verb, _, food = line.partition(" the ")
            if food in needed:
                yield shows(food, "recipe says to", verb, "property", step.number, value=True)
            else:
                yield shows(book, "recipe says to", line, "property", step.number, value=True)

    def _refusal(self, step: Step) -> Iterator[Edit]:
        if found := _NEEDS_KEY.search(step.observation.text):
            thing, key = found.groups()
            yield shows(thing, "is", "locked", "property", step.number, value=True)
            yield shows(thing, "needs", key, "mechanics", step.number)


def _room_after(before: str, path: Sequence[Step]) -> str:
    return phrases.room_of(path[-1].observation.text) or before


def _listed_after(before: frozenset[str], path: Sequence[Step]) -> frozenset[str]:
    names = affordances(path[-1].observation.admissible).names
    return before if names <= before else before | names


def _answered_after(before: frozenset[str], path: Sequence[Step]) -> frozenset[str]:
    name = "" if path[-1].refused else _command(path[-1]).a
    return before if not name or name in before else before | {name}


def _command(step: Step) -> Command:
    """The step's command; where none are listed, with the whole names that the reply tells."""
    command = parse_command(step.action)
    if step.observation.admissible is not None:
        return command
    if command.verb == "go" or not command.a:
        return command
    text = step.observation.text
    holder = _TAKEN_FROM.search(text)
    b = holder.group(1) if command.verb == "take" and holder else command.b
    return Command(command.verb, full_name(command.a, text), full_name(b, text) if b else "")
