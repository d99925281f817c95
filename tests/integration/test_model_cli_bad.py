"""Bad input to `explore --model`: one clear line, exit 1 (2 for a wrong call), and nothing stored half."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import autocontext
from tests.openai_server import Server, by_messages, error, openai_server
from tests.scripted_model import explorer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

KEY = "test-key-0123456789"


@pytest.fixture(scope="module")
def server():
    """One that answers as the diligent player of scripted_model.py."""
    with openai_server(by_messages(explorer)) as found:
        yield found


@pytest.fixture
def refused(home, call_cli: Callable[..., Any], small_game: Path, server: Server):
    """`refused(OPTIONS ..., code=1)` -> the one line of the error; the instance is not there afterwards."""

    def call(*options: str, code: int = 1, stored: bool = False, name: str = "bad", **env: str) -> str:
        command = ["explore", "textworld", str(small_game), "--instance", name, "--no-admissible", "--steps", "4"]
        server.requests.clear()
        done = call_cli(*command, *options, check=False, env={**server.environment(KEY), **env})
        assert done.returncode == code, done.stderr
        (line,) = [line for line in done.stderr.splitlines() if line.strip()]
        assert line.startswith("error: ")
        assert "Traceback" not in done.stderr
        assert done.stdout == ""
        assert KEY not in done.stderr
        with autocontext.open_client() as client:
            records = {record.id: record for record in client.instances()}
            assert (name in records) == stored
            if stored:  # started, and nothing was learned
                assert (records[name].applied_iteration, records[name].stopped_because) == (0, "model")
                assert records[name].stopped_why in line
                assert client.facts(name) == []
        return line

    return call


MODEL = ("--model", "openai:test")

WRONG_CALLS: dict[str, tuple[list[str], str]] = {
    "planner without a model": (["--planner", "model"], "--model provider:name"),
    "extractor without a model": (["--extractor", "model"], "--model provider:name"),
    "key results without a model": (["--key-results", "model"], "--model provider:name"),
    "record and replay": ([*MODEL, "--record", "a.jsonl", "--replay", "b.jsonl"], "--record and --replay"),
    "unknown strategy": ([*MODEL, "--strategies", "nonsense"], "correction, dependency, pattern"),
    "no strategy": ([*MODEL, "--strategies", ","], "at least one"),
    "unknown fallback": ([*MODEL, "--fallback", "luck"], "systematic"),
    "unknown planner": ([*MODEL, "--planner", "oracle"], "oracle"),
    "no tokens": ([*MODEL, "--max-tokens", "0"], "--max-tokens"),
    "negative cost": ([*MODEL, "--max-cost", "-1"], "--max-cost"),
    "cost that is no number": ([*MODEL, "--max-cost", "nan"], "--max-cost"),
    "a model that nobody asks": (
        [*MODEL, "--planner", "systematic", "--extractor", "rules", "--key-results", "rules", "--promotion", "rules"],
        "no role is done by it",
    ),
    "record without a model": (["--record", "a.jsonl"], "no role"),
    "fallback without a model": (["--fallback", "systematic"], "no role"),
}


@pytest.mark.parametrize("case", WRONG_CALLS)
def test_a_call_that_makes_no_sense(refused, case: str, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options, says = WRONG_CALLS[case]
    assert says in refused(*options, code=2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("gpt-4.1-mini", "has no provider; write it as provider:name"),
        (":x", "provider:name"),
        ("openai:", "provider:name"),
        ("foo:bar", "there is no provider 'foo'"),
        ("anthropic:claude", "langchain-anthropic"),
    ],
)
def test_a_name_that_names_no_model(refused, name: str, says: str):
    assert says in refused("--model", name)
    assert says in refused(*MODEL, "--extractor-model", name)


def test_a_missing_key_is_named(refused, server: Server):
    assert "OPENAI_API_KEY" in refused(*MODEL, OPENAI_API_KEY="")
    assert server.requests == []


@pytest.mark.parametrize("url", ["nonsense", "http://", "ftp://127.0.0.1/v1"])
def test_an_address_that_is_none(home, run_cli, small_game: Path, url: str):
    """In a process of its own, as the package keeps the first address that it was given."""
    env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": url}
    done = run_cli("explore", "textworld", str(small_game), "--instance", "no-url", *MODEL, check=False, env=env)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "OPENAI_BASE_URL" in done.stderr


def test_nobody_listens(refused):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        line = refused(*MODEL, stored=True, name="nobody", OPENAI_BASE_URL=url)
    assert url in line
    assert "Connection refused" in line


@pytest.mark.parametrize(
    ("status", "says"), [(401, "does not accept the key"), (404, "there is no model"), (400, "refused the request")]
)
def test_a_server_that_refuses(refused, status: int, says: str):
    with openai_server(lambda request: error(status, f"not with {KEY}\nhere")) as closed:
        line = refused(*MODEL, stored=True, name=f"refused-{status}", OPENAI_BASE_URL=closed.url)
    assert says in line
    assert str(status) in line or status == 404
    assert len(closed.requests) == 1


def test_a_server_that_is_too_slow(refused):
    from tests.openai_server import Late

    with openai_server(lambda request: Late(30, "{}")) as slow:
        line = refused(*MODEL, stored=True, name="slow", OPENAI_BASE_URL=slow.url, AUTOCONTEXT_MODEL_SECONDS="0.3")
    assert "gave no answer after 4 tries" in line


@pytest.mark.parametrize(("name", "value"), [("AUTOCONTEXT_MODEL_WAIT", "-1"), ("AUTOCONTEXT_MODEL_SECONDS", "soon")])
def test_a_setting_that_makes_no_sense(refused, name: str, value: str):
    assert name in refused(*MODEL, **{name: value})


def test_a_server_without_schemas_works_and_that_is_said(home, run_cli, small_game: Path):
    def brain(request: dict[str, Any]) -> Any:
        if "response_format" in request:
            return error(400, "response_format.type must be 'text'")
        return by_messages(explorer)(request)

    command = ["explore", "textworld", str(small_game), "--instance", "plain", "--steps", "4", "--json", *MODEL]
    with openai_server(brain) as plain:
        done = run_cli(*command, env=plain.environment(KEY))
    assert json.loads(done.stdout)["failures"] == 0
    said = [line for line in done.stderr.splitlines() if " steps · " not in line]
    assert len(said) == 1
    assert said[0].startswith("openai:test does not take a JSON schema (")


# --- prices -------------------------------------------------------------------------------------------


def test_an_unknown_price_names_file_and_line(refused, tmp_path: Path):
    file = tmp_path / "prices.yaml"
    line = refused(*MODEL, "--max-cost", "1", AUTOCONTEXT_PRICES=str(file))
    assert str(file) in line
    assert '"openai:test": {input: 1.0, output: 2.0}' in line


@pytest.mark.parametrize("text", ["- a list", '"openai:test": cheap', '"openai:test": {input: -1, output: 1}', "a: [b"])
def test_a_malformed_price(refused, tmp_path: Path, text: str):
    file = tmp_path / "prices.yaml"
    file.write_text(text)
    assert str(file) in refused(*MODEL, AUTOCONTEXT_PRICES=str(file))


# --- recordings ---------------------------------------------------------------------------------------


def test_a_recording_that_cannot_be_written(refused, tmp_path: Path, server: Server):
    (tmp_path / "file").write_text("no folder")
    assert "cannot be" in refused(*MODEL, "--record", str(tmp_path / "file" / "run.jsonl"))
    assert "cannot be" in refused(*MODEL, "--record", str(tmp_path))
    assert server.requests == []


def test_a_recording_that_is_none(refused, tmp_path: Path):
    assert "missing.jsonl" in refused("--replay", str(tmp_path / "missing.jsonl"))
    file = tmp_path / "notes.txt"
    for text in ("dear diary\n", "dear diary"):
        file.write_text(text)
        for option in (("--replay", str(file)), (*MODEL, "--record", str(file))):
            line = refused(*option)
            assert "notes.txt, line 1" in line
            assert file.read_text() == text


def test_a_recording_of_another_run_ends_where_it_differs(
    home, call_cli, small_game: Path, tiny_game: Path, server: Server, tmp_path: Path
):
    file = tmp_path / "run.jsonl"
    start = ["explore", "textworld", "--no-admissible", "--steps", "6"]
    call_cli(*start, str(small_game), "--instance", "right", *MODEL, "--record", str(file), env=server.environment(KEY))
    done = call_cli(*start, str(tiny_game), "--instance", "wrong", "--replay", str(file), check=False)
    assert done.returncode == 1
    assert "holds no reply for this prompt of the planner" in done.stderr
    with autocontext.open_client() as client:
        assert (client.instance("wrong").stopped_because, client.facts("wrong")) == ("model", [])
