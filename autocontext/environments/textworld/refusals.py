"""Replies by which TextWorld or Inform's parser says that a command did nothing, as patterns of a whole line.

Found by typing some 100,000 commands, good and bad, into generated games; of those that matched, none changed a game.
Replies such as "You smell nothing unexpected." are no refusals: the command was carried out and showed nothing.
"""

from __future__ import annotations

import re

_THE = r"(?:the |an? )?[^.!?\n]+?"  # a thing's name, with its article or, as doors are named, without

_LINES = (
    # the parser did not understand
    r"I beg your pardon\?",
    r"I didn't understand (?:that sentence|the way that finished|that number)\.",
    r"I only understood you as far as wanting to .+\.",
    r"That's not a verb I recognise\.",
    r"You can't see any such thing\.",
    r"You can't (?:use|begin with|see) .+\.",
    r"You seem to have said too little!",
    r"You must (?:supply a noun|name something more substantial)\.",
    r"You have to be more specific!",
    r"You'll have to say which compass direction to go in\.",
    r"(?:None|Only .+) of those (?:is|are) available\.",
    r"There (?:are none at all available|is nothing to .+)[.!]",
    r"Nothing to do!",
    r"You excepted something not included anyway!",
    r"I'm not sure what .+ refers to\.",
    r"What do you want to .+\?",
    r"Who do you want to .+\?",
    r"Which do you mean, .+\?",
    r"Sorry, you can only have one item here\. Which exactly\?",
    # places and ways
    r"You can't go that way\.",
    r"You have to (?:open|unlock) .+ first\.",
    r"The .+ is welded shut\.",
    r"But you aren't in anything at the moment\.",
    r"That's not something you can (?:enter|stand on|sit down on|lie down on)\.",
    # things that cannot be had, moved or used so
    rf"You need to take {_THE} first\.",
    rf"{_THE} is fixed in place\.",
    r"(?:That's|It is|It's|Those are|They are) fixed in place\.",
    r"You already have (?:that|those)\.",
    r"You haven't got (?:that|those)\.",
    r"But you aren't holding (?:that|those)\.",
    rf"{_THE} is already here\.",
    r"You are always self-possessed\.",
    rf"But {_THE} (?:isn't|aren't) (?:there|here) now\.",
    r"(?:That|Those) (?:seems?|belongs?) to .+\.",
    r"(?:That|Those) can't contain things\.",
    rf"Putting things on {_THE} would achieve nothing\.",
    r"You can't put something (?:on top of|inside) itself\.",
    rf"{_THE} is closed\.",
    rf"You can't see inside, since {_THE} is closed\.",
    rf"You can't give {_THE} to yourself\.",
    r"You can only do that to something animate\.",
    r"You can't wear (?:that|those)!",
    r"It isn't something you can (?:open|close|switch|lock|unlock)\.",
    r"They aren't something you can (?:open|close|switch|lock|unlock)\.",
    r"You aren't something you can .+\.",
    r"(?:That's|They're|Those are) already (?:open|closed|locked|unlocked|on|off)\.",
    r"(?:That's|They're) (?:un)?locked at the moment\.",
    r"(?:That|They|Those) (?:doesn't|don't) seem to (?:be something you can (?:un)?lock|fit the lock)\.",
    r"First you(?: would|'d) have to close .+\.",
    # food and tools
    r"(?:That's|They're|You're) plainly inedible\.",
    r"There's nothing suitable to drink here\.",
    rf"You cannot drink {_THE}\.",
    rf"You should cook {_THE} first\.",
    r"Cutting it up would achieve little\.",
    r"Can only cut cuttable food\.",
    r"Can only cook food\.",
    rf"Cutting something requires {_THE}\.",
    r"Cooking requires a source of heat\.",
    rf"You need to specify how you want to cut {_THE}\. Either slice, dice, or chop it\.",
    rf"{_THE} is already (?:sliced|diced|chopped|cut|fried|roasted|grilled|burned)\.",
    rf"{_THE} has already been (?:cut|cooked)\.",
    rf"Can only prepare meal in {_THE}\.",
    r"You still miss something\.",
    r"Something still needs to be (?:cooked|cut)\.",
    # deeds that the library brushes aside
    r"Futile\.",
    r"Nothing (?:obvious happens|is on sale)\.",
    r"Violence isn't the answer to this one\.",
    r"This dangerous act would achieve little\.",
    r"Little is to be achieved by that\.",
    r"You (?:would )?achieve nothing by this\.",
)

REFUSALS: tuple[re.Pattern[str], ...] = tuple(re.compile(line) for line in _LINES)

_ASSUMED = re.compile(r"\((?!first )[^()]+\)")  # "(with the key)": the parser says what it took for granted
_EACH = re.compile(r"[^:.!?]+: ")  # "rug: You already have that." when a command was about several things


def is_refusal(reply: str) -> bool:
    """True when each line of a (cleaned) reply is a refusal.

    A reply that begins "(first taking the key)" did something, whatever came of it then.
    """
    lines = [line for line in reply.splitlines() if line.strip() and not _ASSUMED.fullmatch(line.strip())]
    return bool(lines) and all(_refuses(line.strip()) for line in lines)


def _refuses(line: str) -> bool:
    bare = _EACH.sub("", line, count=1) if _EACH.match(line) else line
    return any(pattern.fullmatch(line) or pattern.fullmatch(bare) for pattern in REFUSALS)
