"""In CI a test is skipped only for what its machine cannot have: whatever else is missing is a failure."""

import os
import re
from collections.abc import Generator
from typing import Any

import pytest

# Begins the reason where a runtime is missing of which the system has no package, or none that is new enough.
NO_PACKAGE = "this system has no package for"
# Rights that a container's host keeps for itself, and runtimes that no manifest installs.
ALLOWED = re.compile(
    rf"^({NO_PACKAGE}|needs (root|two CPUs)|only root can|(cgroups|/proc) cannot be mounted"
    r"|no (network )?(cgroup|cpuset|mount|namespace|socket)|/etc/shadow cannot be read)"
    r"|^[^ ]+ is not here$"
)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and "CI" in os.environ and not hasattr(report, "wasxfail"):
        longrepr: Any = report.longrepr
        reason = longrepr[2].removeprefix("Skipped: ")
        if not ALLOWED.search(reason):
            report.outcome = "failed"
            report.longrepr = f"CI must have what this test needs: {reason}"
    return report
