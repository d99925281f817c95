"""Chat models by name: `provider:name`, through LangChain."""

from __future__ import annotations

import re
import warnings
from typing import Any

from autocontext.errors import ConfigError

PACKAGES = {"openai": "langchain-openai", "anthropic": "langchain-anthropic", "google_genai": "langchain-google-genai",
            "ollama": "langchain-ollama", "mistralai": "langchain-mistralai", "groq": "langchain-groq"}  # fmt: skip
THINKING = 4
"""Times the room for a reply that models get which think before they answer."""
_EXAMPLE = "write it as provider:name, e.g. openai:gpt-4.1-mini"


def open_model(name: str, *, temperature: float = 0.0, timeout: float = 120.0, max_output_tokens: int = 4096) -> Any:
    """The chat model `provider:name`. Keys and addresses come from the provider's own variables (`OPENAI_API_KEY`,
    `OPENAI_BASE_URL`).

    Args:
        timeout: seconds for one call.
        max_output_tokens: where a reply is cut off.

    Raises:
        ConfigError: no such provider, its package or its key is missing, or the name has no provider.
    """
    provider, _, model = (part.strip() for part in name.partition(":"))
    if not provider or not model:
        raise ConfigError(f"the model '{name}' has no provider; {_EXAMPLE}.")
    try:
        from langchain.chat_models import init_chat_model
    except ImportError:
        raise ConfigError(
            "models need LangChain, which is not installed; install it with: pip install 'autocontext-graph[llm]'"
        ) from None
    # What a server refuses is told in one place, transport.py, and not also as a warning of a package.
    warnings.filterwarnings("ignore", category=UserWarning, module=r"langchain_openai\b")
    try:
        found = init_chat_model(
            model,
            model_provider=provider,
            temperature=temperature,
            timeout=timeout,
            max_tokens=max_output_tokens,
            max_retries=0,  # one place decides about trying again: transport.py
        )
    except ImportError as error:
        package = PACKAGES.get(provider, f"langchain-{provider.replace('_', '-')}")
        raise ConfigError(f"models of '{provider}' need another package ({error}); install {package}.") from None
    except Exception as error:
        raise ConfigError(_what(name, provider, error)) from None
    return _fitted(found, max_output_tokens)


def _fitted(model: Any, max_output_tokens: int) -> Any:
    """The same for models that think before they answer: room for that too, and no temperature where it is refused.
    What a model can, LangChain's packages tell of those that they know."""
    profile = getattr(model, "profile", None) or {}
    update: dict[str, Any] = {}
    if profile.get("temperature") is False:
        update["temperature"] = None
    if profile.get("reasoning_output") and "max_tokens" in type(model).model_fields:
        update["max_tokens"] = min(max_output_tokens * THINKING, profile.get("max_output_tokens") or max_output_tokens)
    return model.model_copy(update=update) if update else model


def _what(name: str, provider: str, error: Exception) -> str:
    from autocontext.llm.transport import one_line

    text = one_line(error)
    if re.search(r"api_key|API key|credential", text, re.IGNORECASE):
        named = re.search(r"[A-Z][A-Z0-9_]*_API_KEY", text)
        variable = named.group(0) if named else f"{provider.upper()}_API_KEY"
        return (
            f"the model '{name}' needs a key: set {variable} (any text, if the server of OPENAI_BASE_URL wants none)."
        )
    if "nsupported" in text and "provider" in text.casefold():
        return f"there is no provider '{provider}' of models; {_EXAMPLE}."
    return f"the model '{name}' cannot be opened: {text}"
