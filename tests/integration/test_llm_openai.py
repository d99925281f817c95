"""A chat model behind real HTTP: what is sent, and what every kind of answer comes to."""

from __future__ import annotations

import json
import logging
import socket
import time
from email.utils import formatdate
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from autocontext.errors import ConfigError, ModelUnavailable, ReplyUnusable
from autocontext.explorer.extractor.model import ExtractorReply
from autocontext.explorer.planner.model import PlannerReply
from autocontext.llm.asking import ModelAsker, Prompt
from autocontext.llm.ledger import Ledger
from autocontext.llm.models import open_model
from tests.openai_server import Late, Raw, Reply, error, openai_server

KEY = "test-key-0123456789"
PROMPT = Prompt(system="You like colours.", user="<data>\nsky\n</data>")
BLUE = {"colour": "blue", "shades": [{"name": "navy"}]}
NO_SCHEMA = "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."


class Shade(BaseModel):
    """A part of its own, so that the schema has $defs."""

    name: str
    depth: Literal["light", "dark"] = "dark"


class Colour(BaseModel):
    """Which colour it is."""

    model_config = ConfigDict(extra="ignore")

    colour: str = Field(min_length=1)
    shades: list[Shade] = Field(default_factory=list, max_length=5)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch):
    """`serve(brain)` -> server and asker; the brain may be a list of answers, one for each request."""
    stack = []

    def start(brain: Any, **more: Any):
        answers = list(brain) if isinstance(brain, list) else None
        context = openai_server((lambda request: answers.pop(0)) if answers is not None else brain)
        server = context.__enter__()
        stack.append(context)
        for name, value in server.environment(KEY).items():
            monkeypatch.setenv(name, value)
        model = open_model("openai:test", timeout=more.pop("timeout", 20.0))
        return server, ModelAsker(model, Ledger(), name="openai:test", **{"first_wait": 0.01, **more})

    yield start
    for context in stack:
        context.__exit__(None, None, None)


# --- what is sent -------------------------------------------------------------------------------------


def test_the_request_holds_messages_schema_and_limits(serve):
    server, asker = serve(lambda request: BLUE)
    found = asker.ask("planner", PROMPT, Colour)
    assert found == Colour(colour="blue", shades=[Shade(name="navy")])
    assert [asked.path for asked in server.requests] == ["/v1/chat/completions"]
    (body,) = server.bodies
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert body["model"] == "test"
    assert body["messages"] == [
        {"role": "system", "content": PROMPT.system},
        {"role": "user", "content": PROMPT.user},
    ]
    assert (body["temperature"], body["max_completion_tokens"]) == (0.0, 4096)
    assert not body.get("stream")
    assert "tools" not in body
    sent = body["response_format"]["json_schema"]
    assert body["response_format"]["type"] == "json_schema"
    assert (sent["name"], sent["strict"]) == ("Colour", False)  # strict ones may have neither defaults nor limits
    assert sent["schema"]["required"] == ["colour"]
    assert sent["schema"]["properties"]["shades"]["maxItems"] == 5
    assert "depth" in json.dumps(sent["schema"])


@pytest.mark.parametrize("shape", [PlannerReply, ExtractorReply])
def test_the_real_shapes_arrive_as_they_are(serve, shape):
    server, asker = serve(lambda request: "{}")
    assert asker.ask("planner", PROMPT, shape) == shape()
    sent = server.bodies[0]["response_format"]["json_schema"]["schema"]
    assert set(sent["properties"]) == set(shape.model_fields)


def test_a_model_that_thinks_gets_room_for_it_and_no_temperature(serve):
    server, _ = serve(lambda request: BLUE)
    ModelAsker(open_model("openai:o3"), Ledger(), name="openai:o3").ask("planner", PROMPT, Colour)
    assert "temperature" not in server.bodies[0]
    assert server.bodies[0]["max_completion_tokens"] == 4 * 4096


# --- servers that do not know schemas -----------------------------------------------------------------


def test_without_schemas_it_is_told_in_words_once_and_for_good(serve, caplog):
    def brain(request):
        return error(400, NO_SCHEMA) if "response_format" in request else f"Here:\n```json\n{json.dumps(BLUE)}\n```"

    server, asker = serve(brain)
    with caplog.at_level(logging.WARNING, "autocontext"):
        assert asker.ask("planner", PROMPT, Colour).colour == "blue"
        assert asker.ask("planner", PROMPT, Colour).colour == "blue"
        asker.ask("extractor", PROMPT, Shade.__class__("Other", (Colour,), {}))
    assert ["response_format" in body for body in server.bodies] == [True, False, False, False]
    told = server.bodies[1]["messages"]
    assert told[0]["content"] == PROMPT.system
    assert told[1]["content"].startswith(PROMPT.user)
    assert json.loads(told[1]["content"].splitlines()[-1]) == Colour.model_json_schema()
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 1
    assert "openai:test does not take a JSON schema (" in lines[0]


def test_a_request_refused_for_something_else_is_no_missing_schema(serve, caplog):
    server, asker = serve(lambda request: error(400, "This model's maximum context length is 4096 tokens."))
    with pytest.raises(ModelUnavailable, match=r"refused the request \(400: .*maximum context length"):
        asker.ask("planner", PROMPT, Colour)
    assert len(server.requests) == 1
    assert caplog.records == []


def test_a_server_that_takes_neither_is_asked_twice(serve):
    server, asker = serve(lambda request: error(422, "schema, schema, schema"))
    with pytest.raises(ModelUnavailable, match="refused the request"):
        asker.ask("planner", PROMPT, Colour)
    assert len(server.requests) == 2


@pytest.mark.parametrize("body", ["<html>not here</html>", '{"error": {"message": "overloaded", "code": 429}}', "null"])
def test_nonsense_over_http_is_a_bad_line_and_no_missing_schema(serve, body):
    """These come as errors of many types out of the provider's package."""
    server, asker = serve([Raw(body=body), Raw(body=body, headers={"Content-Type": "text/html"}), BLUE])
    assert asker.ask("planner", PROMPT, Colour).colour == "blue"
    assert asker.method == "json_schema"
    assert len(server.requests) == 3


# --- bad lines ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
def test_what_may_pass_is_tried_again(serve, status):
    server, asker = serve([error(status, "not now"), error(status, "not now"), BLUE])
    assert asker.ask("planner", PROMPT, Colour).colour == "blue"
    assert len(server.requests) == 3
    assert asker.ledger.run["planner.calls"] == 1  # what failed cost nothing


def test_it_is_given_up_after_so_many_tries_by_us_alone(serve):
    server, asker = serve(lambda request: error(503, "the house\nis full"), attempts=3)
    with pytest.raises(ModelUnavailable) as caught:
        asker.ask("planner", PROMPT, Colour)
    assert len(server.requests) == 3
    line = str(caught.value)
    assert "\n" not in line
    for words in ("openai:test", "gave no answer after 3 tries", "503", "the house is full", server.url):
        assert words in line


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [("1", 1.0, 2.0), ("0", 0.0, 0.5), ("-5", 0.0, 0.5), ("soon", 0.0, 0.5), ("nan", 0.0, 0.5), ("date", 1.0, 3.0)],
)
def test_retry_after_is_honoured(serve, header, least, most):
    value = formatdate(time.time() + 3, usegmt=True) if header == "date" else header
    server, asker = serve([error(429, "slowly", Retry_After=value), BLUE])
    asker.ask("planner", PROMPT, Colour)
    first, second = (asked.at for asked in server.requests)
    assert least <= second - first <= most


def test_a_long_wait_is_told(serve, caplog, monkeypatch):
    monkeypatch.setattr("autocontext.llm.transport.LONGEST_WAIT", 0.1)
    monkeypatch.setattr("autocontext.llm.transport.WAIT_TOLD", 0.05)
    _, asker = serve([error(429, "slowly", Retry_After="9999"), BLUE])
    asker.ask("planner", PROMPT, Colour)
    assert "openai:test: trying again in" in caplog.text


def test_a_line_that_breaks_off_is_tried_again(serve):
    server, asker = serve([Raw(body='{"choices": [', claimed=500), BLUE])
    assert asker.ask("planner", PROMPT, Colour).colour == "blue"
    assert len(server.requests) == 2


def test_nobody_listening(serve, monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://user:secretword@127.0.0.1:{port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    asker = ModelAsker(open_model("openai:test"), Ledger(), name="openai:test", attempts=2, first_wait=0.01)
    with pytest.raises(ModelUnavailable) as caught:
        asker.ask("planner", PROMPT, Colour)
    for words in (f"http://127.0.0.1:{port}/v1", "Connection refused", "OPENAI_BASE_URL", "after 2 tries"):
        assert words in str(caught.value)
    assert "secretword" not in str(caught.value)


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/v1", "http://[::1"])
def test_an_address_that_is_none_is_not_tried_again(monkeypatch, url):
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    waits: list[float] = []
    monkeypatch.setattr("tenacity.nap.time.sleep", waits.append)
    with pytest.raises((ModelUnavailable, ConfigError), match="openai:test"):
        ModelAsker(open_model("openai:test"), Ledger(), name="openai:test").ask("planner", PROMPT, Colour)
    assert waits == []


def test_a_server_that_does_not_answer_in_time(serve):
    server, asker = serve(lambda request: Late(20, BLUE), timeout=0.3, attempts=2)
    started = time.monotonic()
    with pytest.raises(ModelUnavailable, match=r"after 2 tries .*[Tt]imed out"):
        asker.ask("planner", PROMPT, Colour)
    assert time.monotonic() - started < 5
    assert len(server.requests) == 2


def test_a_server_that_holds_the_line_open_is_left_at_the_limit(serve):
    """Each read succeeds, so the package's own limit never strikes."""
    _, asker = serve(lambda request: Raw(body="{}", drip=200), timeout=1.0, attempts=1, seconds=1.5)
    started = time.monotonic()
    with pytest.raises(ModelUnavailable, match=r"no whole answer within 1\.5 s"):
        asker.ask("planner", PROMPT, Colour)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (401, "does not accept the key"),
        (403, "does not accept the key"),
        (404, "there is no model 'openai:test' at http://127.0.0.1"),
        (400, "refused the request"),
        (413, "refused the request"),
    ],
)
def test_what_does_not_pass_is_said_at_once_and_without_the_key(serve, status, says, caplog):
    """Some servers repeat the key in their answer, or a part of it."""
    server, asker = serve(lambda request: error(status, f"wrong: Bearer {KEY}\nor sk-proj-abc***xyz, sk-1234567890"))
    with pytest.raises(ModelUnavailable) as caught:
        asker.ask("planner", PROMPT, Colour)
    assert len(server.requests) == 1
    assert says in str(caught.value)
    assert len(str(caught.value)) < 700
    assert caught.value.__cause__ is None  # a traceback would print it
    for secret in (KEY, "abc", "1234567890", "\n"):
        assert secret not in str(caught.value)
        assert secret not in caplog.text or secret == "\n"


# --- replies that cannot be used ----------------------------------------------------------------------


def test_a_bad_reply_is_repaired_in_a_second_turn_that_shows_it(serve):
    server, asker = serve(["The sky is blue.", BLUE])
    assert asker.ask("planner", PROMPT, Colour).colour == "blue"
    turn = server.bodies[1]["messages"]
    assert turn[:2] == server.bodies[0]["messages"]
    assert turn[2] == {"role": "assistant", "content": "The sky is blue."}
    assert turn[3]["role"] == "user"
    assert "there was no JSON object" in turn[3]["content"]
    assert "response_format" in server.bodies[1]
    assert asker.ledger.run["planner.calls"] == 2
    assert asker.ledger.failures == 0


CUT = Reply('{"colour": "blue", "shades": [{"name": "navy"}, {"na', finish="length")
HALF = '{"choices": [{"message": {"role": "assistant", "content": "\\ud83d"}}]}'
UNUSABLE = {
    "cut off": (CUT, "cut off at its length limit", 2),
    "empty": (Reply(""), "was empty", 2),
    "nothing but thinking": (Reply("<think>blue, I think</think>"), "no JSON object", 2),
    "another object": ({"color": "blue"}, "none of the fields colour, shades", 2),
    "refused": (Reply(refusal="I cannot\nhelp with that."), "refused: I cannot help with that.", 1),
    "filtered": (Reply("", finish="content_filter"), "refused: content_filter", 1),
    "half a character": (Raw(body=HALF), "no JSON object", 2),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "says", "turns"), UNUSABLE.values(), ids=UNUSABLE)
def test_an_unusable_reply_is_told_counted_and_left(serve, answer, says, turns):
    server, asker = serve(lambda request: answer)
    with pytest.raises(ReplyUnusable) as caught:
        asker.ask("planner", PROMPT, Colour)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(server.requests) == turns
    usage, failures = asker.ledger.take()
    assert usage["planner.calls"] == turns
    assert usage["planner.input_tokens"] > 0
    assert [failure.role for failure in failures] == ["planner"]
    assert says in failures[0].what
    failures[0].reply.encode()  # it can be stored


def test_the_usage_of_a_reply_that_was_cut_off_is_what_the_server_says(serve):
    usage = {"prompt_tokens": 70, "completion_tokens": 2048, "total_tokens": 2118}
    _, asker = serve([Reply(CUT.text, finish="length", usage=usage), BLUE])
    asker.ask("planner", PROMPT, Colour)
    assert asker.ledger.run["planner.output_tokens"] == 2048 + len(json.dumps(BLUE).split())
    assert "planner.unmeasured" not in asker.ledger.run


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}])
def test_usage_that_the_server_does_not_tell_is_estimated(serve, usage):
    _, asker = serve(lambda request: Reply(json.dumps(BLUE), usage=usage))
    asker.ask("planner", PROMPT, Colour)
    run = asker.ledger.run
    assert (run["planner.calls"], run["planner.unmeasured"]) == (1, 1)
    assert run["planner.input_tokens"] >= len(PROMPT.system + PROMPT.user) // 4
    assert run["planner.output_tokens"] >= len(json.dumps(BLUE)) // 4


def test_a_huge_reply_is_left_in_time_and_its_repair_is_short(serve):
    server, asker = serve(lambda request: Reply('{"shades": [' + '{"name": "go down"}, ' * 500_000))
    started = time.monotonic()
    with pytest.raises(ReplyUnusable, match="cut off"):
        asker.ask("planner", PROMPT, Colour)
    assert time.monotonic() - started < 30
    assert len(json.dumps(server.bodies[1])) < 20_000


def test_the_key_is_in_no_failure_reply_or_repr(serve):
    _, asker = serve(lambda request: Reply(f"my key is {KEY}"))
    with pytest.raises(ReplyUnusable) as caught:
        asker.ask("planner", PROMPT, Colour)
    _, failures = asker.ledger.take()
    for text in (
        str(caught.value),
        caught.value.reply,
        repr(failures),
        repr(asker.model),
        str(asker.model),
        repr(asker),
    ):
        assert KEY not in text
