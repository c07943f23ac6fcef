"""The document of `ringside load --json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ringside.load.options import Options
from ringside.load.result import Result, Spread
from ringside.load.target import Target

FORMAT = 1
_PERCENTILES = ("p50", "p90", "p95", "p99", "p99_9", "max")


def as_document(target: Target, options: Options, result: Result) -> dict[str, Any]:
    """One load as plain data; times in the unit that the key names, null where nothing was measured."""
    spreads = result.spreads
    found: dict[str, Any] = {
        "format": FORMAT,
        "target": target.text,
        "outcome": result.outcome,
        "detail": result.detail,
        "protocol": target.protocol,
        "pacing": None if target.protocol == "stream" else options.pacing,
        "duration_s": result.duration_ns / 1e9,
        "intended_rate": result.intended_rate_per_s,
        "achieved_rate": result.achieved_rate_per_s,
        "intended": result.intended,
        "requests": result.requests,
        "late_requests": result.late_requests,
        "unfinished": result.unfinished,
        "errors": dict(result.errors),
        "statuses": dict(result.statuses),
        "latency_is_lower_bound": result.is_bound(),
        "latency_ms": milliseconds(spreads.get("latency")),
        "service_ms": milliseconds(spreads.get("service")),
        "queue_ms": milliseconds(spreads.get("queue")),
        "connect_ms": milliseconds(spreads.get("connect")),
        "first_byte_ms": milliseconds(spreads.get("first_byte")),
    }
    if target.protocol == "stream":
        found |= {
            "chunk_lateness_ms": milliseconds(spreads.get("lateness")),
            "messages": result.messages,
            "sequence": dict(result.sequence),
        }
    return found | {
        "largest_lag_ms": result.largest_lag_ns / 1e6,
        "bytes_in": result.bytes_in,
        "bytes_out": result.bytes_out,
        "connections": dict(result.connections),
        "concurrency": result.concurrency,
        "io": result.io,
        "threads": result.threads,
        "missing": list(result.missing),
        "cpu_s": result.cpu_ns / 1e9,
        "cpu_share_most": result.cpu_share_most,
        "busy_share_most": result.busy_share_most,
        "peak_memory_bytes": result.peak_memory_bytes,
        "series": [_second(one) for one in result.series],
        "warnings": [{"code": one.code, "text": one.text, "remedy": one.remedy} for one in result.warnings],
    }


def milliseconds(spread: Spread | None) -> dict[str, float] | None:
    """Mean and percentiles of a histogram in milliseconds; None where it holds nothing."""
    if spread is None or not spread.count:
        return None
    named = {name: getattr(spread, f"{name}_ns") / 1e6 for name in _PERCENTILES}
    return {"mean": spread.mean_ns / 1e6, **named}


def _second(said: Mapping[str, Any]) -> dict[str, Any]:
    most = said.get("max_ns")
    kept = {key: said.get(key) for key in ("t_s", "requests", "errors")}
    return {**kept, "max_ms": None if most is None else most / 1e6}
