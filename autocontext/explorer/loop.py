"""The method, on one screen: plan, act, key results, extract, promote or stop, commit."""

from __future__ import annotations

from collections.abc import Iterator

from autocontext.explorer.forest import Forest
from autocontext.explorer.knowledge import Knowledge
from autocontext.explorer.protocols import Actor, Extractor, KeyResults, Planner, Promoter, Stop, Store
from autocontext.types import Iteration


def explore(
    instance: str,
    forest: Forest,
    knowledge: Knowledge,
    *,
    planner: Planner,
    actor: Actor,
    key_results: KeyResults,
    extractor: Extractor,
    promoter: Promoter,
    stop: Stop,
    store: Store,
) -> Iterator[Iteration]:
    """Explore one instance until `stop` or the planner gives a reason. One iteration is one transaction.

    Forest and knowledge come from the store and hold nothing that it does not, so a killed run goes on from its last
    iteration. Progress, recording and limits wrap the parts or consume the iterator; the loop does not know of them.
    """
    while not (reason := stop(forest)):
        plan = planner.propose(forest, knowledge)
        if plan.stop:
            reason, stop.why = plan.stop, plan.why
            break
        todos = [todo for path in plan.accepted for todo in actor.run(path, forest)]
        todos = key_results.tell(todos, forest)
        reading = extractor.read(todos, forest, knowledge)
        promoted = promoter.choose(todos, reading, forest)
        iteration = forest.close_iteration(plan, todos, reading, promoted)
        store.commit(instance, iteration)
        yield iteration
    store.finish(instance, reason, stop.why)
