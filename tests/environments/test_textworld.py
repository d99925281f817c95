"""The TextWorld adapter: honest, careful with bad files, and the same with and without listed commands."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from autocontext.errors import GameFileError, StepFailure, UsageError
from autocontext.types import Step
from tests.environments.conftest import WIN
from tests.environments.walks import walk

pytestmark = pytest.mark.service

pytest.importorskip("textworld")

from autocontext.environments.textworld import open_environment  # noqa: E402
from autocontext.environments.textworld.games import make_textworld  # noqa: E402

# What only a task, a score or the interpreter would say.
TASK = re.compile(r"\bscore|\*\*\*|You lost|The End|RESTART|out of a possible|\bturns\b|\$\$|^>|=-\d", re.MULTILINE)
META = (
    "goal", "GOAL", "goal.", "score", "full score", "fullscore", "notify on", "save", "restore", "restart", "quit",
    "undo", "verify", "version", "verbose", "superbrief", "script", "transcripts", "again", "g", "oops score",
    "print_state", "tw-print max_score", "tw-extra-infos score", "tw-trace-actions", "restrict commands",
    "look. score", "look, score", "me, score", "look then goal", "look\nscore", "take all.goal",
)  # fmt: skip


@pytest.fixture
def play() -> Iterator[Callable[..., Any]]:
    made = []

    def start(path: Path, **options: Any) -> Any:
        made.append(open_environment(path, **options))
        return made[-1]

    yield start
    for game in made:
        game.close()


@pytest.mark.parametrize("admissible", [True, False])
@pytest.mark.parametrize("preset", ["tiny", "cooking-small"])
def test_no_task_and_no_score_is_seen(
    games: dict[str, Path], preset: str, admissible: bool, play: Callable[..., Any]
) -> None:
    objective = json.loads(games[preset].with_suffix(".json").read_text())["objective"]
    sentences = [part.strip().lower() for part in re.split(r"[.!?\n]", objective) if len(part.split()) > 2]
    assert sentences
    game = play(games[preset], admissible=admissible)
    texts = [game.reset().text, game.step("help").observation.text]
    texts += [result.observation.text for seed in range(8) for _, result in walk(game, seed, 25)]
    if preset == "tiny":
        game.reset()
        texts += [game.step(action).observation.text for action in WIN]
    for text in texts:
        assert not TASK.search(text), text
        assert not any(sentence in text.lower() for sentence in sentences), text
    assert "goal" not in texts[1]
    assert re.match(r"-= .+ =-\n", texts[0])
    assert not any(sentence in game.spec.model_dump_json().lower() for sentence in sentences)


@pytest.mark.parametrize("command", META)
def test_commands_about_task_or_interpreter_never_reach_the_game(
    tiny_game: Path, command: str, play: Callable[..., Any]
) -> None:
    game = play(tiny_game)
    seen, looked = game.reset(), game.step("look")
    result = game.step(command)
    assert result.refused
    assert not TASK.search(result.observation.text)
    assert result.observation.admissible == seen.admissible
    assert game.step("look") == looked


@pytest.mark.parametrize("command", ["", "   ", "take café", "x\0y", "go " * 100, "\ud800", "look\x1b[2J"])
def test_odd_commands_are_refused(tiny_game: Path, command: str, play: Callable[..., Any]) -> None:
    game = play(tiny_game)
    game.reset()
    assert game.step(command).refused


def test_the_task_is_there_for_agents_that_are_given_it(tiny_game: Path, play: Callable[..., Any]) -> None:
    game = play(tiny_game, task=True)
    objective = json.loads(tiny_game.with_suffix(".json").read_text())["objective"]
    assert objective[:40] in game.reset().text
    assert "$$" not in game.reset().text
    assert objective[:40] in game.step("goal").observation.text
    results = [game.step(action) for action in WIN]
    assert [result.reward for result in results] == [0.0] * (len(WIN) - 1) + [1.0]
    assert "*** The End ***" in results[-1].observation.text
    assert game.step("restart").refused


def test_rewards_survive_a_restore(tiny_game: Path, play: Callable[..., Any]) -> None:
    game = play(tiny_game)
    game.reset()
    for action in WIN[:-1]:
        game.step(action)
    before = game.snapshot()
    assert game.step(WIN[-1]).reward == 1.0
    after = game.snapshot()
    game.restore(before)
    assert game.step(WIN[-1]).reward == 1.0
    game.restore(after)
    assert game.step("look").reward == 0.0


def test_listed_and_unlisted_show_the_same_texts(small_game: Path, play: Callable[..., Any]) -> None:
    listed, unlisted = play(small_game), play(small_game, admissible=False)
    assert listed.admissible_listed
    assert not unlisted.admissible_listed
    assert listed.spec.source_hash == unlisted.spec.source_hash
    seen = unlisted.reset()
    assert (seen.admissible, seen.inventory) == (None, None)
    for action, result in walk(listed, 5, 40):
        other = unlisted.step(action)
        assert other.observation.text == result.observation.text
        assert (other.refused, other.terminated, other.reward) == (result.refused, result.terminated, result.reward)


def test_a_game_without_its_description_lists_nothing(
    small_game: Path, tmp_path: Path, play: Callable[..., Any]
) -> None:
    alone = tmp_path / small_game.name
    alone.write_bytes(small_game.read_bytes())
    game, unlisted = play(alone), play(small_game, admissible=False)
    assert not game.admissible_listed
    assert [result for _, result in walk(game, 2, 20)] == [result for _, result in walk(unlisted, 2, 20)]


def test_snapshots_tell_their_size_and_belong_to_one_game(tiny_game: Path, play: Callable[..., Any]) -> None:
    game, other = play(tiny_game), play(tiny_game)
    game.reset(), other.reset()
    snapshot = game.snapshot()
    assert 1000 < snapshot.size < 100_000
    with pytest.raises(StepFailure, match="another game"):
        other.restore(snapshot)


@pytest.mark.parametrize("preset", ["tiny", "cooking-small"])
def test_suggestions_are_bounded_repeatable_and_about_what_was_read(
    games: dict[str, Path], preset: str, play: Callable[..., Any]
) -> None:
    game, listing = play(games[preset], admissible=False), play(games[preset])
    names = {
        entry["name"].lower()
        for _, entry in json.loads(games[preset].with_suffix(".json").read_text())["infos"]
        if entry.get("name")
    }
    offered = found = 0
    for seed in range(5):
        path = [Step(number=0, action="", observation=game.reset())]
        allowed = set(listing.reset().admissible)
        for number, (action, result) in enumerate(walk(listing, seed, 20), start=1):
            commands = game.suggest(path)
            assert commands == game.suggest(path)
            assert len(commands) == len(set(commands)) <= 80
            assert not {"goal", "score"} & set(commands)
            read = " ".join(step.observation.text.lower() for step in path)
            assert all(name in read for command in commands for name in names if f" {name} " in f"{command} ".lower())
            offered += len(allowed)
            found += len(allowed & {*commands, *(f"{command} from" for command in commands)})
            found += sum(command.split(" from ")[0] in commands for command in allowed if " from " in command)
            seen = game.step(action)
            path.append(Step(number=number, action=action, observation=seen.observation, refused=seen.refused))
            allowed = set(result.observation.admissible or ())
    assert found / offered > 0.75


def test_what_is_no_game_is_refused_in_one_line(tiny_game: Path, tmp_path: Path) -> None:
    story, infos = tiny_game.read_bytes(), tiny_game.with_suffix(".json").read_bytes()

    def file(name: str, content: bytes) -> Path:
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    flipped = bytearray(story)
    flipped[100_000] ^= 255
    file("no-json.z8", story), file("list.z8", story), file("broken.z8", story)
    file("no-json.json", b"{"), file("list.json", b"[]")
    file("broken.json", json.dumps({**json.loads(infos), "world": [["x"]]}).encode())
    for path, says in [
        (tmp_path / "none.z8", "does not exist"),
        (tmp_path, "is a folder"),
        (file("empty.z8", b""), "is empty"),
        (file("text.z8", b"Once upon a time " * 100), "not a Z-machine game"),
        (file("older.z8", b"\x05" + story[1:]), "version 8"),
        (file("old.ulx", b"Glul" + bytes(100)), "compile the game again"),
        (file("lone.json", infos), "no lone.z8 beside it"),
        (file("cut.z8", story[:200_000]), "cut short"),
        (file("header.z8", story[:64]), "cut short"),
        (file("flipped.z8", bytes(flipped)), "checksum"),
        (file("noise.z8", b"\x08" + os.urandom(300_000)), "is (damaged|cut short)"),
        (file("game.txt", story), "not a .z8"),
        (tmp_path / "no-json.z8", "not the description"),
        (tmp_path / "list.z8", "not the description"),
        (tmp_path / "broken.z8", "does not describe"),
    ]:
        with pytest.raises(GameFileError, match=says) as caught:
            open_environment(path)
        assert "\n" not in str(caught.value)


def test_an_unreadable_game_is_refused(tiny_game: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)  # chmod would not keep root out
    with pytest.raises(GameFileError, match="cannot be read"):
        open_environment(tiny_game)


def test_the_description_is_taken_as_the_game_beside_it(tiny_game: Path, play: Callable[..., Any]) -> None:
    game = play(tiny_game.with_suffix(".json"))
    assert game.spec.source == str(tiny_game)
    assert game.reset().admissible


def test_a_closed_or_unstarted_game_says_so(tiny_game: Path) -> None:
    game = open_environment(tiny_game)
    with pytest.raises(StepFailure, match="reset the game"):
        game.step("look")
    game.close()
    with pytest.raises(StepFailure, match="closed"):
        game.reset()


@pytest.mark.slow
def test_making_is_reproducible_and_leaves_nothing_else(tiny_game: Path, tmp_path: Path) -> None:
    again = make_textworld("tiny", 1, tmp_path / "new" / "folder")
    for suffix in (".z8", ".json"):
        assert again.with_suffix(suffix).read_bytes() == tiny_game.with_suffix(suffix).read_bytes()
    assert sorted(path.name for path in again.parent.iterdir()) == ["tiny-1.json", "tiny-1.z8"]
    assert again.read_bytes()[0x12:0x18] == b"000000"  # the compiler's date


def test_impossible_games_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cooking-small"):
        make_textworld("chess", 1, tmp_path)
    with pytest.raises(UsageError, match="seed"):
        make_textworld("tiny", -1, tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(GameFileError, match="another folder"):
        make_textworld("tiny", 1, tmp_path / "file")
