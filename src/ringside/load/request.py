"""The probe's request for a load (docs/PROTOCOL.md, "Load")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ringside.load.options import Options
from ringside.load.target import Target
from ringside.measure.trials import PROTOCOL

# A live view gets a column each second; a short load more of them.
_PROGRESS_S = 1.0
_COLUMNS = 40


def build(
    target: Target, addresses: Sequence[str], options: Options, progress_s: float | None = None
) -> dict[str, Any]:
    """The request. `progress_s` None: no progress lines."""
    load: dict[str, Any] = {
        "protocol": target.protocol,
        "addresses": list(addresses),
        "connections": options.connections,
        "threads": options.threads,
        "io": options.io,
        "timeout_s": options.timeout_s,
    }
    if target.protocol != "stream":
        load["pacing"] = options.pacing
    for key, value in (
        ("cpus", list(options.cpus) or None),
        ("duration_s", options.duration_s),
        ("requests", options.requests),
        ("ramp_per_s", options.ramp_per_s),
        ("expect", options.expect),
        ("progress_s", progress_s),
    ):
        if value is not None:
            load[key] = value
    if target.protocol == "tcp":
        load["line"] = options.line
    else:
        headers = list(options.headers)
        if not any(name.lower() == "host" for name, _ in headers):
            headers.insert(0, ("Host", target.authority()))
        load["request"] = {
            "method": options.method,
            "target": target.path,
            "headers": [list(pair) for pair in headers],
            "body": options.body,
            "close": options.close,
        }
    if target.protocol == "stream":
        load["stream"] = options.stream
    return {"version": PROTOCOL, "load": load}


def progress_interval_s(total_s: float | None) -> float:
    """How often a live view of a load of this length gets a line."""
    return _PROGRESS_S if total_s is None else min(_PROGRESS_S, max(0.1, total_s / _COLUMNS))
