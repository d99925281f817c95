"""TextWorld games: the adapter (`game`), its reader, and a maker of games. Needs the extra `textworld`.

TextWorld itself is imported only when a game is opened or made: the reader works on stored steps without it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from autocontext.errors import EnvironmentFailure

if TYPE_CHECKING:
    from autocontext.environments.textworld.game import TextWorldGame
    from autocontext.environments.textworld.reader import TextWorldReader


def open_environment(source: str | Path, *, admissible: bool = True, task: bool = False) -> TextWorldGame:
    """Open a `.z8` game: what the command line's `textworld PATH` calls.

    Raises:
        GameFileError: the file is missing, unreadable, damaged or no TextWorld game.
        EnvironmentFailure: TextWorld is not installed.
    """
    try:
        from autocontext.environments.textworld.game import open_game
    except ImportError as error:
        raise EnvironmentFailure(
            f"'textworld' is not installed ({error}); install it with: pip install 'autocontext-graph[textworld]'"
        ) from error
    return open_game(source, admissible=admissible, task=task)


def open_reader() -> TextWorldReader:
    """The reader of recorded steps; needs neither a game nor TextWorld."""
    from autocontext.environments.textworld.reader import TextWorldReader

    return TextWorldReader()
