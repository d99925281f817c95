"""One writer per instance: who holds the lease, when it may be taken over, and the fence that keeps losers out.

A lease is a few properties of the Instance node. Its holder gives a sign of life every few seconds (a commit is one,
a thread gives the others); without one for `LEASE_SECONDS`, by the database's clock, anybody may take it, and a holder
whose process is known to be dead is replaced at once. Each taking raises the fence, and every commit checks inside its
transaction that its fence is still the newest: a process that slept through the loss of its lease writes nothing.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from autocontext.errors import DatabaseError, InstanceBusy, LeaseLost
from autocontext.graph.connection import WRITE_SECONDS, Transaction
from autocontext.types import Lease

LEASE_SECONDS = 30.0
HEARTBEAT_SECONDS = 5.0


@dataclass(frozen=True)
class Owner:
    """A process, in a way that another one on the same host can tell whether it is still there."""

    owner: str
    host: str
    boot: str
    pid: int
    started: int

    @classmethod
    def here(cls) -> Owner:
        """A new holder in this process; two of one process are two."""
        pid = os.getpid()
        return cls(uuid.uuid4().hex, socket.gethostname(), _boot(), pid, _started(pid))


def lease_of(stored: Mapping[str, Any]) -> Lease | None:
    """The lease in an Instance node's properties; None: nobody holds it."""
    if not stored.get("lease_owner"):
        return None
    return Lease(**{name: stored[f"lease_{name}"] for name in Lease.model_fields})


def must_be_free(instance_id: str, stored: Mapping[str, Any], now: int, owner: str = "") -> None:
    """May `owner` take the lease, or write without one, at that time of the database?

    Raises:
        InstanceBusy: no; the message says who holds it and since when.
    """
    held = lease_of(stored)
    if held is None or held.owner == owner or now - held.seen > LEASE_SECONDS * 1000 or _dead(held):
        return
    since = time.strftime("%H:%M", time.localtime(held.since / 1000))
    seconds = max(0, now - held.seen) // 1000
    raise InstanceBusy(
        f"instance '{instance_id}' is being explored by pid {held.pid} on host '{held.host}' since {since} "
        f"(last sign {seconds} s ago). Wait for it, stop it, or explore under another name with --instance."
    )


def silent_holder(transaction: Transaction, instance_id: str) -> str:
    """What to tell who is about to take the lease from a process that may only be paused; empty: there is none.

    Raises:
        InstanceBusy: somebody holds it.
    """
    seen = transaction.run("lease", id=instance_id)
    if not seen:
        return ""
    must_be_free(instance_id, seen[0]["instance"], seen[0]["now"])
    held = lease_of(seen[0]["instance"])
    if held is None or _dead(held):
        return ""
    return (
        f"taking instance '{instance_id}' over from pid {held.pid} on host '{held.host}', which gave no sign of life "
        f"for {(seen[0]['now'] - held.seen) // 1000} s. If it was paused while it wrote, this takes up to "
        f"{WRITE_SECONDS:g} s."
    )


def take(transaction: Transaction, instance_id: str, owner: Owner) -> dict[str, Any] | None:
    """Make `owner` the holder; the Instance node's properties, or None if there is no such instance. Doing it again
    changes nothing.

    Raises:
        InstanceBusy: somebody else holds it.
    """
    seen = transaction.run("lease", id=instance_id)
    if not seen:
        return None
    must_be_free(instance_id, seen[0]["instance"], seen[0]["now"], owner.owner)
    locked = transaction.run("lock_lease", id=instance_id, token=owner.owner)[0]
    must_be_free(instance_id, locked["instance"], locked["now"], owner.owner)
    if locked["instance"].get("lease_owner") == owner.owner:
        return dict(locked["instance"])
    fence = int(locked["instance"].get("lease_fence") or 0) + 1
    return dict(transaction.run("take_lease", id=instance_id, fence=fence, **asdict(owner))[0]["instance"])


def must_hold(instance_id: str, stored: Mapping[str, Any], now: int, lease: Lease | None) -> None:
    """May this commit be made? To be asked when the transaction has locked the instance.

    Raises:
        LeaseLost: the lease was taken by another one meanwhile.
        InstanceBusy: the commit is made without a lease, and somebody holds one.
    """
    if lease is None:
        must_be_free(instance_id, stored, now)
    elif stored.get("lease_fence") != lease.fence:
        held = lease_of(stored)
        by = f"by pid {held.pid} on host '{held.host}'" if held else "by a process that has ended meanwhile"
        raise LeaseLost(
            f"the lease on instance '{instance_id}' was taken {by}, since this process gave no sign of life for "
            f"{LEASE_SECONDS:g} s; nothing more is written. Start again: it continues from what is stored."
        )


class HeldLease:
    """A lease while it is held; gives signs of life until it is left."""

    def __init__(self, instance_id: str, lease: Lease, run: Callable[..., list[dict[str, Any]]]) -> None:
        """`run` runs a named query in a transaction of its own."""
        self.instance = instance_id
        self.lease = lease
        self._run = run
        self._over = threading.Event()
        self._busy = threading.Lock()
        self._thread = threading.Thread(target=self._beat, name=f"lease on {instance_id}", daemon=True)
        self._last = time.monotonic()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(timeout=HEARTBEAT_SECONDS)
        with suppress(DatabaseError):  # if the database is away, the lease expires by itself
            self._run("release_lease", id=self.instance, owner=self.lease.owner)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Around each write under the lease: it is a sign of life itself, and another one would be in its way (both
        change the Instance node, and the embedded engine lets only one of two such transactions through)."""
        with self._busy:
            yield
            self._last = time.monotonic()

    def _beat(self) -> None:
        while not self._over.wait(1.0):
            if time.monotonic() - self._last < HEARTBEAT_SECONDS or not self._busy.acquire(blocking=False):
                continue
            try:
                if not self._run("renew_lease", id=self.instance, owner=self.lease.owner):
                    return  # taken by another: the next commit will say so
                self._last = time.monotonic()
            except DatabaseError:
                pass  # it may be restarting; the next second tries again
            finally:
                self._busy.release()


def _dead(held: Lease) -> bool:
    """Is the holder known to be gone? Only ever of a process that this host would see."""
    if held.host != socket.gethostname():
        return False
    return held.boot != _boot() or held.started != _started(held.pid)


def _boot() -> str:
    """This boot of this host and its name space of process ids: containers of one host may share all but that."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return f"{psutil.boot_time():.0f}"


def _started(pid: int) -> int:
    """When a process was started, in a unit that no setting of the clock changes; 0: there is no such process."""
    try:
        if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return 0
        stat = Path(f"/proc/{pid}/stat")
        if stat.exists():
            return int(stat.read_text().rpartition(")")[2].split()[19])  # ticks since boot
        return int(psutil.Process(pid).create_time())
    except (psutil.Error, OSError):
        return 0
