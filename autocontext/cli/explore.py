"""`autocontext explore` and `autocontext forget`."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, Literal

import typer

from autocontext.cli.output import InstanceId, Json, messages, print_json, print_text
from autocontext.cli.progress import show_progress
from autocontext.environments.registry import open_environment
from autocontext.errors import UsageError
from autocontext.explorer import run
from autocontext.explorer.options import Options
from autocontext.explorer.planner.model import STRATEGIES, Strategy
from autocontext.explorer.stop import Budget


def explore(
    environment: Annotated[
        str, typer.Argument(metavar="ENVIRONMENT", help="`textworld`, or MODULE:CLASS of your own.")
    ],
    source: Annotated[str | None, typer.Argument(metavar="[SOURCE]", help="What to explore, e.g. GAME.z8.")] = None,
    instance: Annotated[str | None, typer.Option(metavar="ID", help="Name to store it under.")] = None,
    steps: Annotated[int, typer.Option(help="Steps in all, over every run on this instance.")] = 200,
    paths: Annotated[int | None, typer.Option(help="Paths tried per iteration (1; 3 when a model plans).")] = None,
    planner: Annotated[
        Literal["systematic", "random", "model"] | None, typer.Option(help="Who chooses what to try.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="PROVIDER:NAME", help="Model of every role, e.g. openai:gpt-4.1-mini.")
    ] = None,
    extractor_model: Annotated[
        str | None, typer.Option(metavar="PROVIDER:NAME", help="Another one for the extractor.")
    ] = None,
    extractor: Annotated[Literal["rules", "model"] | None, typer.Option(help="Who reads facts.")] = None,
    key_results: Annotated[Literal["rules", "model"] | None, typer.Option(help="Who tells what came of it.")] = None,
    promotion: Annotated[Literal["rules", "model"] | None, typer.Option(help="Who chooses new roots.")] = None,
    strategies: Annotated[
        str, typer.Option(metavar="NAME,...", help="Of a model that plans: correction, dependency, pattern.")
    ] = ",".join(STRATEGIES),
    fallback: Annotated[Literal["systematic"] | None, typer.Option(help="What goes on where the model fails.")] = None,
    record: Annotated[Path | None, typer.Option(metavar="FILE", help="Keep every reply of the models.")] = None,
    replay: Annotated[Path | None, typer.Option(metavar="FILE", help="Such a file instead of the models.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Tokens of models in all.")] = None,
    max_cost: Annotated[float | None, typer.Option(help="USD in all.")] = None,
    seed: Annotated[int, typer.Option(help="Of the random planner.")] = 0,
    max_iterations: Annotated[int | None, typer.Option(help="Iterations in all.")] = None,
    max_seconds: Annotated[float | None, typer.Option(help="Seconds of this run.")] = None,
    patience: Annotated[int | None, typer.Option(help="Stop after so many iterations without a new fact.")] = None,
    no_learned: Annotated[
        bool, typer.Option("--no-learned", help="Neither use nor keep what classes of actions reveal.")
    ] = False,
    no_admissible: Annotated[
        bool, typer.Option("--no-admissible", help="Explore as if no actions were listed.")
    ] = False,
    without_rule: Annotated[
        list[str] | None, typer.Option(metavar="RULE", help="Do not infer by this rule (e.g. grid).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Explore an instance into the graph; one that is known continues where it stopped."""
    for name, value in (
        ("--steps", steps),
        ("--paths", paths),
        ("--max-iterations", max_iterations),
        ("--patience", patience),
        ("--max-tokens", max_tokens),
    ):
        if value is not None and value < 1:
            raise UsageError(f"{name} must be at least 1, not {value}.")
    for name, amount in (("--max-seconds", max_seconds), ("--max-cost", max_cost)):
        if amount is not None and not amount > 0:  # nan is neither
            raise UsageError(f"{name} must be positive, not {amount}.")
    budget = Budget(
        steps=steps, iterations=max_iterations, seconds=max_seconds, patience=patience,
        tokens=max_tokens, cost=max_cost,
    )  # fmt: skip
    options = Options(
        planner=planner, extractor=extractor, key_results=key_results, promotion=promotion,
        model=model, extractor_model=extractor_model, strategies=_strategies(strategies), fallback=fallback,
        record=record, replay=replay, seed=seed, paths=paths, learned=not no_learned,
        without_rules=frozenset(without_rule or ()),
    )  # fmt: skip
    options.resolved()  # what makes no sense is said before anything is opened
    env = open_environment(environment, source, admissible=not no_admissible)
    try:
        with run.open_store() as store, _interruptible() as stop, show_progress() as on_progress:
            report = run.explore(
                env, store, budget=budget, instance=instance, options=options,
                on_progress=on_progress, on_message=lambda text: messages.print(text, markup=False, soft_wrap=True),
                interrupted=lambda: stop.wanted,
            )  # fmt: skip
    finally:
        env.close()
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        _print(report)
    if report.stopped_because == "interrupted":
        messages.print(f"Interrupted; all {report.steps} steps are kept. The same command continues.", markup=False)
        raise typer.Exit(130)


def _strategies(text: str) -> tuple[Strategy, ...]:
    """The strategies of a list like `correction,pattern`."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := [name for name in names if name not in STRATEGIES]:
        raise UsageError(f"--strategies knows {', '.join(STRATEGIES)}, not '{unknown[0]}'.")
    if not names:
        raise UsageError(f"--strategies needs at least one of {', '.join(STRATEGIES)}.")
    return tuple(name for name in STRATEGIES if name in names)


def forget(instance: InstanceId, as_json: Json = False) -> None:
    """Delete an instance with all that belongs to it."""
    with run.open_store() as store:
        store.forget(instance)
    print_json({"forgotten": instance}) if as_json else print_text(f"forgot {instance}")


class _Stop:
    """Whether Ctrl-C was pressed."""

    wanted = False


@contextmanager
def _interruptible() -> Iterator[_Stop]:
    """The first Ctrl-C (or SIGTERM) ends the run after this iteration, a second one at once."""
    stop = _Stop()

    def note(number: int, frame: FrameType | None) -> None:
        if stop.wanted:
            raise KeyboardInterrupt
        stop.wanted = True

    kept: dict[int, Any] = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, old in kept.items():
            signal.signal(number, old)


def _print(report: run.Report) -> None:
    print_text(
        f"{report.instance}: {report.entities} entities and {report.facts} facts after {report.steps} steps "
        f"({report.replayed_steps} replayed) in {report.iterations} iterations; stopped: {report.stopped_because}."
    )
    print_text(
        f"{report.seconds:.1f} s, of which {report.seconds_in_environment:.1f} in the environment and "
        f"{report.seconds_in_database:.1f} in the database."
    )
    if report.usage:
        calls = sum(count for name, count in report.usage.items() if name.endswith(".calls"))
        tokens = sum(count for name, count in report.usage.items() if name.endswith("_tokens"))
        cost = f", {report.cost:.4f} USD in all" if report.cost is not None else ""
        print_text(f"The model: {calls} calls, {tokens} tokens{cost}; {report.failures} replies could not be used.")
    if report.stopped_why:
        print_text(f"Why it stopped: {report.stopped_why}")
    if report.diverged:
        print_text(f"{report.diverged} todos replayed differently; nothing was explored below them.")
    print_text(f"Look at it: autocontext show {report.instance} | autocontext forest {report.instance}")
