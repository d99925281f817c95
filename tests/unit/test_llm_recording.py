"""Recordings: a run is repeated without its model, and one that was killed does not pay twice."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from autocontext.errors import ConfigError, ModelUnavailable, RecordingMismatch, ReplyUnusable
from autocontext.llm.asking import Prompt
from autocontext.llm.ledger import Ledger, Used
from autocontext.llm.recording import Recorder, Recording, Replayer


class Answer(BaseModel):
    n: int
    text: str = ""


class Other(BaseModel):
    n: int


class Model:
    """Counts: its nth reply is n, and costs n tokens; or what it is told to raise."""

    def __init__(self, ledger: Ledger, first: int = 1) -> None:
        self.ledger = ledger
        self.n = first - 1
        self.error: Exception | None = None

    def ask(self, role: str, prompt: Prompt, reply: type[Any]) -> Any:
        self.n += 1
        self.ledger.count(role, Used(input_tokens=self.n, output_tokens=1), None)
        if self.error:
            if isinstance(self.error, ReplyUnusable):
                self.ledger.failed(role, self.error)
            raise self.error
        return reply(n=self.n)


def prompt(user: str) -> Prompt:
    return Prompt(system="s", user=user)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "recording.jsonl"


def recorder(path: Path, first: int = 1) -> tuple[Recorder, Model]:
    ledger = Ledger()
    model = Model(ledger, first)
    return Recorder(model, Recording(path, append=True), ledger, "openai:test"), model


def replayer(path: Path) -> Replayer:
    return Replayer(Recording(path, append=False), Ledger())


def ask(asker: Any, user: str = "u", role: str = "planner", kind: type[Any] = Answer) -> int:
    return int(asker.ask(role, prompt(user), kind).n)


def test_a_line_is_on_the_disk_when_the_reply_is_there(path: Path) -> None:
    asker, _ = recorder(path)
    ask(asker)
    [line] = path.read_text().splitlines()
    entry = json.loads(line)
    assert (entry["version"], entry["role"], entry["model"]) == (1, "planner", "openai:test")
    assert entry["reply"] == {"n": 1, "text": ""}
    assert entry["usage"] == {"planner.calls": 1, "planner.input_tokens": 1, "planner.output_tokens": 1}
    assert "error" not in entry


def test_a_replay_gives_the_same_in_the_same_order_and_counts_it(path: Path) -> None:
    asker, model = recorder(path)
    said = [ask(asker, user) for user in ("u", "v", "u")]
    again = replayer(path)
    assert [ask(again, user) for user in ("u", "v", "u")] == said == [1, 2, 3]
    assert again.ledger.take() == model.ledger.take()
    with pytest.raises(RecordingMismatch, match="planner"):
        ask(again, "u")


@pytest.mark.parametrize(
    "other",
    [
        {"user": "another"},
        {"role": "extractor"},
        {"kind": Other},
    ],
)
def test_another_question_has_no_reply(path: Path, other: dict[str, Any]) -> None:
    asker, _ = recorder(path)
    ask(asker)
    with pytest.raises(RecordingMismatch) as raised:
        ask(replayer(path), **other)
    assert str(path) in str(raised.value)


def test_a_run_that_goes_on_does_not_pay_twice(path: Path) -> None:
    asker, _ = recorder(path)
    assert [ask(asker, user) for user in ("u", "v", "u")] == [1, 2, 3]
    asker, model = recorder(path, first=10)
    assert [ask(asker, user) for user in ("u", "u", "v", "u", "w")] == [1, 3, 2, 10, 11]
    assert model.ledger.run["planner.calls"] == 5
    assert len(path.read_text().splitlines()) == 5
    assert [ask(replayer(path), "w")] == [11]


@pytest.mark.parametrize("torn", ["{", '{"version": 1', "whole"])
@pytest.mark.parametrize("before", [0, 1, 2])
def test_a_torn_last_line_is_left_out(path: Path, torn: str, before: int, caplog: pytest.LogCaptureFixture) -> None:
    asker, _ = recorder(path)
    for n in range(before + 1):
        ask(asker, f"u{n}")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]) + (lines[-1][:-3] if torn == "whole" else torn))
    with caplog.at_level(logging.WARNING):
        again = replayer(path)
    assert [ask(again, f"u{n}") for n in range(before)] == list(range(1, before + 1))
    assert str(path) in caplog.text
    asker, _ = recorder(path, first=50)
    assert ask(asker, f"u{before}") == 50
    assert path.read_text().splitlines(keepends=True)[:-1] == lines[:before]
    assert ask(replayer(path), f"u{before}") == 50


LINE = {"version": 1, "role": "planner", "model": "m", "key": "k", "reply": {"n": 1}, "usage": {}}
MALFORMED = [
    "",
    "no JSON",
    "[]",
    "null",
    "{}",
    json.dumps({**LINE, "version": 2}),
    json.dumps({**LINE, "key": 7}),
    json.dumps({**LINE, "reply": "yes"}),
    json.dumps({**LINE, "usage": {"planner.calls": "many"}}),
    json.dumps({**LINE, "error": {"kind": "unusable", "what": "w", "reply": ""}}),
    json.dumps({name: value for name, value in LINE.items() if name != "reply"}),
    json.dumps({**{name: value for name, value in LINE.items() if name != "reply"}, "error": {"kind": "strange"}}),
    "[" * 10_000,
]


@pytest.mark.parametrize("line", MALFORMED, ids=range(len(MALFORMED)))
@pytest.mark.parametrize("append", [True, False])
def test_any_other_malformed_line_is_told_with_its_number(path: Path, line: str, append: bool) -> None:
    path.parent.mkdir()
    text = f"{json.dumps(LINE)}\n{line}\n{json.dumps(LINE)}\n"
    path.write_text(text)
    with pytest.raises(ConfigError, match="line 2") as raised:
        Recording(path, append=append)
    assert str(path) in str(raised.value)
    assert path.read_text() == text


def test_a_file_of_somebody_else_is_not_touched(path: Path) -> None:
    path.parent.mkdir()
    for text in ("my notes", "my notes\n", "\x00\x01"):
        path.write_text(text)
        with pytest.raises(ConfigError):
            Recording(path, append=True)
        assert path.read_text() == text
    path.write_bytes(b"\xff\xfe\n")
    with pytest.raises(ConfigError):
        Recording(path, append=True)


def test_files_that_cannot_be_used(path: Path) -> None:
    with pytest.raises(ConfigError, match=r"recording\.jsonl"):
        Recording(path, append=False)
    path.mkdir(parents=True)
    for append in (True, False):
        with pytest.raises(ConfigError, match=r"recording\.jsonl"):
            Recording(path, append=append)


def test_a_reply_that_could_not_be_used_is_recorded_with_what_it_cost(path: Path) -> None:
    asker, model = recorder(path)
    model.error = ReplyUnusable("no JSON", reply="hm \ud83d")
    with pytest.raises(ReplyUnusable):
        ask(asker)
    again = replayer(path)
    with pytest.raises(ReplyUnusable, match="no JSON") as raised:
        ask(again)
    assert raised.value.reply.startswith("hm")
    usage, [failure] = again.ledger.take()
    assert (usage["planner.calls"], failure.what) == (1, "no JSON")


def test_a_model_that_could_not_be_reached_is_asked_again_but_not_on_replay(path: Path) -> None:
    asker, model = recorder(path)
    model.error = ModelUnavailable("down")
    with pytest.raises(ModelUnavailable):
        ask(asker)
    with pytest.raises(ModelUnavailable, match="down"):
        ask(replayer(path))
    asker, _ = recorder(path, first=5)
    assert ask(asker) == 5
    assert ask(replayer(path)) == 5


def test_an_interrupt_leaves_no_line(path: Path) -> None:
    asker, model = recorder(path)
    model.error = KeyboardInterrupt()  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        ask(asker)
    assert path.read_text() == ""


def test_two_models_share_one_recording(path: Path) -> None:
    ledger = Ledger()
    recording = Recording(path, append=True)
    one = Recorder(Model(ledger), recording, ledger, "openai:one")
    two = Recorder(Model(ledger, first=100), recording, ledger, "openai:two")
    assert [ask(one), ask(two, role="extractor"), ask(one)] == [1, 100, 2]
    assert [json.loads(line)["model"] for line in path.read_text().splitlines()] == [
        "openai:one",
        "openai:two",
        "openai:one",
    ]
    again = replayer(path)
    assert [ask(again), ask(again, role="extractor"), ask(again)] == [1, 100, 2]


def test_a_reply_of_another_release(path: Path) -> None:
    asker, _ = recorder(path)
    ask(asker)
    path.write_text(path.read_text().replace('"n": 1', '"m": 1'))
    with pytest.raises(ConfigError, match="planner"):
        ask(replayer(path))


def test_what_a_line_holds_is_ascii(path: Path) -> None:
    asker, model = recorder(path)
    model.ask = lambda role, prompt, reply: reply(n=1, text="ü\u2028\n")  # type: ignore[method-assign]
    ask(asker)
    assert path.read_bytes().isascii()
    assert replayer(path).ask("planner", prompt("u"), Answer).text == "ü\u2028\n"


def test_what_another_model_has_said_is_not_given_for_this_one(path: Path) -> None:
    first, _ = recorder(path)
    first.ask("planner", prompt("x"), Answer)
    ledger = Ledger()
    model = Model(ledger, first=7)
    other = Recorder(model, Recording(path, append=True), ledger, "openai:other")
    assert other.ask("planner", prompt("x"), Answer).n == 7
