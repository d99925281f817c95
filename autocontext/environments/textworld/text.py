"""TextWorld's texts: what of them is the world, and what is the task, the score, or the interpreter speaking.

An explorer may see the world only. `clean` keeps that part of a reply; `forbidden` names the commands whose reply
would hold the rest, or which would break replaying. All wordings are TextWorld's and Inform's own, kept as data.
What it does not know: objectives have no fixed wording, so an opening is cut at its first room header instead.
"""

from __future__ import annotations

import re

HEADER = re.compile(r"^-= .+? =-[ \t]*$", re.MULTILINE)
"""A room's title on a line of its own."""

_PROMPT = re.compile(r"\n?^>[^\n]*\s*\Z", re.MULTILINE)
_STATUS = re.compile(r"-= (?P<room>.+?) =-(?P<score>-?\d+)/\d+\s*\Z")
_BANNER = re.compile(r"\A[\s$|\\/_>]*\n(?=[^\n]*\S)")
_RESTART = re.compile(r"Would you like to RESTART.*\Z", re.DOTALL)

_TASK = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^[\[(]?Your score (?:has just gone (?:up|down)|changed) by .*$\n?",
        r"^[ \t]*\*\*\*.*\*\*\*[ \t]*$\n?",
        r"^You (?:have so far )?scored .*$\n?",
        r"^ *goal: .*$\n?",
    )
)

_ENDED = ("*** The End ***", "*** You lost! ***")

_TASK_COMMANDS = frozenset({"goal", "score", "full", "fullscore", "notify"})
_MACHINE_COMMANDS = frozenset(
    # saved games, other modes of description, transcripts, and TextWorld's own debugging commands; `again` and `oops`
    # act on an earlier line, so that one text would stand for different actions
    "save restore restart quit q die undo script unscript transcript noscript recording replay verify version verbose "
    "long brief normal superbrief short pronouns nouns again g oops o tw-print tw-trace-actions tw-extra-infos "
    "print_state enable disable restrict".split()
)
_WORD = 9  # letters of a word that the Z-machine tells apart: `transcripts` is `transcript` to it
_SEPARATORS = re.compile(r"[.;!?]+|\bthen\b", re.IGNORECASE)
_LONGEST = 190  # bytes: the interpreter cuts a longer line silently


def clean(reply: str, *, task: bool = False, opening: bool = False) -> str:
    """The part of a reply that an agent sees of the world; with `task`, objective and score are left in.

    The status line at the prompt goes in any case: it is not in a reply, the interpreter draws it.
    """
    text = _RESTART.sub("", _PROMPT.sub("", reply))
    if opening:
        text = _BANNER.sub("", text)
        header = HEADER.search(text)
        if header and not task:
            text = text[header.start() :]
    if not task:
        for pattern in _TASK:
            text = pattern.sub("", text)
    lines = [line.rstrip() for line in text.strip().splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def score(reply: str) -> int | None:
    """The score in the status line of a reply; None where it has none (refused lines, the end of a game)."""
    found = _STATUS.search(reply)
    return int(found["score"]) if found else None


def ended(reply: str) -> bool:
    """True when the reply ends the game, won or lost."""
    return any(mark in reply for mark in _ENDED)


def tidy(action: str) -> str:
    """An action as one line of plain blanks: a line break in it would be a second command."""
    return " ".join(action.split())


def forbidden(action: str, *, task: bool = False) -> str | None:
    """Why a (tidy) action is not passed on to the game; None if it may be."""
    if not action.isascii() or not action.isprintable():
        return "The game reads plain letters only."
    if len(action) > _LONGEST:
        return f"The game reads no more than {_LONGEST} letters."
    parts = [part.split() for part in re.split(r",", _SEPARATORS.sub(",", action))]
    firsts = {part[0].lower()[:_WORD] for part in parts if part}
    barred = _MACHINE_COMMANDS if task else _MACHINE_COMMANDS | _TASK_COMMANDS
    if firsts & {word[:_WORD] for word in barred}:
        return "That command is not available here."
    if len([part for part in _SEPARATORS.split(action) if part.strip()]) > 1:
        return "One command at a time."
    return None
