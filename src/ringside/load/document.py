"""The document of `ringside load --json`, and the CSV of `--csv`: a row per target and a total."""

from collections.abc import Iterable
from typing import Any

import msgspec

from ringside.load.result import EnginePart, LoadResult, unsupported
from ringside.load.target import Target
from ringside.load.thresholds import Check
from ringside.probe.protocol import LatencySummary, LoadPlan, Pacing
from ringside.render.export.documents import fields_of
from ringside.stats.samples import PERCENTILES
from ringside.text import csv_text
from ringside.units import TimeUnit

_CSV_TIMES = ("mean", "min", "p50", "p90", "p95", "p99", "p99_9", "max")
_CSV_HEADER = (
    *("target", "outcome", "duration_s", "requests", "rate_per_s"),
    *("intended_rate_per_s", "late_requests", "unfinished", "errors", "messages"),
)
_HISTOGRAMS = ("latency", "service", "queue", "connect", "handshake", "first_byte", "schedule_error")
_COURSE_TIMES = ("p50", "p90", "p99", "max")
# Keys of a load and of each of several targets.
_COUNTS = ("requests", "late_requests", "unfinished", "errors", "statuses")


def as_document(
    target: Target, plan: LoadPlan, result: LoadResult, checks: Iterable[Check] = ()
) -> dict[str, Any]:
    """One load as plain data; times in the unit that the key names, null where nothing was measured."""
    figures, started = result.figures, result.started
    is_stream = target.protocol == "stream"
    document: dict[str, Any] = {
        "format": 1,
        "target": target.text,
        **fields_of(figures, "outcome", "detail"),
        "protocol": target.protocol,
        "pacing": None if is_stream else _pacing(plan.pacing),
        "slack_ms": None if plan.slack_s is None else plan.slack_s * 1e3,
        "duration_s": figures.duration_ns / 1e9,
        "warmup_s": result.warmup_s,
        "intended_rate": figures.intended_rate_per_s,
        "achieved_rate": figures.achieved_rate_per_s,
        **fields_of(figures, "intended", *_COUNTS, "unsent"),
        "latency_is_lower_bound": result.censored > 0,
        **{f"{name}_ms": milliseconds(figures.latency(name)) for name in _HISTOGRAMS},
    }
    if is_stream:
        document["chunk_lateness_ms"] = milliseconds(figures.latency("lateness"))
        document |= fields_of(figures, "messages", "sequence")
    if result.several:
        document["targets"] = [
            {
                "target": each.text,
                **fields_of(own, *_COUNTS),
                "latency_ms": milliseconds(own.latency),
                "service_ms": milliseconds(own.service),
            }
            for each, own in zip(result.several, figures.targets, strict=True)
        ]
    if result.steps:
        document["steps"] = [
            {
                **fields_of(rate, "rate_per_s", "to_per_s"),
                **fields_of(step, "due", "answered"),
                **{f"{name}_ms": getattr(step, f"{name}_ns") / 1e6 for name in ("p50", "p99", "max")},
            }
            for rate, step in result.steps
        ]
        document["highest_rates"] = {limit.text: rate for limit, rate in result.highest.items()}
    if result.engines:
        document["engines_started_within_ms"] = (result.started_within_s or 0.0) * 1e3
        document["engines"] = [_engine(part) for part in result.engines]
    return document | {
        **fields_of(figures, "bytes_in", "bytes_out", "reads", "stamped_reads", "connections"),
        "security": figures.security or None,
        "first_wrong": figures.first_wrong or None,
        "concurrency": figures.concurrency,
        "threads": started.threads if started else 0,
        "missing": list(started.missing) if started else [],
        "cpu_s": figures.cpu_ns / 1e9,
        "cpu_share_most": figures.cpu_share_most,
        "busy_share_most": figures.busy_share_most or 0.0,
        "peak_memory_bytes": figures.peak_memory_bytes or 0,
        "series": [
            {
                "t_s": int(second.t_s),
                **fields_of(second, "requests", "errors"),
                "max_ms": None if second.max_ns is None else second.max_ns / 1e6,
            }
            for second in figures.series
        ],
        "course": course(result),
        "thresholds": [check.document() for check in checks],
        "warnings": [msgspec.to_builtins(warning) for warning in figures.warnings],
        "log": msgspec.to_builtins(figures.log),
    }


def course(result: LoadResult) -> list[dict[str, Any]]:
    """Each second of a load: when it ended, what was answered in it, and how fast."""
    return [
        {
            "t_s": each.t_ns / 1e9,
            **fields_of(each, "intended", "requests", "errors", "open", "in_flight"),
            **{f"{time}_ms": (ns := getattr(each, f"{time}_ns")) and ns / 1e6 for time in _COURSE_TIMES},
        }
        for each in result.intervals
    ]


def course_csv(result: LoadResult) -> str:
    """The same as CSV: a header, and a row for each second."""
    rows = course(result)
    return csv_text([rows[0] if rows else (), *(row.values() for row in rows)])


def _engine(part: EnginePart) -> dict[str, Any]:
    figures = part.figures
    return {
        **fields_of(part, "node", "address"),
        **fields_of(figures, "outcome", "detail"),
        "duration_s": figures.duration_ns / 1e9,
        "connections": part.started.connections,
        "opened": figures.connections.get("opened", 0),
        "threads": part.started.threads,
        "intended_rate": figures.intended_rate_per_s,
        "achieved_rate": figures.achieved_rate_per_s,
        **fields_of(figures, "requests", "messages", "unfinished", "errors"),
        "latency_ms": milliseconds(figures.latency("latency")),
        "chunk_lateness_ms": milliseconds(figures.latency("lateness")),
        "schedule_error_ms": milliseconds(figures.latency("schedule_error")),
        "cpu_s": figures.cpu_ns / 1e9,
        "busy_share_most": figures.busy_share_most or 0.0,
        "peak_memory_bytes": figures.peak_memory_bytes or 0,
    }


def milliseconds(summary: LatencySummary | None) -> dict[str, Any] | None:
    """A histogram's mean, percentiles (with those that lack requests) and maximum; None if it is empty."""
    if summary is None or not summary.count:
        return None
    times = {name: getattr(summary, f"{name}_ns") / 1e6 for name in ("mean", *PERCENTILES, "max")}
    return {**times, "unsupported": list(unsupported(summary))}


def _pacing(pacing: Pacing) -> dict[str, Any]:
    # Requests leave out keys with default values; here every key is present.
    values = msgspec.to_builtins(msgspec.structs.asdict(pacing))
    # Rates that are multiples of another are those of experiments.
    if values.get("of", "") is None:
        del values["of"]
    return {"kind": pacing.__struct_config__.tag, **values}


def as_csv(target: Target, result: LoadResult, unit: TimeUnit) -> str:
    """One load as CSV; cells without a measurement are empty. Times are latencies, of streams lateness."""
    name, whole = result.main_histogram, result.figures
    seconds = whole.duration_ns / 1e9

    def row(label: str, figures: Any, latency: LatencySummary | None) -> list[Any]:
        is_whole, rate_per_s = figures is whole, result.rate_of(figures)
        cells = [label, whole.outcome if is_whole else None, seconds, figures.requests, rate_per_s]
        cells += [whole.intended_rate_per_s if is_whole else None, figures.late_requests, figures.unfinished]
        cells += [sum(figures.errors.values()), whole.messages if is_whole else None]
        is_empty = latency is None or not latency.count
        return cells + [None if is_empty else getattr(latency, f"{time}_ns") / unit.ns for time in _CSV_TIMES]

    rows = [[*_CSV_HEADER, *(f"{name}_{time}_{unit.symbol}" for time in _CSV_TIMES)]]
    for each, own in zip(result.several, whole.targets, strict=False):
        rows.append(row(each.text, own, own.latency))
    label = "total" if result.several else target.text
    return csv_text([*rows, row(label, whole, whole.latency(name))])
