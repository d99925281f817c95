"""What all tests share: where the checkout is, and what a missing service means.

A test that needs something of the machine (a database, an optional package) carries `@pytest.mark.service` and skips
itself where that is missing. With AUTOCONTEXT_REQUIRE_SERVICES=1, as in CI, such a skip is a failure.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

REQUIRED = os.environ.get("AUTOCONTEXT_REQUIRE_SERVICES") == "1"


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The repository's top folder."""
    return Path(__file__).resolve().parent.parent


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if REQUIRED and report.skipped and not hasattr(report, "wasxfail") and item.get_closest_marker("service"):
        _fail(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    # A module that skips itself as a whole does so because a package is missing (pytest.importorskip).
    report = yield
    if REQUIRED and report.skipped:
        _fail(report)
    return report


def _fail(report: pytest.TestReport | pytest.CollectReport) -> None:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    report.outcome = "failed"
    report.longrepr = f"AUTOCONTEXT_REQUIRE_SERVICES=1, and this was to be skipped: {reason}"
