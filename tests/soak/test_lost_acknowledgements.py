"""A connection that breaks around a COMMIT: whether it was done is settled by doing it again, and the run goes on."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import autocontext
from autocontext.environments.registry import open_environment
from autocontext.graph.store import GraphStore
from tests.services.databases import DatabaseServer
from tests.soak.conftest import STEPS
from tests.soak.processes import canonical, forget, stored
from tests.soak.proxy import Loses, Proxy, proxy

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@contextmanager
def store_through(loses: Loses, every: int) -> Iterator[tuple[GraphStore, Proxy]]:
    """A store that reaches the database through a proxy."""
    with autocontext.open_store() as direct:
        endpoint = direct.endpoint
    with (
        proxy(endpoint.uri, loses, every) as between,
        GraphStore(dataclasses.replace(endpoint, uri=between.uri)) as store,
    ):
        yield store, between


@pytest.mark.parametrize("loses", ["reply", "request"])
def test_an_iteration_is_there_once_and_the_run_goes_on(
    database: DatabaseServer, undisturbed: str, small_game: Path, loses: Loses
) -> None:
    said: list[str] = []
    options = autocontext.Options(learned=False)
    env = open_environment("textworld", str(small_game))
    with store_through(loses, every=3) as (store, between):
        budget = autocontext.Budget(steps=STEPS, patience=100_000)
        report = autocontext.explore(env, store, budget=budget, instance="cut", options=options, on_message=said.append)
    env.close()
    assert report.stopped_because == "steps"
    assert said == []
    assert between.cuts > STEPS / 3
    assert len(stored("cut")) == report.iterations
    assert canonical("cut") == undisturbed
    with autocontext.open_client() as client:
        assert client.instance("cut").lease is None
    forget("cut")


def test_what_is_added_up_is_added_once(database: DatabaseServer, small_game: Path) -> None:
    env = open_environment("textworld", str(small_game))
    with autocontext.open_store() as store:
        autocontext.explore(env, store, budget=2, instance="once", options=autocontext.Options(learned=False))
    env.close()
    with store_through("reply", every=0) as (store, between):
        with store.lease("once") as held:
            store.begin_run("once", {}, {}, held.lease)
            between.cut_next()
            store.finish("once", "steps", usage={"planner.calls": 2}, lease=held.lease)
        assert between.cuts == 1
        assert store.instance("once").closing_usage == {"planner.calls": 2}
    forget("once")
