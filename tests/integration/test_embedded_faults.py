"""The embedded database's service on folders and disks that are no good: one clear line, and nothing lost."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from autocontext.config import Settings
from autocontext.errors import EmbeddedDatabaseError
from autocontext.graph import embedded, embedded_folder

pytestmark = pytest.mark.service
pytest.importorskip("arcadedb_embedded", reason="the embedded engine is not installed")


def settings_for(folder: Path, **more: object) -> Settings:
    return Settings.model_validate({"AUTOCONTEXT_HOME": folder, "AUTOCONTEXT_IDLE_SECONDS": 60, **more})


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_for(tmp_path / "home")


def test_a_home_that_is_a_file(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(EmbeddedDatabaseError, match="AUTOCONTEXT_HOME"):
        embedded.attach(settings_for(tmp_path / "file"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_folder_without_permission(tmp_path: Path, checkout: Path):
    code = (
        "from autocontext.graph.embedded_folder import Folder; from pathlib import Path\n"
        "import os; os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        f"Folder(Path({str(tmp_path / 'closed')!r})).prepare()"
    )
    (tmp_path / "closed").mkdir(mode=0o755)
    env = {**os.environ, "PYTHONPATH": str(checkout)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
    assert "cannot be used (Permission denied)" in done.stderr


@pytest.mark.parametrize("written", ['{"layout": 99, "engine": "26.1"}', '{"layout": 1, "engine": "99.1.1"}', "x"])
def test_a_folder_of_another_version_is_left_alone(settings: Settings, written: str):
    folder = embedded_folder.Folder(settings.home)
    folder.prepare()
    (folder.path / "VERSION").write_text(written)
    with pytest.raises(EmbeddedDatabaseError, match="another version"):
        embedded.attach(settings)
    assert (folder.path / "VERSION").read_text() == written


def test_without_the_engine_both_ways_out_are_named(settings: Settings, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(embedded_folder, "PACKAGE", "no-such-package")
    with pytest.raises(EmbeddedDatabaseError, match=r"\[embedded\].*NEO4J_URI"):
        embedded.attach(settings)


def test_a_server_that_dies_while_starting_leaves_its_last_words(tmp_path: Path):
    settings = settings_for(tmp_path, AUTOCONTEXT_HEAP="1m")
    with pytest.raises(EmbeddedDatabaseError, match=r"ended while starting: .*server\.log"):
        embedded.attach(settings)


def test_a_start_that_takes_too_long(tmp_path: Path):
    settings = settings_for(tmp_path, AUTOCONTEXT_START_SECONDS=0.3)
    with pytest.raises(EmbeddedDatabaseError, match=r"within 0\.3 s.*AUTOCONTEXT_START_SECONDS"):
        embedded.attach(settings)
    assert not embedded.status(settings).running


def test_a_read_only_file_system(tmp_path: Path):
    settings = settings_for(tmp_path / "home")
    embedded_folder.Folder(settings.home).prepare()
    mounts = (["--bind", settings.home, settings.home], ["-o", "remount,ro,bind", settings.home])
    if any(subprocess.run(["mount", *mount], capture_output=True, check=False).returncode for mount in mounts):
        pytest.skip("file systems cannot be mounted here")
    try:
        assert not embedded.status(settings).running
        with pytest.raises(EmbeddedDatabaseError, match=r"Read-only file system.*AUTOCONTEXT_HOME"):
            embedded.attach(settings)
    finally:
        subprocess.run(["umount", "-l", settings.home], check=False)


DISK = 32 * 2**20
"""Bytes. The database takes 13 MB once it has its schema."""


@pytest.fixture
def small_disk(tmp_path: Path):
    """A file system of DISK bytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("file systems cannot be mounted here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=False)


def test_a_full_disk_while_starting(small_disk: Path):
    (small_disk / "ballast").write_bytes(bytes(DISK - 8192))
    with pytest.raises(EmbeddedDatabaseError):
        embedded.attach(settings_for(small_disk))


def fill(file: Path) -> None:
    """Take all that is left of the disk."""
    with contextlib.suppress(OSError), file.open("wb", buffering=0) as out:
        while True:
            out.write(bytes(4096))


def test_a_full_disk_while_exploring_loses_nothing(small_disk: Path, run_cli, small_game: Path):
    env = {"AUTOCONTEXT_HOME": str(small_disk), "AUTOCONTEXT_IDLE_SECONDS": "60", "AUTOCONTEXT_WAIT_SECONDS": "2"}
    explore = ["explore", "textworld", str(small_game), "--instance", "full", "--no-learned"]
    run_cli(*explore, "--steps", "10", env=env)
    before = json.loads(run_cli("show", "full", "--as-of", "10", "--json", env=env).stdout)["facts"]
    ballast = small_disk / "ballast"
    fill(ballast)
    done = run_cli(*explore, "--steps", "200", env=env, check=False)
    assert done.returncode == 1
    assert len([line for line in done.stderr.splitlines() if line.startswith("error: ")]) == 1
    assert "Traceback" not in done.stderr
    ballast.unlink()
    run_cli("db", "stop", env=env)
    report = json.loads(run_cli(*explore, "--steps", "30", "--json", env=env).stdout)
    assert report["steps"] >= 30
    after = json.loads(run_cli("show", "full", "--as-of", "10", "--json", env=env).stdout)["facts"]
    assert [fact["id"] for fact in after] == [fact["id"] for fact in before]
    run_cli("db", "stop", env=env)
