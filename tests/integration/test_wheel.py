"""The built wheel, installed into a clean virtual environment outside the checkout, does the main job there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

OWN = ("NEO4J_", "AUTOCONTEXT_", "PYTHON", "VIRTUAL_ENV")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory, checkout: Path) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, checkout, cwd=out)
    (built,) = out.glob("*.whl")
    return built


class Installed:
    """A clean virtual environment with the wheel in it, a folder to work in and an empty home, all elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "venv" / "bin"
        self.cwd = folder / "elsewhere"
        self.cwd.mkdir()
        self.env = {key: value for key, value in os.environ.items() if not key.startswith(OWN)}
        self.env["AUTOCONTEXT_HOME"] = str(folder / "home")

    def run(self, program: str, *words: object) -> str:
        return _run(self.bin / program, *words, cwd=self.cwd, env=self.env)

    def json(self, *words: object) -> Any:
        """What a command prints with --json: exactly one document."""
        return json.loads(self.run("autocontext", *words, "--json"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, wheel: Path, checkout: Path) -> Iterator[Installed]:
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "venv", with_pip=True)
    place = Installed(folder)
    requirement = f"autocontext-graph[embedded,textworld] @ {wheel.as_uri()}"
    place.run("python", "-m", "pip", "install", "--quiet", "-c", checkout / "constraints.txt", requirement)
    yield place
    place.run("autocontext", "db", "stop")


def test_the_wheel_holds_one_top_level_name(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"autocontext", "autocontext_graph-0.1.0.dist-info"}


def test_the_wheel_holds_queries_interface_types_and_data(wheel: Path, checkout: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    queries = {f"autocontext/_cypher/{path.name}" for path in (checkout / "cypher").glob("*.cypher")}
    assert queries
    data = {
        path.relative_to(checkout).as_posix()
        for path in (checkout / "autocontext").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert names >= queries | data | {"autocontext/_ui/README.md", "autocontext/py.typed"}
    assert not [name for name in names if name.endswith(".pyc")]


@pytest.mark.service
def test_nothing_but_autocontext_is_installed(installed: Installed) -> None:
    code = (
        "from importlib.metadata import distribution\n"
        "for file in distribution('autocontext-graph').files: print(file.parts[0])"
    )
    first = set(installed.run("python", "-c", code).split())
    # `..` is the command in bin/.
    assert {name for name in first if not name.endswith(".dist-info")} == {"autocontext", ".."}
    where = installed.run("python", "-c", "import autocontext; print(autocontext.__file__)").strip()
    assert Path(where).is_relative_to(installed.bin.parent)


@pytest.mark.service
def test_the_main_job_runs_from_the_wheel(installed: Installed) -> None:
    games = installed.cwd / "games"
    made = installed.json("games", "make", "textworld", "--preset", "cooking-small", "--seed", 3, "--out", games)
    game = games / "cooking-small-3.z8"
    assert (installed.cwd / made["game"]).resolve() == game.resolve()
    assert game.with_suffix(".json").is_file()

    report = installed.json("explore", "textworld", game, "--steps", 20)
    assert report["environment"] == "textworld"
    assert 0 < report["steps"] <= 20
    assert report["facts"] > 0
    assert report["entities"] > 0

    shown = installed.json("show", report["instance"])
    assert shown["instance"] == report["instance"]
    assert len(shown["facts"]) == report["facts"]
    assert all(fact["evidence"] for fact in shown["facts"])

    answer = installed.json("query", "MATCH (i:Instance) RETURN i.id AS id")
    assert answer == {"columns": ["id"], "rows": [[report["instance"]]], "truncated": False}


@pytest.mark.service
def test_an_unknown_instance_is_one_clear_line(installed: Installed) -> None:
    done = subprocess.run(
        [installed.bin / "autocontext", "show", "nowhere"],
        cwd=installed.cwd, env=installed.env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert "nowhere" in done.stderr


def _run(*words: object, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stdout}\n{done.stderr}"
    return done.stdout
