"""The import contracts of pyproject.toml hold, and each of them catches a violation when one is seeded."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# Highest first, as docs/decisions.md has it.
LAYERS = (
    ("cli", "_ui"),
    ("evaluation",),
    ("explorer",),
    ("agents",),
    ("client",),
    ("graph", "environments", "llm"),
    ("types", "errors", "config", "version"),
)
INDEPENDENT = ("graph", "environments", "llm")
RUN = "from importlinter.cli import lint_imports_command; lint_imports_command()"

# What may not be imported by whom: contract, importing module, imported module.
DIRECT = [
    *(("driver", module, "neo4j") for module in ("cli", "evaluation", "explorer", "client", "environments.base")),
    ("driver", "_ui", "neo4j"),
    ("driver", "config", "neo4j.exceptions"),
    *(("engine", module, "arcadedb_embedded") for module in ("graph.store", "graph.embedded", "cli", "client")),
    ("engine", "graph.store", "jpype"),
    *(("textworld", module, "textworld") for module in ("explorer.loop", "environments.base", "cli", "evaluation")),
    ("textworld", "evaluation.coverage", "textworld.core"),
    ("textworld", "environments.generic", "jericho"),
    ("textworld", "evaluation.textworld", "jericho"),
    ("textworld", "graph.store", "numpy"),
    *(("models", module, "langchain_core") for module in ("explorer.planner.model", "cli.explore", "client", "_ui")),
    ("models", "explorer.run", "langchain.chat_models"),
    ("models", "explorer.parts", "jinja2"),
    ("models", "llm.models", "langchain_openai"),
    *(("database", module, "autocontext.graph.store") for module in ("cli", "_ui", "evaluation", "agents")),
    ("database", "cli", "autocontext.graph"),
    ("database", "_ui", "autocontext.graph.embedded"),
    ("honesty", "_ui", "autocontext.evaluation"),
    ("honesty", "explorer", "autocontext.evaluation.textworld"),
    ("honesty", "agents", "autocontext.evaluation.textworld"),
]


@pytest.fixture
def tree(tmp_path: Path, checkout: Path) -> Path:
    """A copy of the package as it is installed (ui/ inside), with the packages of later stages as empty ones."""
    shutil.copy(checkout / "pyproject.toml", tmp_path)
    package = tmp_path / "autocontext"
    shutil.copytree(checkout / "autocontext", package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(checkout / "ui", package / "_ui", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("_ui", "agents", "llm"):
        (package / name).mkdir(exist_ok=True)
        (package / name / "__init__.py").touch()
    return tmp_path


def lint(tree: Path, *contracts: str) -> subprocess.CompletedProcess[str]:
    chosen = [word for contract in contracts for word in ("--contract", contract)]
    return subprocess.run(
        [sys.executable, "-c", RUN, "--no-cache", *chosen],
        cwd=tree,
        env={**os.environ, "COLUMNS": "240", "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def seed(tree: Path, importer: str, *imported: str) -> None:
    """Append imports to a module, inside a function: an import put off until it is needed counts as well."""
    path = tree / "autocontext" / importer.replace(".", "/")
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    lines = "".join(f"    import {name}\n" for name in imported)
    with path.open("a") as file:
        file.write(f"\n\ndef seeded() -> None:\n{lines}")


def test_the_tree_keeps_every_contract(tree: Path) -> None:
    done = lint(tree)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


@pytest.mark.parametrize("importer", [name for layer in LAYERS[1:] for name in layer])
def test_a_layer_that_imports_a_higher_one_is_caught(tree: Path, importer: str) -> None:
    own = next(index for index, layer in enumerate(LAYERS) if importer in layer)
    forbidden = [name for layer in LAYERS[:own] for name in layer]
    if importer in INDEPENDENT:
        forbidden += [name for name in INDEPENDENT if name != importer]
    seed(tree, importer, *(f"autocontext.{name}" for name in forbidden))
    done = lint(tree, "layers")
    assert done.returncode == 1, done.stdout + done.stderr
    missed = [
        name
        for name in forbidden
        if f"autocontext.{importer} is not allowed to import autocontext.{name}:" not in done.stdout
    ]
    assert not missed, done.stdout


def test_a_package_without_a_layer_is_caught(tree: Path) -> None:
    (tree / "autocontext" / "utils.py").touch()
    done = lint(tree, "layers")
    assert done.returncode == 1
    assert "autocontext.utils" in done.stdout


@pytest.mark.parametrize(("contract", "importer", "imported"), DIRECT)
def test_an_import_past_its_gate_is_caught(tree: Path, contract: str, importer: str, imported: str) -> None:
    before = lint(tree, contract)
    assert before.returncode == 0, before.stdout + before.stderr
    seed(tree, importer, imported)
    done = lint(tree, contract)
    assert done.returncode == 1, done.stdout + done.stderr
    # Of an external package the graph of imports knows only the top-level name.
    target = imported if imported.startswith("autocontext") else imported.split(".")[0]
    assert f"autocontext.{importer} -> {target}" in done.stdout


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("graph", "neo4j"),
        ("graph.embedded_server", "arcadedb_embedded"),
        ("cli", "autocontext.graph.embedded"),
        ("cli", "autocontext.evaluation"),
        ("client", "autocontext.graph.store"),
        ("explorer", "autocontext.graph.store"),
        ("environments.textworld", "textworld"),
        ("evaluation.textworld", "textworld"),
    ],
)
def test_an_import_by_the_module_meant_for_it_passes(tree: Path, importer: str, imported: str) -> None:
    seed(tree, importer, imported)
    done = lint(tree)
    assert done.returncode == 0, done.stdout + done.stderr
