"""Lets through only Cypher that is provably reading.

An allow-list of clauses, read where a clause may begin and nowhere else: `n.load`, `:Set` and a string with DELETE in
it are fine. The query is followed token by token with one bit of state, whether an operand may come next: after an
operand, a word can only be an operator or a clause, and must be in the list. Where this reading and the server's
could differ, it refuses (and says how to write it instead).

What it does not know: whether the query is right, or how long it takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autocontext.errors import QueryRefused
from autocontext.graph.lexer import LexError, Token, tokens

ALLOWED = frozenset("MATCH OPTIONAL WHERE WITH UNWIND RETURN ORDER SKIP OFFSET LIMIT UNION CALL YIELD".split())
PROCEDURES = frozenset(
    (
        "db.labels",
        "db.relationshipTypes",
        "db.propertyKeys",
        "db.schema.visualization",
        "db.schema.nodeTypeProperties",
        "db.schema.relTypeProperties",
        "db.index.fulltext.queryNodes",
        "db.index.fulltext.queryRelationships",
    )
)
FUNCTION_NAMESPACES = frozenset("date datetime time localtime localdatetime duration point".split())

_OTHER_CLAUSES = frozenset(
    (
        "CREATE MERGE SET DELETE DETACH NODETACH REMOVE FOREACH LOAD INSERT DROP ALTER GRANT DENY REVOKE SHOW "
        "TERMINATE USE START STOP USING EXPLAIN PROFILE CYPHER FINISH LET FILTER NEXT SEARCH RENAME ENABLE "
        "REALLOCATE DEALLOCATE DRYRUN"
    ).split()
)
_CLAUSES = ALLOWED | _OTHER_CLAUSES
_OPERATORS = frozenset("AND OR XOR NOT IN STARTS ENDS CONTAINS IS AS WHEN THEN ELSE BY TYPED".split())
"""Words between two operands."""
_SUFFIXES = frozenset("ASC ASCENDING DESC DESCENDING END NORMALIZED SHORTEST PATH PATHS GROUP GROUPS".split())
"""Words after an operand that need none after them."""
_PREFIXES = frozenset("NOT DISTINCT CASE".split())
"""Words before an operand."""
_SUBQUERIES = frozenset("CALL EXISTS COUNT COLLECT".split())
_PLAIN_BEFORE_OPERAND = frozenset(".:,=|&!([{")
"""Symbols after which a word is always a name: others (`+` may end a path pattern) could end an operand too."""
_OPENING = {"(": ")", "[": "]", "{": "}"}


@dataclass
class _Frame:
    """What an open bracket holds: only a query can hold clauses."""

    closing: str
    query: bool
    operand: bool = True
    """May an operand come next?"""
    begins: bool = False
    """Must a clause come next?"""
    call: bool = False
    """Is this bracket the scope of a `CALL (a, b) {...}`?"""


def check(cypher: str) -> None:
    """Is this one query that only reads?

    Raises:
        QueryRefused: not provably; with line and column.
    """
    _Reader(cypher).run()


class _Reader:
    def __init__(self, cypher: str) -> None:
        self.cypher = cypher
        self.frames = [_Frame("", query=True, begins=True)]

    def refuse(self, offset: int, why: str) -> QueryRefused:
        line = self.cypher.count("\n", 0, offset) + 1
        column = offset - (self.cypher.rfind("\n", 0, offset) + 1) + 1
        return QueryRefused(f"line {line}, column {column}: {why}")

    def run(self) -> None:
        """Reads the whole text."""
        if (offset := self.cypher.find("\\u")) >= 0:
            # Neo4j puts the character in before it reads the text: it could end a string or begin a comment.
            raise self.refuse(offset, "escapes like \\u0041 are not allowed; write the character, or use a parameter.")
        if (offset := self.cypher.find("\0")) >= 0:
            raise self.refuse(offset, "a NUL character is not allowed here; use a parameter.")
        try:
            code = [token for token in tokens(self.cypher) if token.kind != "comment"]
        except LexError as error:
            raise self.refuse(error.offset, f"{error}.") from None
        if not code:
            raise self.refuse(0, "the query is empty.")
        index = 0
        while index < len(code):
            index = self.step(code, index)
        if len(self.frames) > 1:
            raise self.refuse(len(self.cypher), f"a '{self.frames[-1].closing}' is missing.")
        if self.frames[0].begins:
            raise self.refuse(len(self.cypher), "the query ends where a clause should follow.")

    def step(self, code: Sequence[Token], index: int) -> int:
        """Reads one token, or the few that belong together; returns the index of the next."""
        token, frame = code[index], self.frames[-1]
        if token.text in _OPENING and token.kind == "symbol":
            return self.open(code, index)
        if token.kind == "symbol":
            return self.symbol(code, index)
        if not frame.query:
            self.function(code, index)
            return index + 1
        if token.kind != "word":
            if frame.begins:
                raise self.refuse(token.offset, f"a query begins with a clause, not with {token.text[:40]}.")
            frame.operand = False
            return index + 1
        if self.at_clause(code, index):
            return self.clause(code, index)
        if frame.operand:
            frame.operand = token.upper in _PREFIXES or (token.upper == "WHEN" and code[index - 1].upper == "CASE")
            self.function(code, index)
        elif token.upper in _OPERATORS:
            frame.operand = True
            if token.upper in ("STARTS", "ENDS") and index + 1 < len(code) and code[index + 1].upper == "WITH":
                return index + 2
        return index + 1

    def at_clause(self, code: Sequence[Token], index: int) -> bool:
        """Does the word begin a clause here? Refuses words that can be neither that nor anything else."""
        token, frame = code[index], self.frames[-1]
        before = code[index - 1] if index else None
        named = before is not None and before.kind == "symbol" and before.text in _PLAIN_BEFORE_OPERAND
        if frame.begins:
            return True
        if token.upper in _CLAUSES:
            if before is not None and before.text in (".", ":"):
                return False
            followed = code[index + 1].text if index + 1 < len(code) else ""
            if token.upper in _OTHER_CLAUSES and followed == "(":
                return True
            after_word = before is not None and before.kind == "word" and before.upper not in _PREFIXES
            return not frame.operand or not (named or after_word)
        if not frame.operand and token.upper not in _OPERATORS and token.upper not in _SUFFIXES:
            raise self.refuse(token.offset, f"'{token.text[:40]}' is not allowed here; {_only()}")
        return False

    def clause(self, code: Sequence[Token], index: int) -> int:
        """Reads the beginning of a clause."""
        token, frame = code[index], self.frames[-1]
        word = token.upper
        if word not in ALLOWED:
            raise self.refuse(token.offset, f"{word[:40]} is not allowed; {_only()}")
        frame.operand, frame.begins = True, False
        following = code[index + 1] if index + 1 < len(code) else None
        if word == "UNION":
            frame.begins = True
            return index + (2 if following and following.upper in ("ALL", "DISTINCT") else 1)
        if word == "OPTIONAL" and not (following and following.upper in ("MATCH", "CALL")):
            raise self.refuse(token.offset, "OPTIONAL is followed by MATCH or CALL.")
        if word == "OPTIONAL":
            frame.begins = True
            return index + 1
        if word == "ORDER":
            if not (following and following.upper == "BY"):
                raise self.refuse(token.offset, "ORDER is followed by BY.")
            return index + 2
        if word == "CALL":
            return self.call(code, index + 1)
        return index + 1

    def call(self, code: Sequence[Token], index: int) -> int:
        """Reads what is called: a subquery, or a procedure of the list."""
        following = code[index] if index < len(code) else None
        if following is None or following.text in ("{", "("):
            return index
        end = index
        while end + 2 < len(code) and code[end + 1].text == "." and code[end + 2].kind in ("word", "name"):
            end += 2
        name = "".join(token.text for token in code[index : end + 1])
        if name not in PROCEDURES:
            listed = ", ".join(sorted(PROCEDURES))
            raise self.refuse(following.offset, f"procedure {name[:80]} is not allowed (allowed: {listed}).")
        self.frames[-1].operand = False
        return end + 1

    def function(self, code: Sequence[Token], index: int) -> None:
        """Refuses a call of a function that a plug-in brought."""
        token = code[index]
        if token.kind not in ("word", "name") or index + 1 >= len(code) or code[index + 1].text != "(":
            return
        start = index
        while start >= 2 and code[start - 1].text == "." and code[start - 2].kind in ("word", "name"):
            start -= 2
        if start != index and code[start].text.lower() not in FUNCTION_NAMESPACES:
            name = "".join(part.text for part in code[start : index + 1])
            raise self.refuse(code[start].offset, f"function {name[:80]} is not allowed; only built-in ones are.")

    def open(self, code: Sequence[Token], index: int) -> int:
        """Reads an opening bracket and says what it holds."""
        token, frame = code[index], self.frames[-1]
        before = code[index - 1] if index else None
        if frame.query and frame.begins and not (token.text == "{" and before and before.upper == "CALL"):
            raise self.refuse(token.offset, f"a query begins with a clause, not with '{token.text}'.")
        inner = _Frame(_OPENING[token.text], query=False)
        if token.text == "(" and before and before.kind == "word" and before.upper == "CALL":
            inner.call = True
        if token.text == "{" and before and before.kind == "word" and before.upper in _SUBQUERIES:
            following = code[index + 1] if index + 1 < len(code) else None
            inner.query = True
            # EXISTS { (a)-->(b) } holds a bare pattern; anything that begins with a word is a clause, or is refused.
            inner.begins = before.upper == "CALL" or (following is not None and following.upper in _CLAUSES)
        elif token.text == "{" and frame.call:
            inner.query = inner.begins = True
        frame.call = False
        self.frames.append(inner)
        return index + 1

    def symbol(self, code: Sequence[Token], index: int) -> int:
        """Reads any other symbol."""
        token, frame = code[index], self.frames[-1]
        if token.text in (")", "]", "}"):
            if token.text != frame.closing:
                raise self.refuse(token.offset, f"'{token.text}' closes nothing that is open.")
            if frame.query and frame.begins:
                raise self.refuse(token.offset, "a clause should come before this bracket.")
            self.frames.pop()
            self.frames[-1].operand = False
            self.frames[-1].call = frame.call
            return index + 1
        if token.text == ";":
            if len(self.frames) > 1 or index + 1 < len(code):
                raise self.refuse(token.offset, "only one statement is allowed.")
            return index + 1
        if frame.query and frame.begins:
            raise self.refuse(token.offset, f"a query begins with a clause, not with '{token.text}'.")
        star = token.text in ("*", "%") and frame.operand  # WITH *, n:%
        frame.operand = not star
        return index + 1


def _only() -> str:
    return (
        "queries here only read (MATCH, OPTIONAL MATCH, WHERE, WITH, UNWIND, RETURN, ORDER BY, SKIP, LIMIT, UNION, "
        "CALL {...}). A name that is spelled like a keyword goes into `backticks`."
    )
