"""Real games explored by a model that computes its replies from the prompts alone, and that is told no actions."""

from __future__ import annotations

from pathlib import Path

import pytest

import autocontext
from autocontext.environments.registry import open_environment
from autocontext.environments.textworld.games import make_textworld
from autocontext.evaluation.coverage import measure
from autocontext.evaluation.textworld import read_truth
from tests.scripted_model import explorer, scripted

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.mark.parametrize("seed", [101, 102, 103])
def test_nine_tenths_of_a_cooking_game_in_two_hundred_steps(home: Path, tmp_path: Path, seed: int):
    game = make_textworld("cooking", seed, tmp_path)
    env = open_environment("textworld", str(game), admissible=False)
    model = scripted(explorer)
    with autocontext.open_store() as store:
        report = autocontext.explore(env, store, budget=200, instance=f"by-model-{seed}", model=model)
    env.close()
    with autocontext.open_client() as client:
        facts, steps = client.facts(report.instance), client.steps(report.instance)
        turns = client.query(
            "MATCH (turn:Iteration {scope: $id}) RETURN turn.n, turn.usage ORDER BY turn.n", {"id": report.instance}
        ).rows
    found = measure(report.instance, read_truth(game), facts, steps)
    assert found.entities.share >= 0.9, found.entities.missed
    assert report.steps <= 200
    assert report.failures == 0
    assert all('"planner.calls": 1' in usage for _, usage in turns)
    goal = " ".join(read_objective(game).split())[:60]
    for system, user in model.calls:
        assert goal not in " ".join((system + user).split()), "the task has leaked into a prompt"
        assert "score" not in user.casefold()


def read_objective(game: Path) -> str:
    """What the game asks of its player, which nobody is to learn while exploring."""
    import json

    return str(json.loads(game.with_suffix(".json").read_text())["objective"])
