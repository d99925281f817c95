"""A TextWorld game as an environment: lean, deterministic, with exact snapshots, and without task or score.

With its `.json` beside the `.z8` a game lists inventory and admissible commands; without (or with
`admissible=False`) it lists neither, and `suggest` proposes commands instead. What an agent would not see (the
game's facts, walkthrough, objective) is never asked for.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files as resources
from pathlib import Path
from typing import Any, Self

import yaml

from autocontext.environments.textworld import files, text
from autocontext.environments.textworld.reader import TextWorldReader
from autocontext.environments.textworld.refusals import is_refusal
from autocontext.environments.textworld.snapshots import Machine, MachineState
from autocontext.environments.textworld.suggest import Suggester
from autocontext.errors import GameFileError, StepFailure
from autocontext.types import Observation, Spec, Step, StepResult

_SEED = 1  # of the interpreter's random numbers: some replies could be drawn by chance
_OVER = "The game is over."


@dataclass(frozen=True)
class Moment:
    """One moment of one opened game, for `restore` in this process. `size` is its memory in bytes, about."""

    owner: int
    machine: MachineState
    observation: Observation
    terminated: bool
    score: int
    size: int


class TextWorldGame:
    """One game. `task=True` is for downstream agents: objective and score stay in the texts."""

    def __init__(self, path: Path, *, admissible: bool = True, task: bool = False) -> None:
        self._path = path
        self._task = task
        self.admissible_listed: bool = admissible and files.has_infos(path)
        self.spec = Spec(
            environment="textworld",
            source=str(path),
            source_hash=files.fingerprint(path),
            description=f"TextWorld game {path.stem}",
            goal="Find out what there is in this place, where it is, and what can be done with it.",
            mode="action",
            naming="folded",
        )
        self.reader = TextWorldReader()
        self.prior: dict[str, float] = yaml.safe_load(resources(__package__).joinpath("prior.yaml").read_text("utf-8"))
        self._env: Any = _start(path, listed=self.admissible_listed)
        self._machine = Machine(self._env)
        self._suggester = Suggester("") if self.admissible_listed else Suggester(self._help())
        self._observation: Observation | None = None
        self._terminated = False
        self._score = 0

    def reset(self) -> Observation:
        """Back to the start of the game."""
        state = self._running().reset()
        if not text.HEADER.search(state.raw):
            raise GameFileError(f"{self._path} does not begin in a room as TextWorld's games do; give one of those.")
        self._machine.begin()
        self._terminated = False
        self._score = 0
        self._observation = self._observe(text.clean(state.raw, task=self._task, opening=True), state)
        return self._observation

    def step(self, action: str) -> StepResult:
        """Type one command. What would show the score, or break replaying, is refused here."""
        before = self._observation
        if before is None:
            raise StepFailure(f"{self.spec.source}: reset the game before stepping.")
        action = text.tidy(action)
        refusal = _OVER if self._terminated else text.forbidden(action, task=self._task)
        if refusal:
            unchanged = before.model_copy(update={"text": refusal})
            return StepResult(observation=unchanged, terminated=self._terminated, refused=True, reward=0.0)
        state, _, _ = self._running().step(action)
        reply = text.clean(state.feedback, task=self._task)
        self._terminated = text.ended(state.feedback)
        score = self._read_score(state)
        reward, self._score = float(score - self._score), score
        self._observation = self._observe(reply, state)
        refused = not self._terminated and is_refusal(reply)
        return StepResult(observation=self._observation, terminated=self._terminated, refused=refused, reward=reward)

    def snapshot(self) -> Moment:
        """The present moment, exactly."""
        self._running()
        if self._observation is None:
            raise StepFailure(f"{self.spec.source}: reset the game before taking a snapshot.")
        saved = self._machine.take()
        size = saved.size + len(self._observation.text) + sum(map(len, self._observation.admissible or ()))
        return Moment(id(self), saved, self._observation, self._terminated, self._score, size)

    def restore(self, snapshot: object) -> Observation:
        """Back to that moment, the observation included."""
        self._running()
        if not isinstance(snapshot, Moment) or snapshot.owner != id(self):
            raise StepFailure(f"{self.spec.source}: this snapshot was taken of another game; reset and replay instead.")
        self._machine.put(snapshot.machine)
        self._observation = snapshot.observation
        self._terminated = snapshot.terminated
        self._score = snapshot.score
        return snapshot.observation

    def suggest(self, path: Sequence[Step]) -> list[str]:
        """Commands worth trying after `path`, grown from what was read on it; for games that list none."""
        return self._suggester.suggest(path)

    def close(self) -> None:
        """Stop the interpreter."""
        env, self._env = self._env, None
        if env is not None:
            env.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _observe(self, reply: str, state: Any) -> Observation:
        if self._terminated:  # nothing can be done any more, and TextWorld would repeat the lists of the turn before
            return Observation(text=reply, admissible=())
        if not self.admissible_listed:
            return Observation(text=reply)
        return Observation(text=reply, inventory=state.inventory, admissible=tuple(state.admissible_commands))

    def _read_score(self, state: Any) -> int:
        shown = state.score if self.admissible_listed else text.score(state.raw)
        return self._score if shown is None else int(shown)

    def _help(self) -> str:
        """The game's own list of commands, asked for in a run that is thrown away: any player may ask."""
        self._env.reset()
        state, _, _ = self._env.step("help")
        return text.clean(state.feedback)

    def _running(self) -> Any:
        if self._env is None:
            raise StepFailure(f"{self.spec.source}: the game is closed; open it again.")
        return self._env


def open_game(path: str | Path, *, admissible: bool = True, task: bool = False) -> TextWorldGame:
    """Open a `.z8` game.

    Args:
        path: the game; a `.json` is taken as the `.z8` beside it.
        admissible: list inventory and admissible commands, where the game's `.json` is there.
        task: leave objective and score in the texts, for agents that are given the task.

    Raises:
        GameFileError: the file is missing, unreadable, damaged or no TextWorld game.
    """
    return TextWorldGame(files.find_game(path), admissible=admissible, task=task)


def _start(path: Path, *, listed: bool) -> Any:
    from textworld import EnvInfos
    from textworld.envs import JerichoEnv, TWInform7

    try:
        env = JerichoEnv(EnvInfos(admissible_commands=listed, inventory=listed))
        if listed:
            env = TWInform7(env)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "not fully supported": Jericho knows no TextWorld game by itself
            env.load(str(path))
    except Exception as error:  # TextWorld raises whatever the broken part of a .json makes it raise
        raise GameFileError(
            f"{path.with_suffix('.json')} does not describe the game beside it "
            f"({type(error).__name__}: {error}); make the game again or remove that file."
        ) from error
    env.seed(_SEED)
    return env
