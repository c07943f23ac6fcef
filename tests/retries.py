"""Lists, at the end of a test run, the tests that passed only when they were repeated: a retry must hide no
defect. Those of the probe, which `scripts/test` ran before, are in the file that RETRIED names. Loaded by
pytest's options in pyproject.toml."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def first_failures(reports: list[pytest.TestReport]) -> dict[str, str]:
    """By test, the last line of the message of its first failure."""
    failures: dict[str, str] = {}
    for report in reports:
        crash = getattr(report.longrepr, "reprcrash", None)
        message = crash.message if crash else report.longreprtext
        lines = message.strip().splitlines() or ["no message"]
        failures.setdefault(report.nodeid, lines[0])
    return failures


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    failed = {report.nodeid for report in terminalreporter.stats.get("failed", ())}
    failures = first_failures(terminalreporter.stats.get("rerun", []))
    retried = {test: failure for test, failure in failures.items() if test not in failed}
    lines = [*(f"{test}: {failure}" for test, failure in sorted(retried.items())), *_of_the_probe()]
    if lines:
        terminalreporter.section("passed only at a second try", red=True)
        for line in lines:
            terminalreporter.line(line)


def _of_the_probe() -> list[str]:
    file = os.environ.get("RETRIED")
    return Path(file).read_text(encoding="utf-8", errors="replace").splitlines() if file else []
