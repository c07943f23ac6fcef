"""The document of `ringside load --json`; and the CSV of `--csv`: a header, a row for each of several
targets, a row for the whole load."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ringside.load.result import PERCENTILES, EnginePart, LoadResult, unsupported
from ringside.load.target import Target
from ringside.load.thresholds import Check
from ringside.probe.protocol import LatencySummary, LoadPlan, Pacing, SecondOfLoad, TargetFigures
from ringside.text import CsvWriter
from ringside.units import TimeUnit

FORMAT = 1
_CSV_TIMES = ("mean", "min", "p50", "p90", "p95", "p99", "p99_9", "max")
_CSV_HEADER = (
    *("target", "weight", "outcome", "duration_s", "requests", "rate_per_s"),
    *("intended_rate_per_s", "late_requests", "unfinished", "errors", "messages"),
)
_HISTOGRAMS = ("latency", "service", "queue", "connect", "handshake", "first_byte", "schedule_error")
_TOTAL = "total"


def as_document(
    target: Target,
    plan: LoadPlan,
    result: LoadResult,
    checks: Iterable[Check] = (),
    shares: Sequence[tuple[Target, int]] = (),
) -> dict[str, Any]:
    """One load as plain data; times in the unit that the key names, null where nothing was measured.
    `shares`: several targets and their weights."""
    figures, started = result.figures, result.started
    document: dict[str, Any] = {
        "format": FORMAT,
        "target": target.text,
        "outcome": figures.outcome,
        "detail": figures.detail,
        "protocol": target.protocol,
        "pacing": None if target.protocol == "stream" else _pacing(plan.pacing),
        "slack_ms": None if plan.slack_s is None else plan.slack_s * 1e3,
        "duration_s": figures.duration_ns / 1e9,
        "intended_rate": figures.intended_rate_per_s,
        "achieved_rate": figures.achieved_rate_per_s,
        "intended": figures.intended,
        "requests": figures.requests,
        "late_requests": figures.late_requests,
        "unfinished": figures.unfinished,
        "unsent": figures.unsent,
        "errors": figures.errors,
        "statuses": figures.statuses,
        "latency_is_lower_bound": result.is_lower_bound,
        **{f"{name}_ms": milliseconds(figures.latency(name)) for name in _HISTOGRAMS},
    }
    if target.protocol == "stream":
        document |= {
            "chunk_lateness_ms": milliseconds(figures.latency("lateness")),
            "messages": figures.messages,
            "sequence": figures.sequence,
        }
    if shares:
        document["targets"] = [
            _share(each, weight, own) for (each, weight), own in zip(shares, figures.targets, strict=True)
        ]
    if result.engines:
        document["engines_started_within_ms"] = (result.started_within_s or 0.0) * 1e3
        document["engines"] = [_engine(part) for part in result.engines]
    return document | {
        "bytes_in": figures.bytes_in,
        "bytes_out": figures.bytes_out,
        "reads": figures.reads,
        "stamped_reads": figures.stamped_reads,
        "connections": figures.connections,
        "security": figures.security or None,
        "first_wrong": figures.first_wrong or None,
        "concurrency": figures.concurrency,
        "io": started.io if started else "",
        "threads": started.threads if started else 0,
        "missing": list(started.missing) if started else [],
        "cpu_s": figures.cpu_ns / 1e9,
        "cpu_share_most": figures.cpu_share_most,
        "busy_share_most": figures.busy_share_most or 0.0,
        "peak_memory_bytes": figures.peak_memory_bytes or 0,
        "series": [_second(second) for second in figures.series],
        "thresholds": [check.document() for check in checks],
        "warnings": [msgspec.to_builtins(warning) for warning in figures.warnings],
    }


def _share(target: Target, weight: int, figures: TargetFigures) -> dict[str, Any]:
    """What went to one of several targets."""
    return {
        "target": target.text,
        "weight": weight,
        "requests": figures.requests,
        "late_requests": figures.late_requests,
        "unfinished": figures.unfinished,
        "errors": figures.errors,
        "statuses": figures.statuses,
        "latency_ms": milliseconds(figures.latency),
        "service_ms": milliseconds(figures.service),
    }


def _engine(part: EnginePart) -> dict[str, Any]:
    """What one of several engines did."""
    figures = part.figures
    return {
        "node": part.node,
        "address": part.address,
        "outcome": figures.outcome,
        "detail": figures.detail,
        "duration_s": figures.duration_ns / 1e9,
        "connections": part.started.connections,
        "opened": figures.connections.get("opened", 0),
        "threads": part.started.threads,
        "io": part.started.io,
        "intended_rate": figures.intended_rate_per_s,
        "achieved_rate": figures.achieved_rate_per_s,
        "requests": figures.requests,
        "messages": figures.messages,
        "unfinished": figures.unfinished,
        "errors": figures.errors,
        "latency_ms": milliseconds(figures.latency("latency")),
        "chunk_lateness_ms": milliseconds(figures.latency("lateness")),
        "schedule_error_ms": milliseconds(figures.latency("schedule_error")),
        "cpu_s": figures.cpu_ns / 1e9,
        "busy_share_most": figures.busy_share_most or 0.0,
        "peak_memory_bytes": figures.peak_memory_bytes or 0,
    }


def milliseconds(summary: LatencySummary | None) -> dict[str, Any] | None:
    """Mean, percentiles and maximum of a histogram in milliseconds, and which percentiles too few requests
    support; None where it holds nothing."""
    if summary is None or not summary.count:
        return None
    times = {name: getattr(summary, f"{name}_ns") / 1e6 for name in ("mean", *PERCENTILES, "max")}
    return {**times, "unsupported": list(unsupported(summary))}


def _pacing(pacing: Pacing) -> dict[str, Any]:
    # Requests leave out what is at its default; here every key is present.
    fields = msgspec.to_builtins(msgspec.structs.asdict(pacing))
    # Rates that are multiples of another are those of experiments.
    if fields.get("of", "") is None:
        del fields["of"]
    return {"kind": pacing.__struct_config__.tag, **fields}


def _second(second: SecondOfLoad) -> dict[str, Any]:
    return {
        "t_s": int(second.t_s),
        "requests": second.requests,
        "errors": second.errors,
        "max_ms": None if second.max_ns is None else second.max_ns / 1e6,
    }


def as_csv(targets: Sequence[Target], weights: Sequence[int], result: LoadResult, unit: TimeUnit) -> str:
    """One load as CSV; cells of what was not measured are empty. Times are latencies, of streams lateness."""
    text = io.StringIO()
    writer = CsvWriter(text)
    name = result.main_histogram
    writer.writerow([*_CSV_HEADER, *(f"{name}_{time}_{unit.symbol}" for time in _CSV_TIMES)])
    duration_s = result.figures.duration_ns / 1e9
    if len(targets) > 1:
        for target, weight, figures in zip(targets, weights, result.figures.targets, strict=True):
            writer.writerow(_of_target(target, weight, figures, duration_s, unit))
    whole = result.figures
    row: list[object] = [targets[0].text if len(targets) == 1 else _TOTAL, sum(weights)]
    row += [whole.outcome, duration_s, whole.requests, whole.achieved_rate_per_s, whole.intended_rate_per_s]
    row += [whole.late_requests, whole.unfinished, sum(whole.errors.values()), whole.messages]
    writer.writerow([*row, *_times(whole.latency(name), unit)])
    return text.getvalue()


def _of_target(
    target: Target, weight: int, figures: TargetFigures, duration_s: float, unit: TimeUnit
) -> list[object]:
    rate_per_s = figures.requests / duration_s if duration_s else 0.0
    row: list[object] = [target.text, weight, None, duration_s, figures.requests, rate_per_s, None]
    row += [figures.late_requests, figures.unfinished, sum(figures.errors.values()), None]
    return [*row, *_times(figures.latency, unit)]


def _times(summary: LatencySummary | None, unit: TimeUnit) -> list[float | None]:
    if summary is None or not summary.count:
        return [None] * len(_CSV_TIMES)
    return [getattr(summary, f"{time}_ns") / unit.ns for time in _CSV_TIMES]
