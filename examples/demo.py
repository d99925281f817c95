"""The main job, as `make demo` runs it: make a game, explore it, measure, look, ask in Cypher.

Every line that begins with `$` is a command that you can type yourself. Without `NEO4J_URI` it uses the embedded
database, in `AUTOCONTEXT_HOME`.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

GAMES = Path(".demo")
GAME = GAMES / "cooking-101.z8"
INSTANCE = "cooking-101"
CLOSED = (
    "MATCH (thing:Entity)-[f:FACT {scope: $id, live: true}]->(v:Entity {value: true}) "
    "WHERE f.predicate = 'is' AND v.name = 'closed' "
    "RETURN thing.name AS closed, f.evidence AS seen_in_steps ORDER BY closed LIMIT 5"
)


def run(*arguments: str, lines: int | None = None) -> None:
    """Run one command of ours, and show it with what it prints (the first `lines` of it)."""
    print(f"\n$ autocontext {shlex.join(arguments)}" + (f" | head -{lines}" if lines else ""), flush=True)
    command = [sys.executable, "-m", "autocontext", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE if lines else None, text=True, check=False)
    if done.stdout:
        print("\n".join(done.stdout.splitlines()[:lines]), flush=True)
    if done.returncode:
        sys.exit(done.returncode)


def main() -> None:
    """Everything that the README promises, on one real game."""
    if not GAME.exists():
        run("games", "make", "textworld", "--preset", "cooking", "--seed", "101", "--out", str(GAMES))
    run("explore", "textworld", str(GAME), "--steps", "200")
    run("measure", "coverage", "textworld", str(GAME), INSTANCE)
    run("forest", INSTANCE, lines=15)
    run("show", INSTANCE, lines=12)
    run("evidence", INSTANCE, "cookbook on table")
    run("query", CLOSED, "--param", f"id={INSTANCE}")


if __name__ == "__main__":
    main()
