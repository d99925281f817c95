"""What tokens of a model cost: a small file of ours, and one of the user's that overrides it."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, ValidationError

from autocontext.config import load_settings
from autocontext.errors import ConfigError
from autocontext.types import Data


class Price(Data):
    """USD for a million tokens; what is the same, millionths of a USD for one."""

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)


def price_of(model: str) -> Price | None:
    """The price of `provider:name`; None: nobody has written one down.

    Raises:
        ConfigError: the user's file is malformed.
    """
    shipped = _read("shipped prices", (files("autocontext.llm") / "prices.yaml").read_text(encoding="utf-8"))
    path = prices_file()
    own: dict[str, Price] = {}
    if path.exists():
        try:
            own = _read(str(path), path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"the prices in {path} cannot be read: {error}.") from None
    return own.get(model) or shipped.get(model)


def must_know(model: str) -> Price:
    """The price of a model that a cost limit needs.

    Raises:
        ConfigError: it is unknown; the message says which line to add where.
    """
    if price := price_of(model):
        return price
    raise ConfigError(
        f"--max-cost needs the price of '{model}', which is unknown. Add it to {prices_file()}, in USD for a million "
        f'tokens: "{model}": {{input: 1.0, output: 2.0}}'
    )


def prices_file() -> Path:
    """The user's own file; it need not exist."""
    settings = load_settings()
    return settings.prices or settings.home / "prices.yaml"


@cache
def _read(where: str, text: str) -> dict[str, Price]:
    try:
        found: Any = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise ConfigError(f"the prices in {where} are no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(found, dict):
        raise ConfigError(
            f"the prices in {where} are no mapping; write lines like openai:name: {{input: 1, output: 2}}"
        )
    prices = {}
    for name, value in found.items():
        try:
            prices[str(name)] = Price.model_validate(value)
        except ValidationError as error:
            raise ConfigError(f"the price of '{name}' in {where}: {error.errors()[0]['msg']}.") from None
    return prices
