"""Commands in lines for a shell, which repeat a finding by hand."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

# A port that is rarely taken; those behind it are of upstreams.
PORT = 8123


def upstream_url(place: int) -> str:
    """The URL of the upstream at this place, from 0."""
    return f"http://127.0.0.1:{PORT + 1 + place}/"


def play(upstreams: Sequence[str]) -> str:
    """The command that plays these upstreams: `whole`, `slow`, `breaks`, `silent`, `refuses`, or `meeting`,
    which answers once all have been called."""
    return _by_hand("upstreams", *upstreams)


def clients(count: int, workload: str) -> str:
    """The command of so many clients at one time."""
    return _by_hand("clients", str(count), workload, str(PORT))


def slow_client() -> str:
    """The command of a client that does not read a feed until another is over."""
    return _by_hand("slow", str(PORT))


def _by_hand(*words: str) -> str:
    return shlex.join([sys.executable, "-m", "ringside.conformance.by_hand", *words])
