"""Puts an exploration together: the parts for one environment, one store, one budget; and says how it went."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from pydantic import Field

from autocontext.config import Settings, load_settings
from autocontext.environments.base import Environment, Reader, Suggesting
from autocontext.environments.generic import GenericReader
from autocontext.environments.playing import Playing
from autocontext.errors import EnvironmentFailure, StepFailure, UsageError
from autocontext.explorer.actor import ActionActor
from autocontext.explorer.extractor.rules import RuleExtractor
from autocontext.explorer.forest import RESET_DIFFERS, Forest, load_forest
from autocontext.explorer.key_results import PlainKeyResults
from autocontext.explorer.knowledge import Knowledge
from autocontext.explorer.loop import explore as explore_loop
from autocontext.explorer.planner.frontier import Candidates
from autocontext.explorer.planner.random_walk import RandomPlanner
from autocontext.explorer.planner.systematic import SystematicPlanner
from autocontext.explorer.promoter import PlacePromoter
from autocontext.explorer.protocols import Planner
from autocontext.explorer.run_store import RunStore
from autocontext.explorer.stop import Budget, BudgetStop
from autocontext.graph.store import GraphStore
from autocontext.types import Data, InstanceRecord, Iteration, Revealed, Spec, State, Step, StopReason

PlannerName = Literal["systematic", "random"]


class Options(Data):
    """How to explore, beyond the budget."""

    planner: PlannerName = "systematic"
    seed: int = 0
    paths: int = Field(default=1, ge=1, description="Proposals per iteration.")
    learned: bool = Field(default=True, description="Read and write what classes of actions reveal.")
    step_seconds: float | None = Field(default=60, gt=0, description="Longest time for one call; None: no limit.")
    without_rules: frozenset[str] = Field(default=frozenset(), description="Inference rules not to be used.")


class Report(Data):
    """What an exploration came to. Counts are the instance's totals; times are this run's."""

    instance: str
    environment: str
    steps: int
    replayed_steps: int
    iterations: int
    entities: int
    facts: int
    states: int
    todos: int
    diverged: int
    stopped_because: StopReason
    seconds: float
    seconds_in_environment: float
    seconds_in_database: float


class Progress(Data):
    """Where an exploration stands, after every iteration."""

    steps: int
    budget: int
    entities: int
    facts: int
    fresh: int
    doing: str


def explore(
    env: Environment,
    store: GraphStore,
    *,
    budget: Budget | int = 200,
    instance: str | None = None,
    options: Options | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    on_message: Callable[[str], None] = lambda text: None,
    interrupted: Callable[[], bool] = lambda: False,
) -> Report:
    """Explore an environment instance into the store; one that is known continues where it stopped.

    Args:
        env: anything with the five methods of `autocontext.environments.base.Environment`.
        budget: limits; a number means that many steps.
        instance: id to store it under; default: from the environment's source.
        on_progress: called after every iteration.
        on_message: told what a person should know meanwhile: that the database is away, for example.
        interrupted: asked before every iteration whether the run is to end.

    Raises:
        InstanceBusy: another process explores the instance.
        LeaseLost: this one slept so long that another took over.
        InstanceMismatch: the id is taken by another environment or game.
        EnvironmentFailure: the environment raised, hung or does not start as it did before.
        DatabaseError: the store failed; what was committed stays.
    """
    started = time.monotonic()
    limits = Budget(steps=budget) if isinstance(budget, int) else budget
    chosen = options or Options()
    if limits.steps < 1:
        raise UsageError(f"the step budget must be at least 1, not {limits.steps}.")
    settings = load_settings()
    memory = int(settings.snapshot_megabytes * 2**20)
    playing = Playing(env, snapshot_bytes=memory, step_seconds=chosen.step_seconds)
    reader: Reader = getattr(env, "reader", None) or GenericReader()
    if unknown := chosen.without_rules - set(reader.rules):
        known = ", ".join(reader.rules) or "none"
        raise UsageError(f"there is no inference rule '{min(unknown)}' here (rules: {known}).")
    own = RunStore(store, wait_seconds=settings.database_wait_seconds, say=on_message, interrupted=interrupted)
    start = playing.reset()
    first = State(id="S0", summary="the start", step=Step(number=0, action="", observation=start))
    known = own.register(instance or default_id(playing.spec), playing.spec, first)
    with own.hold(known.id):
        record = _begin(own, own.instance(known.id), chosen)
        states, todos = own.load_forest(record.id)
        facts = own.all_facts(record.id)
        forest = load_forest(reader, record, states, todos, facts, keep_templates=chosen.learned)
        if not playing.same(forest.nodes["S0"].step.observation, start):
            raise StepFailure(RESET_DIFFERS)
        knowledge = Knowledge.load(facts, record.naming)
        turns = explore_loop(
            record.id,
            forest,
            knowledge,
            planner=_planner(env, limits, chosen, record.learned),
            actor=ActionActor(playing),
            key_results=PlainKeyResults(),
            extractor=RuleExtractor(chosen.without_rules),
            promoter=PlacePromoter(),
            stop=BudgetStop(limits, interrupted),
            store=own,
        )
        try:
            for turn in turns:
                on_progress(_progress(turn, forest, knowledge, limits))
        except EnvironmentFailure as failure:
            own.finish(record.id, "environment", str(failure))
            raise
    return Report(
        instance=record.id,
        environment=record.environment,
        steps=forest.steps_used,
        replayed_steps=forest.replayed,
        iterations=forest.iterations,
        entities=len(knowledge.entities),
        facts=len(knowledge.facts),
        states=len(forest.states),
        todos=len(forest.todos),
        diverged=sum(node.diverged for node in forest.nodes.values() if node.todo is not None),
        stopped_because=own.reason or "steps",
        seconds=round(time.monotonic() - started, 3),
        seconds_in_environment=round(playing.seconds, 3),
        seconds_in_database=round(own.seconds, 3),
    )


def default_id(spec: Spec) -> str:
    """An id from the source: `games/cooking-101.z8` -> `cooking-101`, `my.module:MyHouse` -> `MyHouse`."""
    tail = re.split(r"[/\\:]", spec.source)[-1]
    stem = tail.rsplit(".", 1)[0] if "." in tail[1:] else tail
    return re.sub(r"[^\w.-]+", "-", stem).strip("-") or spec.environment


_RESUMED = ("interrupted", "environment", "model")
"""A run that ended so was cut short: the next one goes on with it, under what it had learned at its start."""


def _begin(store: RunStore, record: InstanceRecord, options: Options) -> InstanceRecord:
    """A new run takes a snapshot of what was learned elsewhere; one that goes on keeps its own."""
    goes_on = record.status == "exploring" or record.stopped_because in _RESUMED
    learned: Mapping[str, Revealed] = {}
    if options.learned:
        learned = (
            record.learned if goes_on else store.learned(record.environment, exclude_source_hash=record.source_hash)
        )
    settings = {
        "planner": options.planner,
        "seed": str(options.seed),
        "paths": str(options.paths),
        "learned": "yes" if options.learned else "no",
        "without_rules": " ".join(sorted(options.without_rules)),
    }
    return store.begin_run(record.id, settings, learned)


def _planner(env: Environment, budget: Budget, options: Options, learned: Mapping[str, Revealed]) -> Planner:
    candidates = _candidates(env)
    if options.planner == "random":
        return RandomPlanner(candidates, options.seed)
    prior: Mapping[str, float] = getattr(env, "prior", {})
    known = learned if options.learned else {}
    return SystematicPlanner(candidates, budget.steps, prior=prior, learned=known, paths=options.paths)


def _candidates(env: Environment) -> Candidates:
    """Admissible actions where the environment lists them, else what it suggests from what was seen."""

    def candidates(path: Sequence[Step]) -> Sequence[str]:
        listed = path[-1].observation.admissible
        if listed is not None:
            return listed
        return list(env.suggest(path)) if isinstance(env, Suggesting) else ()

    return candidates


def _progress(turn: Iteration, forest: Forest, knowledge: Knowledge, budget: Budget) -> Progress:
    last = turn.todos[-1] if turn.todos else None
    return Progress(
        steps=forest.steps_used,
        budget=budget.steps,
        entities=len(knowledge.entities),
        facts=len(knowledge.facts),
        fresh=len(turn.edits),
        doing=f"{forest.nodes[last.parent].place}: {last.text}" if last else "",
    )


def open_store(settings: Settings | None = None) -> GraphStore:
    """The graph store by the environment's settings (`NEO4J_*`, else the embedded database).

    Raises:
        DatabaseUnavailable: it cannot be reached, started or logged in to.
    """
    return GraphStore.open(settings)
