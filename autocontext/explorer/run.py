"""Puts an exploration together: the parts for one environment, one store, one budget; and says how it went."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import Field

from autocontext.config import Settings, load_settings
from autocontext.environments.base import Environment, Reader
from autocontext.environments.generic import GenericReader
from autocontext.environments.playing import Playing
from autocontext.errors import EnvironmentFailure, ModelError, StepFailure, UsageError
from autocontext.explorer.actor import ActionActor
from autocontext.explorer.forest import RESET_DIFFERS, Forest, load_forest
from autocontext.explorer.knowledge import Knowledge
from autocontext.explorer.loop import explore as explore_loop
from autocontext.explorer.models import open_models
from autocontext.explorer.options import Options
from autocontext.explorer.parts import assemble
from autocontext.explorer.run_store import RunStore
from autocontext.explorer.stop import MOST_FAILING, Budget, BudgetStop
from autocontext.graph.store import GraphStore
from autocontext.llm.ledger import Ledger
from autocontext.types import (
    Data,
    InstanceRecord,
    Iteration,
    RejectedEdit,
    RejectedPath,
    Revealed,
    Spec,
    State,
    Step,
    StopReason,
)


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
    stopped_why: str = ""
    seconds: float
    seconds_in_environment: float
    seconds_in_database: float
    usage: dict[str, int] = Field(default_factory=dict, description="Of models, this run's: `ROLE.calls` ...")
    cost: float | None = Field(default=None, description="In USD, all runs on the instance; None: a price is unknown.")
    failures: int = Field(default=0, description="Replies of models that could not be used, in this run.")


class Progress(Data):
    """Where an exploration stands, after every iteration."""

    steps: int
    budget: int
    entities: int
    facts: int
    fresh: int
    doing: str
    tokens: int = 0


def explore(
    env: Environment,
    store: GraphStore,
    *,
    budget: Budget | int = 200,
    instance: str | None = None,
    options: Options | None = None,
    model: Any = None,
    extractor_model: Any = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    on_message: Callable[[str], None] = lambda text: None,
    interrupted: Callable[[], bool] = lambda: False,
) -> Report:
    """Explore an environment instance into the store; one that is known continues where it stopped.

    Args:
        env: anything with the five methods of `autocontext.environments.base.Environment`.
        budget: limits; a number means that many steps.
        instance: id to store it under; default: from the environment's source.
        model: a LangChain chat model for the roles that are done by a model, instead of `options.model`.
        extractor_model: another one for the extractor.
        on_progress: called after every iteration.
        on_message: told what a person should know meanwhile: that the database is away, for example.
        interrupted: asked before every iteration whether the run is to end.

    Raises:
        InstanceBusy: another process explores the instance.
        LeaseLost: this one slept so long that another took over.
        InstanceMismatch: the id is taken by another environment or game.
        EnvironmentFailure: the environment raised, hung or does not start as it did before.
        ConfigError: a model's name, key, package or price is missing.
        ModelUnavailable: a model cannot be reached; what was committed stays.
        RecordingMismatch: a recording holds no reply for what is asked; what was committed stays.
        DatabaseError: the store failed; what was committed stays.
    """
    started = time.monotonic()
    limits = Budget(steps=budget) if isinstance(budget, int) else budget
    if limits.steps < 1:
        raise UsageError(f"the step budget must be at least 1, not {limits.steps}.")
    chosen = (options or Options()).resolved(model=model is not None)
    models = open_models(chosen, limits, on_message, model=model, extractor_model=extractor_model)
    settings = load_settings()
    memory = int(settings.snapshot_megabytes * 2**20)
    playing = Playing(env, snapshot_bytes=memory, step_seconds=chosen.step_seconds)
    reader = _reader(env, chosen)
    own = RunStore(
        store, models.ledger, wait_seconds=settings.database_wait_seconds, say=on_message, interrupted=interrupted
    )
    start = playing.reset()
    first = State(id="S0", summary="the start", step=Step(number=0, action="", observation=start))
    known = own.register(instance or default_id(playing.spec), playing.spec, first)
    with own.hold(known.id):
        record = _begin(own, own.instance(known.id), chosen)
        forest, knowledge = _load(own, record, reader, chosen)
        if not playing.same(forest.nodes["S0"].step.observation, start):
            raise StepFailure(RESET_DIFFERS)
        parts = assemble(env, playing.spec, chosen, models, steps=limits.steps, learned=record.learned, say=on_message)
        turns = explore_loop(
            record.id,
            forest,
            knowledge,
            planner=parts.planner,
            actor=ActionActor(playing),
            key_results=parts.key_results,
            extractor=parts.extractor,
            promoter=parts.promoter,
            stop=BudgetStop(limits, interrupted, models.ledger, most_failing=None if chosen.fallback else MOST_FAILING),
            store=own,
        )
        try:
            for turn in turns:
                on_progress(_progress(turn, forest, knowledge, limits, models.ledger))
        except (EnvironmentFailure, ModelError) as failure:
            own.finish(record.id, "model" if isinstance(failure, ModelError) else "environment", str(failure))
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
        stopped_why=own.why,
        seconds=round(time.monotonic() - started, 3),
        seconds_in_environment=round(playing.seconds, 3),
        seconds_in_database=round(own.seconds, 3),
        usage=models.ledger.run,
        cost=models.ledger.cost if chosen.asks else None,
        failures=models.ledger.failures,
    )


def default_id(spec: Spec) -> str:
    """An id from the source: `games/cooking-101.z8` -> `cooking-101`, `my.module:MyHouse` -> `MyHouse`."""
    tail = re.split(r"[/\\:]", spec.source)[-1]
    stem = tail.rsplit(".", 1)[0] if "." in tail[1:] else tail
    return re.sub(r"[^\w.-]+", "-", stem).strip("-") or spec.environment


_RESUMED = ("interrupted", "environment", "model")
"""A run that ended so was cut short: the next one goes on with it, under what it had learned at its start."""


def _reader(env: Environment, options: Options) -> Reader:
    reader: Reader = getattr(env, "reader", None) or GenericReader()
    if unknown := options.without_rules - set(reader.rules):
        known = ", ".join(reader.rules) or "none"
        raise UsageError(f"there is no inference rule '{min(unknown)}' here (rules: {known}).")
    return reader


def _load(store: RunStore, record: InstanceRecord, reader: Reader, options: Options) -> tuple[Forest, Knowledge]:
    """What the run starts from: all of it from the store."""
    states, todos = store.load_forest(record.id)
    facts = store.all_facts(record.id)
    forest = load_forest(reader, record, states, todos, facts, keep_templates=options.learned)
    if options.asks:
        turns = store.iterations(record.id)
        store.ledger.begin([*(turn["usage"] for turn in turns), record.closing_usage])
        for turn in [turn for turn in turns if not turn["because"] and not turn["episodes"]][-1:]:
            forest.rejected_paths = tuple(RejectedPath.model_validate(row) for row in turn["rejected_paths"])
            forest.rejected_edits = tuple(RejectedEdit.model_validate(row) for row in turn["rejected_edits"])
            forest.unread = tuple(turn["unread"])
    return forest, Knowledge.load(facts, record.naming)


def _begin(store: RunStore, record: InstanceRecord, options: Options) -> InstanceRecord:
    """A new run takes a snapshot of what was learned elsewhere; one that goes on keeps its own."""
    goes_on = record.status == "exploring" or record.stopped_because in _RESUMED
    learned: Mapping[str, Revealed] = {}
    if options.learned:
        learned = (
            record.learned if goes_on else store.learned(record.environment, exclude_source_hash=record.source_hash)
        )
    return store.begin_run(record.id, options.settings(), learned)


def _progress(turn: Iteration, forest: Forest, knowledge: Knowledge, budget: Budget, ledger: Ledger) -> Progress:
    last = turn.todos[-1] if turn.todos else None
    return Progress(
        steps=forest.steps_used,
        budget=budget.steps,
        entities=len(knowledge.entities),
        facts=len(knowledge.facts),
        fresh=len(turn.edits),
        tokens=ledger.tokens,
        doing=f"{forest.nodes[last.parent].place}: {last.text}" if last else "",
    )


def open_store(settings: Settings | None = None) -> GraphStore:
    """The graph store by the environment's settings (`NEO4J_*`, else the embedded database).

    Raises:
        DatabaseUnavailable: it cannot be reached, started or logged in to.
    """
    return GraphStore.open(settings)
