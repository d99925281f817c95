"""Games for these tests, made once a session, and the adapters that the contract suite runs on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from autocontext.environments.textworld.games import TINY_WALKTHROUGH
from tests.environments.toys import ReplayedVault, Vault

WIN = list(TINY_WALKTHROUGH)

ADAPTERS: dict[str, tuple[Any, dict[str, Any]]] = {
    # name: which game or class, and the options that it is opened with
    "textworld": ("cooking-small", {"admissible": True}),
    "textworld-tiny": ("tiny", {"admissible": True}),
    "textworld-unlisted": ("cooking-small", {"admissible": False}),
    "textworld-tiny-unlisted": ("tiny", {"admissible": False}),
    "python": (Vault, {}),
    "python-replayed": (ReplayedVault, {}),
}

ENDS = {
    "textworld-tiny": WIN,
    "textworld-tiny-unlisted": WIN,
    "python": ["go north", "go east", "jump"],
    "python-replayed": ["go north", "go east", "jump"],
}
"""Actions that end an episode of the adapter."""


def _each(names: Iterable[str]) -> list[Any]:
    return [pytest.param(name, marks=[pytest.mark.service] if name.startswith("textworld") else []) for name in names]


every_adapter = pytest.mark.parametrize("adapter", _each(ADAPTERS))
with_snapshots = pytest.mark.parametrize("adapter", _each(name for name in ADAPTERS if "replayed" not in name))
with_an_end = pytest.mark.parametrize("adapter", _each(ENDS))


@pytest.fixture
def opened(adapter: str, request: pytest.FixtureRequest) -> Iterator[Callable[[], Any]]:
    """Opens the adapter's instance; what was opened is closed at the end."""
    what, options = ADAPTERS[adapter]
    made: list[Any] = []

    def open_one() -> Any:
        if isinstance(what, str):
            from autocontext.environments.textworld import open_environment

            made.append(open_environment(request.getfixturevalue("games")[what], **options))
        else:
            made.append(what(**options))
        return made[-1]

    yield open_one
    for environment in made:
        environment.close()
