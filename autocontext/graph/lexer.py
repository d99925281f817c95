"""Cypher cut into tokens: enough to tell code from comments, strings and names, not to parse it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["word", "name", "string", "number", "parameter", "symbol", "comment"]

_TOKEN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>//[^\r\n]*|/\*.*?\*/)
    | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<name>`(?:[^`]|``)*`)
    | (?P<parameter>\$(?:\w+|`(?:[^`]|``)*`))
    | (?P<number>0x[0-9a-fA-F_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)
    | (?P<word>\w+)
    | (?P<symbol>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_UNTERMINATED = {"'": "string", '"': "string", "`": "name"}


class LexError(ValueError):
    """A string, name or comment that does not end. `offset` is where it begins."""

    def __init__(self, what: str, offset: int) -> None:
        super().__init__(f"this {what} does not end")
        self.offset = offset


@dataclass(frozen=True)
class Token:
    """One token; `text` as written."""

    kind: Kind
    text: str
    offset: int

    @property
    def upper(self) -> str:
        """The token's text in capitals: Cypher's keywords know no case."""
        return self.text.upper()


def tokens(cypher: str) -> Iterator[Token]:
    """All tokens but white space, comments included.

    Raises:
        LexError: a string, a name in backticks or a comment does not end.
    """
    for match in _TOKEN.finditer(cypher):
        kind = match.lastgroup
        text = match.group()
        if kind == "space":
            continue
        if kind == "symbol" and text in _UNTERMINATED:
            raise LexError(_UNTERMINATED[text], match.start())
        if kind == "symbol" and text == "/" and cypher.startswith("/*", match.start()):
            raise LexError("comment", match.start())
        yield Token(kind, text, match.start())  # type: ignore[arg-type]
