"""`autocontext export` and `autocontext import`: pipes, files that are not there, disks that are full."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from autocontext.cli import transfer
from autocontext.client import open_client
from autocontext.graph.connection import Transaction
from autocontext.graph.store import GraphStore
from benchmarks import store_data

from .conftest import Book, edit

pytestmark = pytest.mark.service
Cli = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def instance(home: Path) -> str:
    """A small instance in a database that commands use too."""
    with GraphStore.open() as store:
        book = Book(store, "house é 1")
        book.register()
        book.add("door", "is", "🚪 \u2028 closed")
        book.commit(edit("add", ("key", "in", "hall"), (1, 2)))
    return book.id


@pytest.fixture(scope="module")
def files(instance: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an export, a canonical one, and one that is cut short."""
    folder = tmp_path_factory.mktemp("files")
    with open_client() as client:
        good = "".join(f"{line}\n" for line in client.export(instance))
        canonical = "".join(f"{line}\n" for line in client.export(instance, canonical=True))
    for name, content in (("good", good), ("canonical", canonical), ("cut", good[:-20])):
        (folder / f"{name}.jsonl").write_bytes(content.encode())
    return folder


@pytest.fixture
def another() -> Iterator[str]:
    yield "another"
    with GraphStore.open() as store:
        if "another" in [record.id for record in store.instances()]:
            store.forget("another")


def one_line(done: subprocess.CompletedProcess[str], code: int = 1) -> str:
    assert (done.returncode, done.stdout) == (code, "")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("error: ")
    return done.stderr


def test_there_and_back_through_a_pipe(instance: str, another: str, run_cli: Cli, tmp_path: Path) -> None:
    first = run_cli("export", instance).stdout
    assert first == run_cli("export", instance).stdout
    (tmp_path / "file.jsonl").write_text(first)
    done = run_cli("import", "file.jsonl", "--instance", another)
    assert done.stdout == "imported another: 2 iterations, 2 steps.\n"
    assert run_cli("export", another).stdout == first.replace(f'"{instance}"', '"another"', 1)
    canonical = [run_cli("export", name, "--canonical").stdout for name in (instance, another)]
    assert canonical[0] == canonical[1] != first
    run_cli("forget", another)
    command = [sys.executable, "-m", "autocontext", "import", "-", "--instance", another, "--json"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    piped = subprocess.run(command, input=first.encode(), capture_output=True, env=env, check=True)
    record = json.loads(piped.stdout)
    assert (record["id"], record["applied_iteration"], record["last_step"]) == ("another", 2, 2)
    with open_client() as client:
        assert list(client.export(another)) == first.replace(f'"{instance}"', '"another"', 1).split("\n")[:-1]


def test_it_is_utf8_whatever_the_locale(instance: str, run_cli: Cli) -> None:
    command = [sys.executable, "-m", "autocontext", "export", instance]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = subprocess.run(command, capture_output=True, env=env, check=True)
    assert "🚪 \u2028 closed" in done.stdout.decode("utf-8")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("export", "nobody"), "there is no instance 'nobody'"),
        (("import", "none.jsonl"), "none.jsonl cannot be read: No such file or directory."),
        (("import", "."), ". cannot be read: Is a directory."),
        (("import", "/dev/null"), "/dev/null is no export of AutoContext"),
        (
            ("import", "good.jsonl"),
            "there is an instance 'house é 1' already; import it under another with --instance.",
        ),
        (("import", "canonical.jsonl"), "canonical.jsonl is a canonical export"),
        (("import", "cut.jsonl", "--instance", "new"), "cut.jsonl is cut short"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(
    instance: str, run_cli: Cli, files: Path, words: tuple[str, ...], says: str
) -> None:
    assert says in one_line(run_cli(*words, check=False, cwd=files))
    with open_client() as client:
        assert [record.id for record in client.instances()] == [instance]


def test_a_name_that_is_none_is_a_wrong_call(run_cli: Cli, files: Path) -> None:
    done = run_cli("import", "good.jsonl", "--instance", " ", check=False, cwd=files)
    assert "is no id for an instance" in one_line(done, 2)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_under_the_output(instance: str) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "autocontext", "export", instance]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=env, check=False)
    assert done.returncode == 1
    assert done.stderr == "error: standard output cannot be written: No space left on device.\n"


def test_a_reader_that_goes_away(instance: str) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = f"'{sys.executable}' -m autocontext export '{instance}' | head -c 10"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=env, check=True)
    assert done.stdout == '{"autocont'
    assert done.stderr == ""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "none", folder]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("file systems cannot be mounted here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=False)


def filled(folder: Path) -> Path:
    """Takes all but 1 MB of a disk."""
    left = os.statvfs(folder)
    (folder / "ballast").write_bytes(bytes(left.f_bavail * left.f_frsize - 2**20))
    return folder / "ballast"


def test_a_full_disk_under_the_database(small_disk: Path, run_cli: Cli, tmp_path: Path) -> None:
    env = {"AUTOCONTEXT_HOME": str(small_disk), "AUTOCONTEXT_IDLE_SECONDS": "60"}
    store_data.write(tmp_path / "file.jsonl", 3000)
    run_cli("db", "start", env=env)
    ballast = filled(small_disk)
    one_line(run_cli("import", "file.jsonl", env=env, check=False))
    ballast.unlink()
    run_cli("db", "stop", env=env)
    assert json.loads(run_cli("instances", "--json", env=env).stdout) == []
    run_cli("import", "file.jsonl", env=env)
    run_cli("db", "stop", env=env)


SPOOL = """
from autocontext.errors import DatabaseError
from autocontext.graph.spool import Spool, sort_key
try:
    with Spool() as spool:
        for number in range(40_000):
            spool.put("rows", sort_key(number), bytes(1000))
except DatabaseError as error:
    print(error)
"""


def test_a_full_disk_under_temporary_files(small_disk: Path) -> None:
    """Standard input is copied, as it is read twice; and what has to be put in order lies on disk."""
    filled(small_disk)
    env = {**os.environ, "TMPDIR": str(small_disk), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = f"cat /dev/zero | '{sys.executable}' -m autocontext import -"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=env, check=False)
    assert "standard input cannot be read: No space left on device" in one_line(done)
    done = subprocess.run([sys.executable, "-c", SPOOL], capture_output=True, text=True, env=env, check=True)
    assert done.stdout.startswith("rows cannot be kept among the temporary files: database or disk is full.")


def test_a_command_that_is_interrupted_leaves_nothing(
    instance: str, another: str, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Transaction.run

    def interrupted(self: Transaction, name: str, **parameters: Any) -> Any:
        if name == "import_facts":
            raise KeyboardInterrupt
        return run(self, name, **parameters)

    monkeypatch.setattr(Transaction, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        transfer.import_(str(files / "good.jsonl"), another)
    monkeypatch.undo()
    with open_client() as client:
        assert [record.id for record in client.instances()] == [instance]
