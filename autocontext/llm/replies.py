"""From what a model said to the object that was asked for, or to what exactly is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TypeVar

from langchain_core.messages import AIMessage
from pydantic import BaseModel, ValidationError

T = TypeVar("T", bound=BaseModel)

LONGEST = 200_000
"""Characters of a reply that are looked at."""
_CUT_OFF = {"length", "max_tokens", "max_output_tokens"}
_REFUSED = {"content_filter", "refusal", "safety"}
_FENCE = re.compile(r"```(?:json)?(.*?)```", re.DOTALL)
_START = re.compile(r"\{\s*\"")
_MOST_STARTS = 50


class Unusable(Exception):
    """What is wrong with a reply; `final`: asking again would not help."""

    def __init__(self, what: str, *, final: bool = False) -> None:
        super().__init__(what)
        self.final = final


def parse(message: AIMessage, reply: type[T]) -> T:
    """The object that was asked for: the first one in the reply that fits.

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
    wrong = ""
    for found in _objects(text[:LONGEST]):
        # Every field may be left out, so an object of something else, or a part of one, would fit as "nothing".
        if found and not reply.model_fields.keys() & found.keys():
            wrong = wrong or f"the JSON object has none of the fields {', '.join(reply.model_fields)}"
            continue
        try:
            return reply.model_validate(_storable(found))
        except ValidationError as error:
            wrong = _short(error)
        except RecursionError:  # it could be read, just, but not be written again
            wrong = "the JSON object is nested too deeply"
    if reason in _CUT_OFF or len(text) > LONGEST:
        raise Unusable("the reply was cut off at its length limit; answer more briefly")
    raise Unusable(wrong or "there was no JSON object in the reply")


def text_of(message: AIMessage) -> str:
    """What a message says: its text, the texts of its blocks, or the arguments of its tool call. Half characters,
    which cannot be sent back or stored, become question marks."""
    content: Any = message.content
    if isinstance(content, list):
        parts = (part if isinstance(part, str) else part.get("text", "") for part in content)
        content = "".join(part for part in parts if isinstance(part, str))
    text = str(content)
    if not text and message.tool_calls:
        text = json.dumps(message.tool_calls[0]["args"])
    elif not text and message.invalid_tool_calls:
        text = message.invalid_tool_calls[0]["args"] or ""
    return str(_storable(text))


def message_in(error: Exception) -> AIMessage | None:
    """The reply inside an error: OpenAI's package raises for one that was cut off or filtered where a schema was asked
    for. It has been paid for, and it tells what was wrong."""
    completion: Any = getattr(error, "completion", None)
    try:
        choice, usage = completion.choices[0], completion.usage
        message = AIMessage(
            choice.message.content or "", response_metadata={"finish_reason": str(choice.finish_reason)}
        )
        if usage is not None:
            message.usage_metadata = {
                "input_tokens": usage.prompt_tokens,
                "output_tokens": usage.completion_tokens,
                "total_tokens": usage.prompt_tokens + usage.completion_tokens,
            }
    except (AttributeError, IndexError, TypeError):
        return None
    return message


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """JSON objects: the whole text, after its thinking, in code fences, or with words around them."""
    thought = text.rpartition("</think>")[2]
    for candidate in dict.fromkeys((text, thought, *_FENCE.findall(thought))):
        found = _loaded(candidate)
        if isinstance(found, dict):
            yield found
    decoder = json.JSONDecoder()
    end = 0
    for start in [match.start() for match in _START.finditer(thought)][:_MOST_STARTS]:
        if start < end:
            continue  # a part of an object that did not fit
        try:
            found, end = decoder.raw_decode(thought, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield found


def _storable(value: Any) -> Any:
    """Without half characters, which JSON may spell out though no text may hold them."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
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
