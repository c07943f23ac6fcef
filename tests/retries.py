"""Lists, at the end of a test run, the tests that passed only when they were repeated: a retry must hide no
defect. Loaded by pytest's options in pyproject.toml."""

from __future__ import annotations

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
    if retried:
        terminalreporter.section("passed only at a second try", red=True)
        for test, failure in sorted(retried.items()):
            terminalreporter.line(f"{test}: {failure}")
