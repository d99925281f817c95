"""docker-compose.yml as it is: its service starts with its settings, becomes healthy, and holds what the store commits.

`docker compose` starts it where there is one; otherwise Docker does, with what the file says.
"""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import SecretStr

from autocontext.graph.connection import Connection
from autocontext.graph.endpoint import Endpoint, Login
from autocontext.graph.store import GraphStore

from ..conftest import NO_NEO4J
from ..services import neo4j_image
from ..services.databases import LABEL, free_port
from .conftest import Book, rows

pytestmark = [pytest.mark.service, pytest.mark.slow]

HEALTHY_SECONDS = 120
_VARIABLE = re.compile(r"\$\$|\$\{(\w+)(?::([-?])([^}]*))?\}")


def filled(value: Any, variables: Mapping[str, str]) -> Any:
    """A value of the file with its variables filled in, as `docker compose` does."""

    def one(match: re.Match[str]) -> str:
        name, kind, rest = match.groups()
        if name is None:
            return "$"
        if kind == "?" and not variables.get(name):
            raise ValueError(f"{name}: {rest}")
        return variables.get(name) or (rest if kind == "-" else "")

    if isinstance(value, str):
        return _VARIABLE.sub(one, value)
    if isinstance(value, dict):
        return {key: filled(item, variables) for key, item in value.items()}
    return [filled(item, variables) for item in value] if isinstance(value, list) else value


def nanoseconds(duration: str) -> int:
    assert duration.endswith("s")
    return int(duration[:-1]) * 1_000_000_000


def by_compose(file: Path, project: str, variables: Mapping[str, str], stack: ExitStack) -> None:
    command = ["docker", "compose", "--project-name", project, "--file", str(file)]
    stack.callback(subprocess.run, [*command, "down", "--volumes"], env=dict(variables), check=False)
    subprocess.run([*command, "up", "--detach", "--wait"], env=dict(variables), check=True)


def by_docker(file: Path, project: str, variables: Mapping[str, str], stack: ExitStack) -> None:
    docker = pytest.importorskip("docker", reason="the Docker SDK is not installed")
    content = filled(yaml.safe_load(file.read_text()), variables)
    service = content["services"]["neo4j"]
    client = docker.from_env()
    stack.callback(client.close)
    for name in content["volumes"]:
        stack.callback(client.volumes.create(f"{project}_{name}").remove, force=True)
    volumes = dict(entry.split(":") for entry in service["volumes"])
    ports = [entry.rsplit(":", 1) for entry in service["ports"]]
    health = service["healthcheck"]
    durations = {name: nanoseconds(health[name]) for name in ("interval", "timeout", "start_period")}
    container = client.containers.run(
        service["image"],
        detach=True,
        environment=service["environment"],
        volumes={f"{project}_{name}": {"bind": place, "mode": "rw"} for name, place in volumes.items()},
        ports={f"{inner}/tcp": (outer.split(":")[0], int(outer.split(":")[1])) for outer, inner in ports},
        healthcheck={"test": health["test"], "retries": health["retries"], **durations},
        restart_policy={"Name": service["restart"]},
        labels={LABEL: variables["PID"]},
    )
    stack.callback(container.remove, force=True)
    deadline = time.monotonic() + HEALTHY_SECONDS
    while (state := client.api.inspect_container(container.id)["State"])["Health"]["Status"] != "healthy":
        assert state["Running"], container.logs().decode()
        assert time.monotonic() < deadline, state["Health"]
        time.sleep(0.5)


@pytest.fixture(scope="module")
def served(checkout: Path) -> Iterator[Endpoint]:
    """The service of the file, on free ports, with little memory."""
    if not neo4j_image.docker_answers():
        pytest.skip(f"{NO_NEO4J}no Docker answers")
    if not (neo4j_image.is_there(neo4j_image.IMAGE) or neo4j_image.pulled(neo4j_image.IMAGE)):
        pytest.skip(f"{NO_NEO4J}{neo4j_image.IMAGE} cannot be pulled; `make neo4j-image` builds it")
    bolt, http, password = free_port(), free_port(), secrets.token_hex(8)
    variables = {**os.environ, "NEO4J_PASSWORD": password, "NEO4J_BOLT_PORT": str(bolt), "NEO4J_HTTP_PORT": str(http)}
    variables |= {"NEO4J_HEAP": "600m", "NEO4J_PAGECACHE": "70m", "PID": str(os.getpid())}
    compose = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode == 0
    with ExitStack() as stack:
        start = by_compose if compose else by_docker
        start(checkout / "docker-compose.yml", f"autocontext-test-{secrets.token_hex(4)}", variables, stack)
        yield Endpoint("neo4j", f"bolt://127.0.0.1:{bolt}", "neo4j", Login("neo4j", SecretStr(password)))


def test_a_healthy_service_takes_a_commit_and_gives_it_back(served: Endpoint) -> None:
    with GraphStore(served) as store:
        book = Book(store, "composed")
        book.register()
        book.add("door", "is", "locked")
        assert book.texts() == ["door is locked"]


def test_its_settings_have_an_effect(served: Endpoint) -> None:
    connection = Connection(served, served.writer)
    found = dict(rows(connection, "SHOW SETTINGS YIELD name, value"))
    connection.close()
    assert found["server.memory.heap.max_size"] == "600.00MiB"
    assert found["server.memory.pagecache.size"] == "70.00MiB"
    assert found["dbms.usage_report.enabled"] == "false"


def test_without_a_password_it_does_not_start(checkout: Path) -> None:
    with pytest.raises(ValueError, match="choose a password"):
        filled(yaml.safe_load((checkout / "docker-compose.yml").read_text()), {})


def test_it_is_reached_from_this_machine_only(checkout: Path) -> None:
    service = yaml.safe_load((checkout / "docker-compose.yml").read_text())["services"]["neo4j"]
    assert [port for port in service["ports"] if not port.startswith("127.0.0.1:")] == []
    assert service["image"] == neo4j_image.IMAGE
