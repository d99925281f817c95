"""AutoContext: explore an environment instance once, keep what is true of it as a graph, let any agent use it.

Where a change goes (a layer imports only those below it; `lint-imports` holds it so):

    cli/            the command `autocontext`: one file per group of commands
    evaluation/     measuring against ground truth, which is read nowhere else
    explorer/       loop.py is the method on one screen; planner/, actor.py, extractor/, promoter.py are its parts
    client/         reading an explored instance: what agents, the command line and people use
    graph/          the only place that talks to the database; its Cypher lies in cypher/
    llm/            chat models: structured replies, usage, recordings; what they are told lies in prompts/
    environments/   base.py is the boundary; one folder per adapter, generic.py for everything else
    types.py        the data that flows between them · errors.py · config.py

In Python:

    import autocontext

    with autocontext.open_store() as store:
        report = autocontext.explore(MyEnvironment(), store, budget=200)
    with autocontext.open_client() as client:
        for fact in client.facts(report.instance): ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autocontext.version import __version__

if TYPE_CHECKING:
    from autocontext.client import ContextClient
    from autocontext.client import open_client as open_client
    from autocontext.explorer.corrections import assert_fact as assert_fact
    from autocontext.explorer.corrections import retire_fact as retire_fact
    from autocontext.explorer.ingest import ingest as ingest
    from autocontext.explorer.options import Options as Options
    from autocontext.explorer.run import Report as Report
    from autocontext.explorer.run import explore as explore
    from autocontext.explorer.run import open_store as open_store
    from autocontext.explorer.stop import Budget as Budget

__all__ = [
    "Budget",
    "ContextClient",
    "Options",
    "Report",
    "__version__",
    "assert_fact",
    "explore",
    "ingest",
    "open_client",
    "open_store",
    "retire_fact",
]

_HOME = {
    "Budget": "autocontext.explorer.stop",
    "ContextClient": "autocontext.client",
    "Options": "autocontext.explorer.options",
    "Report": "autocontext.explorer.run",
    "assert_fact": "autocontext.explorer.corrections",
    "explore": "autocontext.explorer.run",
    "ingest": "autocontext.explorer.ingest",
    "open_client": "autocontext.client",
    "open_store": "autocontext.explorer.run",
    "retire_fact": "autocontext.explorer.corrections",
}


def __getattr__(name: str) -> Any:
    """Import on first use, so that `import autocontext` costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module 'autocontext' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)
