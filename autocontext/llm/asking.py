"""Asks a chat model for an object of a given shape: by JSON schema where the model knows it, with one repair turn."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeVar

from pydantic import BaseModel

from autocontext.errors import ModelUnavailable, ReplyUnusable
from autocontext.llm.ledger import CHARACTERS_PER_TOKEN, Ledger, Used
from autocontext.llm.prices import Price
from autocontext.types import Data

T = TypeVar("T", bound=BaseModel)
Method = Literal["json_schema", "prompted"]

LONGEST_SHOWN = 4000
"""Characters of a bad reply that its repair turn shows."""
log = logging.getLogger(__name__)


class Prompt(Data):
    """Instructions, and the data that they are about. What an environment said belongs into `user` only."""

    system: str
    user: str


class Asker(Protocol):
    """Somebody who answers: a model, a recording, or a wrapper of one."""

    def ask(self, role: str, prompt: Prompt, reply: type[T]) -> T:
        """The reply to a prompt, as an object.

        Raises:
            ReplyUnusable: what was said could not be used, even after it was to be repaired. It has been recorded.
            ModelUnavailable: the model cannot be reached.
        """
        ...


class ModelAsker:
    """Over one LangChain chat model.

    One `ask` is two turns at most, each of `attempts` tries of `seconds` with waits of a minute at most between them.

    Args:
        model: the chat model.
        ledger: counts what it uses, and its failures.
        name: `provider:name`, for messages.
        price: of its tokens, if it is known.
        attempts: tries of one call over a bad line.
        first_wait: seconds before the second try; the waits grow from there, to a minute at most.
        seconds: for one call, by the clock; None: as long as the chat model itself waits.
    """

    def __init__(
        self,
        model: Any,
        ledger: Ledger,
        *,
        name: str = "",
        price: Price | None = None,
        attempts: int = 4,
        first_wait: float = 1.0,
        seconds: float | None = None,
    ) -> None:
        self.model = model
        self.ledger = ledger
        self.name = name or type(model).__name__
        self.price = price
        self.attempts = attempts
        self.first_wait = first_wait
        self.seconds = seconds
        self.method: Method = "json_schema"
        self._structured: dict[type[BaseModel], Any] = {}

    def ask(self, role: str, prompt: Prompt, reply: type[T]) -> T:
        """See `Asker`. A model without JSON schema is given the schema as text, from then on."""
        from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

        from autocontext.llm.replies import Unusable, parse, text_of
        from autocontext.llm.transport import masked, one_line

        messages: list[Any] = [SystemMessage(prompt.system), HumanMessage(prompt.user)]
        for turn in (1, 2):
            message = self._call(role, messages, reply)
            try:
                return parse(message, reply)
            except Unusable as wrong:
                said = text_of(message)
                if turn == 2 or wrong.final:
                    failure = ReplyUnusable(f"{self.name} as {role}: {one_line(wrong)}", reply=masked(said))
                    self.ledger.failed(role, failure)
                    raise failure from None
                messages += [AIMessage(said[:LONGEST_SHOWN] or "(nothing)"), HumanMessage(_repair(str(wrong)))]
        raise AssertionError("the second turn returns or raises")

    def _call(self, role: str, messages: list[Any], reply: type[BaseModel]) -> Any:
        """One turn: the raw message, whatever it says."""
        from langchain_core.messages import AIMessage

        from autocontext.llm.transport import SchemaUnknown

        message = None
        if self.method == "json_schema":
            try:
                message = self._invoke(self._by_schema(reply), messages)
            except SchemaUnknown as error:
                self.method = "prompted"
                log.warning("%s does not take a JSON schema (%s); it is told the schema in words.", self.name, error)
        if message is None:
            first = messages[1].model_copy(update={"content": _with_schema(messages[1].content, reply)})
            messages = [messages[0], first, *messages[2:]]
            try:
                message = self._invoke(self.model.invoke, messages)
            except SchemaUnknown as error:
                raise ModelUnavailable(f"the model '{self.name}' refused the request ({error}).") from None
        if not isinstance(message, AIMessage):
            raise ModelUnavailable(f"'{self.name}' is no chat model: it answered {type(message).__name__}.")
        self._count(role, messages, message)
        return message

    def _invoke(self, invoke: Callable[[list[Any]], Any], messages: list[Any]) -> Any:
        """The message that comes back, also if the package raises because it was cut off."""
        from autocontext.llm import transport
        from autocontext.llm.replies import message_in

        def ask() -> Any:
            try:
                return invoke(messages)
            except Exception as error:
                if (message := message_in(error)) is None:
                    raise
                return message

        return transport.call(self.name, ask, attempts=self.attempts, first_wait=self.first_wait, seconds=self.seconds)

    def _by_schema(self, reply: type[BaseModel]) -> Callable[[list[Any]], Any]:
        """How the model is asked under a schema.

        Raises:
            SchemaUnknown: its package has no way to.
        """
        from autocontext.llm.transport import SchemaUnknown, one_line

        if reply not in self._structured:
            try:
                structured = self.model.with_structured_output(
                    reply.model_json_schema(), method="json_schema", include_raw=True
                )
            except (NotImplementedError, AttributeError, TypeError, ValueError) as error:
                raise SchemaUnknown(one_line(error)) from None
            # What asks is inside, beside what parses. The parsing would be slow where a reply is long, and in vain:
            # what is wrong with it is to be told to the model, in our words. And beside it asking is put into a
            # thread that an interrupt would wait for.
            steps = getattr(getattr(structured, "first", None), "steps__", {})
            self._structured[reply] = steps.get("raw", structured)
        runnable = self._structured[reply]

        def invoke(messages: list[Any]) -> Any:
            given = runnable.invoke(messages)
            return given["raw"] if isinstance(given, dict) else given

        return invoke

    def _count(self, role: str, messages: list[Any], message: Any) -> None:
        told = message.usage_metadata
        if told and told["input_tokens"] + told["output_tokens"] > 0:
            used = Used(input_tokens=max(0, told["input_tokens"]), output_tokens=max(0, told["output_tokens"]))
        else:  # servers that do not count say nothing, or zero
            asked = sum(len(str(one.content)) for one in messages)
            used = Used(
                input_tokens=-(-asked // CHARACTERS_PER_TOKEN),
                output_tokens=-(-len(str(message.content)) // CHARACTERS_PER_TOKEN),
                measured=False,
            )
        self.ledger.count(role, used, self.price)


def _repair(wrong: str) -> str:
    return (
        f"That cannot be used: {wrong}. Answer again, completely, with one JSON object as asked for and nothing else."
    )


def _with_schema(text: str, reply: type[BaseModel]) -> str:
    schema = json.dumps(reply.model_json_schema(), ensure_ascii=False, separators=(",", ":"))
    return f"{text}\n\nThe JSON object has to fit this JSON schema:\n{schema}"
