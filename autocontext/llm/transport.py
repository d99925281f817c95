"""Calls a model in spite of a bad line: waits and tries again within bounds, and says what is wrong where that is no
use.

Providers' packages raise errors of their own; what they have in common is a status code on the error or its response,
and names by which timeouts and broken connections can be told.
"""

from __future__ import annotations

import contextvars
import logging
import math
import queue
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt

from autocontext.config import secret_values
from autocontext.errors import AutoContextError, ModelUnavailable

T = TypeVar("T")

LONGEST_WAIT = 60.0
"""Seconds that a server may ask to be waited for."""
WAIT_TOLD = 5.0
"""Longer waits are told, so that nobody takes them for a hang."""
_RETRIED = {408, 409, 425, 429, 500, 502, 503, 504, 529}
_CONNECTION = re.compile(r"timeout|connect|remoteprotocol|readerror|incompleteread", re.IGNORECASE)
_NO_ADDRESS = re.compile(r"unsupportedprotocol|invalidurl|localprotocol", re.IGNORECASE)
_NO_SCHEMA = re.compile(r"response_format|json_schema|structured|schema|guided|grammar", re.IGNORECASE)
log = logging.getLogger(__name__)


class SchemaUnknown(Exception):
    """The server does not take a JSON schema for its replies."""


class CallTimeout(Exception):
    """One call took longer than its limit, though something may still have come in."""


def call(
    model: str, ask: Callable[[], T], *, attempts: int, first_wait: float = 1.0, seconds: float | None = None
) -> T:
    """The result of `ask`, tried at most so many times.

    Args:
        seconds: for one try, by the clock; None: as long as the provider's package waits.

    Raises:
        SchemaUnknown: the server refused the request for its schema.
        ModelUnavailable: it cannot be reached, does not know the model or the key, or refused the request.
    """

    def told(state: RetryCallState) -> None:
        wait = state.next_action.sleep if state.next_action else 0.0
        if wait >= WAIT_TOLD and state.outcome and (error := state.outcome.exception()):
            log.warning("%s: trying again in %.0f s (%s).", model, wait, _what(error))

    again = Retrying(
        retry=retry_if_exception(_may_pass),
        stop=stop_after_attempt(attempts),
        wait=lambda state: _wait(state, first_wait),
        before_sleep=told,
        reraise=True,
    )
    try:
        for attempt in again:
            with attempt:
                return ask() if seconds is None else _within(seconds, ask)
    except AutoContextError:
        raise
    except Exception as error:
        # What the server said may hold the key, so the error itself is not chained: tracebacks would print it.
        status = status_of(error)
        if status in (400, 422) and _NO_SCHEMA.search(str(error)):
            raise SchemaUnknown(one_line(error)) from None
        raise ModelUnavailable(_said(model, error, status, attempts)) from None
    raise AssertionError("tenacity gives up by raising")


def status_of(error: BaseException) -> int | None:
    """The HTTP status that an error carries, if it does."""
    for holder in (error, getattr(error, "response", None)):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int):
            return status
    return None


def one_line(error: BaseException, longest: int = 300) -> str:
    """What an error says, on one line, without secrets and without what a terminal would obey."""
    text = "".join(char if char.isprintable() else " " for char in str(error))
    return masked(" ".join(text.split()))[:longest] or type(error).__name__


def masked(text: str) -> str:
    """Without the values of the environment's keys, nor what looks like a part of one."""
    for secret in secret_values():
        text = text.replace(secret, "***")
    return re.sub(r"\bsk-[\w*-]{6,}", "***", text)


def _within(seconds: float, ask: Callable[[], T]) -> T:
    """The result of `ask`, or `CallTimeout`. The packages' own limits hold for each read, so a server that sends a
    blank now and then to keep the line open would never be left. What comes too late is thrown away."""
    box: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            box.put((ask(), None))
        except BaseException as error:
            box.put((None, error))

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), name="model call", daemon=True).start()
    try:
        found, error = box.get(timeout=seconds)
    except queue.Empty:
        raise CallTimeout(f"no whole answer within {seconds:g} s") from None
    if error is not None:
        raise error
    return found  # type: ignore[return-value]


def _may_pass(error: BaseException) -> bool:
    if isinstance(error, AutoContextError) or not isinstance(error, Exception):
        return False
    status = status_of(error)
    if status is not None:
        return status in _RETRIED or status < 400  # below 400: an answer that was no answer, e.g. a page in HTML
    names = [name for one in _chain(error) for name in _names(one)]
    if any(_NO_ADDRESS.search(name) for name in names):
        return False
    return any(_CONNECTION.search(name) for name in _names(error))


def _names(error: BaseException) -> list[str]:
    return [kind.__name__ for kind in type(error).__mro__ if kind not in (Exception, BaseException, object)]


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and what it came from."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__


def _wait(state: RetryCallState, first_wait: float) -> float:
    error = state.outcome.exception() if state.outcome else None
    headers: Any = getattr(getattr(error, "response", None), "headers", None) or {}
    asked = _seconds(headers.get("retry-after"))
    if asked is not None:
        return min(LONGEST_WAIT, max(0.0, asked))
    return min(LONGEST_WAIT, first_wait * (2.0 ** (state.attempt_number - 1) + random.random()))


def _seconds(header: Any) -> float | None:
    """`Retry-After`: seconds, or a date."""
    try:
        seconds = float(header)
    except (TypeError, ValueError):
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except (AttributeError, TypeError, ValueError, OverflowError):
            return None
    return None if math.isnan(seconds) else seconds


def _said(model: str, error: BaseException, status: int | None, attempts: int) -> str:
    what, where = _what(error), _where(error)
    if status in (401, 403):
        return f"the model '{model}'{where} does not accept the key ({what}). Check the key of its provider."
    if status == 404:
        return f"there is no model '{model}'{where} ({what}). Check its name and the provider's base URL."
    if status is not None and not _may_pass(error):
        return f"the model '{model}'{where} refused the request ({what})."
    tries = f" after {attempts} tries" if _may_pass(error) and attempts > 1 else ""
    return f"the model '{model}'{where} gave no answer{tries} ({what}). Check its address (OPENAI_BASE_URL)."


def _what(error: BaseException) -> str:
    """Status or kind of an error, what it says, and what it came from if that says more."""
    status, said = status_of(error), one_line(error)
    origin = one_line(list(_chain(error))[-1], longest=150)
    more = "" if status or origin in said else f": {origin}"
    return f"{status or type(error).__name__}: {said.rstrip('.') if more else said}{more}"


def _where(error: BaseException) -> str:
    """The address that was asked, without the name and password that an address may hold."""
    for holder in (error, getattr(error, "response", None)):
        try:
            url: Any = holder.request.url  # type: ignore[union-attr]
            if not url.host:
                return ""
            return masked(f" at {url.scheme}://{url.host}{f':{url.port}' if url.port else ''}{url.path}")
        except (AttributeError, RuntimeError):  # none, or httpx has not been told
            continue
    return ""
