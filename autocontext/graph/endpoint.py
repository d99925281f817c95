"""Where a graph database answers, and as whom to talk to it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import SecretStr

Engine = Literal["neo4j", "embedded"]


@dataclass(frozen=True)
class Login:
    """A user name and a password that `repr` does not show."""

    username: str
    password: SecretStr


@dataclass(frozen=True)
class Endpoint:
    """A Bolt address with its database and logins.

    `reader` is a second login whose user may only read (the embedded engine ignores the read access mode, so there
    user Cypher runs under it); None where the engine enforces read access itself. `turns` is the file by which writers
    take turns (`autocontext.graph.turns`); None where they need not.
    """

    engine: Engine
    uri: str
    database: str
    writer: Login
    reader: Login | None = None
    turns: Path | None = None
