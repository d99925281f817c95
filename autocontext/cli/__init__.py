"""The command line: one line per error, machine-readable output with `--json`, progress on standard error."""

from autocontext.cli.app import main

__all__ = ["main"]
