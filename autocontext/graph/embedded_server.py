"""The process of the embedded database: `python -m autocontext.graph.embedded_server`, started by `embedded.attach`.

Serves Bolt on loopback until it is told to end (SIGTERM) or nobody has been connected for the idle time. It is the
only module that imports the engine.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

import arcadedb_embedded
import jpype
import psutil
from arcadedb_embedded.jvm import start_jvm

from autocontext.config import load_settings
from autocontext.graph.embedded import DATABASE
from autocontext.graph.embedded_folder import Folder, Running
from autocontext.graph.resources import resource_text

_TICK = 0.5
_LOG_BYTES = 1_000_000
_READER = {"resultSetLimit": -1, "readTimeout": -1, "access": [], "types": {"*": {"access": ["readRecord"]}}}
_ADMIN = {
    "resultSetLimit": -1,
    "readTimeout": -1,
    "access": ["updateSecurity", "updateSchema", "updateDatabaseSettings"],
    "types": {"*": {"access": ["createRecord", "readRecord", "updateRecord", "deleteRecord"]}},
}


def main() -> None:
    """Run until the end."""
    settings = load_settings()
    folder = Folder(settings.home)
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: ended.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # -Xrs: the JVM leaves signals to us, or it would exit before the database is closed.
    start_jvm(heap_size=settings.embedded_heap, jvm_args=["-Xrs"])
    bolt_port, http_port = _free_port(), _free_port()
    passwords = folder.passwords()
    _write_groups(folder.data)
    server = arcadedb_embedded.create_server(
        str(folder.data),
        root_password=passwords["root"],
        config={
            "host": "127.0.0.1",
            "server_plugins": "Bolt:com.arcadedb.bolt.BoltProtocolPlugin",
            "bolt_port": bolt_port,
            "http_port": http_port,
            "txWalFlush": 2,  # one fdatasync a commit: what was acknowledged survives a power failure
            "queryMaxConcurrent": 16,  # the default of 4 lets four runaway queries block everybody
        },
    )
    server.start()
    database = server.create_database(DATABASE)
    for line in resource_text("embedded.sql").splitlines():
        if line.strip() and not line.startswith("--"):
            database.command("sql", line)
    _add_reader(server, passwords["reader"])
    _quiet()
    process = psutil.Process()
    folder.announce(Running(os.getpid(), process.create_time(), bolt_port, time.time()))
    try:
        _serve(process, bolt_port, settings.embedded_idle_seconds, ended, folder.log)
    finally:
        folder.withdraw()
        server.stop()


def _serve(process: psutil.Process, port: int, idle_seconds: float, ended: threading.Event, log: Path) -> None:
    """Wait for the end, or for nobody to have been connected for so long."""
    last_used = time.monotonic()
    while not ended.wait(_TICK):
        connections = process.net_connections(kind="tcp")
        if any(c.status == psutil.CONN_ESTABLISHED and c.laddr.port == port for c in connections):
            last_used = time.monotonic()
        elif time.monotonic() - last_used > idle_seconds:
            return
        if log.exists() and log.stat().st_size > _LOG_BYTES:
            os.truncate(log, 0)


def _write_groups(data: Path) -> None:
    """Define the group that may only read; the engine reads this file when it starts."""
    file = data / "config" / "server-groups.json"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        groups = {"databases": {"*": {"groups": {"admin": _ADMIN, "reader": _READER}}}, "version": 1}
        file.write_text(json.dumps(groups))


def _add_reader(server: Any, password: str) -> None:
    """Make the user who may only read; READ access mode is ignored by this engine."""
    security = server._java_server.getSecurity()
    if security.getUser("reader") is None:
        user = {
            "name": "reader",
            "password": str(security.encodePassword(password)),
            "databases": {DATABASE: ["reader"]},
        }
        security.createUser(jpype.JClass("com.arcadedb.serializer.json.JSONObject")(json.dumps(user)))


def _quiet() -> None:
    """No stack trace in the log for every query that a user got wrong. The engine sets levels of its own, so its
    handlers are taken away."""
    root = jpype.JClass("java.util.logging.Logger").getLogger("")
    for handler in root.getHandlers():
        root.removeHandler(handler)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


if __name__ == "__main__":
    try:
        main()
    except Exception as error:
        print(f"{type(error).__name__}: {error}".splitlines()[0], file=sys.stderr, flush=True)
        os._exit(1)  # threads of the engine would keep the process alive
    os._exit(0)
