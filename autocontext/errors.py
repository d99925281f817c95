"""Every error that AutoContext raises on purpose, in one tree.

    AutoContextError
    ├── UsageError                   the call itself makes no sense (command line: exit 2)
    ├── ConfigError                  a setting is missing, malformed or contradicts another
    ├── EnvironmentFailure           an instance cannot be opened or played
    │   ├── GameFileError            the file is missing, unreadable or no game
    │   ├── StepFailure              the environment raised while resetting, stepping or restoring
    │   └── EnvironmentHung          a step took longer than its limit
    ├── DatabaseError                the graph database cannot do what was asked
    │   ├── DatabaseUnavailable      it cannot be reached, started or logged in to
    │   │   ├── DatabaseDown         it does not answer at the moment
    │   │   └── EmbeddedDatabaseError  the local service cannot run (folder, lock, disk, version)
    │   ├── SchemaError              the stored schema is newer than this release, or broken
    │   └── QueryError               Cypher was refused, is wrong, or was stopped at a limit
    │       └── QueryRefused         it is not provably read-only
    ├── ModelError                   a language model did not do its part
    │   ├── ModelUnavailable         it cannot be reached, or does not accept the name, key or request
    │   ├── ReplyUnusable            what it said could not be used, even after it was to be repaired
    │   └── RecordingMismatch        a recording holds no reply for what is asked
    ├── UnknownInstance              no instance has that id (nearest names are in the message)
    ├── InstanceMismatch             the id belongs to another environment or another game
    ├── InstanceBusy                 another process holds the instance's lease
    ├── LeaseLost                    this process held it, and another one took it
    ├── ImportFailed                 a file is no export of an instance, or cannot be imported under that name
    ├── UnknownFact                  no fact of the instance answers to that reference
    ├── LogRefused                   a log of recorded steps cannot be ingested
    └── InvalidEdit                  a triplet breaks a rule of the data model

A message says what happened, where, and what to do next; it fits on one line.
"""

from __future__ import annotations


class AutoContextError(Exception):
    """Base of the tree. The command line prints it as one line and exits 1."""


class UsageError(AutoContextError):
    """The call itself makes no sense: an impossible option or value."""


class ConfigError(AutoContextError):
    """A setting is missing, malformed or contradicts another."""


class EnvironmentFailure(AutoContextError):
    """An environment instance cannot be opened or played."""


class GameFileError(EnvironmentFailure):
    """A game's file is missing, unreadable, or not a game of this environment."""


class StepFailure(EnvironmentFailure):
    """The environment raised while it was reset, stepped or restored."""


class EnvironmentHung(EnvironmentFailure):
    """A call into the environment took longer than its limit."""


class DatabaseError(AutoContextError):
    """The graph database cannot do what was asked."""


class DatabaseUnavailable(DatabaseError):
    """The database cannot be reached, started or logged in to."""


class DatabaseDown(DatabaseUnavailable):
    """The database does not answer at the moment; it may be starting."""


class EmbeddedDatabaseError(DatabaseUnavailable):
    """The embedded database's local service cannot run: folder, lock, disk or version."""


class SchemaError(DatabaseError):
    """The stored schema is newer than this release understands, or is broken."""


class QueryError(DatabaseError):
    """A Cypher query is wrong, failed, or was stopped at a limit."""


class QueryRefused(QueryError):
    """A user's Cypher is not provably read-only."""


class ModelError(AutoContextError):
    """A language model did not do its part."""


class ModelUnavailable(ModelError):
    """A model cannot be reached, or does not accept the name, the key or the request."""


class ReplyUnusable(ModelError):
    """What a model said could not be used, even after it was asked to repair it; `reply` is what it said last."""

    def __init__(self, message: str, reply: str = "") -> None:
        super().__init__(message)
        self.reply = reply[:500]


class RecordingMismatch(ModelError):
    """A recording holds no reply for what is asked."""


class UnknownInstance(AutoContextError):
    """No stored instance has that id."""


class InstanceMismatch(AutoContextError):
    """An instance id is already used for another environment or another game."""


class InstanceBusy(AutoContextError):
    """Another process holds the instance's lease: it explores or changes it."""


class LeaseLost(AutoContextError):
    """This process held the instance's lease, gave no sign of life for too long, and another one took it."""


class ImportFailed(AutoContextError):
    """A file is no export of an instance, is broken, or its instance is there already; nothing was stored."""


class UnknownFact(AutoContextError):
    """No fact of the instance answers to that reference."""


class InvalidEdit(AutoContextError):
    """A triplet or an edit breaks a rule of the data model."""


class LogRefused(AutoContextError):
    """A log of recorded steps cannot be read, or a line of it is wrong."""
