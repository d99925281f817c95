"""The models of one run: opened, counted, recorded or replayed, as the options say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from autocontext.config import load_settings
from autocontext.explorer.fallback import ForgivingAsker
from autocontext.explorer.options import Options
from autocontext.explorer.stop import Budget
from autocontext.llm import prices
from autocontext.llm.asking import Asker, ModelAsker
from autocontext.llm.ledger import Ledger
from autocontext.llm.models import open_model
from autocontext.llm.recording import Recorder, Recording, Replayer


@dataclass(frozen=True)
class Models:
    """Whom the roles ask, and what it came to. Without a model nobody ever asks."""

    ledger: Ledger
    main: Asker
    extractor: Asker


class NoModel:
    """Stands where no role asks a model."""

    def ask(self, role: str, prompt: Any, reply: Any) -> Any:
        """Never called: options that need a model have been refused before."""
        raise AssertionError(f"{role}: there is no model")


def open_models(
    options: Options,
    budget: Budget,
    say: Callable[[str], None],
    *,
    model: Any = None,
    extractor_model: Any = None,
) -> Models:
    """Open what the options name, or take the chat models given as objects.

    Args:
        options: resolved ones.

    Raises:
        ConfigError: a model's name, key, package or price is missing; the recording cannot be used.
    """
    ledger = Ledger()
    if not options.asks:
        return Models(ledger, NoModel(), NoModel())
    if options.replay:
        replayer: Asker = Replayer(Recording(options.replay, append=False), ledger)
        if options.fallback:
            replayer = ForgivingAsker(replayer, ledger, say)
        return Models(ledger, replayer, replayer)
    recording = Recording(options.record, append=True) if options.record else None
    settings = load_settings()

    def asker(name: str | None, given: Any) -> Asker:
        if given is None and name is None:
            return NoModel()
        called = name or f"{type(given).__module__.split('.')[0]}:{type(given).__name__}"
        price = prices.must_know(called) if budget.cost is not None else prices.price_of(called)
        found: Asker = ModelAsker(
            given if given is not None else open_model(called, timeout=settings.model_seconds),
            ledger,
            name=called,
            price=price,
            first_wait=settings.model_wait_seconds,
            seconds=settings.model_seconds,
        )
        if recording is not None:
            found = Recorder(found, recording, ledger, called)
        return ForgivingAsker(found, ledger, say) if options.fallback else found

    main = asker(options.model, model)
    if extractor_model is None and options.extractor_model is None:
        return Models(ledger, main, main)
    return Models(ledger, main, asker(options.extractor_model, extractor_model))
