"""One driver, named queries, managed transactions, and the driver's errors as ours.

The only module besides `engines` that knows the driver. Transactions are tried again when the server says that it
helps, and on four occasions more: when a racing one made the same thing (a node by MERGE, a part of the schema), when
what was read does not fit together, when the acknowledgement of a commit was lost, and when the server ended it for the
time that it took. For the third, every write of this layer may be repeated without changing anything.

A connection that broke is replaced once, at once. If that does not help the database is down, and whoever asked knows
best whether to wait for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

import neo4j
from neo4j.exceptions import (
    AuthError,
    ConstraintError,
    DriverError,
    IncompleteCommit,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
)
from tenacity import RetryCallState, Retrying, retry_if_exception, wait_random_exponential

from autocontext.errors import ConfigError, DatabaseDown, DatabaseError, DatabaseUnavailable, QueryError
from autocontext.graph.endpoint import Endpoint, Login
from autocontext.graph.engines import EngineTraits, traits
from autocontext.graph.queries import query
from autocontext.graph.turns import turn
from autocontext.version import __version__

T = TypeVar("T")
Row = dict[str, Any]

ATTEMPTS = 5
WRITE_SECONDS = 60.0
"""A write that takes longer is ended by the server, where it keeps time: the locks of a paused process go with it."""
BATCH_ROWS = 500
BATCH_CHARACTERS = 2_000_000
"""Bolt messages of the embedded engine are limited to 10 MB."""

_MESSAGE = re.compile(r"\{message: (.*?)\} \{gql_status", re.DOTALL)


class Inconsistent(DatabaseError):
    """What a transaction found does not fit together. It is tried again: both engines are READ COMMITTED, so another
    one may have committed in between; then the embedded engine would refuse this one only at its end."""


class Transaction:
    """Runs named queries in one transaction."""

    def __init__(self, inner: neo4j.ManagedTransaction | neo4j.Transaction) -> None:
        self._inner = inner

    def run(self, name: str, **parameters: Any) -> list[Row]:
        """All rows of the named query."""
        found = query(name)
        if missing := found.parameters ^ parameters.keys():
            raise TypeError(f"{found.where}: '{name}' was called with other parameters than it declares: {missing}")
        return [record.data() for record in self._inner.run(found.text, parameters)]

    def stream(self, name: str, **parameters: Any) -> Iterator[Row]:
        """As `run`, one row after the other: of as many as memory may not hold. To be read to its end."""
        found = query(name)
        for record in self._inner.run(found.text, parameters):
            yield record.data()

    def write_rows(self, name: str, rows: Sequence[Row], **parameters: Any) -> int:
        """Runs a query that takes `$rows`, in batches; returns the sum of what it says was `written`."""
        return sum(self.run(name, rows=batch, **parameters)[0]["written"] for batch in batches(rows))

    def read_rows(self, name: str, rows: Sequence[Row], **parameters: Any) -> list[Row]:
        """Runs a query that takes `$rows`, in batches."""
        return [row for batch in batches(rows) for row in self.run(name, rows=batch, **parameters)]


class Connection:
    """A driver for one login of one database."""

    def __init__(self, endpoint: Endpoint, login: Login, *, read_only: bool = False) -> None:
        """Does not connect yet.

        Args:
            read_only: writes are refused by the server, where it keeps apart reading and writing (see `EngineTraits`).

        Raises:
            ConfigError: the address is none.
        """
        self.engine: EngineTraits = traits(endpoint.engine)
        self.endpoint = endpoint
        self.read_only = read_only
        try:
            self.driver = neo4j.GraphDatabase.driver(
                endpoint.uri,
                auth=(login.username, login.password.get_secret_value()),
                user_agent=f"autocontext/{__version__}",
                connection_timeout=10,
                max_transaction_retry_time=0,  # once more at once, on a new connection; the rest is done here
                initial_retry_delay=0.05,
                notifications_min_severity="OFF",  # a test looks at those of every query, where they can be acted upon
            )
        except (DriverError, ValueError) as error:
            raise ConfigError(
                f"NEO4J_URI '{endpoint.uri}' is no address like bolt://host:7687: {one_line(error)}"
            ) from None

    def check(self) -> None:
        """Can it be reached and logged in to, is the database there, and is the server new enough?

        Raises:
            DatabaseUnavailable: it cannot, or there is no such database.
            DatabaseError: the server is too old.
        """
        with translated(self.endpoint):
            agent = self.driver.get_server_info().agent
        self.engine.check(str(agent))

    def close(self) -> None:
        """Closes the driver."""
        self.driver.close()

    def session(self, **settings: Any) -> neo4j.Session:
        """A session on the endpoint's database."""
        return self.driver.session(database=self.endpoint.database, **settings)

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Runs `work` in one reading transaction."""

        def once() -> T:
            with self.session(default_access_mode=neo4j.READ_ACCESS) as session:
                return session.execute_read(lambda inner: work(Transaction(inner)))

        with translated(self.endpoint):
            return self._repeated(once)

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """One reading transaction that is not tried again: for what is too long to be."""
        with (
            translated(self.endpoint),
            self.session(default_access_mode=neo4j.READ_ACCESS) as session,
            session.begin_transaction() as inner,
        ):
            yield Transaction(inner)

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Runs `work` in one transaction; it may be run again, so it must not do anything else."""
        limited = neo4j.unit_of_work(timeout=self.engine.transaction_timeout(WRITE_SECONDS))

        def once() -> T:
            with turn(self.endpoint.turns) if self.endpoint.turns else nullcontext(), self.session() as session:
                execute = session.execute_read if self.read_only else session.execute_write
                return execute(limited(lambda inner: work(Transaction(inner))))

        with translated(self.endpoint):
            return self._repeated(once)

    def run(self, name: str, **parameters: Any) -> list[Row]:
        """Runs one named query that writes, in a transaction of its own."""
        return self.write(lambda transaction: transaction.run(name, **parameters))

    def rows(self, name: str, **parameters: Any) -> list[Row]:
        """All rows of one named query."""
        return self.read(lambda transaction: transaction.run(name, **parameters))

    def _repeated(self, once: Callable[[], T]) -> T:
        """One transaction, again while that may help."""

        def enough(state: RetryCallState) -> bool:
            error = state.outcome.exception() if state.outcome else None
            if _timed_out(error):
                return state.attempt_number >= 2
            if state.attempt_number < ATTEMPTS:  # of seconds alone a busy machine may use up all in one attempt
                return False
            return not _refused(error) or (state.seconds_since_start or 0.0) > self.engine.retry_seconds

        wait = wait_random_exponential(multiplier=0.02, max=0.5)
        for attempt in Retrying(retry=retry_if_exception(_may_help), stop=enough, wait=wait, reraise=True):
            with attempt:
                return once()
        raise AssertionError("tenacity gives up by raising")


def _may_help(error: BaseException | None) -> bool:
    """Is there any use in making the transaction again?"""
    own = isinstance(error, (ConstraintError, IncompleteCommit, Inconsistent))
    return own or _refused(error) or _timed_out(error) or _made_meanwhile(error)


def _refused(error: BaseException | None) -> bool:
    """Was it refused for another one's sake: a deadlock, a conflict?"""
    return isinstance(error, Neo4jError) and error.is_retryable()


def _made_meanwhile(error: BaseException | None) -> bool:
    """Did another process make the same index or constraint? Neo4j's IF NOT EXISTS does not see one being made."""
    code = (error.code or "") if isinstance(error, Neo4jError) else ""
    return ".Schema." in code and code.endswith("AlreadyExists")


def _timed_out(error: BaseException | None) -> bool:
    """Did the server end it for its time? Then this process may have been paused: it is not told before it goes on."""
    return isinstance(error, Neo4jError) and ".TransactionTimedOut" in (error.code or "")


@contextmanager
def translated(endpoint: Endpoint) -> Iterator[None]:
    """The driver's errors as ours, each with what to do about it."""
    try:
        yield
    except AuthError as error:
        raise DatabaseUnavailable(
            f"{endpoint.uri} does not accept the login of user '{endpoint.writer.username}': {one_line(error)} "
            "Check NEO4J_USERNAME and NEO4J_PASSWORD."
        ) from error
    except (ServiceUnavailable, SessionExpired) as error:
        if endpoint.engine == "embedded":
            raise DatabaseDown(
                f"the embedded database does not answer any more ({one_line(error)}). The same command starts it again."
            ) from error
        raise DatabaseDown(
            f"no database answers at {endpoint.uri} ({one_line(error)}). "
            "Start it, correct NEO4J_URI, or unset it to use the embedded database."
        ) from error
    except Neo4jError as error:
        code = error.code or ""
        if "DatabaseUnavailable" in code:
            raise DatabaseDown(f"the database at {endpoint.uri} is not ready: {one_line(error)}") from error
        if "DatabaseNotFound" in code:
            raise DatabaseUnavailable(
                f"{endpoint.uri} has no database '{endpoint.database}': {one_line(error)} Check NEO4J_DATABASE."
            ) from error
        if ".Statement." in code:
            raise QueryError(one_line(error)) from error
        raise DatabaseError(f"the database refused: {one_line(error)}") from error
    except DriverError as error:
        raise DatabaseError(f"the database driver failed: {one_line(error)}") from error


def one_line(error: Exception) -> str:
    """What an error says, on one line, without the driver's frame around the server's words."""
    text = (error.message if isinstance(error, Neo4jError) else None) or str(error)
    if match := _MESSAGE.search(text):
        text = match.group(1)
    return " ".join(text.split())[:500]


def batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """The rows in parts of at most 500, and of no more text than a Bolt message may hold."""
    batch: list[Row] = []
    size = 0
    for row in rows:
        weight = _characters(row)
        if batch and (len(batch) >= BATCH_ROWS or size + weight > BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += weight
    if batch:
        yield batch


def _characters(value: Any) -> int:
    """About how much of a message a value takes. (Asked of every row: exact types, as that is quick.)"""
    kind = type(value)
    if kind is str:
        return len(value)
    if kind is dict:
        return sum(map(_characters, value.values()))
    if kind is list or kind is tuple:
        return 8 * len(value) if not value or type(value[0]) is int else sum(map(_characters, value))
    return 8
