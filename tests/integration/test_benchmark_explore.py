"""The benchmark of the explorer runs; its figures are read by people."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_the_quick_version_gives_a_table_and_json(home: Path, checkout: Path, tmp_path: Path):
    out = tmp_path / "explore.json"
    words = [sys.executable, str(checkout / "benchmarks" / "explore.py"), "--quick"]
    words += ["--games", str(tmp_path / "games"), "--out", str(out)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "steps to 0.95, median" in done.stdout
    modes = json.loads(out.read_text())["modes"]
    assert {mode: len(rows["embedded"]) for mode, rows in modes.items()} == {"cold": 1, "random": 1}
