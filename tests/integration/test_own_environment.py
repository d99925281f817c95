"""An environment with nothing but the five methods: explored from Python and from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import autocontext
from tests.environments.house import House


def test_an_object_with_five_methods_is_explored_from_python(home):
    with autocontext.open_store() as store:
        report = autocontext.explore(House(), store, budget=120, instance="python-house")
    assert report.stopped_because == "frontier_empty"
    with autocontext.open_client() as client:
        said = {(fact.subject, fact.predicate, fact.object) for fact in client.facts("python-house")}
        proof = client.evidence("python-house", "hall refuses: go north The gate is locked.")
    assert ("hall", "go down leads to", "cellar") in said
    assert ("hall", "go north leads to", "garden") in said
    assert [(step.action, step.observation.text) for step in proof] == [("go north", "The gate is locked.")] * len(
        proof
    )


def test_module_and_class_on_the_command_line(home, run_cli, checkout: Path):
    done = run_cli("explore", "tests.environments.house:House", "--steps", "60", "--json", cwd=checkout)
    report = json.loads(done.stdout)
    assert report["instance"] == "House"
    assert report["steps"] == 60 or report["stopped_because"] == "frontier_empty"
    facts = json.loads(run_cli("show", "House", "--json").stdout)["facts"]
    assert facts
    assert all(fact["evidence"] for fact in facts)


def test_the_environment_of_this_test_is_about_forty_lines(checkout: Path):
    lines = (checkout / "tests/environments/house.py").read_text().splitlines()
    assert sum(bool(line.strip()) and not line.startswith('"""') for line in lines) <= 45
