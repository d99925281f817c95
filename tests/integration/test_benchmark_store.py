"""The benchmark of the store runs, small; its figures mean nothing here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("arcadedb_embedded", reason="the embedded engine is not installed")


@pytest.mark.slow
@pytest.mark.service
def test_the_store_against_the_bare_driver(checkout: Path, tmp_path: Path) -> None:
    command = [sys.executable, "benchmarks/store.py", "--quick", "--keep", "keep", "--json", "figures.json"]
    command[1] = str(checkout / command[1])
    env = {**os.environ, "PYTHONPATH": str(checkout)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "figures.json").read_text())["engines"]["embedded"]
    assert {name: found[name]["unit"] for name in ("iteration", "bulk")} == {"iteration": "ms", "bulk": "facts/s"}
    assert len(found["reads"]) == 8  # two sizes, two shapes, now and as of
    assert all(row["ours"] > 0 and row["bare"] > 0 for row in [*found["reads"], found["iteration"], found["bulk"]])
    assert "import of 1,000, facts/s" in done.stdout
