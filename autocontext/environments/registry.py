"""From a name on the command line to an environment: entry points, or `module:Class`.

An adapter registers a callable `open(source, **options)` under the entry point group `autocontext.environments`. Its
module may have a function `open_reader()` too, for those who have only recordings (`autocontext ingest`).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, cast

from autocontext.environments.base import Environment, Reader, default_spec
from autocontext.environments.generic import GenericReader
from autocontext.errors import AutoContextError, EnvironmentFailure, UsageError
from autocontext.types import Naming, Spec

GROUP = "autocontext.environments"
RECORDED = "log"
"""Name of an environment of which there is nothing but recordings."""
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
        return cast(Environment, _loaded(name, point)(source, **options))
    raise _unknown(name)


def open_reader(name: str, source: str = "") -> tuple[Reader, Spec]:
    """The reader of an environment, without opening any instance of it, and the spec of one of which there are only
    recordings: its hash is empty where recordings cannot tell which instance they are of.

    Args:
        name: a registered adapter, of which `open_reader()` in its module makes the reader; `module:Class`, of which it
            is the class's attribute `reader`; or `log`, for recordings of anything. Without a reader the generic one.
        source: where the recordings come from.

    Raises:
        UsageError: no such adapter.
        EnvironmentFailure: it cannot be imported.
    """
    if ":" in name:
        kind = _named(name)
        spec, own = getattr(kind, "spec", None), getattr(kind, "reader", None)
        reader = cast(Reader, own) if callable(getattr(own, "read", None)) else GenericReader()
        return reader, spec if isinstance(spec, Spec) else default_spec(kind)
    make: Callable[[], Reader] = GenericReader
    if name != RECORDED:
        points = [*entry_points(group=GROUP, name=name)]
        if not points:
            raise _unknown(name)
        make = getattr(sys.modules[_loaded(name, points[0]).__module__], "open_reader", GenericReader)
    reader = make()
    naming: Naming = getattr(reader, "naming", "folded")
    return reader, Spec(environment=name, source=source, source_hash="", description="recorded", naming=naming)


def _loaded(name: str, point: EntryPoint) -> Any:
    try:
        return point.load()
    except ImportError as error:
        raise EnvironmentFailure(
            f"'{name}' is not installed ({error}); install it with: pip install 'autocontext-graph[{name}]'"
        ) from error


def _unknown(name: str) -> UsageError:
    known = ", ".join(adapters()) or "none installed"
    return UsageError(f"there is no environment '{name}' ({known}); give one of them, or MODULE:CLASS of your own.")


def _from_class(name: str, options: dict[str, Any]) -> Environment:
    if unknown := [key for key, value in options.items() if value is not True]:
        raise UsageError(f"'{name}' does not know the option '{unknown[0]}'.")
    factory = _named(name)
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


def _named(name: str) -> Any:
    """What `module:Class` names, looked for from here too."""
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
    return factory
