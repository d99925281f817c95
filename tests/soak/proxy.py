"""A TCP proxy between driver and server that loses the acknowledgement of a COMMIT, or the COMMIT itself."""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal
from urllib.parse import urlsplit

COMMIT = b"\x00\x02\xb0\x12\x00\x00"
"""The Bolt message: a chunk of two bytes, a structure without fields and its tag, and the end of the message."""
Loses = Literal["request", "reply"]


class Proxy:
    """Cuts the connection at every `every`th COMMIT (0: at none): before it reaches the server, or when the server
    has answered."""

    def __init__(self, uri: str, loses: Loses, every: int) -> None:
        address = urlsplit(uri)
        self._upstream = (address.hostname, address.port)
        self._loses = loses
        self._every = every
        self._numbers = itertools.count(1)
        self._next = False
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.uri = f"bolt://127.0.0.1:{self._listening.getsockname()[1]}"
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_next(self) -> None:
        """The next COMMIT is cut too."""
        self._next = True

    def close(self) -> None:
        """No further connections."""
        self._listening.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                pair = _Pair(client, socket.create_connection(self._upstream))
                threading.Thread(target=self._requests, args=(pair,), daemon=True).start()
                threading.Thread(target=self._replies, args=(pair,), daemon=True).start()

    def _requests(self, pair: _Pair) -> None:
        with pair.closing():
            while data := pair.client.recv(65536):
                if data.endswith(COMMIT) and self._due():
                    self.cuts += 1
                    if self._loses == "request":
                        return
                    pair.cutting.set()
                pair.server.sendall(data)

    def _due(self) -> bool:
        now, self._next = self._next, False
        return now or (self._every > 0 and next(self._numbers) % self._every == 0)

    def _replies(self, pair: _Pair) -> None:
        with pair.closing():
            while (data := pair.server.recv(65536)) and not pair.cutting.is_set():
                pair.client.sendall(data)


class _Pair:
    """One connection of the client, and the one to the server that stands for it."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client, self.server = client, server
        self.cutting = threading.Event()
        for end in (client, server):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closed at once, by a reset
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @contextmanager
    def closing(self) -> Iterator[None]:
        """Both ends are closed when one of the two directions has ended."""
        try:
            with contextlib.suppress(OSError):
                yield
        finally:
            for end in (self.client, self.server):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()


@contextmanager
def proxy(uri: str, loses: Loses, every: int) -> Iterator[Proxy]:
    """A proxy to that server, for as long as the `with` lasts."""
    made = Proxy(uri, loses, every)
    try:
        yield made
    finally:
        made.close()
