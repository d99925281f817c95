"""Settings, all from the environment; nothing else in the code base reads environment variables.

`NEO4J_*` are the names that Neo4j's own tools use. With `NEO4J_URI` set, that server is used; with nothing set, the
embedded database in `AUTOCONTEXT_HOME`.
"""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_data_path
from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from autocontext.errors import ConfigError


class Settings(BaseSettings):
    """Where the graph is, and how long to wait for it."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    neo4j_uri: str | None = Field(default=None, validation_alias="NEO4J_URI")
    """Bolt address of a Neo4j server, e.g. `bolt://localhost:7687`; unset: the embedded database."""

    neo4j_username: str = Field(default="neo4j", validation_alias="NEO4J_USERNAME")
    """User for that server."""

    neo4j_password: SecretStr | None = Field(default=None, validation_alias="NEO4J_PASSWORD")
    """Its password; never shown, logged or stored."""

    neo4j_database: str = Field(default="neo4j", validation_alias="NEO4J_DATABASE")
    """Name of the database on that server."""

    home: Path = Field(
        default_factory=lambda: user_data_path("autocontext", appauthor=False), validation_alias="AUTOCONTEXT_HOME"
    )
    """Folder of the embedded database and of all else that is kept on this machine."""

    database_wait_seconds: float = Field(default=120, ge=0, validation_alias="AUTOCONTEXT_WAIT_SECONDS")
    """How long an exploration waits for a database that has gone away in its middle."""

    embedded_idle_seconds: float = Field(default=900, gt=0, validation_alias="AUTOCONTEXT_IDLE_SECONDS")
    """The embedded database's server ends by itself after so long without a connection."""

    embedded_start_seconds: float = Field(default=60, gt=0, validation_alias="AUTOCONTEXT_START_SECONDS")
    """How long to wait for the embedded database's server to answer."""

    embedded_heap: str = Field(default="512m", pattern=r"^\d+[mg]$", validation_alias="AUTOCONTEXT_HEAP")
    """Java heap of the embedded database's server."""

    snapshot_megabytes: float = Field(default=256, gt=0, validation_alias="AUTOCONTEXT_SNAPSHOT_MB")
    """Memory for live snapshots of an environment while exploring; beyond it states are replayed."""

    model_wait_seconds: float = Field(default=1, ge=0, le=60, validation_alias="AUTOCONTEXT_MODEL_WAIT")
    """Before a model that could not be reached is tried again; the waits grow from there."""

    model_seconds: float = Field(default=120, gt=0, validation_alias="AUTOCONTEXT_MODEL_SECONDS")
    """How long a model may take for one answer."""

    prices: Path | None = Field(default=None, validation_alias="AUTOCONTEXT_PRICES")
    """File with prices of models that override ours; default `prices.yaml` in `home`."""


def secret_values() -> list[str]:
    """Values of variables that look like keys, longest first: they are masked wherever text of others is shown."""
    found = {
        value for name, value in os.environ.items() if name.endswith(("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD"))
    }
    return sorted((value for value in found if len(value) >= 6), key=len, reverse=True)


def load_settings() -> Settings:
    """Settings from the environment.

    Raises:
        ConfigError: a variable has a value that makes no sense; the message names it.
    """
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"{first['loc'][0]}: {first['msg']} (got {first['input']!r}); correct or unset it.") from None
