"""Files that are no good: one clear line, and nothing is stored."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path as File
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autocontext.errors import AutoContextError, ImportFailed
from autocontext.graph.transfer import source

from .conftest import Book
from .transfers import exported, nothing_of, rich, signed

Lines = list[dict[str, Any]]


@pytest.fixture
def good(book: Book, tmp_path: File) -> bytes:
    """An export with all that an instance can hold."""
    rich(book)
    return exported(book.store, book.id, tmp_path).read_bytes()


def lines_of(content: bytes) -> Lines:
    """All but the end."""
    return [json.loads(line) for line in content.splitlines()][:-1]


def row(of: str, index: int = 0, /, **changes: Any) -> Callable[[Lines], None]:
    """Changes one row."""

    def change(lines: Lines) -> None:
        found = [line for line in lines if line.get("row") == of][index]
        found.update(changes)
        for name in [name for name, value in changes.items() if value is ...]:
            del found[name]

    return change


def header(**changes: Any) -> Callable[[Lines], None]:
    return lambda lines: lines[0].update(changes)


def without(kind: str, index: int = 0) -> Callable[[Lines], None]:
    return lambda lines: lines.remove([line for line in lines if line.get("row") == kind][index])


def twice(kind: str, index: int = 0) -> Callable[[Lines], None]:
    def change(lines: Lines) -> None:
        at = lines.index([line for line in lines if line.get("row") == kind][index])
        lines.insert(at, dict(lines[at]))

    return change


def moved(lines: Lines) -> None:
    lines.insert(1, lines.pop([line.get("row") for line in lines].index("template")))


SIGNED = {
    "a newer version": (header(autocontext_export=2), r"newer release \(format 2, this one reads up to 1\); upgrade"),
    "no version": (header(autocontext_export="1"), "is no export of AutoContext"),
    "version 0": (header(autocontext_export=0), "has format 0, which there never was"),
    "version true": (header(autocontext_export=True), "is no export of AutoContext"),
    "another kind": (header(kind="half"), "line 1: its kind is 'half'"),
    "a field too many": (header(colour="red"), "line 1: colour: Extra inputs"),
    "a field of a wrong type": (header(naming=7), "line 1: naming: Input should be 'folded' or 'exact'"),
    "a number too large": (header(replayed=2**63), "line 1: replayed is 9223372036854775808"),
    "a negative number": (header(steps_used=-1), "line 1: steps_used is -1"),
    "a lease": (header(lease={"fence": 1, "owner": "me"}), "an export holds no lease"),
    "settings that are none": (header(settings={"x": 1}), "line 1: settings.x: Input should be a valid string"),
    "an iteration missing": (without("iteration"), "line 29: it is iteration 2, and should be 1"),
    "the last iteration missing": (without("iteration", 5), "it has 5 of 6 iterations"),
    "an iteration twice": (twice("iteration"), "it is iteration 1, and should be 2"),
    "a state twice": (twice("state"), "line 3: state 'S0' is there already"),
    "a todo twice": (twice("todo"), "todo 'a1' is there already"),
    "a step twice": (twice("step"), "step 0 comes after step 0"),
    "an entity twice": (twice("entity"), "entity '.+' is there already"),
    "a fact twice": (twice("fact"), "the fact '.+' is there already"),
    "a fact spelt differently": (row("fact", 1, subject="DOOR", predicate="IS", object="LOCKED"), "is there alr"),
    "a template twice": (twice("template"), r"template 'open \{x\}' is there already"),
    "rows of another order": (moved, "line 3: a row of kind 'state' after one of kind 'template'"),
    "an unknown kind": (row("todo", 0, row="thing"), "line 4: Input tag 'thing'"),
    "a field missing": (row("todo", 0, text=...), "line 4: todo.text: Field required"),
    "an id with a slash": (row("todo", 0, id="a/1"), "todo.id: String should match"),
    "an id that is empty": (row("state", 1, id=""), "state.id: String should"),
    "no S0": (row("state", 0, id="S9"), "it is a step of state 'S0', which is not there"),
    "S0 from a todo": (row("state", 0, promoted_from="a1"), "has no first state S0"),
    "no step 0": (without("step"), "its evidence names step 0, which is not there"),
    "no last step": (header(last_step=9), "its last step is 7, not 9"),
    "a todo of an unknown parent": (row("todo", 0, parent="zz"), "line 4: todo 'a1' hangs on 'zz', which is not there"),
    "a state of an unknown todo": (row("state", 1, promoted_from="zz"), "line 3: state 'S1' hangs on 'zz', which is"),
    "todos in a circle": (row("todo", 0, parent="a3"), "hangs on itself"),
    "a state below itself": (row("todo", 0, parent="S1"), "hangs on itself"),
    "a step of an unknown todo": (row("step", 1, parent="zz"), "line 10: it is a step of todo 'zz', which is not"),
    "a step of a later iteration": (row("step", 1, iteration=7), "it is of iteration 7, and there are 6"),
    "an episode twice": (twice("episode"), "episode 'e1' is there already"),
    "an episode of no start": (row("episode", 0, start=9), "line 8: an episode starts with step 9, which is not there"),
    "a step of an unknown episode": (row("step", 6, parent="e2"), "it is a step of episode 'e2', which is not there"),
    "a negative step": (row("step", 0, number=-1), "step.number: Input should be greater"),
    "a fact about nothing": (row("fact", 0, subject="ghost"), "is about 'ghost', which is not among the entities"),
    "a fact with nothing": (row("fact", 0, object="ghost"), "is about 'ghost', which is not among the entities"),
    "evidence that names no step": (row("fact", 0, evidence=[77]), "its evidence names step 77, which is not there"),
    "no evidence": (row("fact", 0, evidence=[], kind="property"), "no step is named as its evidence"),
    "evidence out of order": (row("fact", 0, evidence=[2, 1]), "its evidence is not in order"),
    "an addition that cannot be": (row("fact", 0, added=[9]), r"added in iterations \[9\], which cannot be"),
    "neither live nor retired": (row("fact", 0, live=None), "fact.live: Input should be a valid boolean"),
    "live, though retired": (row("fact", 0, live=True, added=[1], retired=[2]), "live by one of its properties"),
    "retired twice": (row("fact", 0, live=False, added=[1], retired=[2, 3]), "live by one of its properties"),
    "a kind of fact": (row("fact", 0, kind="rumour"), "fact.kind: Input should be"),
    "no predicate": (row("fact", 0, predicate="  "), "a predicate is empty, or too long"),
    "a long predicate": (row("fact", 0, predicate="x" * 65_537), "a predicate is empty, or too long"),
    "a long name": (row("entity", 0, name="x" * 65_537), "a name has 65537 characters, more than 65536"),
    "no name": (row("entity", 0, name=" \t "), "a name is empty"),
    "a template of infinity": (row("template", 0, tried=float("inf")), "template.tried: Input should be a finite"),
    "a correction of no fact": (row("iteration", 4, facts=[["a", "b", "c", False]]), "it corrects 'a b c', which"),
}  # fmt: skip
RAW = {
    "nothing": (lambda good: b"", "is no export of AutoContext"),
    "no JSON": (lambda good: b"hello\n", "is no export of AutoContext"),
    "a JSON document of another kind": (lambda good: b'[{"id": 1}]\n', "is no export of AutoContext"),
    "bytes": (lambda good: os.urandom(1000), "is no export of AutoContext"),
    "no end": (lambda good: good[: good[:-1].rindex(b"\n") + 1], "is cut short: it ends after line 34 without"),
    "cut in a line": (lambda good: good[:-100], "is cut short"),
    "cut by a byte": (lambda good: good[:-1], "is cut short"),
    "only a header": (lambda good: good.partition(b"\n")[0] + b"\n", "is cut short: it ends after line 1"),
    "something after the end": (lambda good: good + b"x\n", "line 36: something follows the end"),
    "something after it without a newline": (lambda good: good + b"x", "line 36: something follows the end"),
    "twice": (lambda good: good + good, "line 36: something follows the end"),
    "a line that is no JSON": (lambda good: good.replace(b'{"row":"todo"', b'{"row":todo"', 1), "line 4: Invalid JSON"),
    "an empty line": (lambda good: good.replace(b'{"row":"todo"', b'\n{"row":"todo"', 1), "line 4: Invalid JSON"),
    "no UTF-8": (lambda good: good.replace(b"action 1", b"action \xff", 1), "line 4: Invalid JSON"),
    "a lone surrogate": (lambda good: good.replace(b"action 1", b"action \\ud800", 1), "line 4: Invalid JSON"),
    "a row gone": (lambda good: b"".join(line for line in good.splitlines(True) if b"1e-09" not in line), "rows, but"),
    "a text changed": (lambda good: good.replace(b"you see step 1", b"you see step 9", 1), "was changed since it"),
    "a header changed": (lambda good: good.replace(b"a small house", b"a large house", 1), "was changed since it"),
    "Windows' line ends": (lambda good: good.replace(b"\n", b"\r\n"), "was changed since it was exported"),
}  # fmt: skip


def all_refused(book: Book, cases: Iterable[tuple[str, bytes, str]], folder: File) -> None:
    """Every one of them, with what it is told."""
    path, wrong = folder / "bad.jsonl", {}
    for case, content, why in cases:
        path.write_bytes(content)
        try:
            refused(book, path, why)
        except (AssertionError, pytest.fail.Exception) as error:
            wrong[case] = str(error)
            if not nothing_of(book.store, f"{book.id}-bad"):
                book.store.forget(f"{book.id}-bad")
    assert wrong == {}


def refused(book: Book, path: File, why: str) -> None:
    name = f"{book.id}-bad"
    with pytest.raises(ImportFailed, match=why) as said:
        book.store.load(path, name)
    assert "\n" not in str(said.value)
    assert str(said.value).startswith(str(path))
    assert nothing_of(book.store, name)


def test_files_that_do_not_fit_together(book: Book, good: bytes, tmp_path: File) -> None:
    def changed(change: Callable[[Lines], None]) -> bytes:
        lines = lines_of(good)
        change(lines)
        return signed(lines)

    all_refused(book, ((case, changed(change), why) for case, (change, why) in SIGNED.items()), tmp_path)


def test_files_that_are_broken(book: Book, good: bytes, tmp_path: File) -> None:
    all_refused(book, ((case, change(good), why) for case, (change, why) in RAW.items()), tmp_path)


def test_a_line_without_an_end_is_not_read_into_memory(
    book: Book, good: bytes, tmp_path: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "LONGEST_LINE", 1000)
    path = tmp_path / "bad.jsonl"
    path.write_bytes(good.partition(b"\n")[0] + b"\n" + b"x" * 2000)
    refused(book, path, "line 2 is longer than 1000 bytes")


def test_a_canonical_export_is_for_comparing(book: Book, tmp_path: File) -> None:
    refused(book, exported(book.store, book.id, tmp_path, canonical=True), "is a canonical export.*without --canonical")


def test_a_file_that_cannot_be_read(book: Book, tmp_path: File) -> None:
    refused(book, tmp_path / "none.jsonl", "cannot be read: No such file")
    refused(book, tmp_path, "cannot be read: Is a directory")


def comparable(row: dict[str, Any]) -> str:
    """What is left out may be written as null, and 1.0 as 1."""
    kept = {name: value for name, value in row.items() if value is not None or name not in ("inventory", "admissible")}
    if row["row"] == "template":
        kept |= {name: float(row[name]) for name in ("tried", "names", "words")}
    return json.dumps(kept, sort_keys=True)


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_file_is_ever_stored_by_half(book: Book, good: bytes, tmp_path: File, data: st.DataObject) -> None:
    """Whatever is done to a file: it is refused and nothing is there, or it is taken and all of it comes out again."""
    lines = lines_of(good)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        what = data.draw(st.sampled_from(["drop", "repeat", "swap", "field"]))
        if what == "drop":
            lines = [line for n, line in enumerate(lines) if n != at] or lines
        elif what == "repeat":
            lines.insert(data.draw(st.integers(1, len(lines))), dict(lines[at]))
        elif what == "swap":
            to = data.draw(st.integers(0, len(lines) - 1))
            lines[at], lines[to] = lines[to], lines[at]
        else:
            name = data.draw(st.sampled_from(sorted(lines[at])))
            lines[at][name] = data.draw(
                st.sampled_from([None, 0, 1, -1, 2**70, 0.5, "", "a1", "S0", [], [1], {}, True])
            )
    content = signed(lines)
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(content) - 1))
        content = data.draw(st.sampled_from([content[:at], content[:at] + b"\x00" + content[at + 1 :]]))
    path, name = tmp_path / "fuzzed.jsonl", f"{book.id}-fuzzed"
    path.write_bytes(content)
    said = ""
    try:
        book.store.load(path, name)
    except AutoContextError as error:
        said = str(error)
    if said:
        assert "\n" not in said
        assert nothing_of(book.store, name)
        return
    again = [json.loads(line) for line in book.store.export(name)]
    book.store.forget(name)
    assert sorted(map(comparable, again[1:-1])) == sorted(map(comparable, lines_of(content)[1:]))
    assert {**again[0], "id": ""} == {**lines_of(content)[0], "id": ""}
