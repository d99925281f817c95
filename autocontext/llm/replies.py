"""From what a model said to the object that was asked for, or to what exactly is wrong with it."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from langchain_core.messages import AIMessage
from pydantic import BaseModel, ValidationError

T = TypeVar("T", bound=BaseModel)

LONGEST = 200_000
"""Characters of a reply that are looked at."""
_CUT_OFF = {"length", "max_tokens", "max_output_tokens"}
_REFUSED = {"content_filter", "refusal", "safety"}
_FENCE = re.compile(r"```(?:json)?\s*\n?(.*?)```", re.DOTALL)


class Unusable(Exception):
    """What is wrong with a reply; `final`: asking again would not help."""

    def __init__(self, what: str, *, final: bool = False) -> None:
        super().__init__(what)
        self.final = final


def parse(message: AIMessage, reply: type[T]) -> T:
    """The object that was asked for.

    Raises:
        Unusable: it is not in there.
    """
    reason = _finish(message)
    refusal = message.additional_kwargs.get("refusal")
    if refusal or reason in _REFUSED:
        raise Unusable(f"the model refused: {refusal or reason}", final=True)
    text = text_of(message)
    if not text.strip():
        raise Unusable("the reply was empty")
    found = _first_object(text[:LONGEST])
    if found is None:
        if reason in _CUT_OFF or len(text) > LONGEST:
            raise Unusable("the reply was cut off at its length limit; answer more briefly")
        raise Unusable("there was no JSON object in the reply")
    try:
        return reply.model_validate(found)
    except ValidationError as error:
        raise Unusable(_short(error)) from None


def text_of(message: AIMessage) -> str:
    """What a message says: its text, the texts of its blocks, or the arguments of its tool call."""
    content: Any = message.content
    if isinstance(content, list):
        parts = (part if isinstance(part, str) else part.get("text", "") for part in content)
        content = "".join(part for part in parts if isinstance(part, str))
    if not content and message.tool_calls:
        return json.dumps(message.tool_calls[0]["args"])
    return str(content)


def _first_object(text: str) -> dict[str, Any] | None:
    """The first JSON object: the whole text, in a code fence, or with words around it."""
    for candidate in (text, *_FENCE.findall(text)):
        try:
            found = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    decoder = json.JSONDecoder()
    for start in [match.start() for match in re.finditer(r"\{\s*[\"}]", text)][:50]:
        try:
            found, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    return None


def _finish(message: AIMessage) -> str:
    told = message.response_metadata
    for name in ("finish_reason", "stop_reason", "done_reason"):
        if isinstance(told.get(name), str):
            return str(told[name]).casefold()
    return ""


def _short(error: ValidationError) -> str:
    """The first few mistakes: where, and what."""
    told = [
        f"{'.'.join(str(part) for part in mistake['loc']) or 'the object'}: {mistake['msg']}"
        for mistake in error.errors(include_url=False, include_input=False)[:5]
    ]
    return "the JSON does not fit the schema: " + "; ".join(told)
