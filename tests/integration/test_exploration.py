"""A real game into a real database of each engine, end to end, as the command line does it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import autocontext
from autocontext.environments.registry import open_environment
from autocontext.evaluation.coverage import measure
from autocontext.evaluation.textworld import read_truth

from ..services.databases import DatabaseServer

pytestmark = pytest.mark.service

STEPS = 80
graphs: dict[str, str] = {}
"""The explored instance in its canonical form, by engine."""


@pytest.fixture(scope="module")
def explored(database: DatabaseServer, small_game: Path):
    """Name of an instance explored for `STEPS` steps, and its report."""
    env = open_environment("textworld", str(small_game))
    with autocontext.open_store() as store:
        options = autocontext.Options(learned=False)
        report = autocontext.explore(env, store, budget=STEPS, instance="explored", options=options)
    env.close()
    return report


def test_the_report_agrees_with_what_is_stored(explored):
    with autocontext.open_client() as client:
        record, facts, steps = client.instance("explored"), client.facts("explored"), client.steps("explored")
    assert (record.steps_used, record.applied_iteration) == (explored.steps, explored.iterations)
    assert record.stopped_because == explored.stopped_because
    assert len(facts) == explored.facts
    assert [step.number for step in steps] == list(range(explored.steps + 1))


def test_both_engines_hold_the_same_graph(explored, database: DatabaseServer):
    with autocontext.open_store() as store:
        graphs[database.engine] = json.dumps(store.canonical("explored"), sort_keys=True)
    assert len(set(graphs.values())) == 1


def test_every_fact_is_proven_by_a_step_that_names_it(explored):
    with autocontext.open_client() as client:
        steps = {step.number: step for step in client.steps("explored")}
        facts = client.facts("explored")
    for fact in facts:
        assert fact.evidence
        seen, action = steps[fact.evidence[0]].observation, steps[fact.evidence[0]].action
        shown = " ".join((seen.text, seen.inventory or "", *(seen.admissible or ()), action)).casefold()
        told = fact.object in ("nothing", "the start") or fact.predicate == "works in"  # the place is the path's
        assert fact.kind == "inferred" or told or fact.object.casefold() in shown, fact


def test_facts_are_right_and_the_game_is_covered(explored, small_game: Path):
    with autocontext.open_client() as client:
        found = measure("explored", read_truth(small_game), client.facts("explored"), client.steps("explored"))
    assert found.entities.share == 1.0, found.entities.missed
    assert found.facts.wrong == []
    assert found.relations.recall >= 0.97, found.relations.missed


def test_as_of_the_first_iteration_only_what_was_known_then(explored):
    with autocontext.open_client() as client:
        first = client.facts("explored", as_of=1)
        assert 0 < len(first) < explored.facts
        assert all(number <= 1 for fact in first for number in fact.evidence)


def test_neither_objective_nor_score_is_stored_anywhere(explored, small_game: Path):
    """Leak test: all that is stored of the instance, and what would go into a prompt."""
    objective = json.loads(small_game.with_suffix(".json").read_text())["objective"]
    assert len(objective) > 20
    with autocontext.open_client() as client:
        everything = [step.model_dump_json() for step in client.steps("explored")]
        everything += [fact.model_dump_json() for fact in client.facts("explored")]
        everything += [client.forest("explored"), client.instance("explored").model_dump_json()]
    text = "\n".join(everything)
    sentences = [part.strip() for part in re.split(r"[.!?]", objective) if len(part.strip()) > 12]
    for leak in (*sentences, "Your score", "You scored", "out of a possible", "*** The End", "You lost!", "RESTART"):
        assert leak not in text
    assert not re.search(r"-= [\w ]+ =-\s*\d+/\d+", text)


def test_a_run_on_a_known_instance_continues_where_it_stopped(database, run_cli, small_game: Path):
    start = ["explore", "textworld", str(small_game), "--instance", "continued", "--no-learned", "--json"]
    first = json.loads(run_cli(*start, "--steps", "10").stdout)
    again = json.loads(run_cli(*start, "--steps", "10").stdout)
    more = json.loads(run_cli(*start, "--steps", "25").stdout)
    whole = json.loads(run_cli(*start[:4], "at-once", *start[5:], "--steps", "25").stdout)
    assert (first["steps"], again["steps"], more["steps"]) == (10, 10, 25)
    assert more["facts"] == whole["facts"]
    with autocontext.open_client() as client:
        assert [s.action for s in client.steps("continued")] == [s.action for s in client.steps("at-once")]


def test_later_instances_start_warm_and_no_learned_neither_reads_nor_writes(
    database, run_cli, small_game: Path, tiny_game: Path
):
    tables = "MATCH (i:Instance {id: $id})-[:REVEALED]->(t:Template) RETURN count(t) AS n"

    def templates(name: str) -> int:
        return json.loads(run_cli("query", tables, "--param", f"id={name}", "--json").stdout)["rows"][0][0]

    run_cli("explore", "textworld", str(small_game), "--instance", "cold", "--steps", "12", "--no-learned")
    assert templates("cold") == 0
    run_cli("explore", "textworld", str(small_game), "--instance", "teacher", "--steps", "12")
    assert templates("teacher") > 0
    run_cli("explore", "textworld", str(tiny_game), "--instance", "pupil", "--steps", "3")
    run_cli("explore", "textworld", str(small_game), "--instance", "itself", "--steps", "3")
    with autocontext.open_client() as client:
        assert client.instance("pupil").learned["go"].tried > 0
        assert client.instance("cold").learned == {}
        assert "go" not in client.instance("itself").learned or "tiny" in client.instance("pupil").source
    run_cli("forget", "teacher")
    assert templates("teacher") == 0


def test_without_listed_actions_it_grows_its_own(database, run_cli, small_game: Path):
    options = ["--instance", "unlisted", "--no-admissible", "--no-learned", "--steps", "150"]
    run_cli("explore", "textworld", str(small_game), *options)
    with autocontext.open_client() as client:
        found = measure("unlisted", read_truth(small_game), client.facts("unlisted"), client.steps("unlisted"))
    assert found.entities.share >= 0.8, found.entities.missed
    assert (found.facts.precision or 0) >= 0.97, found.facts.wrong


def test_a_locked_door_tells_its_key(database, tiny_game: Path):
    env = open_environment("textworld", str(tiny_game))
    with autocontext.open_store() as store:
        autocontext.explore(env, store, budget=100, instance="locked")
    env.close()
    truth = read_truth(tiny_game)
    with autocontext.open_client() as client:
        found = measure("locked", truth, client.facts("locked"), client.steps("locked"))
        assert any(fact.object == "locked" for fact in client.facts("locked"))
        assert any(fact.predicate == "unlocks" for fact in client.facts("locked"))
    assert found.facts.wrong == []
    # what lies behind the door is found with its key; the coin in the chest needs both keys at once
    assert found.entities.missed in ([], ["gold coin"])
