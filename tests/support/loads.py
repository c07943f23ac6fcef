"""Results of made-up loads. No two counts are equal, so that a swap shows."""

from __future__ import annotations

import json
from typing import Any

from ringside.load import result, target
from ringside.load.options import LoadSettings
from ringside.load.plan import plan
from ringside.load.result import LoadResult
from ringside.load.target import Target
from ringside.probe.protocol import LoadPlan, engine_message

MS = 1_000_000
HTTP = target.parse("http://127.0.0.1:1/")
STREAM = target.parse("stream+http://127.0.0.1:1/")
# What an open loop has besides.
OPEN = {"intended": 130, "intended_rate_per_s": 65.0, "late_requests": 7, "unfinished": 23}


def histogram(scale: int = MS) -> dict[str, Any]:
    """The figures of a histogram, 1 to 7 times `scale` nanoseconds from the least to the largest."""
    names = ("min", "p50", "p90", "p95", "p99", "p99_9", "max")
    return {"count": 100, "mean_ns": 1.5 * scale, "stdev_ns": 0.5 * scale} | {
        f"{name}_ns": (index + 1) * scale for index, name in enumerate(names)
    }


def outcome(**changed: Any) -> dict[str, Any]:
    """The engine's last message."""
    return {
        "type": "outcome",
        "outcome": "ok",
        "detail": "",
        "duration_ns": 2_000_000_000,
        "intended": None,
        "intended_rate_per_s": None,
        "requests": 100,
        "achieved_rate_per_s": 50.0,
        "late_requests": 0,
        "unfinished": 0,
        "unsent": 0,
        "connects_timed_out": 0,
        "errors": {},
        "statuses": {"200": 98, "302": 2},
        "bytes_in": 4096,
        "bytes_out": 2048,
        "reads": 100,
        "stamped_reads": 99,
        "connections": {"opened": 66, "most_open": 64, "open_at_end": 63, "idle_closes": 4},
        "security": "",
        "first_wrong": "",
        "bodies": [],
        "counts": {},
        "concurrency": 12.5,
        "targets": [],
        "messages": 0,
        "sequence": {},
        "cpu_ns": 10 * MS,
        "cpu_share_most": 0.25,
        "busy_share_most": 0.25,
        "peak_memory_bytes": 4 << 20,
        "course": None,
        "steps": None,
        "series": [
            {"t_s": 0, "requests": 60, "errors": 1, "max_ns": 7 * MS, "open": 64},
            {"t_s": 1, "requests": 40, "errors": 0, "max_ns": None, "open": 63},
        ],
        "streams": None,
        "warnings": [],
        "histograms": {
            "latency": histogram(),
            "service": histogram(2 * MS),
            "connect": histogram(MS // 2),
            "schedule_error": histogram(MS // 100),
        },
    } | changed


def lines(**changed: Any) -> list[bytes]:
    """A whole answer of the engine. `changed`: keys of the outcome."""
    messages = [
        {
            "type": "started",
            "version": 1,
            "io": "epoll",
            "threads": 2,
            "connections": 64,
            "t_ns": 1,
            "monotonic_ns": 5,
            "missing": ["io_uring: not permitted"],
        },
        progress(1),
        {"type": "histogram", "name": "latency", "counts": [[MS, 90], [7 * MS, 10]]},
        {"type": "histogram", "name": "service", "counts": [[2 * MS, 100]]},
        outcome(**changed),
    ]
    return [json.dumps(message).encode() for message in messages]


def progress(second: int, **changed: Any) -> dict[str, Any]:
    """A message about one second of a load."""
    return {
        "type": "progress",
        "t_ns": second * 10**9,
        "interval_ns": 10**9,
        "requests": 100,
        "errors": 1,
        "open": 64,
        "in_flight": 10,
        "intended": 0,
        "p50_ns": MS,
        "p90_ns": 2 * MS,
        "p99_ns": 3 * MS,
        "max_ns": 8 * MS,
        "buckets": [[MS, 99], [8 * MS, 1]],
    } | changed


def load_result(**changed: Any) -> LoadResult:
    """The result of such an answer."""
    return result.from_messages(map(engine_message, lines(**changed)))


def load_plan(*targets: Target | str, **changed: Any) -> LoadPlan:
    """The plan for targets, with these settings of the command line."""
    parsed = [target.parse(each) if isinstance(each, str) else each for each in targets]
    settings = LoadSettings(targets=tuple(each.text for each in parsed), **changed)
    return plan(settings, parsed, settings.seed or 0)


def http_plan(**changed: Any) -> LoadPlan:
    """A plan for `HTTP`, a closed loop unless changed."""
    return load_plan(HTTP, **changed)
