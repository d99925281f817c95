"""Makes sure that Docker has the image of the Neo4j that tests use: `python tests/services/neo4j_image.py`.

It is there already, or it is pulled, or, where no registry answers, the same server is built from its published Maven
artifacts and tagged alike (that needs Maven, debootstrap and root). Such an image says in its label that it is not the
official one. Needs nothing but the standard library, so that CI may run it before anything is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

IMAGE = "neo4j:5.26-community"
VERSION = "5.26.16"
"""What is built where nothing can be pulled."""

BASE = "debian:bookworm-slim"
LOCAL_BASE = "autocontext-tests/debian:bookworm"
PULL_SECONDS = 600
PARTS = Path(__file__).resolve().parent / "neo4j"


class ImageError(Exception):
    """The image cannot be provided; the message says what is missing."""


def provide() -> None:
    """Have the image, one way or the other.

    Raises:
        ImageError: neither is it there, nor can it be pulled or built.
    """
    if not docker_answers():
        raise ImageError("no Docker answers (`docker info`); install docker.io and start dockerd")
    if is_there(IMAGE):
        say(f"{IMAGE} is there")
        return
    say(f"pulling {IMAGE}")
    if pulled(IMAGE):
        say(f"{IMAGE} was pulled")
        return
    say(f"no registry gives it; building Neo4j {VERSION} from its Maven artifacts instead")
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="neo4j-image-") as name:
        folder = Path(name)
        base = BASE if is_there(BASE) or pulled(BASE) else local_base(folder / "root")
        build(folder / "context", base)
    say(f"{IMAGE} was built in {time.monotonic() - started:.0f} s; it is not the official image")


def docker_answers() -> bool:
    """Can this user talk to a Docker engine?"""
    return bool(shutil.which("docker")) and run(["docker", "info"], check=False) == 0


def is_there(image: str) -> bool:
    """Does Docker have an image of that name?"""
    return run(["docker", "image", "inspect", image], check=False) == 0


def pulled(image: str) -> bool:
    """Pull it; False when no registry gives it in time. One that cannot be reached says so within seconds."""
    try:
        return run(["docker", "pull", "--quiet", image], check=False, timeout=PULL_SECONDS) == 0
    except subprocess.TimeoutExpired:
        return False


def local_base(root: Path) -> str:
    """A minimal Debian 12 as an image, from Debian's package mirror."""
    if is_there(LOCAL_BASE):
        return LOCAL_BASE
    need("debootstrap", "debootstrap")
    if os.geteuid() != 0:
        raise ImageError(f"{BASE} cannot be pulled, and only root can make a Debian with debootstrap")
    say("making a minimal Debian 12 with debootstrap")
    run(["debootstrap", "--variant=minbase", "bookworm", str(root)])
    with subprocess.Popen(["tar", "-C", str(root), "-c", "."], stdout=subprocess.PIPE) as tar:
        done = subprocess.run(["docker", "import", "-", LOCAL_BASE], stdin=tar.stdout, capture_output=True, check=False)
    if tar.returncode or done.returncode:
        raise ImageError(f"docker did not import {root}: {done.stderr.decode()}")
    return LOCAL_BASE


def build(context: Path, base: str) -> None:
    """Build the image on that base."""
    need("mvn", "maven")
    shutil.copytree(PARTS, context)
    say("fetching the server's jars with Maven (about 115 MB)")
    run(
        ["mvn", "-B", "-q", "-f", str(context / "pom.xml"), "dependency:copy-dependencies", "-DincludeScope=runtime",
         f"-Dneo4j.version={VERSION}", f"-DoutputDirectory={context / 'lib'}"]
    )  # fmt: skip
    say("building the image")
    # The classic builder is part of every Docker; the host's network, because a machine without a registry may well
    # give containers no way out.
    run(
        ["docker", "build", "--network", "host", "--build-arg", f"BASE={base}", "--build-arg", f"VERSION={VERSION}",
         "--tag", IMAGE, str(context)],
        DOCKER_BUILDKIT="0",
    )  # fmt: skip


def need(command: str, package: str) -> None:
    """Is there such a command?

    Raises:
        ImageError: no.
    """
    if not shutil.which(command):
        raise ImageError(f"{IMAGE} cannot be pulled, and building it needs `{command}` (Debian: {package})")


def run(command: list[str], *, check: bool = True, timeout: float | None = None, **variables: str) -> int:
    """Run a command quietly; its exit code.

    Raises:
        ImageError: it failed (unless `check` is off); with its last words.
    """
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=timeout, env={**os.environ, **variables}
    )
    if check and done.returncode:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
        raise ImageError(f"`{' '.join(command)}` failed:\n{last}")
    return done.returncode


def say(text: str) -> None:
    """One line about what is done."""
    print(f"neo4j image: {text}", flush=True)


if __name__ == "__main__":
    try:
        provide()
    except ImageError as error:
        sys.exit(f"neo4j image: {error}")
