"""Asks a chat model for an object of a given shape: by JSON schema where the model knows it, with one repair turn."""

from __future__ import annotations

import json
import logging
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

    Args:
        model: the chat model.
        ledger: counts what it uses, and its failures.
        name: `provider:name`, for messages.
        price: of its tokens, if it is known.
        attempts: tries of one call over a bad line.
        first_wait: seconds before the second try; the waits grow from there, to a minute at most.
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
    ) -> None:
        self.model = model
        self.ledger = ledger
        self.name = name or type(model).__name__
        self.price = price
        self.attempts = attempts
        self.first_wait = first_wait
        self.method: Method = "json_schema"
        self._structured: dict[type[BaseModel], Any] = {}

    def ask(self, role: str, prompt: Prompt, reply: type[T]) -> T:
        """See `Asker`. A model without JSON schema is given the schema as text, from then on."""
        from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

        from autocontext.llm.replies import Unusable, parse, text_of

        messages: list[Any] = [SystemMessage(prompt.system), HumanMessage(prompt.user)]
        for turn in (1, 2):
            message = self._call(role, messages, reply)
            try:
                return parse(message, reply)
            except Unusable as wrong:
                said = text_of(message)
                if turn == 2 or wrong.final:
                    failure = ReplyUnusable(f"{self.name} as {role}: {wrong}", reply=said)
                    self.ledger.failed(role, failure)
                    raise failure from None
                messages += [AIMessage(said[:LONGEST_SHOWN] or "(nothing)"), HumanMessage(_repair(str(wrong)))]
        raise AssertionError("the second turn returns or raises")

    def _call(self, role: str, messages: list[Any], reply: type[BaseModel]) -> Any:
        """One turn: the raw message, whatever it says."""
        from langchain_core.messages import AIMessage

        from autocontext.llm import transport

        if self.method == "json_schema":
            try:
                runnable = self._by_schema(reply)
                given = transport.call(
                    self.name, lambda: runnable.invoke(messages), attempts=self.attempts, first_wait=self.first_wait
                )
                message = given["raw"]
                self._count(role, messages, message)
                return message
            except (transport.SchemaUnknown, NotImplementedError, AttributeError, TypeError, ValueError) as error:
                self.method = "prompted"
                log.warning("%s does not take a JSON schema (%s); it is told the schema.", self.name, error)
        told = [*messages[:1], messages[1].model_copy(update={"content": _with_schema(messages[1].content, reply)})]
        told += messages[2:]
        try:
            message = transport.call(
                self.name, lambda: self.model.invoke(told), attempts=self.attempts, first_wait=self.first_wait
            )
        except transport.SchemaUnknown as error:
            raise ModelUnavailable(f"the model '{self.name}' refused the request ({error}).") from error
        if not isinstance(message, AIMessage):
            raise ModelUnavailable(f"'{self.name}' is no chat model: it answered {type(message).__name__}.")
        self._count(role, told, message)
        return message

    def _by_schema(self, reply: type[BaseModel]) -> Any:
        if reply not in self._structured:
            self._structured[reply] = self.model.with_structured_output(
                reply.model_json_schema(), method="json_schema", include_raw=True
            )
        return self._structured[reply]

    def _count(self, role: str, messages: list[Any], message: Any) -> None:
        told = message.usage_metadata
        if told:
            used = Used(input_tokens=told["input_tokens"], output_tokens=told["output_tokens"])
        else:
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
