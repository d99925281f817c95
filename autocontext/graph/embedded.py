"""The embedded database as a local service: one detached server per data folder, shared by all who attach.

The first command starts the server, on loopback and with generated passwords; every other process, at the same time
or later, attaches to it over Bolt. It ends by itself after an idle time, or by `stop`.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import SecretStr

from autocontext.config import Settings
from autocontext.errors import EmbeddedDatabaseError
from autocontext.graph.embedded_folder import LOG_BYTES, SERVER, Folder, Running, engine_version
from autocontext.graph.endpoint import Endpoint, Login
from autocontext.types import Data

DATABASE = "autocontext"
_STOP_SECONDS = 30.0
_ANSWER_SECONDS = 2.0
_BOLT_5_4 = bytes((0, 0, 4, 5))
_HANDSHAKE = bytes.fromhex("6060b017") + _BOLT_5_4 + bytes(12)  # magic, and the versions that we would speak


class Status(Data):
    """What is known of a data folder's server."""

    running: bool
    folder: Path
    pid: int | None = None
    port: int | None = None
    since: float | None = None
    """Epoch seconds."""
    bytes: int = 0
    """Size of the database on disk."""


def attach(settings: Settings) -> Endpoint:
    """The endpoint of the folder's server, started if none is running.

    Raises:
        EmbeddedDatabaseError: it cannot run; the message says why and what to do.
    """
    folder = Folder(settings.home)
    running = folder.running()
    if running is not None:
        folder.touch()
    if running is None or not answers(running.bolt_port):
        running = _start(settings, folder)
    passwords = folder.passwords()
    return Endpoint(
        engine="embedded",
        uri=f"bolt://127.0.0.1:{running.bolt_port}",
        database=DATABASE,
        writer=Login("root", SecretStr(passwords["root"])),
        reader=Login("reader", SecretStr(passwords["reader"])),
        turns=folder.turns,
    )


def start(settings: Settings) -> Status:
    """Start the server if none is running, and say how it stands.

    Raises:
        EmbeddedDatabaseError: it cannot run; the message says why and what to do.
    """
    attach(settings)
    return status(settings)


def status(settings: Settings) -> Status:
    """How the folder's server stands, without starting or changing anything.

    Raises:
        EmbeddedDatabaseError: the folder may not be read.
    """
    folder = Folder(settings.home)
    running = folder.running()
    size = folder.bytes()
    if running is None:
        return Status(running=False, folder=folder.path, bytes=size)
    return Status(
        running=True,
        folder=folder.path,
        pid=running.pid,
        port=running.bolt_port,
        since=running.since,
        bytes=size,
    )


def stop(settings: Settings) -> bool:
    """End the folder's server cleanly and wait until it is gone; False if none was running.

    Raises:
        EmbeddedDatabaseError: it belongs to another user, does not end, or the folder cannot be used.
    """
    folder = Folder(settings.home)
    if folder.running() is None and not folder.lock.exists():
        return False
    with _alone(settings, folder):  # one that is just being started is waited for, and then ended
        running = folder.running()
        if running is None:
            return False
        _end(running)
        folder.withdraw()
        return True


def _start(settings: Settings, folder: Folder) -> Running:
    """Start a server, or find the one that another command has started meanwhile."""
    engine_version()
    folder.prepare()
    with _alone(settings, folder):
        running = folder.running()
        if running is not None:
            # It may be busy, or about to end; one that lives and never answers is stuck.
            _waited(lambda: not running.alive() or answers(running.bolt_port), settings.embedded_start_seconds / 2)
            if running.alive() and answers(running.bolt_port):
                return running
            _end(running)
        folder.withdraw()
        return _launch(settings, folder)


@contextmanager
def _alone(settings: Settings, folder: Folder) -> Iterator[None]:
    """Nobody else starts or stops the folder's server meanwhile."""
    try:
        with FileLock(folder.lock, timeout=settings.embedded_start_seconds):
            yield
    except Timeout:
        raise EmbeddedDatabaseError(
            f"another command has been starting or stopping the embedded database in '{folder.path}' for more than "
            f"{settings.embedded_start_seconds:g} s; look at '{folder.log}', or try again."
        ) from None
    except OSError as error:
        raise EmbeddedDatabaseError(folder.trouble(error)) from error


def _launch(settings: Settings, folder: Folder) -> Running:
    if folder.log.exists() and folder.log.stat().st_size > LOG_BYTES:
        folder.log.unlink()
    skip = folder.log.stat().st_size if folder.log.exists() else 0
    child = _spawn(settings, folder)

    def answered_or_dead() -> bool:
        return folder.running() is not None or child.poll() is not None

    if not _waited(answered_or_dead, settings.embedded_start_seconds):
        child.kill()
        child.wait()
        raise EmbeddedDatabaseError(
            f"the embedded database did not answer within {settings.embedded_start_seconds:g} s; look at "
            f"'{folder.log}', or allow it more by AUTOCONTEXT_START_SECONDS."
        )
    running = folder.running()
    if running is None:
        raise EmbeddedDatabaseError(
            f"the embedded database in '{folder.path}' ended while starting: {folder.last_words(skip)} "
            f"(exit code {child.returncode}); see '{folder.log}', mend that, and try again."
        )
    return running


def _spawn(settings: Settings, folder: Folder) -> subprocess.Popen[bytes]:
    """A process of its own session: it outlives us, and our Ctrl-C does not reach it."""
    env = {
        **os.environ,
        "AUTOCONTEXT_HOME": str(settings.home.absolute()),
        "AUTOCONTEXT_IDLE_SECONDS": str(settings.embedded_idle_seconds),
        "AUTOCONTEXT_HEAP": settings.embedded_heap,
        "AUTOCONTEXT_START_SECONDS": str(settings.embedded_start_seconds),
        "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
    }
    with folder.log.open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", SERVER, str(folder.path.absolute())],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder.path,  # the engine writes a ./log of its own
            env=env,
            start_new_session=True,
        )


def _end(running: Running) -> None:
    """Ask it to end; end it if it does not. Commits are on disk either way."""
    for sign, seconds in ((signal.SIGTERM, _STOP_SECONDS), (signal.SIGKILL, 5.0)):
        try:
            if not running.alive():
                return
            os.kill(running.pid, sign)
        except ProcessLookupError:
            return
        except PermissionError as error:
            raise EmbeddedDatabaseError(
                f"the embedded database (pid {running.pid}) belongs to another user; stop it as that user."
            ) from error
        if _waited(lambda: not running.alive(), seconds):
            return
    raise EmbeddedDatabaseError(
        f"the embedded database (pid {running.pid}) does not end, not even when killed; its disk may be stuck."
    )


def answers(port: int, seconds: float = _ANSWER_SECONDS) -> bool:
    """Is Bolt spoken there? A connection alone says nothing: the kernel still accepts for a process that is dying."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
            connection.sendall(_HANDSHAKE)
            return connection.recv(4, socket.MSG_WAITALL) == _BOLT_5_4
    except OSError:
        return False


def _waited(done: Callable[[], bool], seconds: float) -> bool:
    """Did it come true within so many seconds?"""
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
