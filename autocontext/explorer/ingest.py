"""Facts from recorded trajectories: for those who have logs, or an environment that cannot be reset.

Every episode begins at the instance's start, so that what holds of explored steps holds of recorded ones: what an
episode's path had changed is not recorded of the start (`autocontext.explorer.extractor.validate`). There is no
forest of what was tried; the episodes are kept as they are, and are the evidence. An extractor sees each as a chain
of todos below a root of its own, which is in memory only.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from autocontext.environments.base import Reader
from autocontext.environments.registry import RECORDED, adapters, open_reader
from autocontext.errors import LogRefused, ModelUnavailable, UnknownInstance, UsageError
from autocontext.explorer.episodes import EpisodeReader
from autocontext.explorer.extractor.rules import RuleExtractor
from autocontext.explorer.logs import Trajectory, name_of, read_log
from autocontext.explorer.protocols import Extractor
from autocontext.explorer.run_store import RunStore
from autocontext.graph.store import GraphStore
from autocontext.llm.ledger import Ledger
from autocontext.types import (
    Data,
    InstanceRecord,
    Spec,
    State,
    Step,
)


class Ingested(Data):
    """What came of a log. Entities and facts are the instance's totals."""

    instance: str
    environment: str
    episodes: int
    skipped: int
    steps: int
    iterations: int
    entities: int
    facts: int
    fresh: int
    """Facts that nothing had said before."""
    rejected: int
    seconds: float


def ingest(
    log: Path | None,
    store: GraphStore,
    *,
    instance: str,
    environment: str | None = None,
    extractor: Extractor | None = None,
    ledger: Ledger | None = None,
    any_start: bool = False,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    on_message: Callable[[str], None] = lambda text: None,
) -> Ingested:
    """Read a log into an instance, which is made if there is none. What was ingested before is skipped; a run that was
    cut short goes on where it stopped.

    Args:
        log: its file; None: standard input. For its format see docs/ingest.md.
        environment: whose reader is used: an adapter's name or `module:Class`; default: the instance's, or the generic.
        extractor: default: by rules. It sees every episode as a forest of one chain.
        ledger: counts what the extractor's model uses.
        any_start: episodes may begin with another text than the instance: with a date, for example.
        on_progress: called with the steps that are read, and with those that there are.
        on_message: told that the database is away, and that it is back.

    Raises:
        LogRefused: a line of it is wrong, or it is of another instance; nothing was stored.
        UsageError: there is no such environment, or this is no name for an instance.
        EnvironmentFailure: the environment's module cannot be imported.
        InstanceBusy: another process explores the instance.
        InvalidEdit: the extractor's edits break a rule of the data model.
        DatabaseError: the store failed; what was committed stays, and the same call goes on.
    """
    started = time.monotonic()
    trajectories = read_log(log)
    name = name_of(log)
    own = RunStore(store, ledger or Ledger(), say=on_message)
    there = _known(own, instance)
    reader, spec = _reader(there, environment, name)
    start = own.load_forest(instance)[0][0].step if there else trajectories[0].steps[0]
    if not any_start:
        _must_begin_alike(trajectories, start, instance, name)
    if there is None:
        own.register(instance, spec, State(id="S0", summary="the start", step=start))
    with own.hold(instance):
        run = EpisodeReader(own, own.instance(instance), start, reader, extractor or RuleExtractor(), name)
        total = sum(len(trajectory.steps) for trajectory in trajectories)
        seen = 0
        try:
            for trajectory in trajectories:
                for done in run.read(trajectory):
                    on_progress(seen + done, total)
                seen += len(trajectory.steps)
        except ModelUnavailable:
            run.commit()  # what it read before was paid for
            raise
        run.commit()
    return Ingested(
        instance=instance,
        environment=run.record.environment,
        episodes=len(trajectories) - run.skipped,
        skipped=run.skipped,
        steps=run.steps,
        iterations=run.iterations,
        entities=len(run.knowledge.entities),
        facts=len(run.knowledge.facts),
        fresh=run.fresh,
        rejected=run.rejected,
        seconds=round(time.monotonic() - started, 3),
    )


def _known(store: RunStore, instance: str) -> InstanceRecord | None:
    try:
        record: InstanceRecord = store.instance(instance)
    except UnknownInstance:
        return None
    return record


def _reader(record: InstanceRecord | None, environment: str | None, source: str) -> tuple[Reader, Spec]:
    """The reader that is asked for, or else the instance's own; and what a new instance is."""
    if environment is None:
        environment = RECORDED if record is None else record.environment
        if record is not None and environment not in (RECORDED, *adapters()):
            environment = record.source
            if not re.fullmatch(r"[\w.]+:[\w.]+", environment):
                raise UsageError(
                    f"the reader of '{record.environment}' is not known here; name an environment with --environment."
                )
    return open_reader(environment, source)


def _must_begin_alike(trajectories: Sequence[Trajectory], start: Step, instance: str, name: str) -> None:
    for trajectory in trajectories:
        if trajectory.steps[0].observation.text.split() != start.observation.text.split():
            raise LogRefused(
                f"{name}: line {trajectory.line}: this episode begins with another text than instance '{instance}': it "
                "is of another one. Ingest it under another name, or, if only a date or the like differs, with "
                "--any-start; nothing was ingested."
            )
