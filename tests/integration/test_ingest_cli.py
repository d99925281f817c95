"""Logs by the command line: of a real game, of the house, and wrong ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import autocontext
from autocontext.explorer.ingest import Ingested
from tests.integration.recorded import ROUND, played, proofs, walks


@pytest.mark.service
@pytest.mark.slow
def test_the_recorded_steps_of_an_exploration_yield_its_facts(
    home: Path, run_cli: Any, small_game: Path, log: Any
) -> None:
    start = ["explore", "textworld", str(small_game), "--no-learned", "--steps"]
    run_cli(*start, "60", "--instance", "explored")
    with autocontext.open_client() as client:
        path = log(*walks(client, "explored"))
    said = run_cli("ingest", str(path), "--instance", "logged", "--environment", "textworld", "--json").stdout
    done = Ingested.model_validate_json(said)
    assert done.environment == "textworld"
    with autocontext.open_store() as store:
        explored, logged = proofs(store, "explored"), proofs(store, "logged")
        inferred = [fact for fact in explored if '"inferred"' in fact]
        assert {fact for fact in explored if fact not in inferred} == {
            fact for fact in logged if '"inferred"' not in fact
        }
        assert set(explored) == set(logged)
        for fact in set(explored) - set(inferred):
            assert logged[fact] & explored[fact], fact
        assert store.load_forest("logged")[1] == []
    again = run_cli("ingest", str(path), "--instance", "logged").stdout
    assert "were there already" in again
    assert "0 new facts" in again
    run_cli(*start, "25", "--instance", "logged")  # it is known now which game it is, and the rest is found
    with autocontext.open_client() as client:
        record = client.instance("logged")
        assert (record.steps_used, record.source) == (25, str(small_game))
    assert "step " in run_cli("evidence", "logged", client_fact(home)).stdout


def client_fact(home: Path) -> str:
    with autocontext.open_client() as client:
        return next(fact.id for fact in client.facts("logged") if fact.predicate == "has exit")


@pytest.mark.service
def test_another_game_is_not_taken_for_the_recorded_one(
    home: Path, run_cli: Any, small_game: Path, tiny_game: Path, log: Any
) -> None:
    run_cli("explore", "textworld", str(small_game), "--instance", "small", "--steps", "3")
    with autocontext.open_client() as client:
        path = log(*walks(client, "small"))
    run_cli("ingest", str(path), "--instance", "small-logged", "--environment", "textworld")
    done = run_cli("explore", "textworld", str(tiny_game), "--instance", "small-logged", check=False)
    assert (done.returncode, "starts otherwise" in done.stderr) == (1, True)


@pytest.mark.service
def test_standard_input_and_errors_on_the_command_line(
    home: Path, checkout: Path, tmp_path: Path, log: Any, run_cli: Any
) -> None:
    content = log(*played(*ROUND)).read_bytes()
    command = [sys.executable, "-m", "autocontext", "ingest", "-", "--instance", "piped"]
    done = subprocess.run(command, input=content, capture_output=True, cwd=checkout, check=False)
    assert done.returncode == 0, done.stderr
    assert b"piped: 1 episodes of 6 steps" in done.stdout
    good, bad = str(log(*played("look"), name="good.jsonl")), str(log({"action": "go"}, name="bad.jsonl"))
    for words, code in (
        ([bad, "--instance", "x"], 1),
        ([str(tmp_path / "nothing"), "--instance", "x"], 1),
        ([good], 2),
        ([good, "--instance", "x", "--environment", "nowhere"], 2),
        ([good, "--instance", ""], 2),
        ([good, "--instance", "x", "--extractor", "oracle"], 2),
    ):
        failed = run_cli("ingest", *words, check=False)
        assert (failed.returncode, failed.stdout, len(failed.stderr.splitlines())) == (code, "", 1), words
    with autocontext.open_client() as client:
        assert "x" not in [record.id for record in client.instances()]
