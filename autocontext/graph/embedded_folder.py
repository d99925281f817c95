"""The data folder of the embedded database: what lies where, and what can be wrong with it.

HOME/database/
    VERSION         layout of this folder and the engine that wrote it
    secret.json     passwords, made here, readable by the owner only
    server.json     the running server: process, ports (written when it answers)
    start.lock      held by whoever starts or stops a server
    serving.lock    held by the server's process for as long as it lives: the engine's files have one owner
    writing.lock    held by one writer at a time, for one transaction
    server.log      what the server's process printed
    data/           the engine's own files
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import stat
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from autocontext.errors import EmbeddedDatabaseError

LAYOUT = 1
PACKAGE = "arcadedb-embedded"
SERVER = "autocontext.graph.embedded_server"
"""The module that a server's process runs."""
REASON = "ended: "
"""Begins the line of the log in which a server's process says why it could not serve."""
LOG_BYTES = 1_000_000
"""Size beyond which the log is begun anew."""
_SAME_START = 1.0  # seconds by which two readings of one process's start may differ


@dataclass(frozen=True)
class Running:
    """A server process, as its port file describes it. `started` (see `started`) tells it from a later process of the
    same pid."""

    pid: int
    started: float
    bolt_port: int
    since: float

    def alive(self) -> bool:
        """Is that very process still there?"""
        try:
            process = psutil.Process(self.pid)
            return (
                abs(started(process) - self.started) < _SAME_START
                and process.status() != psutil.STATUS_ZOMBIE
                and SERVER in process.cmdline()
            )
        except psutil.Error:
            return False


class Folder:
    """Paths and small files of one data folder."""

    def __init__(self, home: Path) -> None:
        self.path = home / "database"
        self.lock = self.path / "start.lock"
        self.serving = self.path / "serving.lock"
        self.turns = self.path / "writing.lock"
        self.log = self.path / "server.log"
        self.data = self.path / "data"
        self._version = self.path / "VERSION"
        self._secret = self.path / "secret.json"
        self._running = self.path / "server.json"

    def prepare(self) -> None:
        """Make the folder, its version and its passwords where they are missing.

        Raises:
            EmbeddedDatabaseError: it cannot be written, or belongs to another version.
        """
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if stat.S_IMODE(self.path.stat().st_mode) & 0o077:
                self.path.chmod(0o700)
            self.data.mkdir(mode=0o700, exist_ok=True)
            self._check_version()
            if not self._secret.exists():
                made = {"root": secrets.token_urlsafe(24), "reader": secrets.token_urlsafe(24)}
                self._write(self._secret, made, mode=0o600)
        except OSError as error:
            raise EmbeddedDatabaseError(self.trouble(error)) from error

    def passwords(self) -> dict[str, str]:
        """Passwords of the users `root` and `reader`.

        Raises:
            EmbeddedDatabaseError: their file is missing or damaged.
        """
        try:
            found: dict[str, str] = json.loads(self._secret.read_text())
            return {"root": found["root"], "reader": found["reader"]}
        except OSError as error:
            raise EmbeddedDatabaseError(self.trouble(error)) from error
        except (ValueError, KeyError, TypeError):
            raise EmbeddedDatabaseError(
                f"the passwords in '{self._secret}' cannot be read; restore the file, or move '{self.path}' away to "
                "start with an empty database."
            ) from None

    def running(self) -> Running | None:
        """The server that the port file names, if it is alive; a stale or damaged file counts as none.

        Raises:
            EmbeddedDatabaseError: the file may not be read.
        """
        try:
            found = Running(**json.loads(self._running.read_text()))
        except (FileNotFoundError, NotADirectoryError, ValueError, TypeError):
            return None
        except OSError as error:
            raise EmbeddedDatabaseError(self.trouble(error)) from error
        return found if found.alive() else None

    def announce(self, running: Running) -> None:
        """Write the port file (the server does, once it answers)."""
        self._write(self._running, asdict(running), mode=0o600)

    def withdraw(self) -> None:
        """Remove the port file."""
        self._running.unlink(missing_ok=True)

    def touch(self) -> None:
        """Tell the server that somebody is about to connect, or it might end for idleness just now."""
        with contextlib.suppress(OSError):  # a full or read-only disk is no reason not to attach
            os.utime(self._running)

    def touched(self) -> float:
        """When somebody last attached, in epoch seconds; 0 if that cannot be told."""
        try:
            return self._running.stat().st_mtime
        except OSError:
            return 0.0

    def last_words(self, skip: int = 0) -> str:
        """What the log gives as the reason of an end, or else its last line that says something.

        `skip` are the bytes that were in it before: an older process's words.
        """
        try:
            text = self.log.read_bytes()[skip:].decode(errors="replace")
        except OSError:
            return "it left no log"
        said = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
        reasons = [line.removeprefix(REASON) for line in said if line.startswith(REASON)]
        return (reasons or said or ["it left no word in its log"])[-1][:300].rstrip(".")

    def bytes(self) -> int:
        """Size of the engine's files, which may come and go meanwhile."""
        size = 0
        for parent, _, names in os.walk(self.data):
            for name in names:
                with contextlib.suppress(OSError):
                    size += os.stat(os.path.join(parent, name)).st_size
        return size

    def trouble(self, error: OSError) -> str:
        """What an error of the file system means here, and what to do."""
        reason = error.strerror or str(error)
        return (
            f"the embedded database's folder '{self.path}' cannot be used ({reason}); make room or give the right to "
            "write there, or name another folder by AUTOCONTEXT_HOME."
        )

    def _check_version(self) -> None:
        installed = engine_version()
        if not self._version.exists():
            self._write(self._version, {"layout": LAYOUT, "engine": installed})
            return
        try:
            found = json.loads(self._version.read_text())
            layout, engine = int(found["layout"]), str(found["engine"])
        except (ValueError, KeyError, TypeError):
            layout, engine = -1, "unknown"
        if layout != LAYOUT or _numbers(engine) > _numbers(installed):
            raise EmbeddedDatabaseError(
                f"'{self.path}' was written by another version (layout {layout}, engine {engine}; here: layout "
                f"{LAYOUT}, engine {installed}); upgrade autocontext-graph, or name another folder by AUTOCONTEXT_HOME."
            )
        if engine != installed:
            self._write(self._version, {"layout": LAYOUT, "engine": installed})

    @staticmethod
    def _write(path: Path, content: dict[str, Any], mode: int = 0o644) -> None:
        """Whole or not at all, and never readable by others for a moment if it must not be."""
        part = path.with_suffix(f".{os.getpid()}.part")
        try:
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as file:
                json.dump(content, file)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def started(process: psutil.Process) -> float:
    """When a process started: since boot where that is how the system counts, so that setting the clock does not make
    it another process."""
    return process.create_time() - (psutil.boot_time() if psutil.LINUX else 0.0)


def engine_version() -> str:
    """Version of the embedded engine that is installed.

    Raises:
        EmbeddedDatabaseError: none is; both ways out are named.
    """
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        raise EmbeddedDatabaseError(
            "the embedded database is not installed: pip install 'autocontext-graph[embedded]', or set NEO4J_URI "
            "(and NEO4J_USERNAME, NEO4J_PASSWORD) to use a Neo4j server."
        ) from None


def _numbers(text: str) -> tuple[int, ...]:
    digits = "".join(char if char.isdigit() else " " for char in text)
    return tuple(int(part) for part in digits.split())
