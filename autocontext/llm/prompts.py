"""Prompts are files: `autocontext/prompts/*.jinja`, with strict variables and filters for what is only data.

Nothing that an environment or a person wrote goes into a prompt without one of the filters: each keeps it on one line
between its tags, whatever it holds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from autocontext.errors import ConfigError

LONGEST = 2000
"""Characters of one text in `data`, unless the template says otherwise."""


def render(name: str, **values: Any) -> str:
    """The prompt `NAME.jinja` with these values.

    Raises:
        ConfigError: Jinja2 is not installed.
        jinja2.UndefinedError, jinja2.TemplateNotFound: a defect of the release.
    """
    return str(_environment().get_template(f"{name}.jinja").render(**values)).strip()


def data(value: Any, longest: int = LONGEST) -> str:
    """As JSON on one line: texts cut with a mark of how much is missing, what cannot be printed escaped, no way to
    write a closing tag."""
    text = json.dumps(_cut_all(value, longest), ensure_ascii=False)
    return _printable(text).replace("</", "<\\/")


def terse(text: str, longest: int = 300) -> str:
    """As a part of a line: white space runs to one blank, `|` and closing tags escaped, cut."""
    line = _printable(_cut(" ".join(str(text).split()), longest))
    return line.replace("|", "\\|").replace("</", "<\\/")


def tag_safe(text: str) -> str:
    """A line that is ours but holds words of the environment: no control characters, no closing tag."""
    return _printable(text).replace("</", "<\\/")


@cache
def _environment() -> Any:
    try:
        import jinja2
    except ImportError:
        raise ConfigError(
            "prompts need Jinja2, which is not installed; install it with: pip install 'autocontext-graph[llm]'"
        ) from None
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("autocontext", "prompts"),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # prompts are no HTML; the filters below do what is needed
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(data=data, terse=terse, tag_safe=tag_safe)
    return environment


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    return f"{text[:longest]} … ({len(text) - longest} characters more)"


def _cut_all(value: Any, longest: int) -> Any:
    if isinstance(value, str):
        return _cut(value, longest)
    if isinstance(value, Mapping):
        return {str(name): _cut_all(item, longest) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_cut_all(item, longest) for item in value]
    return value


def _printable(text: str) -> str:
    """What is no printable character as a JSON escape; JSON has escaped the common ones already."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    return json.dumps(char)[1:-1] if ord(char) > 0xFFFF else f"\\u{ord(char):04x}"
