"""Cypher has names, purposes and declared parameters; a file that breaks this is refused with file and line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import autocontext
from autocontext.graph.queries import QueryFileError, all_queries, parse, query, resource_text

ONE = "// name: find^\n// Finds one.\n// $id: string\nMATCH (n {id: $id}) RETURN n\n"


def test_a_block_has_a_name_a_mode_a_text_a_purpose_and_parameters() -> None:
    found = parse([("a.cypher", "// About the file.\n\n" + ONE)])["find"]
    assert (found.mode, found.text) == ("one", "MATCH (n {id: $id}) RETURN n")
    assert found.parameters == {"id"}
    assert found.doc.startswith("Finds one.")
    assert found.where == "a.cypher:3"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ONE + "\n" + ONE, r"a\.cypher:6: 'find' is there already, at a\.cypher:1"),
        (ONE.replace("// $id: string\n", ""), r"a\.cypher:1: 'find' uses \$id without declaring it"),
        (ONE.replace("string", "string  $n: integer"), r"a\.cypher:1: 'find' declares \$n without using it"),
        ("// name: find\n// Nothing.\n", r"a\.cypher:1: 'find' is empty"),
        ("// name: Find\nRETURN 1", r"a\.cypher:1: 'Find' is no name"),
        ("// name:\nRETURN 1", r"a\.cypher:1: '' is no name"),
        ("RETURN 1", r"a\.cypher:1: Cypher before the first"),
        ("// name: find\nRETURN 'open", r"a\.cypher:1: 'find': this string does not end"),
    ],
)
def test_a_file_that_breaks_the_format_is_refused_with_file_and_line(text: str, message: str) -> None:
    with pytest.raises(QueryFileError, match=message):
        parse([("a.cypher", text)])


def test_a_dollar_in_a_string_or_comment_is_no_parameter() -> None:
    found = parse([("a.cypher", "// name: price\nRETURN '$id' AS `$x` /* $y */")])["price"]
    assert found.parameters == frozenset()


def test_names_are_unique_over_all_files() -> None:
    with pytest.raises(QueryFileError, match=r"b\.cypher:1: 'find' is there already, at a\.cypher:1"):
        parse([("a.cypher", ONE), ("b.cypher", ONE)])


def test_the_shipped_files_are_well_formed_and_documented() -> None:
    assert query("create_facts").mode == "write"
    undocumented = [found.name for found in all_queries().values() if not found.doc]
    assert undocumented == []


def test_a_query_that_writes_says_so_in_its_name() -> None:
    writing = re.compile(r"\b(CREATE|MERGE|SET|DELETE|REMOVE|TERMINATE)\b")
    for found in all_queries().values():
        assert bool(writing.search(found.text)) == (found.mode == "write"), found.name


def test_other_files_of_the_folder_are_found_by_name() -> None:
    assert "create_facts" in resource_text("facts.cypher")


def test_cypher_lives_in_the_cypher_folder_only() -> None:
    """A clause in a Python string that is not documentation, a message or a rule of the guard would show up here."""
    package = Path(autocontext.__file__ or autocontext.__path__[0])
    package = package if package.is_dir() else package.parent
    cypher = re.compile(r"\b(MATCH|MERGE|CREATE|UNWIND)\s*\(?\w*[:({]|\bDETACH DELETE\b|\bRETURN \w+\.\w+")
    found = [
        f"{path.relative_to(package)}: {match.group()}"
        for path in package.rglob("*.py")
        for match in cypher.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []
