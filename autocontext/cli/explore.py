"""`autocontext explore` and `autocontext forget`."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated, Any, Literal

import typer

from autocontext.cli.output import InstanceId, Json, messages, print_json, print_text
from autocontext.cli.progress import show_progress
from autocontext.environments.registry import open_environment
from autocontext.errors import UsageError
from autocontext.explorer import run
from autocontext.explorer.stop import Budget


def explore(
    environment: Annotated[
        str, typer.Argument(metavar="ENVIRONMENT", help="`textworld`, or MODULE:CLASS of your own.")
    ],
    source: Annotated[str | None, typer.Argument(metavar="[SOURCE]", help="What to explore, e.g. GAME.z8.")] = None,
    instance: Annotated[str | None, typer.Option(metavar="ID", help="Name to store it under.")] = None,
    steps: Annotated[int, typer.Option(help="Steps in all, over every run on this instance.")] = 200,
    paths: Annotated[int, typer.Option(help="Paths tried per iteration.")] = 1,
    planner: Annotated[Literal["systematic", "random"], typer.Option(help="How to choose what to try.")] = "systematic",
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
    ):
        if value is not None and value < 1:
            raise UsageError(f"{name} must be at least 1, not {value}.")
    if max_seconds is not None and max_seconds <= 0:
        raise UsageError(f"--max-seconds must be positive, not {max_seconds}.")
    env = open_environment(environment, source, admissible=not no_admissible)
    budget = Budget(steps=steps, iterations=max_iterations, seconds=max_seconds, patience=patience)
    options = run.Options(
        planner=planner, seed=seed, paths=paths, learned=not no_learned, without_rules=frozenset(without_rule or ())
    )
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


def forget(instance: InstanceId, as_json: Json = False) -> None:
    """Delete an instance with all that belongs to it."""
    with run.open_store() as store:
        store.instance(instance)
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
    if report.diverged:
        print_text(f"{report.diverged} todos replayed differently; nothing was explored below them.")
    print_text(f"Look at it: autocontext show {report.instance} | autocontext forest {report.instance}")
