"""Logs of recorded steps: what is read from them, and which line is to blame if nothing is."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from autocontext.errors import LogRefused
from autocontext.explorer.logs import LONGEST_LINE, Trajectory, read_log

RESET = {"observation": "You are in the hall."}
STEP = {"action": "go down", "observation": "You are in the cellar."}


def written(folder: Path, *lines: Any) -> Path:
    """A log; lines are objects, or bytes as they are."""
    path = folder / "run.jsonl"
    path.write_bytes(b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines))
    return path


def read(folder: Path, *lines: Any) -> list[Trajectory]:
    return read_log(written(folder, *lines))


def actions(trajectory: Trajectory) -> list[str]:
    return [step.action for step in trajectory.steps]


def test_a_line_without_an_action_begins_an_episode(tmp_path: Path) -> None:
    first, second = read(tmp_path, RESET, STEP, RESET, STEP, STEP)
    assert (actions(first), actions(second)) == (["", "go down"], ["", "go down", "go down"])
    assert [step.number for step in second.steps] == [0, 1, 2]
    assert (first.line, second.line) == (1, 3)


def test_everything_of_a_step_is_read(tmp_path: Path) -> None:
    seen = {"inventory": "nothing", "admissible": ["wait", "go up"], "terminated": True, "refused": True}
    (found,) = read(tmp_path, {**RESET, "inventory": None, "admissible": None}, {**STEP, **seen})
    reset, step = found.steps
    assert (reset.observation.inventory, reset.observation.admissible) == (None, None)
    assert (step.observation.inventory, step.observation.admissible) == ("nothing", ("wait", "go up"))
    assert (step.terminated, step.refused) == (True, True)


def test_named_episodes_may_be_interleaved(tmp_path: Path) -> None:
    one, two = {"episode": "one"}, {"episode": "two"}
    lines = [RESET | one, RESET | two, STEP | two, STEP | one, STEP | two, RESET | one, STEP | one]
    found = read(tmp_path, *lines)
    assert [(t.name, len(t.steps)) for t in found] == [("one", 2), ("two", 3), ("one", 2)]


def test_empty_lines_a_byte_order_mark_and_other_line_ends_are_no_steps(tmp_path: Path) -> None:
    (found,) = read(tmp_path, b'\xef\xbb\xbf{"observation": "hall"}\r\n', b"\r\n", b"  \n", json.dumps(STEP).encode())
    assert len(found.steps) == 2


def test_texts_are_kept_exactly(tmp_path: Path) -> None:
    text = " '); DROP\t\n\u2028\x00\x1b[31m ß İ \U0001f511 "
    (found,) = read(tmp_path, {"observation": text}, {"action": text, "observation": text, "inventory": text})
    assert found.steps[1].action == found.steps[1].observation.text == found.steps[1].observation.inventory == text


def test_the_id_is_of_what_was_recorded_not_of_where(tmp_path: Path) -> None:
    first, second, other = read(tmp_path, RESET, STEP, RESET | {"episode": "x"}, STEP | {"episode": "x"}, RESET)
    assert first.id == second.id != other.id
    variants = [{"terminated": True}, {"refused": True}, {"inventory": ""}, {"admissible": []}, {"action": "go  down"}]
    ids = {read(tmp_path, RESET, {**STEP, **variant})[0].id for variant in variants}
    assert len(ids | {first.id}) == len(variants) + 1


def test_standard_input_is_a_log_too(monkeypatch: pytest.MonkeyPatch) -> None:
    class Piped:
        buffer = io.BytesIO(json.dumps(RESET).encode())

    monkeypatch.setattr("sys.stdin", Piped())
    assert len(read_log(None)) == 1


@pytest.mark.parametrize(
    ("lines", "line", "said"),
    [
        ([STEP], 1, "no episode has begun"),
        ([RESET, {**STEP, "episode": "x"}], 2, "episode 'x' has not begun"),
        ([RESET, {**STEP, "terminated": True}, STEP], 3, "was terminated before"),
        ([RESET, STEP, {**STEP, "reward": 1}], 3, "unknown key 'reward'"),
        ([RESET, {"action": "wait"}], 2, "observation: Field required"),
        ([RESET, {**STEP, "observation": None}], 2, "observation"),
        ([RESET, {**STEP, "observation": 3}], 2, "observation"),
        ([RESET, {**STEP, "action": None}], 2, "action"),
        ([RESET, {**STEP, "action": ["go"]}], 2, "action"),
        ([RESET, {**STEP, "action": ""}], 2, "leave it out"),
        ([RESET, {**STEP, "inventory": ["key"]}], 2, "inventory"),
        ([RESET, {**STEP, "admissible": "wait"}], 2, "admissible"),
        ([RESET, {**STEP, "admissible": [1]}], 2, "admissible.0"),
        ([RESET, {**STEP, "terminated": "yes"}], 2, "terminated"),
        ([RESET, {**STEP, "terminated": 1}], 2, "terminated"),
        ([RESET, {**STEP, "refused": None}], 2, "refused"),
        ([RESET, {**STEP, "episode": 7}], 2, "episode"),
        ([{**RESET, "terminated": True}], 1, "neither terminated nor refused"),
        ([{**RESET, "refused": True}], 1, "neither terminated nor refused"),
        ([RESET, b"{'action': 'go'}\n"], 2, "Invalid JSON"),
        ([RESET, b'{"action": "go", "obse'], 2, "Invalid JSON"),
        ([RESET, b"[]\n"], 2, ""),
        ([RESET, b"null\n"], 2, ""),
        ([RESET, b'"go down"\n'], 2, ""),
        ([RESET, b'{"observation": "\\ud800"}\n'], 2, "Invalid JSON"),
        ([RESET, b'{"observation": "\xff\xfe"}\n'], 2, "Invalid JSON"),
        ([RESET, b'{"observation": "a"} {"observation": "b"}\n'], 2, "Invalid JSON"),
        ([b"\x7fELF\x02\x01\x01\x00\x00\n\x00"], 1, "Invalid JSON"),
        ([RESET, b'{"observation": "' + b"x" * LONGEST_LINE + b'"}\n'], 2, "longer than"),
    ],
)
def test_a_wrong_line_is_named_and_nothing_of_the_log_counts(
    tmp_path: Path, lines: list[Any], line: int, said: str
) -> None:
    with pytest.raises(LogRefused, match=rf"run\.jsonl: line {line}\b") as refused:
        read(tmp_path, *lines)
    message = str(refused.value)
    assert said in message
    assert "\n" not in message
    assert len(message) < 400


@pytest.mark.parametrize("content", [b"", b"\n \n\n", b"\xef\xbb\xbf"])
def test_an_empty_log_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(LogRefused, match="holds no steps"):
        read(tmp_path, content)


def test_a_log_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing", tmp_path):
        with pytest.raises(LogRefused, match="cannot be read"):
            read_log(path)
