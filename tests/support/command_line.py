"""The real command, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

RINGSIDE = [sys.executable, "-m", "ringside.cli.main"]


def ringside(
    *words: str, status: int | None = 0, timeout_s: float = 300, **environment: str
) -> subprocess.CompletedProcess[str]:
    """What `ringside` with these words printed. It has to end with `status` (None: any), and without a
    traceback."""
    done = subprocess.run(
        [*RINGSIDE, *words],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=timeout_s,
        check=False,
    )
    assert status is None or done.returncode == status, done
    assert "Traceback" not in done.stderr, done.stderr
    return done


def load_document(*arguments: str, status: int = 0) -> dict[str, Any]:
    """The document of `ringside load --json` with these arguments."""
    parsed: dict[str, Any] = json.loads(ringside("load", *arguments, "--json", status=status).stdout)
    assert parsed["format"] == (2 if "--vs" in arguments else 1)
    return parsed
