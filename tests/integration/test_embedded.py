"""The embedded database's service: one server per folder, whoever starts, stops or kills it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from neo4j import GraphDatabase
from neo4j.exceptions import Neo4jError

from autocontext.config import Settings
from autocontext.errors import EmbeddedDatabaseError
from autocontext.graph import embedded, embedded_folder
from autocontext.graph.endpoint import Endpoint, Login

pytestmark = pytest.mark.service
pytest.importorskip("arcadedb_embedded", reason="the embedded engine is not installed")


def settings_for(folder: Path, **more: object) -> Settings:
    return Settings.model_validate({"AUTOCONTEXT_HOME": folder, "AUTOCONTEXT_IDLE_SECONDS": 60, **more})


@pytest.fixture
def settings(tmp_path: Path):
    found = settings_for(tmp_path / "home")
    yield found
    embedded.stop(found)


def wait_for(done: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def start_of(settings: Settings, code: str, **more: Any) -> subprocess.Popen[bytes]:
    """Another command that uses the same folder."""
    env = {**os.environ, "AUTOCONTEXT_HOME": str(settings.home), "AUTOCONTEXT_IDLE_SECONDS": "60"}
    return subprocess.Popen([sys.executable, "-c", code], env=env, **more)


def run(endpoint: Endpoint, cypher: str, login: Login | None = None) -> list[list[object]]:
    who = login or endpoint.writer
    auth = (who.username, who.password.get_secret_value())
    with GraphDatabase.driver(endpoint.uri, auth=auth) as driver:
        return [list(record.values()) for record in driver.execute_query(cypher, database_=endpoint.database).records]


def test_what_was_written_is_there_after_a_clean_stop(settings: Settings):
    endpoint = embedded.attach(settings)
    run(endpoint, "CREATE (:Kept {n: 1})")
    assert embedded.stop(settings)
    assert not embedded.status(settings).running
    assert not embedded.stop(settings)
    assert run(embedded.attach(settings), "MATCH (k:Kept) RETURN k.n") == [[1]]


def test_attaching_again_reaches_the_same_server(settings: Settings):
    first = embedded.attach(settings)
    assert embedded.attach(settings) == first
    assert embedded.start(settings).pid == embedded.status(settings).pid


def test_two_commands_starting_at_once_get_one_server(settings: Settings):
    command = [sys.executable, "-m", "autocontext", "db", "start", "--json"]
    env = {**os.environ, "AUTOCONTEXT_HOME": str(settings.home)}
    both = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE) for _ in range(2)]
    told = [json.loads(process.communicate(timeout=120)[0]) for process in both]
    assert told[0]["pid"] == told[1]["pid"]
    assert told[0]["running"]


def test_a_killed_server_is_replaced_and_nothing_acknowledged_is_lost(settings: Settings):
    endpoint = embedded.attach(settings)
    run(endpoint, "CREATE (:Kept {n: 2})")
    pid = embedded.status(settings).pid
    assert pid
    os.kill(pid, signal.SIGKILL)
    again = embedded.attach(settings)  # at once, while the kernel still accepts connections for the dying one
    assert embedded.status(settings).pid != pid
    assert run(again, "MATCH (k:Kept) RETURN k.n") == [[2]]


@pytest.mark.parametrize("content", ["", "{", '{"pid": 1}', None])
def test_a_stale_port_file_is_no_server(settings: Settings, content: str | None):
    folder = embedded_folder.Folder(settings.home)
    folder.prepare()
    ours = {"pid": os.getpid(), "started": 1.0, "bolt_port": 9, "since": 1.0}  # our pid, but of another process's time
    (folder.path / "server.json").write_text(json.dumps(ours) if content is None else content)
    assert not embedded.status(settings).running


def test_it_ends_by_itself_when_nobody_is_connected(tmp_path: Path):
    settings = settings_for(tmp_path, AUTOCONTEXT_IDLE_SECONDS=1)
    embedded.attach(settings)
    deadline = time.monotonic() + 30
    while embedded.status(settings).running and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not embedded.status(settings).running


def test_it_listens_on_loopback_only_and_tells_its_passwords_nobody(settings: Settings):
    endpoint = embedded.attach(settings)
    pid = embedded.status(settings).pid
    process = psutil.Process(pid)
    listening = [c.laddr.ip for c in process.net_connections(kind="tcp") if c.status == psutil.CONN_LISTEN]
    assert listening
    assert {ip.removeprefix("::ffff:") for ip in listening} <= {"127.0.0.1", "::1"}
    folder = embedded_folder.Folder(settings.home)
    assert stat.S_IMODE((folder.path / "secret.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    for secret in folder.passwords().values():
        assert secret not in " ".join(process.cmdline())
        assert secret not in folder.log.read_text()
        assert secret not in repr(endpoint)


@pytest.mark.parametrize(
    "write",
    ["CREATE (:X)", "MATCH (k:Kept) SET k.n = 3", "MATCH (k:Kept) DETACH DELETE k", "MERGE (:Entity {id: 'x'})"],
)
def test_the_reader_may_not_write(settings: Settings, write: str):
    endpoint = embedded.attach(settings)
    run(endpoint, "CREATE (:Kept {n: 4})")
    assert run(endpoint, "MATCH (k:Kept) RETURN k.n", endpoint.reader) == [[4]]
    with pytest.raises(Neo4jError):
        run(endpoint, write, endpoint.reader)
    assert run(endpoint, "MATCH (n) WHERE n:Kept OR n:X RETURN labels(n), n.n") == [[["Kept"], 4]]


def test_a_start_does_not_depend_on_the_command_that_asked_for_it(settings: Settings):
    code = "from autocontext.config import load_settings; from autocontext.graph import embedded\n"
    starter = start_of(settings, code + "embedded.attach(load_settings())")
    log = embedded_folder.Folder(settings.home).log
    wait_for(lambda: log.exists() and log.stat().st_size > 0)
    starter.kill()
    starter.wait()
    endpoint = embedded.attach(settings)
    assert run(endpoint, "RETURN 1") == [[1]]


def test_it_survives_the_ctrl_c_of_the_command_that_started_it(settings: Settings):
    code = (
        "import time; from autocontext.config import load_settings; from autocontext.graph import embedded\n"
        "embedded.attach(load_settings()); print('up', flush=True); time.sleep(60)"
    )
    starter = start_of(settings, code, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    assert starter.stdout
    assert starter.stdout.readline() == b"up\n"
    os.killpg(starter.pid, signal.SIGINT)  # as a terminal does it: to the whole group
    starter.communicate(timeout=30)
    assert run(embedded.attach(settings), "RETURN 1") == [[1]]
    pid = embedded.status(settings).pid
    assert pid
    os.kill(pid, signal.SIGINT)
    time.sleep(0.2)
    assert embedded.status(settings).pid == pid


def test_attaching_while_the_server_closes_gets_a_new_one(settings: Settings):
    embedded.attach(settings)
    pid = embedded.status(settings).pid
    assert pid
    os.kill(pid, signal.SIGTERM)
    wait_for(lambda: not embedded.status(settings).running)
    assert run(embedded.attach(settings), "RETURN 1") == [[1]]
    assert embedded.status(settings).pid != pid


def test_stopping_while_another_command_starts_it_leaves_none(settings: Settings):
    code = "from autocontext.config import load_settings; from autocontext.graph import embedded\n"
    starter = start_of(settings, code + "embedded.attach(load_settings())")
    wait_for(embedded_folder.Folder(settings.home).log.exists)
    assert embedded.stop(settings)
    assert starter.wait(timeout=60) == 0
    assert not embedded.status(settings).running


def test_a_stuck_server_is_replaced(settings: Settings, monkeypatch: pytest.MonkeyPatch):
    embedded.attach(settings)
    pid = embedded.status(settings).pid
    assert pid
    os.kill(pid, signal.SIGSTOP)
    monkeypatch.setattr(embedded, "_STOP_SECONDS", 1.0)
    hasty = settings_for(settings.home, AUTOCONTEXT_START_SECONDS=1)
    with contextlib.suppress(EmbeddedDatabaseError):  # it gives the stuck one up soon, but is too short for a start
        embedded.attach(hasty)
    assert run(embedded.attach(settings), "RETURN 1") == [[1]]
    assert embedded.status(settings).pid != pid


def test_passwords_that_were_lost_are_made_anew(settings: Settings):
    run(embedded.attach(settings), "CREATE (:Kept {n: 5})")
    embedded.stop(settings)
    (embedded_folder.Folder(settings.home).path / "secret.json").unlink()
    endpoint = embedded.attach(settings)
    assert run(endpoint, "MATCH (k:Kept) RETURN k.n", endpoint.reader) == [[5]]


def test_passwords_that_are_damaged(settings: Settings):
    folder = embedded_folder.Folder(settings.home)
    folder.prepare()
    (folder.path / "secret.json").write_text('{"root": "hidden-word"')
    with pytest.raises(EmbeddedDatabaseError, match="passwords in") as caught:
        embedded.attach(settings)
    assert "hidden-word" not in str(caught.value)


def test_failed_queries_leave_no_stack_traces_and_no_files_where_the_user_is(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    endpoint = embedded.attach(settings)
    folder = embedded_folder.Folder(settings.home)
    logs = [folder.log, *(folder.path / "log").iterdir()]
    before = sum(log.stat().st_size for log in logs)
    for _ in range(5):
        with pytest.raises(Neo4jError):
            run(endpoint, "RETURN nothing(")
    assert sum(log.stat().st_size for log in logs) == before
    assert list((tmp_path / "here").iterdir()) == []


def test_the_full_text_index_is_there(settings: Settings):
    endpoint = embedded.attach(settings)
    run(endpoint, "CREATE (:Entity {id: 'e', name: 'red lamp', scope_token: 'i3f'})")
    found = "CALL db.index.fulltext.queryNodes('entity_name', '+scope_token:i3f +name:lamp') YIELD node RETURN node.id"
    assert run(endpoint, found, endpoint.reader) == [["e"]]


def test_a_connection_keeps_it_alive(tmp_path: Path):
    settings = settings_for(tmp_path, AUTOCONTEXT_IDLE_SECONDS=1)
    endpoint = embedded.attach(settings)
    auth = (endpoint.writer.username, endpoint.writer.password.get_secret_value())
    try:
        with GraphDatabase.driver(endpoint.uri, auth=auth) as driver:
            driver.verify_connectivity()
            time.sleep(4)
            assert embedded.status(settings).running
        wait_for(lambda: not embedded.status(settings).running)
    finally:
        embedded.stop(settings)
