"""Models by name: what a name, a key or a package that is missing is told as."""

from __future__ import annotations

import sys

import pytest

from autocontext.errors import ConfigError
from autocontext.llm.models import open_model


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdefghij")


@pytest.mark.parametrize("name", ["gpt-4.1-mini", "", ":", "openai:", ":gpt-4.1-mini", " : "])
def test_a_name_without_a_provider_or_a_model(name: str) -> None:
    with pytest.raises(ConfigError, match=r"provider:name, e\.g\. openai:gpt-4\.1-mini"):
        open_model(name)


def test_langchain_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain.chat_models", None)
    with pytest.raises(ConfigError, match=r"pip install 'autocontext-graph\[llm\]'"):
        open_model("openai:gpt-4.1-mini")


def test_a_provider_whose_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_anthropic", None)
    with pytest.raises(ConfigError, match="langchain-anthropic"):
        open_model("anthropic:claude-sonnet-4-5")


def test_openai_s_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    base = pytest.importorskip("langchain.chat_models.base")
    if found := getattr(base, "_get_chat_model_creator", None):
        found.cache_clear()  # a test before this one may have opened a model
    monkeypatch.setitem(sys.modules, "langchain_openai", None)
    with pytest.raises(ConfigError, match="langchain-openai"):
        open_model("openai:gpt-4.1-mini")


def test_a_provider_that_nobody_knows() -> None:
    pytest.importorskip("langchain")
    with pytest.raises(ConfigError, match="nonsense"):
        open_model("nonsense:model")


def test_what_a_model_is_opened_with() -> None:
    pytest.importorskip("langchain_openai")
    model = open_model("openai:gpt-4.1-mini", temperature=0.5, timeout=7, max_output_tokens=99)
    assert (model.model_name, model.temperature, model.request_timeout, model.max_tokens) == (
        "gpt-4.1-mini",
        0.5,
        7,
        99,
    )
    assert model.max_retries == 0


def test_a_name_with_more_colons() -> None:
    pytest.importorskip("langchain_openai")
    assert open_model("openai:ft:gpt-4.1-mini:me").model_name == "ft:gpt-4.1-mini:me"
