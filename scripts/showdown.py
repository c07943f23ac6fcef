"""Runs the showdown for `make showdown`, or continues the latest one if it was interrupted within the last
day."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ringside.cli import context
from ringside.errors import RingsideError
from ringside.measure.runs.campaign import resumed_task

NAME, RECENT = "showdown", timedelta(days=1)


def unfinished() -> str | None:
    """The id of a suite to continue."""
    try:
        store = context.open_store(None, create=False)
        task = resumed_task(NAME, store, context.catalogue())
    except RingsideError:  # No suite can be continued.
        return None
    began = datetime.fromisoformat(task.runs[0].started_at)
    return None if task.is_empty or datetime.now(UTC) - began > RECENT else task.suite_id


if __name__ == "__main__":
    ringside = str(Path(sys.executable).with_name("ringside"))
    suite = unfinished()
    if suite:
        print(f"going on with {suite}; for a new one: ringside run {NAME}", file=sys.stderr)
    words = ["run", "--resume", suite] if suite else ["run", NAME]
    os.execv(ringside, [ringside, *words, "--setup", "--report", "report.html"])
