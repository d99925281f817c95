"""A Bolt connection that loses exactly the acknowledgement of a commit: the worst moment for a network to fail."""

from __future__ import annotations

import contextlib
import socket
import threading
from urllib.parse import urlsplit

COMMIT = b"\x00\x02\xb0\x12\x00\x00"
"""A Bolt message: two bytes, an empty structure of kind COMMIT, end."""


class LosingProxy:
    """Passes on what a client and a server say to each other. Knows of Bolt only what a commit looks like."""

    def __init__(self, uri: str) -> None:
        """Stand before the server at that address."""
        server = urlsplit(uri)
        self._server = (server.hostname or "127.0.0.1", server.port or 7687)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.uri = f"bolt://127.0.0.1:{self._listener.getsockname()[1]}"
        self.to_lose = 0
        """So many of the next acknowledgements are lost, each with its connection."""
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                server = socket.create_connection(self._server)
                lost = threading.Event()
                threading.Thread(target=self._asks, args=(client, server, lost), daemon=True).start()
                threading.Thread(target=self._answers, args=(client, server, lost), daemon=True).start()

    def _asks(self, client: socket.socket, server: socket.socket, lost: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                if self.to_lose and data.endswith(COMMIT):
                    self.to_lose -= 1
                    lost.set()
                server.sendall(data)
        _hang_up(server)

    def _answers(self, client: socket.socket, server: socket.socket, lost: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while (data := server.recv(65536)) and not lost.is_set():  # it has committed, or it would not answer
                client.sendall(data)
        _hang_up(client)


def _hang_up(line: socket.socket) -> None:
    """Also for the thread that listens to it; closing alone would not end its waiting."""
    with contextlib.suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)
    line.close()
