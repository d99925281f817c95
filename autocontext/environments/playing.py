"""Plays any environment through one exact, counted interface: the only way in which the explorer touches one.

`Playing` turns whatever the five methods return into `Observation` and `StepResult`, whatever they raise into
`StepFailure`, and takes the environment to any node of the forest: by the deepest live snapshot on the way, and by
replaying the rest, each replayed observation compared with the recorded one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from autocontext.environments.base import Comparing, default_spec
from autocontext.environments.limits import DEFAULT_SECONDS, time_limit
from autocontext.environments.snapshots import ActionPath, SnapshotCache
from autocontext.errors import AutoContextError, EnvironmentFailure, StepFailure, UsageError
from autocontext.types import Observation, Spec, StepResult

DEFAULT_SNAPSHOT_BYTES = 256 * 2**20


class Diverged(EnvironmentFailure):
    """A replayed path showed something else than was recorded: the environment is not deterministic there.

    `index` is that of the first action that differed (-1: the reset itself).
    """

    def __init__(self, index: int, action: str, recorded: Observation, replayed: Observation) -> None:
        self.index = index
        self.action = action
        self.recorded = recorded
        self.replayed = replayed
        where = f"action {index + 1} ({action!r})" if index >= 0 else "the reset"
        super().__init__(
            f"Replaying, {where} showed {replayed.text[:80]!r} where {recorded.text[:80]!r} was recorded; "
            "the path is given up."
        )


class Playing:
    """One environment being played. `seconds` is the time spent inside of it."""

    def __init__(
        self,
        environment: Any,
        *,
        snapshot_bytes: int = DEFAULT_SNAPSHOT_BYTES,
        step_seconds: float | None = DEFAULT_SECONDS,
    ) -> None:
        """Wrap an environment.

        Args:
            environment: any object with `reset` and `step`; without `snapshot` and `restore` paths are replayed.
            snapshot_bytes: memory for live snapshots.
            step_seconds: longest time for one call into the environment; None: no limit.

        Raises:
            UsageError: the object is no environment; the message names what is missing.
        """
        missing = [name for name in ("reset", "step") if not callable(getattr(environment, name, None))]
        if missing or isinstance(environment, type):
            lack = f"it has no {' and no '.join(missing)} method" if missing else "it is a class: make an object of it"
            raise UsageError(f"{_kind(environment)} is not an environment: {lack}.")
        self.environment = environment
        self.spec = _spec(environment)
        self.seconds = 0.0
        self.cache = SnapshotCache(snapshot_bytes)
        self._step_seconds = step_seconds
        self._snapshots = all(callable(getattr(environment, name, None)) for name in ("snapshot", "restore"))
        self._at: ActionPath | None = None  # None: unknown, nothing was reset yet or the last call failed
        self._start: Observation | None = None

    def reset(self) -> Observation:
        """Back to s0."""
        self._at = None
        found = self._observation(self._call("reset", self.environment.reset), "reset()")
        self._arrive((), terminated=False)
        if self._start is None:
            self._start = found
        return found

    def step(self, action: str) -> StepResult:
        """Do one action from where the environment is now.

        Raises:
            StepFailure: the environment raised, or returned something that is no result.
            EnvironmentHung: it took too long.
        """
        if self._at is None:
            raise StepFailure(f"{self._name()}: reset it before stepping.")
        at, self._at = self._at, None
        result = self._result(self._call(f"step({action!r})", self.environment.step, action), f"step({action!r})")
        self._arrive((*at, action), terminated=result.terminated)
        return result

    def goto(self, actions: Sequence[str], expect: Sequence[Observation], *, start: Observation | None = None) -> int:
        """Take the environment to where `actions` lead from s0, and give the number of steps replayed for it.

        Args:
            actions: the whole path from the reset.
            expect: what was recorded after each of them.
            start: what was recorded at the reset; without it, what this object's first reset showed.

        Raises:
            Diverged: a replayed observation differs from the recorded one.
        """
        if len(actions) != len(expect):
            raise UsageError(f"{len(actions)} actions need as many recorded observations, got {len(expect)}.")
        path = tuple(actions)
        done = self._nearest(path)
        if done is None:
            self._compare(-1, "", start or self._start, self.reset())
            done = 0
        for index in range(done, len(path)):
            self._compare(index, path[index], expect[index], self.step(path[index]).observation, path)
        return len(path) - done

    def close(self) -> None:
        """Drop all snapshots and close the environment."""
        self._at = None
        self.cache.clear()
        if callable(getattr(self.environment, "close", None)):
            self._call("close", self.environment.close)

    def same(self, recorded: Observation, replayed: Observation) -> bool:
        """Equal; or equal up to what the environment itself says may differ (dates, process ids)."""
        if recorded == replayed:
            return True
        judge = self.environment
        return isinstance(judge, Comparing) and bool(self._call("same", judge.same, recorded, replayed))

    def _nearest(self, path: ActionPath) -> int | None:
        """Put the environment on the deepest known point of the path; its depth, or None if there is none."""
        here = len(self._at) if self._at is not None and self._at == path[: len(self._at)] else -1
        cached = self.cache.deepest(path)
        if here >= 0 and (cached is None or here >= cached[0]):
            return here
        if cached is None:
            return None
        depth, snapshot = cached
        self._at = None
        try:
            self._call("restore", self.environment.restore, snapshot)
        except NotImplementedError:
            self._snapshots = False
            self.cache.clear()
            return None
        self._at = path[:depth]
        return depth

    def _arrive(self, path: ActionPath, *, terminated: bool) -> None:
        self._at = path
        if not self._snapshots or terminated or path in self.cache:  # nobody goes on from an end
            return
        try:
            snapshot = self._call("snapshot", self.environment.snapshot)
        except NotImplementedError:
            self._snapshots = False
        else:
            if snapshot is not None:
                self.cache.put(path, snapshot)

    def _compare(
        self, index: int, action: str, recorded: Observation | None, replayed: Observation, path: ActionPath = ()
    ) -> None:
        if recorded is None or self.same(recorded, replayed):
            return
        self.cache.drop_from(path[: index + 1])
        self._at = None
        raise Diverged(index, action, recorded, replayed)

    def _call(self, what: str, function: Callable[..., Any], *args: Any) -> Any:
        started = time.perf_counter()
        try:
            with time_limit(self._step_seconds, f"{self._name()}: {what}"):
                return function(*args)
        except (AutoContextError, NotImplementedError) as error:
            if isinstance(error, NotImplementedError) and what not in ("snapshot", "restore"):
                raise StepFailure(f"{self._name()}: {what} is not implemented; implement it.") from error
            raise
        except (Exception, SystemExit) as error:
            raise StepFailure(f"{self._name()}: {what} raised {type(error).__name__}: {error}") from error
        finally:
            self.seconds += time.perf_counter() - started

    def _result(self, given: Any, what: str) -> StepResult:
        if not isinstance(given, StepResult):
            wanted = "a StepResult, an Observation or a str"
            return StepResult(observation=self._observation(given, what, wanted))
        clean = self._observation(given.observation, what)
        return given if clean is given.observation else given.model_copy(update={"observation": clean})

    def _observation(self, given: Any, what: str, wanted: str = "an Observation or a str") -> Observation:
        if isinstance(given, str):
            return Observation(text=_storable(given))
        if not isinstance(given, Observation):
            shown = repr(given)
            shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
            raise StepFailure(f"{self._name()}: {what} returned {_kind(given)} ({shown}); expected {wanted}.")
        texts = (given.text, given.inventory or "", *(given.admissible or ()))
        if all(map(_is_storable, texts)):
            return given
        return Observation(
            text=_storable(given.text),
            inventory=None if given.inventory is None else _storable(given.inventory),
            admissible=None if given.admissible is None else tuple(map(_storable, given.admissible)),
        )

    def _name(self) -> str:
        return f"{self.spec.environment} ({self.spec.source})"


def _spec(environment: Any) -> Spec:
    spec = getattr(environment, "spec", None)
    if spec is None:
        return default_spec(environment)
    if not isinstance(spec, Spec):
        raise UsageError(f"{_kind(environment)}.spec is {_kind(spec)}; make it an autocontext.types.Spec.")
    return spec


def _kind(thing: object) -> str:
    kind = thing if isinstance(thing, type) else type(thing)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _is_storable(text: str) -> bool:
    return text.isascii() or text == _storable(text)


def _storable(text: str) -> str:
    """The text, with lone surrogates (which no database takes) as question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")
