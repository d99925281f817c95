"""Makes TextWorld games: the same preset and seed give the same bytes, so that a game can be named by them.

TextWorld's bytes otherwise depend on the hash seed of the Python process (its sets are iterated into the source) and
on the day (the compiler dates the story): a game is made in a process of its own with the first fixed, and its date
is overwritten.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from autocontext.errors import EnvironmentFailure, GameFileError, UsageError

COOKING: dict[str, dict[str, Any]] = {
    "cooking": {"recipe": 5, "take": 5, "go": 12},
    "cooking-small": {"recipe": 2, "take": 2, "go": 6},
}
"""Settings of TextWorld's cooking challenge that differ between the presets; `cooking` is the benchmark's."""

_COOKING_COMMON = {"open": True, "cook": True, "cut": True, "drop": False, "recipe_seed": 0, "split": "test"}

PRESETS = (*COOKING, "tiny")
"""`tiny` is three rooms with a locked door, a locked chest and their keys: small enough for tests."""

TINY_WALKTHROUGH = (
    "go south",
    "take oak key from stone bench",
    "open crate",
    "take iron key from crate",
    "go north",
    "unlock oak door with oak key",
    "open oak door",
    "go east",
    "unlock iron chest with iron key",
    "open iron chest",
    "take gold coin from iron chest",
)
"""Commands that win `tiny`."""

_SERIAL = slice(0x12, 0x18)  # six digits in the story's header, outside of its checksum
_NO_DATE = b"000000"
_LARGEST_SEED = 2**32 - 1
_LIMIT = 300  # seconds


def make_textworld(preset: str, seed: int, out: Path) -> Path:
    """Make a game `PRESET-SEED.z8` (and its `.json`) in the folder `out`; one that is there is replaced.

    Raises:
        UsageError: there is no such preset, or the seed is out of range.
        GameFileError: the folder cannot be written, or TextWorld failed.
        EnvironmentFailure: TextWorld is not installed.
    """
    if preset not in PRESETS:
        raise UsageError(f"There is no preset {preset!r}; choose one of {', '.join(PRESETS)}.")
    if not 0 <= seed <= _LARGEST_SEED:
        raise UsageError(f"The seed {seed} is out of range; choose one from 0 to {_LARGEST_SEED}.")
    if find_spec("textworld") is None:
        raise EnvironmentFailure(
            "'textworld' is not installed; install it with: pip install 'autocontext-graph[textworld]'"
        )
    name = f"{preset}-{seed}"
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out, prefix=".making-") as folder:
            _make_apart(preset, seed, Path(folder))
            story = Path(folder, "game.z8")
            story.write_bytes(_undated(story.read_bytes()))
            # the .json first: a .z8 that is there then always has its own description
            os.replace(Path(folder, "game.json"), out / f"{name}.json")
            os.replace(story, out / f"{name}.z8")
    except OSError as error:
        raise GameFileError(f"{out} cannot be written ({error.strerror}); choose another folder.") from None
    return (out / f"{name}.z8").absolute()


def _make_apart(preset: str, seed: int, folder: Path) -> None:
    """Run this module in a process whose hash seed is fixed."""
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-W", "ignore", "-m", __name__, preset, str(seed), str(folder)]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_LIMIT, check=False)
    except subprocess.TimeoutExpired:
        raise GameFileError(f"TextWorld did not finish {preset} {seed} in {_LIMIT} s; try another seed.") from None
    if done.returncode or not (folder / "game.z8").is_file():
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        raise GameFileError(f"TextWorld could not make {preset} {seed}: {last} Try another seed.")


def _undated(story: bytes) -> bytes:
    return story[: _SERIAL.start] + _NO_DATE + story[_SERIAL.stop :]


def _make(preset: str, seed: int, folder: Path) -> None:
    import textworld
    from textworld.challenges.tw_cooking import cooking
    from textworld.generator import compile_game

    options = textworld.GameOptions()
    options.seeds = seed
    options.path = str(folder / "game.z8")
    options.force_recompile = True
    game = _tiny(options) if preset == "tiny" else cooking.make({**_COOKING_COMMON, **COOKING[preset]}, options)
    compile_game(game, options)


def _tiny(options: Any) -> Any:
    """Hall, study and cellar: the study behind a locked door, the coin in a locked chest."""
    from textworld import GameMaker

    maker = GameMaker(options)
    hall, study, cellar = (maker.new_room(name) for name in ("hall", "study", "cellar"))
    maker.set_player(hall)
    door = maker.new_door(maker.connect(hall.east, study.west), name="oak door")
    maker.connect(hall.south, cellar.north)

    def thing(kind: str, name: str) -> Any:
        return maker.new(type=kind, name=name)

    bench, chest, crate = thing("s", "stone bench"), thing("c", "iron chest"), thing("c", "crate")
    door_key, chest_key = thing("k", "oak key"), thing("k", "iron key")
    coin, apple, rug = thing("o", "gold coin"), thing("f", "green apple"), thing("o", "rug")
    cellar.add(bench, crate)
    bench.add(door_key)
    crate.add(chest_key)
    study.add(chest)
    chest.add(coin)
    maker.inventory.add(apple)
    hall.add(rug)
    for closed, state in ((door, "locked"), (chest, "locked"), (crate, "closed")):
        closed.add_property(state)
    maker.add_fact("match", door_key, door)
    maker.add_fact("match", chest_key, chest)
    maker.set_quest_from_commands(list(TINY_WALKTHROUGH))
    return maker.build()


if __name__ == "__main__":
    _make(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
