"""Bad input: one clear line and exit 1 (2 for a wrong call); nothing stored half, nothing lost."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

import autocontext
from autocontext.errors import EnvironmentHung, StepFailure
from tests.environments.house import House


def refused(done, code: int = 1) -> str:
    """The one line of an error."""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert done.returncode == code, done.stderr
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("error: ")
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    return lines[0]


@pytest.fixture
def bad(tmp_path: Path, small_game: Path):
    """Sources that are no games."""
    (tmp_path / "empty.z8").touch()
    (tmp_path / "text.z8").write_text("this is no game")
    (tmp_path / "old.ulx").write_bytes(b"Glul" + bytes(200))
    (tmp_path / "folder.z8").mkdir()
    data = small_game.read_bytes()
    (tmp_path / "cut.z8").write_bytes(data[: len(data) // 2])
    return tmp_path


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("missing.z8", "missing.z8"),
        ("empty.z8", "empty"),
        ("text.z8", "text.z8"),
        ("old.ulx", r".z8"),
        ("folder.z8", "folder.z8"),
        ("cut.z8", "cut.z8"),
    ],
)
def test_a_source_that_is_no_game(home, run_cli, bad: Path, name: str, says: str):
    line = refused(run_cli("explore", "textworld", str(bad / name), "--instance", "bad", check=False))
    assert says in line
    assert "bad" not in [record["id"] for record in json.loads(run_cli("instances", "--json").stdout)]


def test_an_unknown_instance_names_the_nearest(home, run_cli, small_game: Path):
    run_cli("explore", "textworld", str(small_game), "--instance", "kitchen-7", "--steps", "2")
    for command in (["show"], ["forest"], ["forget"]):
        assert "kitchen-7" in refused(run_cli(*command, "kitchen-8", check=False))
    assert "kitchen-7" in refused(run_cli("evidence", "kitchen-8", "x", check=False))


def test_an_unknown_fact(home, run_cli, small_game: Path):
    run_cli("explore", "textworld", str(small_game), "--instance", "kitchen-7", "--steps", "2")
    refused(run_cli("evidence", "kitchen-7", "unicorn at garden", check=False))
    refused(run_cli("history", "kitchen-7", "unicorn at garden", check=False))


def test_an_id_of_another_game_is_refused_and_nothing_of_it_is_lost(home, run_cli, small_game: Path, tiny_game: Path):
    run_cli("explore", "textworld", str(small_game), "--instance", "taken", "--steps", "5")
    before = run_cli("show", "taken", "--json").stdout
    line = refused(run_cli("explore", "textworld", str(tiny_game), "--instance", "taken", check=False))
    assert "--instance" in line
    assert run_cli("show", "taken", "--json").stdout == before


@pytest.mark.parametrize("option", [("--steps", "0"), ("--steps", "-3"), ("--paths", "0"), ("--max-seconds", "0")])
def test_numbers_that_make_no_sense(home, run_cli, small_game: Path, option: tuple[str, str]):
    assert option[0] in refused(run_cli("explore", "textworld", str(small_game), *option, check=False), 2)


@pytest.mark.parametrize(
    "words", [["explore"], ["foo"], ["show"], ["show", "--as-of", "x", "a"], ["explore", "textworld"]]
)
def test_a_call_that_makes_no_sense(run_cli, words: list[str]):
    refused(run_cli(*words, check=False), 2)


def test_an_unknown_rule_and_an_unknown_environment(home, run_cli, small_game: Path):
    assert "grid" in refused(run_cli("explore", "textworld", str(small_game), "--without-rule", "x", check=False), 2)
    assert "textworld" in refused(run_cli("explore", "nethack", "x", check=False), 2)
    assert "no_such_module" in refused(run_cli("explore", "no_such_module:X", check=False))
    assert "'Nothing'" in refused(run_cli("explore", "json:Nothing", check=False))
    assert "is no environment" in refused(run_cli("explore", "json:JSONDecoder", check=False))


def test_a_server_that_is_down_or_refuses(home, run_cli):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    line = refused(
        run_cli("instances", check=False, env={"NEO4J_URI": f"bolt://127.0.0.1:{port}", "NEO4J_PASSWORD": "hidden"})
    )
    assert str(port) in line
    assert "hidden" not in line


def test_a_wrong_password_and_an_unknown_database(home, run_cli):
    from autocontext.config import load_settings
    from autocontext.graph import embedded

    endpoint = embedded.attach(load_settings())
    login = {"NEO4J_URI": endpoint.uri, "NEO4J_USERNAME": endpoint.writer.username}
    line = refused(run_cli("instances", check=False, env={**login, "NEO4J_PASSWORD": "not-this-one"}))
    assert "not-this-one" not in line


@pytest.mark.parametrize(
    "cypher",
    [
        "CREATE (n)",
        "MATCH (n) DETACH DELETE n",
        "MATCH (n) SET n.x = 1 RETURN n",
        "MATCH (n) /* RETURN */ REMOVE n.x RETURN n",
        "MERGE (n:Entity {id: 'x'}) RETURN n",
        "MATCH (n) RETURN n; MATCH (n) DELETE n",
        "CALL { CREATE (n) RETURN n } RETURN n",
        "FOREACH (i IN [1] | CREATE (n))",
        "LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line",
        "DROP CONSTRAINT x",
        "TERMINATE TRANSACTION 'x'",
        "CALL dbms.security.listUsers()",
        "",
    ],
)
def test_a_write_in_any_disguise_is_refused(home, run_cli, cypher: str):
    refused(run_cli("query", cypher, check=False))


def test_cypher_with_an_error_shows_where(home, run_cli):
    line = refused(run_cli("query", "MATCH (n RETURN n", check=False))
    assert "line 1" in line or "column" in line or "position" in line


def test_harmless_words_are_no_clauses(home, run_cli):
    asked = "MATCH (n:Entity) WHERE n.name = 'DELETE me; CREATE' OR n.load = 1 RETURN count(n) AS set"
    assert json.loads(run_cli("query", asked, "--json").stdout) == {
        "columns": ["set"],
        "rows": [[0]],
        "truncated": False,
    }


def test_an_endless_query_ends_at_its_limit(home, run_cli):
    endless = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b WITH a, b WHERE a + b < 0 RETURN count(*)"
    line = refused(run_cli("query", endless, "--timeout", "2", check=False))
    assert "2" in line


NASTY = [
    "'quotes' \"double\" `ticks`",
    "back\\slash \\n",
    "two\nlines\tand a tab",
    "emoji 🗝️ and ünïcödé",
    "}) DETACH DELETE n //",
    "x" * 10_000,
    "nul \x00 inside",
]


class Nasty:
    """An environment whose names and observations are hostile."""

    def reset(self):
        return "You are in the hall."

    def step(self, action):
        return action.removeprefix("touch ")

    def snapshot(self):
        return 0

    def restore(self, snapshot):
        pass

    def close(self):
        pass

    def suggest(self, path):
        return [f"touch {name}" for name in NASTY]


def test_hostile_names_and_observations_are_kept_exactly(home):
    with autocontext.open_store() as store:
        autocontext.explore(Nasty(), store, budget=4 * len(NASTY), instance="nasty")
    with autocontext.open_client() as client:
        steps = client.steps("nasty")
        assert {step.observation.text for step in steps[1:]} == set(NASTY)
        assert {step.action for step in steps[1:]} == {f"touch {name}" for name in NASTY}
        for fact in client.facts("nasty"):
            assert client.fact("nasty", fact.id) == fact
            assert client.evidence("nasty", fact.id)


class Raising(House):
    """Raises at its third step."""

    def step(self, action):
        self.steps = getattr(self, "steps", 0) + 1
        if self.steps > 3:
            raise RuntimeError("the lamp went out")
        return super().step(action)


def test_an_environment_that_raises_loses_nothing_that_was_committed(home):
    with autocontext.open_store() as store, pytest.raises(StepFailure, match="the lamp went out"):
        autocontext.explore(Raising(), store, budget=50, instance="raising")
    with autocontext.open_client() as client:
        record = client.instance("raising")
        assert record.stopped_because == "environment"
        assert (record.steps_used, record.applied_iteration) == (3, 3)
        assert [step.number for step in client.steps("raising")] == [0, 1, 2, 3]


class Hanging(House):
    """Never answers."""

    def step(self, action):
        import time

        time.sleep(60)
        return ""


def test_an_environment_that_hangs_is_left_at_its_limit(home):
    with autocontext.open_store() as store:
        options = autocontext.Options(step_seconds=1)
        with pytest.raises(EnvironmentHung, match="1 s"):
            autocontext.explore(Hanging(), store, budget=50, instance="hanging", options=options)


class Other(House):
    """Starts differently the second time it is opened."""

    opened = 0

    def reset(self):
        text = super().reset()
        Other.opened += not hasattr(self, "counted")
        self.counted = True
        return text + (" The clock strikes." if Other.opened > 1 else "")


def test_an_environment_whose_reset_changed_is_refused(home):
    with autocontext.open_store() as store:
        autocontext.explore(Other(), store, budget=5, instance="other")
        with pytest.raises(StepFailure, match="reset shows something else"):
            autocontext.explore(Other(), store, budget=10, instance="other")
        assert store.instance("other").steps_used == 5
