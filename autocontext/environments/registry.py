"""From a name on the command line to an environment: entry points, or `module:Class`.

An adapter registers a callable `open(source, **options)` under the entry point group `autocontext.environments`.
"""

from __future__ import annotations

import importlib
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, cast

from autocontext.environments.base import Environment
from autocontext.errors import AutoContextError, EnvironmentFailure, UsageError

GROUP = "autocontext.environments"
METHODS = ("reset", "step", "snapshot", "restore", "close")


def adapters() -> list[str]:
    """Names of the installed adapters."""
    return sorted({point.name for point in entry_points(group=GROUP)})


def open_environment(name: str, source: str | None = None, **options: Any) -> Environment:
    """Open `name source` by a registered adapter, or `module:Class` by importing it from here.

    Raises:
        UsageError: no such adapter, or something is missing in the call.
        EnvironmentFailure: it cannot be opened, or is no environment.
    """
    if ":" in name and source is None:
        return _from_class(name, options)
    for point in entry_points(group=GROUP, name=name):
        if source is None:
            raise UsageError(f"'{name}' needs to be told what to explore: autocontext explore {name} PATH")
        try:
            opened = point.load()
        except ImportError as error:
            raise EnvironmentFailure(
                f"'{name}' is not installed ({error}); install it with: pip install 'autocontext-graph[{name}]'"
            ) from error
        return cast(Environment, opened(source, **options))
    known = ", ".join(adapters()) or "none installed"
    raise UsageError(f"there is no environment '{name}' ({known}); give one of them, or MODULE:CLASS of your own.")


def _from_class(name: str, options: dict[str, Any]) -> Environment:
    if unknown := [key for key, value in options.items() if value is not True]:
        raise UsageError(f"'{name}' does not know the option '{unknown[0]}'.")
    module_name, _, class_name = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise EnvironmentFailure(f"cannot import '{module_name}' ({error}); looked in {here} too.") from error
    except Exception as error:
        raise EnvironmentFailure(f"importing '{module_name}' failed: {type(error).__name__}: {error}") from error
    factory = getattr(module, class_name, None)
    if factory is None:
        raise EnvironmentFailure(f"'{module_name}' has no '{class_name}'; names are case-sensitive.")
    try:
        environment = factory()
    except AutoContextError:
        raise
    except Exception as error:
        raise EnvironmentFailure(f"'{name}()' failed: {type(error).__name__}: {error}") from error
    missing = [method for method in METHODS if not callable(getattr(environment, method, None))]
    if missing:
        raise EnvironmentFailure(f"'{name}' is no environment: it has no {', '.join(missing)}().")
    return cast(Environment, environment)
