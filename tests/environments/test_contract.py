"""The contract of every adapter: deterministic from the reset, exactly restorable, and closed without fuss."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autocontext.environments.base import Environment
from autocontext.environments.playing import Playing
from autocontext.types import Observation
from tests.environments.conftest import ADAPTERS, ENDS, every_adapter, with_an_end, with_snapshots
from tests.environments.walks import replay, walk

Open = Callable[[], Any]


@every_adapter
def test_has_the_five_methods(opened: Open) -> None:
    assert isinstance(opened(), Environment)


@every_adapter
def test_the_same_actions_show_the_same(opened: Open) -> None:
    one, other = opened(), opened()
    for seed in range(3):
        taken = list(walk(one, seed, 20))
        actions = [action for action, _ in taken]
        shown = replay(one, actions)
        assert shown[1:] == [result.observation for _, result in taken]
        assert replay(other, actions) == shown


@with_snapshots
def test_restoring_is_exact(opened: Open) -> None:
    environment = opened()
    for seed in range(30):
        moments = []
        environment.reset()
        before = environment.snapshot()
        for action, result in walk(environment, seed, 20):
            moments.append((before, action, result))
            before = environment.snapshot()
        random.Random(seed).shuffle(moments)
        for snapshot, action, result in moments:
            environment.restore(snapshot)
            assert environment.step(action) == result


@with_snapshots
def test_a_snapshot_outlives_a_reset(opened: Open) -> None:
    environment = opened()
    taken = list(walk(environment, 1, 10))
    snapshot = environment.snapshot()
    action = taken[-1][0]
    after = environment.step(action)
    environment.reset()
    environment.restore(snapshot)
    assert environment.step(action) == after


@every_adapter
def test_going_back_and_forth_is_exact(opened: Open) -> None:
    playing = Playing(opened())
    start = playing.reset()
    for seed in range(3):
        taken = list(walk(playing, seed, 12))
        actions = [action for action, _ in taken]
        shown = [result.observation for _, result in taken]
        for depth in random.Random(seed).sample(range(len(taken)), len(taken)):
            assert playing.goto(actions[:depth], shown[:depth], start=start) <= depth
            assert playing.step(actions[depth]) == taken[depth][1]


@every_adapter
def test_replays_in_a_fresh_process(adapter: str, opened: Open, request: pytest.FixtureRequest, checkout: Path) -> None:
    environment = opened()
    actions = [action for action, _ in walk(environment, 7, 25)]
    shown = replay(environment, actions)
    what, options = ADAPTERS[adapter]
    if isinstance(what, str):
        source = str(request.getfixturevalue("games")[what])
        call = ["autocontext.environments.textworld", "open_environment", [source], options, actions]
    else:
        call = [what.__module__, what.__name__, [], options, actions]
    done = subprocess.run(
        [sys.executable, "-m", "tests.environments.walks"],
        input=json.dumps(call),
        capture_output=True,
        text=True,
        check=True,
        cwd=checkout,
        env={**os.environ, "PYTHONHASHSEED": "4711"},
    )
    assert [Observation.model_validate(seen) for seen in json.loads(done.stdout)] == shown


@with_an_end
def test_nothing_can_be_done_after_the_end(adapter: str, opened: Open) -> None:
    environment = opened()
    environment.reset()
    *before, last = [environment.step(action) for action in ENDS[adapter]]
    assert last.terminated
    assert not any(result.terminated or result.refused for result in before)
    assert last.observation.admissible == ()
    snapshot = environment.snapshot()
    again = environment.step("look")
    assert again.terminated
    assert again.refused
    environment.reset()
    if snapshot is not None:
        environment.restore(snapshot)
        assert environment.step("look") == again


@every_adapter
def test_a_refused_action_changes_nothing(opened: Open) -> None:
    environment = opened()
    for seed in range(10):
        seen = environment.reset()
        for _, result in walk(environment, seed, 20):
            if result.refused:
                assert result.observation.inventory == seen.inventory
                assert result.observation.admissible == seen.admissible
            seen = result.observation
        seen = environment.step("xyzzy the frobnicator")
        assert seen.refused or seen.terminated


@every_adapter
def test_closing_twice_is_fine(opened: Open) -> None:
    environment = opened()
    environment.reset()
    environment.close()
    environment.close()
