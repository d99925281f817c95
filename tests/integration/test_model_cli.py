"""`autocontext explore --model`, end to end: a real game, the embedded database, a chat model behind real HTTP."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import autocontext
from tests.openai_server import Server, by_messages, error, openai_server
from tests.scripted_model import explorer, role_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

STEPS = "16"


@pytest.fixture(scope="module")
def server():
    """One that answers as the diligent player of scripted_model.py."""
    with openai_server(by_messages(explorer)) as found:
        yield found


@pytest.fixture
def explore(home, server: Server, call_cli: Callable[..., Any], small_game: Path):
    """`explore(ID, OPTIONS ...)` -> the report, and the lines on standard error that are no progress."""
    server.requests.clear()

    def run(name: str, *options: str, at: Server = server, **env: str) -> tuple[dict[str, Any], list[str]]:
        command = [*words(small_game, name), "--steps", STEPS, *options, "--json"]
        done = call_cli(*command, env={**at.environment(), **env})
        return json.loads(done.stdout), [line for line in done.stderr.splitlines() if " steps · " not in line]

    return run


def words(game: Path, name: str) -> list[str]:
    return ["explore", "textworld", str(game), "--instance", name, "--no-admissible", "--model", "openai:test"]


def canonical(name: str) -> list[Any]:
    with autocontext.open_store() as store:
        return list(store.canonical(name))


def usages(name: str) -> list[dict[str, int]]:
    """What is stored of the models' usage, by iteration."""
    asked = "MATCH (turn:Iteration {scope: $id}) RETURN turn.usage ORDER BY turn.n"
    with autocontext.open_client() as client:
        return [json.loads(row[0]) for row in client.query(asked, {"id": name}).rows]


def roles(server: Server) -> list[tuple[str, str]]:
    """Who was asked for what: (model, role)."""
    return [(body["model"], role_of(body["messages"][0]["content"])) for body in server.bodies]


# --- the whole of it ----------------------------------------------------------------------------------


def test_a_model_explores_and_what_it_used_is_told_and_stored(explore, server: Server, call_cli):
    report, said = explore("whole")
    assert report["steps"] == int(STEPS)
    assert report["stopped_because"] == "steps"
    assert report["failures"] == 0
    assert report["facts"] > 20
    assert report["cost"] is None
    assert said == []
    assert {role for _, role in roles(server)} == {"planner", "extractor", "key_results", "promoter"}
    counts = {role: sum(asked == role for _, asked in roles(server)) for _, role in roles(server)}
    assert {name.removesuffix(".calls"): n for name, n in report["usage"].items() if name.endswith(".calls")} == counts
    stored = usages("whole")
    assert len(stored) == report["iterations"]
    for name, count in report["usage"].items():
        assert sum(usage.get(name, 0) for usage in stored) == count, name
    text = call_cli("query", "MATCH (n {scope: 'whole'}) RETURN n", "--json", "--limit", "10000").stdout
    assert "test-key" not in text


def test_a_recording_repeats_the_run_without_the_model(explore, server: Server, tmp_path: Path):
    file = tmp_path / "new" / "run.jsonl"
    first, _ = explore("recorded", "--record", str(file))
    asked = len(server.requests)
    assert len(file.read_text().splitlines()) == asked
    assert "test-key" not in file.read_text()
    again = run_replay(explore, "replayed", file)
    assert len(server.requests) == asked
    assert canonical("replayed") == canonical("recorded")
    assert again["usage"] == first["usage"]
    assert usages("replayed") == usages("recorded")


def run_replay(explore: Any, name: str, file: Path, *options: str) -> dict[str, Any]:
    with openai_server(lambda request: "nobody is to ask") as nobody:
        report, _ = explore(name, "--replay", str(file), *options, at=nobody, OPENAI_API_KEY="")
        assert nobody.requests == []
    return dict(report)


def test_killed_and_resumed_with_its_recording_it_is_the_same_and_pays_once(
    explore, server: Server, small_game, tmp_path
):
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    explore("undisturbed", "--record", str(one))
    undisturbed = canonical("undisturbed")
    server.requests.clear()
    slow = by_messages(lambda system, user: time.sleep(0.1) or explorer(system, user))
    with openai_server(slow) as slowly:
        command = [sys.executable, "-m", "autocontext", *words(small_game, "killed"), "--steps", STEPS]
        for least in (2, 4):
            process = subprocess.Popen([*command, "--record", str(other)], env=environment(slowly),
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
            until_commits(process, "killed", least)
            process.kill()
            process.wait()
    report, _ = explore("killed", "--record", str(other))
    assert canonical("killed") == undisturbed
    assert report["stopped_because"] == "steps"
    lines = len(other.read_text().splitlines())
    assert lines == len(one.read_text().splitlines())
    assert lines <= len(server.requests) + len(slowly.requests) <= lines + 2  # at most one on its way per kill
    run_replay(explore, "killed-replayed", other)
    assert canonical("killed-replayed") == undisturbed


def environment(server: Server) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2]), **server.environment()}


def until_commits(process: subprocess.Popen[bytes], name: str, least: int) -> None:
    deadline = time.monotonic() + 120
    with autocontext.open_client() as client:
        while time.monotonic() < deadline and process.poll() is None:
            applied = [record.applied_iteration for record in client.instances() if record.id == name]
            if applied and applied[0] >= least:
                return
            time.sleep(0.02)
    raise AssertionError("it ended, or never committed")


# --- limits -------------------------------------------------------------------------------------------

PRICES = '"openai:test": {input: 10, output: 50}\n'
LIMITS = {
    "tokens": (["--max-tokens", "3000"], ["--max-tokens", "6000"]),
    "cost": (["--max-cost", "0.02"], ["--max-cost", "0.04"]),
    "iterations": (["--max-iterations", "2"], ["--max-iterations", "3"]),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_ends_the_run_and_more_continues_it(explore, call_cli, tmp_path: Path, limit: str):
    (tmp_path / "prices.yaml").write_text(PRICES)
    name, prices = f"limit-{limit}", {"AUTOCONTEXT_PRICES": str(tmp_path / "prices.yaml")}
    reports = []
    for options in LIMITS[limit]:
        report, _ = explore(name, *options, "--steps", "60", **prices)
        assert report["stopped_because"] == limit
        (shown,) = [record for record in json.loads(call_cli("instances", "--json").stdout) if record["id"] == name]
        assert shown["stopped_because"] == limit
        assert limit in call_cli("instances").stdout
        reports.append(report)
    assert reports[1]["steps"] > reports[0]["steps"]
    stored = usages(name)
    total = {part: sum(usage.get(part, 0) for usage in stored) for part in {*stored[0], *stored[-1]}}
    assert total["planner.calls"] == reports[1]["iterations"]
    if limit == "tokens":
        assert 6000 <= sum(count for part, count in total.items() if part.endswith("_tokens")) < 12_000
    if limit == "cost":
        spent = sum(count for part, count in total.items() if part.endswith(".microusd")) / 1e6
        assert 0.04 <= spent < 0.08
        assert reports[1]["cost"] == pytest.approx(spent)


def test_the_reason_and_the_usage_are_told_in_words(home, server: Server, call_cli, small_game: Path):
    done = call_cli(*words(small_game, "in-words"), "--max-iterations", "2", env=server.environment())
    assert "stopped: iterations." in done.stdout
    assert "The model: " in done.stdout
    assert "0 replies could not be used" in done.stdout


# --- when the model fails -----------------------------------------------------------------------------


def test_nonsense_ends_a_run_without_a_fallback(explore):
    with openai_server(lambda request: "What a lovely day.") as fool:
        report, _ = explore("nonsense", at=fool)
    assert (report["stopped_because"], report["steps"], report["iterations"]) == ("model", 0, 3)
    assert report["failures"] >= 3
    assert report["usage"]["planner.calls"] == 6  # each was to be repaired once


def test_nonsense_with_a_fallback_goes_on_systematically_and_says_so(explore):
    with openai_server(lambda request: "What a lovely day.") as fool:
        report, said = explore("nonsense-fallback", "--fallback", "systematic", at=fool)
    assert (report["stopped_because"], report["steps"]) == ("steps", int(STEPS))
    assert report["facts"] > 10
    assert "the model proposed nothing valid; planned systematically" in said[0]
    assert len(said) == 1  # and not one line for every iteration


def test_a_model_that_cannot_be_reached_with_a_fallback(explore, tmp_path: Path):
    gone = Server("http://127.0.0.1:9/v1")
    file = tmp_path / "gone.jsonl"
    report, said = explore("unreachable", "--fallback", "systematic", "--record", str(file), at=gone)
    assert (report["stopped_because"], report["steps"]) == ("steps", int(STEPS))
    assert report["facts"] > 10
    assert "http://127.0.0.1:9/v1" in said[0]
    assert said[0].endswith("The run goes on without it.")
    assert len(said) == 2
    assert "planned systematically" in said[1]
    run_replay(explore, "unreachable-replayed", file, "--fallback", "systematic")
    assert canonical("unreachable-replayed") == canonical("unreachable")


def test_a_model_that_goes_away_ends_the_run_and_the_same_command_continues(explore, call_cli, small_game: Path):
    left = [8]

    def brain(request: dict[str, Any]) -> Any:
        left[0] -= 1
        return by_messages(explorer)(request) if left[0] >= 0 else error(503, "closed for today")

    with openai_server(brain) as tired:
        done = call_cli(*words(small_game, "tired"), "--steps", STEPS, check=False, env=tired.environment())
    assert done.returncode == 1
    assert "closed for today" in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if " steps · " not in line]
    assert line.startswith("error: the model 'openai:test' at http://")
    with autocontext.open_client() as client:
        record = client.instance("tired")
    assert record.stopped_because == "model"
    assert record.applied_iteration >= 1
    report, _ = explore("tired")
    assert (report["stopped_because"], report["steps"]) == ("steps", int(STEPS))
    explore("not-tired")
    assert canonical("tired") == canonical("not-tired")


# --- who does what ------------------------------------------------------------------------------------

MIXES = {
    "extractor only": (["--planner", "systematic", "--key-results", "rules", "--promotion", "rules"], {"extractor"}),
    "planner only": (["--extractor", "rules", "--key-results", "rules", "--promotion", "rules"], {"planner"}),
    "as a reader": (["--planner", "systematic", "--extractor", "model"], {"extractor", "key_results", "promoter"}),
    "as a player": (["--planner", "model", "--extractor", "rules"], {"planner", "key_results", "promoter"}),
    "random": (["--planner", "random"], {"extractor", "key_results", "promoter"}),
    "two": (["--key-results", "rules", "--promotion", "rules"], {"planner", "extractor"}),
}


@pytest.mark.parametrize("mix", MIXES)
def test_roles_are_done_by_whom_the_options_say(explore, server: Server, mix: str):
    options, asked = MIXES[mix]
    report, _ = explore(f"mix-{mix}", *options)
    assert {role for _, role in roles(server)} == asked
    assert report["steps"] == int(STEPS)
    assert report["facts"] > 5


def test_the_extractor_may_have_a_model_of_its_own(explore, server: Server):
    explore("two-models", "--extractor-model", "openai:other")
    assert {(name, role) for name, role in roles(server)} == {
        ("test", "planner"), ("other", "extractor"), ("test", "key_results"), ("test", "promoter"),
    }  # fmt: skip
    with autocontext.open_client() as client:
        settings = client.instance("two-models").settings
    assert (settings["model"], settings["extractor_model"]) == ("openai:test", "openai:other")


def test_a_model_for_the_extractor_alone_is_enough(home, server: Server, call_cli, small_game: Path):
    server.requests.clear()
    command = ["explore", "textworld", str(small_game), "--instance", "reader", "--steps", "5"]
    call_cli(*command, "--extractor-model", "openai:other", env=server.environment())
    assert set(roles(server)) == {("other", "extractor")}


@pytest.mark.parametrize("strategies", ["pattern", "correction, dependency"])
def test_strategies_that_are_switched_off_are_not_in_the_prompt(explore, server: Server, strategies: str):
    explore(f"strategies-{strategies[:4]}", "--strategies", strategies, "--max-iterations", "3")
    systems = {body["messages"][0]["content"] for body in server.bodies if "You plan" in str(body)}
    for name in ("correction", "dependency", "pattern"):
        assert all((f'Strategy "{name}"' in system) == (name in strategies) for system in systems)
