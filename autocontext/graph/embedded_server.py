"""The process of the embedded database: `python -m autocontext.graph.embedded_server FOLDER`, started by
`embedded.attach`. The settings come by the environment; FOLDER only tells people which process it is.

Serves Bolt on loopback until it is told to end (SIGTERM) or nobody has been connected for the idle time. It is the
only module that imports the engine. It does not know who starts it: whoever comes second to a folder waits until the
first is gone, or ends when the first one serves.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import arcadedb_embedded
import jpype
import psutil
from arcadedb_embedded.jvm import start_jvm
from filelock import FileLock, Timeout

from autocontext.config import Settings, load_settings
from autocontext.errors import AutoContextError, EmbeddedDatabaseError
from autocontext.graph.embedded import DATABASE, answers
from autocontext.graph.embedded_folder import LOG_BYTES, REASON, Folder, Running, started
from autocontext.graph.resources import resource_text

_TICK = 0.5
_CLOSE_SECONDS = 25.0
_ENGINE = {
    "arcadedb.txWalFlush": 2,  # commits are synced to disk: what was acknowledged survives a power failure
    "arcadedb.queryMaxConcurrent": 16,  # the default of 4 lets four runaway queries block everybody
}
_READER = {"resultSetLimit": -1, "readTimeout": -1, "access": [], "types": {"*": {"access": ["readRecord"]}}}
_ADMIN = {
    "resultSetLimit": -1,
    "readTimeout": -1,
    "access": ["updateSecurity", "updateSchema", "updateDatabaseSettings"],
    "types": {"*": {"access": ["createRecord", "readRecord", "updateRecord", "deleteRecord"]}},
}


def main() -> None:
    """Run until the end.

    Raises:
        EmbeddedDatabaseError: another process has the folder and does not let go of it.
    """
    os.umask(0o077)
    settings = load_settings()
    folder = Folder(settings.home)
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: ended.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lock = FileLock(folder.serving)
    if _owned(lock, folder, settings):
        _serve(settings, folder, ended)


def _owned(lock: FileLock, folder: Folder, settings: Settings) -> bool:
    """Wait until the folder is ours; False if another process is found to serve it.

    That happens when the command that started the other one was killed meanwhile, or while the other one closes.
    """
    deadline = time.monotonic() + settings.embedded_start_seconds
    while time.monotonic() < deadline:
        try:
            lock.acquire(timeout=0.1)
            return True
        except Timeout:
            running = folder.running()
            if running is not None and answers(running.bolt_port):
                return False
    raise EmbeddedDatabaseError("another process has this folder open and neither serves it nor lets go of it")


def _serve(settings: Settings, folder: Folder, ended: threading.Event) -> None:
    """Open the database, say where it answers, and close it at the end."""
    # -Xrs: the JVM leaves signals to us, or it would exit before the database is closed.
    start_jvm(heap_size=settings.embedded_heap, jvm_args=["-Xrs"])
    _configure()
    passwords = folder.passwords()
    _forget_users(folder.data)
    _write_groups(folder.data)
    server = arcadedb_embedded.create_server(
        str(folder.data),
        root_password=passwords["root"],
        config={
            "host": "127.0.0.1",
            "server_plugins": "Bolt:com.arcadedb.bolt.BoltProtocolPlugin",
            "bolt_port": 0,  # the system picks free ones
            "http_port": 0,
        },
    )
    server.start()
    try:
        database = server.create_database(DATABASE)
        _check(database)
        for line in resource_text("embedded.sql").splitlines():
            if line.strip() and not line.startswith("--"):
                database.command("sql", line)
        _add_reader(server, passwords["reader"])
        _quiet()
        process = psutil.Process()
        running = Running(os.getpid(), started(process), _bolt_port(process), time.time())
        folder.announce(running)
        _wait(process, running, folder, settings.embedded_idle_seconds, ended)
    finally:
        closing = threading.Timer(_CLOSE_SECONDS, os._exit, (1,))  # commits are on disk; rather that than never
        closing.daemon = True
        closing.start()
        folder.withdraw()
        server.stop()


def _wait(
    process: psutil.Process, running: Running, folder: Folder, idle_seconds: float, ended: threading.Event
) -> None:
    """Wait for the end, or for nobody to have been connected for so long."""
    last_used = time.monotonic()
    touched = folder.touched()
    while not ended.wait(_TICK):
        if _connected(process, running.bolt_port) or folder.touched() != touched:
            last_used, touched = time.monotonic(), folder.touched()
        elif time.monotonic() - last_used > idle_seconds:
            folder.withdraw()  # from here on nobody finds us; somebody may have, a moment ago
            if ended.wait(_TICK) or not _connected(process, running.bolt_port):
                return
            folder.announce(running)
            last_used, touched = time.monotonic(), folder.touched()
        if folder.log.exists() and folder.log.stat().st_size > LOG_BYTES:
            os.truncate(folder.log, 0)


def _connected(process: psutil.Process, port: int) -> bool:
    connections = process.net_connections(kind="tcp")
    return any(c.status == psutil.CONN_ESTABLISHED and c.laddr.port == port for c in connections)


def _bolt_port(process: psutil.Process) -> int:
    """Of the two ports that the engine listens on, the one that speaks Bolt."""
    listening = {c.laddr.port for c in process.net_connections(kind="tcp") if c.status == psutil.CONN_LISTEN}
    for seconds in (0.1, 1.0, 5.0):  # the other one, HTTP, says nothing at all: do not wait long for it at first
        for port in sorted(listening):
            if answers(port, seconds):
                return port
    raise EmbeddedDatabaseError(f"the engine does not answer on any of its ports ({sorted(listening)})")


def _configure() -> None:
    """Set what the engine reads for the whole process: given as the server's own configuration, it has no effect."""
    for key, value in _ENGINE.items():
        _setting(key).setValue(jpype.JInt(value))


def _check(database: Any) -> None:
    """Refuse to serve if commits would not be durable after all."""
    flush = int(str(database._java_db.getConfiguration().getValueAsInteger(_setting("arcadedb.txWalFlush"))))
    if flush != _ENGINE["arcadedb.txWalFlush"]:
        raise EmbeddedDatabaseError(f"the engine does not sync its commits (txWalFlush is {flush})")


def _setting(key: str) -> Any:
    return jpype.JClass("com.arcadedb.GlobalConfiguration").findByKey(key)


def _forget_users(data: Path) -> None:
    """Users are made anew at each start, from the passwords' file: the two cannot come to differ."""
    (data / "config" / "server-users.jsonl").unlink(missing_ok=True)


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


if __name__ == "__main__":
    try:
        main()
    except Exception as error:
        reason = str(error) if isinstance(error, AutoContextError) else f"{type(error).__name__}: {error}"
        print(f"\n{REASON}{' '.join(reason.split())}", file=sys.stderr, flush=True)
        os._exit(1)  # threads of the engine would keep the process alive
    os._exit(0)
