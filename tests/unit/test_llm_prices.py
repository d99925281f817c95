"""Prices of models: ours, the user's over them, and what is told where one is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocontext.errors import ConfigError
from autocontext.llm.prices import Price, must_know, price_of, prices_file

MINI = "openai:gpt-4.1-mini"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's file, which is not there yet."""
    monkeypatch.delenv("AUTOCONTEXT_PRICES", raising=False)
    monkeypatch.setenv("AUTOCONTEXT_HOME", str(tmp_path))
    return tmp_path / "prices.yaml"


def test_ours(own: Path) -> None:
    assert price_of(MINI) == Price(input=0.4, output=1.6)
    assert price_of("openai:test") is None
    assert prices_file() == own


def test_the_users_file_comes_first(own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own.write_text('"openai:gpt-4.1-mini": {input: 1, output: 2}\nmine:llama:8b: {input: 0, output: 0}\n')
    assert price_of(MINI) == Price(input=1, output=2)
    assert price_of("mine:llama:8b") == must_know("mine:llama:8b") == Price(input=0, output=0)
    assert price_of("openai:gpt-4o") is not None
    other = tmp_path / "other.yaml"
    other.write_text("openai:test: {input: 3, output: 4}\n")
    monkeypatch.setenv("AUTOCONTEXT_PRICES", str(other))
    assert price_of("openai:test") == Price(input=3, output=4)


def test_an_empty_file(own: Path) -> None:
    own.write_text("# nothing yet\n")
    assert price_of(MINI) is not None


def test_a_limit_needs_a_price_and_says_what_to_write_where(own: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        must_know("openai:test")
    assert str(own) in str(raised.value)
    line = str(raised.value).partition("tokens: ")[2]
    own.write_text(line + "\n")  # as told
    assert must_know("openai:test") == Price(input=1.0, output=2.0)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("openai:test: {input: 1", "YAML"),
        ("- openai:test\n", "mapping"),
        ("7", "mapping"),
        ("openai:test: 5\n", "openai:test"),
        ("openai:test: {input: 1}\n", "openai:test"),
        ("openai:test: {input: -1, output: 2}\n", "openai:test"),
        ("openai:test: {input: .inf, output: 2}\n", "openai:test"),
        ("openai:test: {input: .nan, output: 2}\n", "openai:test"),
        ("openai:test: {input: cheap, output: 2}\n", "openai:test"),
        ("openai:test: {input: 1, output: 2, cached: 3}\n", "openai:test"),
        ("\x00", "YAML"),
    ],
)
def test_a_malformed_file_is_named(own: Path, text: str, what: str) -> None:
    own.write_text(text)
    with pytest.raises(ConfigError, match=what) as raised:
        price_of(MINI)
    assert str(own) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_cannot_be_read(own: Path) -> None:
    own.mkdir()
    with pytest.raises(ConfigError, match=r"prices\.yaml"):
        price_of(MINI)


def test_a_file_of_bytes(own: Path) -> None:
    own.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"prices\.yaml"):
        price_of(MINI)
