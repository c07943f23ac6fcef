"""Lines for a shell, which repeat a finding by hand."""

from __future__ import annotations

import shlex
import sys

# A port that is rarely taken; those behind it are of upstreams.
PORT = 8123


def by_hand(module: str, *words: str) -> str:
    """The command that runs this module."""
    return shlex.join([sys.executable, "-m", module, *words])
