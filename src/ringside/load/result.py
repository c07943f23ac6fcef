"""What the engine said of a load: its last line and its histograms, as types."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ringside.errors import ProbeError
from ringside.model.results import Warned


@dataclass(frozen=True, slots=True)
class Spread:
    """Figures of one histogram, in nanoseconds."""

    count: int
    mean_ns: float
    stdev_ns: float
    min_ns: int
    p50_ns: int
    p90_ns: int
    p95_ns: int
    p99_ns: int
    p99_9_ns: int
    max_ns: int


@dataclass(frozen=True, slots=True)
class Result:
    """One load. Fields are those of the contract's outcome; `spreads` and `counts` (pairs of value in
    nanoseconds and count) are by the histogram's name."""

    outcome: str
    detail: str
    duration_ns: int
    intended: int | None
    intended_rate_per_s: float | None
    requests: int
    achieved_rate_per_s: float
    late_requests: int
    unfinished: int
    errors: Mapping[str, int]
    statuses: Mapping[str, int]
    largest_lag_ns: int
    bytes_in: int
    bytes_out: int
    connections: Mapping[str, int]
    concurrency: float
    messages: int
    sequence: Mapping[str, int]
    cpu_ns: int
    cpu_share_most: float
    busy_share_most: float
    peak_memory_bytes: int
    series: Sequence[Mapping[str, Any]]
    warnings: Sequence[Warned]
    spreads: Mapping[str, Spread]
    counts: Mapping[str, Sequence[tuple[int, int]]]
    io: str = ""
    threads: int = 0
    missing: Sequence[str] = field(default=())

    def is_open_loop(self) -> bool:
        return self.intended is not None

    def answered(self) -> bool:
        """Whether anything came back as expected."""
        return self.requests + self.late_requests + self.messages > 0

    def main(self) -> str:
        """The name of the histogram that matters most: latency, or a stream's lateness."""
        lateness = self.spreads.get("lateness")
        return "lateness" if lateness and lateness.count else "latency"

    def is_bound(self) -> bool:
        """Whether latencies are lower bounds: requests without an answer are among them with their age."""
        return self.is_open_loop() and self.unfinished > 0


def from_lines(lines: Sequence[bytes]) -> Result:
    """The result in the probe's lines, the outcome last. Raises ProbeError where a line is off."""
    started: dict[str, Any] = {}
    counts: dict[str, list[tuple[int, int]]] = {}
    outcome: dict[str, Any] = {}
    try:
        for line in lines:
            said = json.loads(line)
            kind = said.get("type")
            if kind == "started":
                started = said
            elif kind == "histogram":
                counts[said["name"]] = [(int(value), int(count)) for value, count in said["counts"]]
            elif kind == "outcome":
                outcome = said
        return _result(started, counts, outcome)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ProbeError(f"the probe's answer to a load is off ({error!r}): run `make setup`") from error


def _result(
    started: Mapping[str, Any], counts: Mapping[str, list[tuple[int, int]]], said: Mapping[str, Any]
) -> Result:
    # A load that failed before it began has an outcome and a detail, and need not have figures.
    def number(key: str) -> int:
        return int(said.get(key) or 0)

    intended = said.get("intended")
    return Result(
        outcome=str(said["outcome"]),
        detail=str(said.get("detail") or ""),
        duration_ns=number("duration_ns"),
        intended=None if intended is None else int(intended),
        intended_rate_per_s=said.get("intended_rate_per_s"),
        requests=number("requests"),
        achieved_rate_per_s=float(said.get("achieved_rate_per_s") or 0),
        late_requests=number("late_requests"),
        unfinished=number("unfinished"),
        errors=_counts(said.get("errors")),
        statuses=_counts(said.get("statuses")),
        largest_lag_ns=number("largest_lag_ns"),
        bytes_in=number("bytes_in"),
        bytes_out=number("bytes_out"),
        connections=_counts(said.get("connections")),
        concurrency=float(said.get("concurrency") or 0),
        messages=number("messages"),
        sequence=_counts(said.get("sequence")),
        cpu_ns=number("cpu_ns"),
        cpu_share_most=float(said.get("cpu_share_most") or 0),
        busy_share_most=float(said.get("busy_share_most") or 0),
        peak_memory_bytes=number("peak_memory_bytes"),
        series=list(said.get("series") or ()),
        warnings=[
            Warned(str(one["code"]), str(one["text"]), str(one.get("remedy") or ""))
            for one in said.get("warnings") or ()
        ],
        spreads={
            name: Spread(**{key: spread.get(key) or 0 for key in Spread.__dataclass_fields__})
            for name, spread in (said.get("histograms") or {}).items()
            if spread
        },
        counts=dict(counts),
        io=str(started.get("io") or ""),
        threads=int(started.get("threads") or 0),
        missing=[str(one) for one in started.get("missing") or ()],
    )


def _counts(said: Mapping[str, Any] | None) -> dict[str, int]:
    return {str(key): int(count) for key, count in (said or {}).items()}
