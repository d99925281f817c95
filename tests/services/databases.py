"""Database servers for tests, with their power switch: the embedded engine, and a real Neo4j 5.26 in a container.

Neo4j: the server that NEO4J_TEST_URI names (NEO4J_TEST_USERNAME, NEO4J_TEST_PASSWORD, NEO4J_TEST_DATABASE), if it
answers; otherwise a container of the image that `neo4j_image.py` provides, on a port of loopback, which is removed at
the end. A server that is named is for tests only: they write instances into it and delete them.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import neo4j
import psutil
import pytest
from neo4j.exceptions import DriverError, Neo4jError
from pydantic import SecretStr

from autocontext.config import load_settings
from autocontext.graph import embedded
from autocontext.graph.endpoint import Endpoint, Engine, Login

from . import neo4j_image

LABEL = "autocontext.tests.pid"
START_SECONDS = 120.0
# Small, so that other tests have room on the same machine; compiled quickly rather than well, which halves the
# processor time of a test run. Nothing here changes what a query means.
OPTIONS = {
    "server_memory_heap_initial__size": "256m",
    "server_memory_heap_max__size": "512m",
    "server_memory_pagecache_size": "64m",
    "server_jvm_additional": "-XX:TieredStopAtLevel=1",
}


class DatabaseServer(Protocol):
    """One server that may be killed, and comes back with all that it has acknowledged."""

    engine: Engine

    def kill(self) -> None:
        """`kill -9`: the server is gone when this returns. Skips the test where the server is not ours to kill."""

    def bring_back(self) -> None:
        """Start it again on the same data, at the same address, and wait until it answers."""


class EmbeddedServer:
    """The local service of the folder that AUTOCONTEXT_HOME names at the time of the call."""

    engine: Engine = "embedded"

    def kill(self) -> None:
        """See `DatabaseServer`. A command that runs meanwhile starts the service again by itself."""
        pid = embedded.status(load_settings()).pid
        assert pid, "the embedded database is not running"
        os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(psutil.NoSuchProcess):
            psutil.Process(pid).wait(10)

    def bring_back(self) -> None:
        """See `DatabaseServer`."""
        embedded.attach(load_settings())


class Neo4jServer:
    """A Neo4j server and the login to it."""

    engine: Engine = "neo4j"

    def __init__(self, uri: str, login: Login, database: str = "neo4j", container: Any = None) -> None:
        self.endpoint = Endpoint("neo4j", uri, database, login)
        self.container = container
        """None: the server is one that NEO4J_TEST_URI names."""

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which AutoContext uses it."""
        login = self.endpoint.writer
        return {
            "NEO4J_URI": self.endpoint.uri,
            "NEO4J_USERNAME": login.username,
            "NEO4J_PASSWORD": login.password.get_secret_value(),
            "NEO4J_DATABASE": self.endpoint.database,
        }

    def driver(self) -> neo4j.Driver:
        """A bare driver."""
        login = self.endpoint.writer
        return neo4j.GraphDatabase.driver(
            self.endpoint.uri, auth=(login.username, login.password.get_secret_value()), connection_timeout=5
        )

    def wait(self, seconds: float) -> None:
        """Wait until it answers a query.

        Raises:
            DriverError, Neo4jError: it does not, in that time.
        """
        deadline = time.monotonic() + seconds
        while True:
            try:
                with self.driver() as driver:
                    driver.execute_query("RETURN 1", database_=self.endpoint.database)
                return
            except (DriverError, Neo4jError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.25)

    def kill(self) -> None:
        """See `DatabaseServer`."""
        if self.container is None:
            pytest.skip("a server that NEO4J_TEST_URI names is not killed")
        self.container.kill("SIGKILL")
        self.container.wait()

    def bring_back(self) -> None:
        """See `DatabaseServer`."""
        if self.container is not None:
            self.container.start()
        self.wait(START_SECONDS)


class NoNeo4j(Exception):
    """No Neo4j for tests; the message says why."""


@contextmanager
def neo4j_server() -> Iterator[Neo4jServer]:
    """A Neo4j server for tests, as the module says.

    Raises:
        NoNeo4j: none can be had.
    """
    refused = ""
    if uri := os.environ.get("NEO4J_TEST_URI"):
        login = Login(
            os.environ.get("NEO4J_TEST_USERNAME", "neo4j"), SecretStr(os.environ.get("NEO4J_TEST_PASSWORD", "neo4j"))
        )
        named = Neo4jServer(uri, login, os.environ.get("NEO4J_TEST_DATABASE", "neo4j"))
        try:
            named.wait(0)
        except (DriverError, Neo4jError, ValueError) as error:
            refused = f"NEO4J_TEST_URI does not answer ({' '.join(str(error).split())[:200]}), and "
        else:
            yield named
            return
    try:
        from testcontainers.community.neo4j import Neo4jContainer
        from testcontainers.core.config import testcontainers_config
    except ImportError:
        raise NoNeo4j(f"{refused}testcontainers is not installed") from None
    if not neo4j_image.docker_answers():
        raise NoNeo4j(f"{refused}no Docker answers")
    if not (neo4j_image.is_there(neo4j_image.IMAGE) or neo4j_image.pulled(neo4j_image.IMAGE)):
        raise NoNeo4j(f"{refused}{neo4j_image.IMAGE} cannot be pulled; `make neo4j-image` builds it")

    testcontainers_config.ryuk_disabled = True  # its helper's image may be out of reach; see _remove_abandoned
    password, port = secrets.token_hex(8), free_port()
    uri = f"bolt://127.0.0.1:{port}"
    container = Neo4jContainer(neo4j_image.IMAGE, password=password, username="neo4j")
    container.get_connection_url = lambda: uri  # it would ask for another way where it believes to be in a container
    container.with_kwargs(labels={LABEL: str(os.getpid())})
    for name, value in OPTIONS.items():
        container.with_env(f"NEO4J_{name}", value)
    # A fixed port, because one that Docker picks changes when the container is started again.
    container.ports = {"7687/tcp": ("127.0.0.1", port)}
    _remove_abandoned(container.get_docker_client().client)
    with container:
        yield Neo4jServer(uri, Login("neo4j", SecretStr(password)), container=container.get_wrapped_container())


def _remove_abandoned(client: Any) -> None:
    """Containers of test runs that were killed before they could remove them."""
    for container in client.containers.list(all=True, filters={"label": LABEL}):
        if not psutil.pid_exists(int(container.labels[LABEL])):
            container.remove(force=True, v=True)


def free_port() -> int:
    """A port of loopback that nobody uses at the moment."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
