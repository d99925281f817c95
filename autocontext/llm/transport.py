"""Calls a model in spite of a bad line: waits and tries again within bounds, and says what is wrong where that is no
use.

Providers' packages raise errors of their own; what they have in common is a status code on the error or its response,
and names by which timeouts and broken connections can be told.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_exponential_jitter

from autocontext.config import secret_values
from autocontext.errors import AutoContextError, ModelUnavailable

T = TypeVar("T")

LONGEST_WAIT = 60.0
"""Seconds that a server may ask to be waited for."""
_RETRIED = {408, 409, 425, 429, 500, 502, 503, 504, 529}
_CONNECTION = re.compile(r"timeout|connect|remoteprotocol|readerror|incompleteread", re.IGNORECASE)
_NO_SCHEMA = re.compile(r"response_format|json_schema|structured|schema|guided|grammar", re.IGNORECASE)


class SchemaUnknown(Exception):
    """The server does not take a JSON schema for its replies."""


def call(model: str, ask: Callable[[], T], *, attempts: int, first_wait: float = 1.0) -> T:
    """The result of `ask`, tried at most so many times.

    Raises:
        SchemaUnknown: the server refused the request for its schema.
        ModelUnavailable: it cannot be reached, does not know the model or the key, or refused the request.
    """
    again = Retrying(
        retry=retry_if_exception(_may_pass),
        stop=stop_after_attempt(attempts),
        wait=lambda state: _wait(state, first_wait),
        reraise=True,
    )
    try:
        for attempt in again:
            with attempt:
                return ask()
    except AutoContextError:
        raise
    except Exception as error:
        status = status_of(error)
        if status in (400, 422) and _NO_SCHEMA.search(str(error)):
            raise SchemaUnknown(one_line(error)) from error
        raise ModelUnavailable(_said(model, error, status, attempts)) from error
    raise AssertionError("tenacity gives up by raising")


def status_of(error: BaseException) -> int | None:
    """The HTTP status that an error carries, if it does."""
    for holder in (error, getattr(error, "response", None)):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int):
            return status
    return None


def one_line(error: BaseException, longest: int = 300) -> str:
    """What an error says, on one line and without secrets."""
    return masked(" ".join(str(error).split()))[:longest] or type(error).__name__


def masked(text: str) -> str:
    """Without the values of the environment's keys, nor what looks like a part of one."""
    for secret in secret_values():
        text = text.replace(secret, "***")
    return re.sub(r"\bsk-[\w*-]{6,}", "***", text)


def _may_pass(error: BaseException) -> bool:
    if isinstance(error, AutoContextError):
        return False
    status = status_of(error)
    if status is not None:
        return status in _RETRIED
    names = [kind.__name__ for kind in type(error).__mro__ if kind not in (Exception, BaseException, object)]
    return isinstance(error, Exception) and any(_CONNECTION.search(name) for name in names)


def _wait(state: RetryCallState, first_wait: float) -> float:
    error = state.outcome.exception() if state.outcome else None
    headers: Any = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        return min(LONGEST_WAIT, float(headers.get("retry-after")))
    except (TypeError, ValueError):
        return float(wait_exponential_jitter(initial=first_wait, max=LONGEST_WAIT, jitter=first_wait)(state))


def _said(model: str, error: BaseException, status: int | None, attempts: int) -> str:
    what = one_line(error)
    if status in (401, 403):
        return f"the model '{model}' does not accept the key ({status}: {what}). Check the key of its provider."
    if status == 404:
        return f"there is no model '{model}' at that address ({what}). Check its name and the provider's base URL."
    if status is not None and status not in _RETRIED:
        return f"the model '{model}' refused the request ({status}: {what})."
    kind = f"{status}: {what}" if status else f"{type(error).__name__}: {what}"
    tries = f" after {attempts} tries" if _may_pass(error) else ""
    return f"the model '{model}' gave no answer{tries} ({kind}). Check the address (OPENAI_BASE_URL) and the network."
