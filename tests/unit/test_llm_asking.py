"""Asking a chat model for an object: what counts as a reply, what is repaired, what it costs. No network."""

from __future__ import annotations

import logging
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

pytest.importorskip("langchain_core", reason="the extra llm is not installed")

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda

from autocontext.errors import ModelUnavailable, ReplyUnusable
from autocontext.llm.asking import ModelAsker, Prompt
from autocontext.llm.ledger import Ledger
from autocontext.llm.prices import Price

PROMPT = Prompt(system="You plan.", user="What is next?")
GOOD = '{"paths": ["go east"], "kind": "room"}'
SECRET = "very secret words"


class Answer(BaseModel):
    """Like the explorer's: every field may be left out, others are ignored."""

    paths: list[str] = Field(default_factory=list, max_length=3)
    kind: Literal["room", "garden"] = "room"
    size: int = Field(default=0, ge=0, le=100)


class Plain(BaseChatModel):
    """Knows nothing but text; `says` in turn: texts, messages or errors. The last one is repeated."""

    says: list[Any]
    heard: list[list[Any]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "plain"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **more: Any) -> ChatResult:
        self.heard.append(messages)
        said = self.says.pop(0) if len(self.says) > 1 else self.says[0]
        if isinstance(said, BaseException):
            raise said
        message = said if isinstance(said, AIMessage) else AIMessage(said)
        return ChatResult(generations=[ChatGeneration(message=message)])


class Schooled(Plain):
    """Takes a JSON schema, and notes which."""

    schemas: list[Any] = Field(default_factory=list)

    def with_structured_output(self, schema: Any, **options: Any) -> Any:
        assert options == {"method": "json_schema", "include_raw": True}
        self.schemas.append(schema)
        return RunnableLambda(lambda messages: {"raw": self.invoke(messages), "parsed": None, "parsing_error": None})


def asking(*says: Any, kind: type[Plain] = Plain, **options: Any) -> ModelAsker:
    return ModelAsker(kind(says=list(says)), Ledger(), name="plain:model", first_wait=0, **options)


def texts(asker: ModelAsker, call: int) -> list[str]:
    return [str(message.content) for message in asker.model.heard[call]]


# --- replies that will do -------------------------------------------------------------------------------

CALL: Any = {"name": "Answer", "args": {"paths": ["go east"]}, "id": "1", "type": "tool_call"}
USABLE: dict[str, Any] = {
    "plain": GOOD,
    "with white space": f"\n\n  {GOOD}  \n",
    "in a code fence": f"```json\n{GOOD}\n```",
    "in a fence without a language": f"```\n{GOOD}\n```",
    "with words around it": f"Sure! Here it is: {GOOD} I hope that helps {{you}}.",
    "after braces in the text": f"I go {{east}} then. {GOOD}",
    "after thinking": f'<think>maybe {{"paths": ["jump"]}}, or not</think>\n{GOOD}',
    "after an object of something else": f'{{"thought": "the door"}} {GOOD}',
    "with fields that nobody asked for": GOOD[:-1] + ', "mood": "fine"}',
    "in blocks": AIMessage([{"type": "text", "text": GOOD[:10]}, {"type": "text", "text": GOOD[10:]}]),
    "in a block after reasoning": AIMessage([{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": GOOD}]),
    "as a tool call": AIMessage("", tool_calls=[CALL]),
    "as a tool call beside an empty list": AIMessage([], tool_calls=[CALL]),
    "whole though at its limit": AIMessage(GOOD, response_metadata={"finish_reason": "length"}),
}


@pytest.mark.parametrize("said", USABLE.values(), ids=USABLE.keys())
@pytest.mark.parametrize("kind", [Plain, Schooled])
def test_a_usable_reply_is_taken_at_once(said: Any, kind: type[Plain]) -> None:
    asker = asking(said, kind=kind)
    assert asker.ask("planner", PROMPT, Answer) == Answer(paths=["go east"])
    assert len(asker.model.heard) == 1
    assert asker.ledger.take()[1] == ()


# --- replies that will not ------------------------------------------------------------------------------


def at_limit(text: str, **told: str) -> AIMessage:
    return AIMessage(text, response_metadata=told or {"finish_reason": "length"})


BROKEN: dict[str, tuple[Any, str]] = {
    "empty": ("", "empty"),
    "white space": (" \n\t\u00a0", "empty"),
    "no block": (AIMessage([]), "empty"),
    "prose": ("I would go east.", "no JSON"),
    "another language": ("Je vais à l'est. 我向东走。", "no JSON"),
    "single quotes": ("{'paths': ['go east']}", "no JSON"),
    "a comma too many": ('{"paths": ["go east"],}', "no JSON"),
    "not closed": ('{"paths": ["go east"', "no JSON"),
    "a part of what is not closed": ('{"paths": [], "notes": [{"text": "a"}, {"te', "."),
    "not a number": ('{"size": NaN}', "."),
    "cut off": (at_limit('{"paths": ["go ea'), "cut off"),
    "cut off, as others call it": (at_limit('{"paths": ["go ea', stop_reason="max_tokens"), "cut off"),
    "cut off, in capitals": (at_limit('{"paths": ["go ea', finish_reason="MAX_TOKENS"), "cut off"),
    "an array": ('[{"paths": ["go east"]}, 1]'.replace("paths", "ways"), "."),
    "a text": ('"go east"', "no JSON"),
    "a number": ("7", "no JSON"),
    "null": ("null", "no JSON"),
    "an object of something else": ('{"error": "overloaded"}', "paths, kind, size"),
    "a field of another type": ('{"paths": "go east"}', "paths"),
    "an item of another type": ('{"paths": ["go east", {"to": "west"}]}', r"paths\.1"),
    "too many items": ('{"paths": ["a", "b", "c", "d"]}', "paths"),
    "none of the choices": ('{"kind": "cave"}', "kind"),
    "out of range": ('{"size": 101}', "size"),
    "a huge number": ('{"size": ' + "9" * 10_000 + "}", "."),
    "endless": ("go east " * 50_000, "."),
    "endless JSON": ('{"paths": ["' + "go east " * 50_000 + '"]}', "."),
    "deeply nested": ('{"paths":' * 50_000, "."),
    "many openings": ('{"' * 100_000, "."),
    "a tool call with other arguments": (AIMessage("", tool_calls=[{**CALL, "args": {"way": "east"}}]), "none of"),
    "a tool call that is no JSON": (
        AIMessage("", invalid_tool_calls=[
            {"name": "Answer", "args": '{"paths": [', "id": "1", "error": None, "type": "invalid_tool_call"}
        ]),
        "no JSON",
    ),
}  # fmt: skip


@pytest.mark.timeout(20)
@pytest.mark.parametrize(("said", "what"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_reply_is_repaired_or_told(said: Any, what: str) -> None:
    asker = asking(said, GOOD)
    assert asker.ask("planner", PROMPT, Answer) == Answer(paths=["go east"])
    assert [message.type for message in asker.model.heard[1]] == ["system", "human", "ai", "human"]
    assert sum(map(len, texts(asker, 1))) < 10_000
    assert texts(asker, 1)[1] == texts(asker, 0)[1]
    assert asker.ledger.take()[1] == ()

    asker = asking(said)
    with pytest.raises(ReplyUnusable, match=what) as raised:
        asker.ask("planner", PROMPT, Answer)
    assert len(asker.model.heard) == 2
    assert str(raised.value).startswith("plain:model as planner: ")
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 400
    assert len(raised.value.reply) <= 500
    usage, [failure] = asker.ledger.take()
    assert (usage["planner.calls"], failure.role, failure.what) == (2, "planner", str(raised.value)[:300])


def test_nesting_at_the_edge_of_what_python_reads() -> None:
    for depth in range(900, 1100, 5):
        with pytest.raises(ReplyUnusable):
            asking('{"paths":' * depth + "1" + "}" * depth).ask("planner", PROMPT, Answer)


def test_the_repair_shows_the_reply_and_what_is_wrong_with_it() -> None:
    asker = asking('{"size": "big", "kind": "cave"}', GOOD)
    asker.ask("planner", PROMPT, Answer)
    bad, repair = texts(asker, 1)[2:]
    assert bad == '{"size": "big", "kind": "cave"}'
    assert "size: " in repair
    assert "kind: " in repair


def test_a_cut_off_reply_is_to_be_shorter() -> None:
    asker = asking(at_limit('{"paths": ["go'), GOOD)
    asker.ask("planner", PROMPT, Answer)
    assert "brief" in texts(asker, 1)[3] or "short" in texts(asker, 1)[3]


@pytest.mark.parametrize(
    "said",
    [
        AIMessage("", additional_kwargs={"refusal": "I will not."}),
        AIMessage("", response_metadata={"finish_reason": "content_filter"}),
        AIMessage("", response_metadata={"stop_reason": "refusal"}),
        AIMessage("", response_metadata={"finish_reason": "SAFETY"}),
    ],
)
def test_a_refusal_is_not_asked_again(said: AIMessage) -> None:
    asker = asking(said)
    with pytest.raises(ReplyUnusable, match="refused"):
        asker.ask("planner", PROMPT, Answer)
    assert len(asker.model.heard) == 1
    assert len(asker.ledger.take()[1]) == 1


def test_half_a_character_is_kept_out() -> None:
    found = asking('{"paths": ["go \\ud83d east"]}').ask("planner", PROMPT, Answer)
    assert found.paths[0].encode() == b"go ? east"


# --- with a schema and without --------------------------------------------------------------------------


def test_a_model_that_takes_a_schema_is_not_told_it() -> None:
    asker = asking(GOOD, kind=Schooled)
    for _ in range(2):
        asker.ask("planner", PROMPT, Answer)
    assert asker.method == "json_schema"
    assert asker.model.schemas == [Answer.model_json_schema()]
    assert texts(asker, 0) == ["You plan.", "What is next?"]


def test_a_model_that_takes_none_is_told_it_and_that_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    asker = asking(GOOD)
    assert asker.method == "json_schema"
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            asker.ask("planner", PROMPT, Answer)
    assert asker.method == "prompted"
    assert len(caplog.records) == 1
    system, user = texts(asker, 1)
    assert system == "You plan."
    assert user.startswith("What is next?\n\n")
    assert '"paths":{' in user


class Refusing(Schooled):
    """Its package knows schemas, its server does not."""

    def with_structured_output(self, schema: Any, **options: Any) -> Any:
        def refuse(_messages: Any) -> Any:
            raise Status(400, "response_format: json_schema is not supported")

        return RunnableLambda(refuse)


class Status(Exception):
    """An error of some provider's package."""

    def __init__(self, status_code: int, text: str = "") -> None:
        super().__init__(text)
        self.status_code = status_code


def test_a_server_that_refuses_a_schema_is_told_it() -> None:
    asker = asking(GOOD, kind=Refusing)
    assert asker.ask("planner", PROMPT, Answer).paths == ["go east"]
    assert asker.method == "prompted"
    assert asker.ledger.take()[0]["planner.calls"] == 1


# --- what it costs --------------------------------------------------------------------------------------


def test_usage_of_every_turn_counts_under_its_role() -> None:
    used: Any = {"input_tokens": 1000, "output_tokens": 500, "total_tokens": 1500}
    asker = asking(AIMessage("?", usage_metadata=used), AIMessage(GOOD, usage_metadata=used),
                   price=Price(input=2.0, output=8.0))  # fmt: skip
    asker.ask("extractor", PROMPT, Answer)
    assert asker.ledger.take()[0] == {
        "extractor.calls": 2,
        "extractor.input_tokens": 2000,
        "extractor.microusd": 12_000,
        "extractor.output_tokens": 1000,
    }
    assert asker.ledger.cost == 0.012


def test_usage_that_is_not_told_is_estimated_and_says_so() -> None:
    asker = asking(GOOD)
    asker.ask("planner", PROMPT, Answer)
    usage, _ = asker.ledger.take()
    assert usage["planner.unmeasured"] == 1
    assert usage["planner.output_tokens"] == -(-len(GOOD) // 3)
    assert usage["planner.input_tokens"] == -(-sum(map(len, texts(asker, 0))) // 3)


# --- a bad line -----------------------------------------------------------------------------------------


class ReadTimeout(Exception):
    """By its name alone."""


class Hinted(Exception):
    """With a response, as httpx has it."""

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__("no")
        self.response = type("Response", (), {"status_code": status, "headers": headers})()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between tries, which are not waited for."""
    found: list[float] = []
    monkeypatch.setattr("tenacity.nap.time.sleep", found.append)
    return found


PASSING = [
    *(Status(code) for code in (408, 409, 425, 429, 500, 502, 503, 504, 529)),
    Hinted(503),
    ReadTimeout(),
    TimeoutError(),
    ConnectionRefusedError("refused"),
    BrokenPipeError(),
]


@pytest.mark.parametrize("error", PASSING, ids=repr)
def test_what_may_pass_is_tried_again(waits: list[float], error: Exception) -> None:
    asker = asking(error, error, GOOD)
    assert asker.ask("planner", PROMPT, Answer).paths == ["go east"]
    assert len(waits) == 2


@pytest.mark.parametrize("error", [*(Status(code, "no") for code in (400, 401, 403, 404, 413, 422)), ValueError("no")])
def test_what_will_not_pass_is_told_at_once(waits: list[float], error: Exception) -> None:
    asker = asking(error)
    with pytest.raises(ModelUnavailable, match="plain:model"):
        asker.ask("planner", PROMPT, Answer)
    assert (len(asker.model.heard), waits) == (1, [])


@pytest.mark.parametrize("attempts", [1, 2, 5])
def test_tries_are_bounded(waits: list[float], attempts: int) -> None:
    asker = asking(Status(500, "oops"), attempts=attempts)
    with pytest.raises(ModelUnavailable, match="500"):
        asker.ask("planner", PROMPT, Answer)
    assert (len(asker.model.heard), len(waits)) == (attempts, attempts - 1)


@pytest.mark.parametrize(
    ("header", "wait"), [("7", 7), ("0", 0), ("3600", 60), ("-5", 0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0)]
)
def test_retry_after(waits: list[float], header: str, wait: float) -> None:
    asking(Hinted(429, **{"retry-after": header}), GOOD).ask("planner", PROMPT, Answer)
    assert waits == [wait]


@pytest.mark.parametrize("header", ["soon", "nan", ""])
def test_a_retry_after_that_says_nothing(waits: list[float], header: str) -> None:
    asking(Hinted(429, **{"retry-after": header}), GOOD).ask("planner", PROMPT, Answer)
    assert 0 <= waits[0] <= 60


def test_an_interrupt_passes(waits: list[float]) -> None:
    with pytest.raises(KeyboardInterrupt):
        asking(KeyboardInterrupt()).ask("planner", PROMPT, Answer)
    assert waits == []


def test_keys_are_masked_wherever_others_speak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    with pytest.raises(ModelUnavailable) as raised:
        asking(Status(401, f"wrong key: {SECRET}\nline two")).ask("planner", PROMPT, Answer)
    assert SECRET not in str(raised.getrepr(style="long", chain=True))
    assert str(raised.value).isprintable()
    asker = asking(AIMessage("", additional_kwargs={"refusal": f"I know {SECRET}"}))
    with pytest.raises(ReplyUnusable) as refused:
        asker.ask("planner", PROMPT, Answer)
    assert SECRET not in str(refused.value) + refused.value.reply
