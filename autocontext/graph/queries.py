"""All Cypher of AutoContext, by name. It lives in `cypher/*.cypher`; nothing else in the code base holds any.

A block begins with `// name: create_facts!` (`!` writes, `^` gives at most one row, neither gives any number of
rows). The comments below it are its documentation and declare every parameter: `// $rows: [{id, ...}]`. What a file
says before its first block is about the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from autocontext.graph.lexer import LexError, tokens
from autocontext.graph.resources import cypher_folder
from autocontext.graph.resources import resource_text as resource_text

Mode = Literal["write", "one", "many"]

_NAME = re.compile(r"//\s*name:\s*(\S*)\s*$")
_DECLARED = re.compile(r"\$(\w+)\s*:")
_MODES: dict[str, Mode] = {"!": "write", "^": "one"}


class QueryFileError(Exception):
    """A Cypher file of this package breaks the rules of its format: a defect of the release, not of its use."""


@dataclass(frozen=True)
class Query:
    """One named block."""

    name: str
    mode: Mode
    text: str
    doc: str
    parameters: frozenset[str]
    where: str
    """File and line of its name."""


def query(name: str) -> Query:
    """The block of that name.

    Raises:
        KeyError: there is none.
    """
    return all_queries()[name]


@cache
def all_queries() -> dict[str, Query]:
    """Every block of every file, in the order of the files' names and of their lines.

    Raises:
        QueryFileError: a file breaks the format.
    """
    folder = cypher_folder()
    paths = sorted(path.name for path in folder.iterdir() if path.name.endswith(".cypher"))
    return parse((name, (folder / name).read_text(encoding="utf-8")) for name in paths)


def parse(sources: Iterable[tuple[str, str]]) -> dict[str, Query]:
    """The blocks of some files, given as (name, text).

    Raises:
        QueryFileError: a name is missing or given twice, a block is empty, or its parameters are not those declared;
            with file and line.
    """
    found: dict[str, Query] = {}
    for file, text in sources:
        for block in _blocks(file, text):
            if block.name in found:
                raise QueryFileError(f"{block.where}: '{block.name}' is there already, at {found[block.name].where}.")
            found[block.name] = block
    return found


def _blocks(file: str, text: str) -> Iterable[Query]:
    heads: list[tuple[int, str]] = []
    lines = text.splitlines()
    for index, line in enumerate(lines):
        if match := _NAME.match(line):
            heads.append((index, match.group(1)))
    first = heads[0][0] if heads else len(lines)
    for index, line in enumerate(lines[:first]):
        if line.strip() and not line.startswith("//"):
            raise QueryFileError(f"{file}:{index + 1}: Cypher before the first `// name:`.")
    ends = [start for start, _ in heads[1:]] + [len(lines)]
    for (start, name), end in zip(heads, ends, strict=True):
        yield _block(f"{file}:{start + 1}", name, lines[start + 1 : end])


def _block(where: str, name: str, lines: list[str]) -> Query:
    mode = _MODES.get(name[-1:], "many")
    bare = name[:-1] if mode != "many" else name
    if not re.fullmatch(r"[a-z][a-z0-9_]*", bare):
        raise QueryFileError(f"{where}: '{name}' is no name; write `// name: snake_case`, then `!`, `^` or nothing.")
    comments = [line[2:].strip() for line in lines if line.startswith("//")]
    text = "\n".join(line for line in lines if not line.startswith("//")).strip()
    if not text:
        raise QueryFileError(f"{where}: '{bare}' is empty.")
    declared = {match for line in comments for match in _DECLARED.findall(line)}
    try:
        used = {token.text[1:].strip("`") for token in tokens(text) if token.kind == "parameter"}
    except LexError as error:
        raise QueryFileError(f"{where}: '{bare}': {error}.") from None
    if missing := sorted(used - declared):
        raise QueryFileError(f"{where}: '{bare}' uses ${missing[0]} without declaring it (`// ${missing[0]}: type`).")
    if unused := sorted(declared - used):
        raise QueryFileError(f"{where}: '{bare}' declares ${unused[0]} without using it.")
    return Query(bare, mode, text, "\n".join(comments).strip(), frozenset(declared), where)
