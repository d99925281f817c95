"""The repository itself: small files, nothing of the machine it was written on, declarations that agree."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

import autocontext

MEGABYTE = 1024 * 1024
UNTRACKED = {
    ".demo", ".git", ".hypothesis", ".import_linter_cache", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".venv",
    "__pycache__", "build", "dist",
}  # fmt: skip
LOCK_FILES = {"package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "go.sum"}
# The home folder of a person or of root, a drive's users: never in a file that others get.
MACHINE_PATHS = re.compile(r"/(?:home|Users)/[A-Za-z0-9_.-]+/|(?<![\w.])/(?:root|work)/[\w.]|[A-Z]:\\Users\\")


@pytest.fixture(scope="module")
def files(checkout: Path) -> list[Path]:
    """Files under version control; where there is no git, all but what tools leave behind."""
    if (checkout / ".git").exists() and shutil.which("git"):
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=checkout, capture_output=True, text=True, check=True
        ).stdout.split("\0")
        found = [checkout / name for name in listed if name]
    else:
        found = [path for path in checkout.rglob("*") if not UNTRACKED & set(path.relative_to(checkout).parts)]
    return [path for path in found if path.is_file()]


@pytest.fixture(scope="module")
def project(checkout: Path) -> dict[str, Any]:
    return tomllib.loads((checkout / "pyproject.toml").read_text())["project"]


def test_the_top_level_is_complete(checkout: Path) -> None:
    names = ("pyproject.toml", "README.md", "autocontext", "cypher", "ui", "tests", "docker-compose.yml")
    assert [name for name in names if not (checkout / name).exists()] == []


def test_no_file_is_large(files: list[Path]) -> None:
    assert [str(path) for path in files if path.stat().st_size > 5 * MEGABYTE] == []


def test_versions_are_pinned_in_constraints_only(files: list[Path]) -> None:
    assert [str(path) for path in files if path.suffix == ".lock" or path.name in LOCK_FILES] == []


def test_no_path_of_a_machine(files: list[Path]) -> None:
    found = []
    for path in files:
        if path == Path(__file__) or b"\0" in (content := path.read_bytes()):
            continue
        for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
            if match := MACHINE_PATHS.search(line):
                found.append(f"{path}:{number}: {match[0]}")
    assert found == []


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("/home/" + "ann/x", True),
        ("see /root/" + ".cache", True),
        ("C:\\Users\\" + "ann", True),
        ("~/.local", False),
        ("/usr/bin/python3", False),
        ("docs/work/notes", False),
    ],
)
def test_the_pattern_for_such_paths(text: str, is_one: bool) -> None:
    assert bool(MACHINE_PATHS.search(text)) is is_one


def test_the_version_is_said_alike(checkout: Path, project: dict[str, Any]) -> None:
    newest = re.search(r"^## (\d+\.\d+\.\d+)", (checkout / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert project["version"] == autocontext.__version__ == newest[1]


def test_constraints_pin_every_direct_requirement(checkout: Path, project: dict[str, Any]) -> None:
    lines = [line for line in (checkout / "constraints.txt").read_text().splitlines() if line and line[0] != "#"]
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.!+]+( ; .+)?", line)] == []
    pinned = {_canonical(line.split("==")[0]) for line in lines}
    assert _required(project) - pinned == set()


def test_requirements_are_those_that_are_imported(checkout: Path, project: dict[str, Any]) -> None:
    distributions = packages_distributions()
    imported = set()
    for path in (checkout / "autocontext").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                imported.add(node.module.split(".")[0])
    imported -= set(sys.stdlib_module_names) | {"autocontext"}
    names = {_canonical(name) for module in imported for name in distributions.get(module, [module])}

    core = {_canonical(_name(line)) for line in project["dependencies"]}
    assert core - names == set(), "declared, but never imported"
    # These come with an extra's package: the engine's bridge to Java, the emulator, and what the emulator returns.
    brought_along = {"jpype1", "jericho", "numpy"}
    assert names - _required(project) - brought_along == set(), "imported, but not declared"


def _required(project: dict[str, Any]) -> set[str]:
    lines = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    return {_canonical(_name(line)) for line in lines} - {_canonical(project["name"])}


def _name(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9_.-]+", requirement)
    assert match is not None
    return match[0]


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
