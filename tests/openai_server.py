"""A small server that speaks OpenAI's chat completions over real HTTP, and misbehaves as it is told.

    with openai_server(lambda request: "hello") as server:
        server.url          # http://127.0.0.1:PORT/v1
        server.requests     # what was asked, in order

What is answered is up to a function of the request's JSON: a text, a dictionary (as JSON text), or one of the answers
below.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Reply:
    """A chat completion. `usage` None: the server does not count; else a word is a token, or what is given."""

    text: str = ""
    finish: str = "stop"
    refusal: str | None = None
    usage: Mapping[str, int] | str | None = "words"


@dataclass(frozen=True)
class Raw:
    """Any HTTP answer. `drip`: blanks before it that hold the line open, ten a second."""

    status: int = 200
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    drip: int = 0
    claimed: int = 0
    """Bytes more than there are in Content-Length: the line breaks off."""


@dataclass(frozen=True)
class Late:
    """An answer after so many seconds."""

    seconds: float
    answer: Any = "late"


def error(status: int, message: str, **headers: str) -> Raw:
    """An error as OpenAI words it; underscores in headers are hyphens."""
    body = json.dumps({"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}})
    return Raw(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


Answer = str | dict[str, Any] | Reply | Raw | Late
Brain = Callable[[dict[str, Any]], Answer]


@dataclass
class Asked:
    """One request; names of headers in small letters."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float


@dataclass
class Server:
    """What a test sees of it."""

    url: str
    requests: list[Asked] = field(default_factory=list)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The JSON of every request."""
        return [asked.body for asked in self.requests]

    def environment(self, key: str = "test-key-0123456789") -> dict[str, str]:
        """Variables that lead to it."""
        return {"OPENAI_BASE_URL": self.url, "OPENAI_API_KEY": key, "AUTOCONTEXT_MODEL_WAIT": "0.01"}


@contextmanager
def openai_server(brain: Brain) -> Iterator[Server]:
    """A server on loopback, at a port of its own, until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            found.requests.append(Asked(self.path, headers, body, time.monotonic()))
            known = self.path == "/v1/chat/completions"
            answer: Any = brain(body) if known else error(404, f"no such path: {self.path}")
            if isinstance(answer, Late):
                closing.wait(answer.seconds)
                answer = answer.answer
            with suppress(BrokenPipeError, ConnectionResetError):  # the client has given up
                self._send(answer if isinstance(answer, Raw) else Raw(body=json.dumps(completion(body, answer))))

        def _send(self, raw: Raw) -> None:
            data = raw.body.encode()
            self.send_response(raw.status)
            for name, value in {"Content-Type": "application/json", **raw.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(raw.drip + len(data) + raw.claimed))
            self.end_headers()
            for _ in range(raw.drip):
                if closing.wait(0.1):
                    return
                self.wfile.write(b" ")
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    closing = threading.Event()
    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    found = Server(f"http://127.0.0.1:{http.server_address[1]}/v1")
    threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield found
    finally:
        closing.set()
        http.shutdown()
        http.server_close()


def completion(request: Mapping[str, Any], answer: str | dict[str, Any] | Reply) -> dict[str, Any]:
    """OpenAI's JSON of an answer."""
    reply = answer if isinstance(answer, Reply) else Reply(answer if isinstance(answer, str) else json.dumps(answer))
    usage: Any = reply.usage
    if usage == "words":
        asked = sum(len(str(message["content"]).split()) for message in request["messages"])
        said = len(reply.text.split())
        usage = {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
    message = {"role": "assistant", "content": None if reply.refusal else reply.text, "refusal": reply.refusal}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": request["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish, "logprobs": None}],
        **({"usage": usage} if usage is not None else {}),
    }


def by_messages(brain: Callable[[str, str], Any]) -> Brain:
    """From a function of (system text, user text), like those in scripted_model.py."""

    def answer(request: dict[str, Any]) -> Any:
        def texts(system: bool) -> str:
            return "\n".join(m["content"] for m in request["messages"] if (m["role"] == "system") == system)

        return brain(texts(True), texts(False))

    return answer
