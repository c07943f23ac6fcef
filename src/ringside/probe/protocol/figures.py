"""Messages: what a load showed."""

from __future__ import annotations

import msgspec

from ringside.probe.protocol.base import Bytes, Count, Counts, Message, Nanoseconds


class LatencySummary(Message, frozen=True):
    """Figures of one histogram, in nanoseconds."""

    count: Count = 0
    mean_ns: float = 0.0
    stdev_ns: float = 0.0
    min_ns: Nanoseconds = 0
    p50_ns: Nanoseconds = 0
    p90_ns: Nanoseconds = 0
    p95_ns: Nanoseconds = 0
    p99_ns: Nanoseconds = 0
    p99_9_ns: Nanoseconds = 0
    max_ns: Nanoseconds = 0


class SecondOfLoad(Message, frozen=True):
    """What one second of a load showed; `t_s` counts from the load's beginning."""

    t_s: float
    requests: Count = 0
    errors: Count = 0
    max_ns: Nanoseconds | None = None
    open: Count = 0


class EngineWarning(Message, frozen=True):
    """A weak point of a load's figures, in the engine's words."""

    code: str
    text: str = ""
    remedy: str = ""


class StreamCounts(Message, frozen=True):
    """Streams that were fed, and what became of their chunks."""

    fed: Count = 0
    chunks: Count = 0
    behind: Count = 0
    silent: Count = 0
    slowed: Count = 0
    vanished: Count = 0


class TargetFigures(Message, frozen=True):
    """What a load showed of one of several targets."""

    requests: Count = 0
    late_requests: Count = 0
    unfinished: Count = 0
    errors: dict[str, Count] = msgspec.field(default_factory=dict)
    statuses: dict[str, Count] = msgspec.field(default_factory=dict)
    latency: LatencySummary = LatencySummary()
    service: LatencySummary = LatencySummary()


class LoadFigures(Message, frozen=True):
    """What a load showed, whether by itself or within a trial. Histograms are by name."""

    outcome: str
    detail: str = ""
    duration_ns: Nanoseconds = 0
    intended: Count | None = None
    intended_rate_per_s: float | None = None
    requests: Count = 0
    achieved_rate_per_s: float = 0.0
    late_requests: Count = 0
    unfinished: Count = 0
    unsent: Count = 0
    errors: dict[str, Count] = msgspec.field(default_factory=dict)
    statuses: dict[str, Count] = msgspec.field(default_factory=dict)
    histograms: dict[str, LatencySummary] = msgspec.field(default_factory=dict)
    counts: dict[str, Counts] = msgspec.field(default_factory=dict)
    bytes_in: Bytes = 0
    bytes_out: Bytes = 0
    reads: Count = 0
    stamped_reads: Count = 0
    connections: dict[str, Count] = msgspec.field(default_factory=dict)
    security: str = ""
    concurrency: float = 0.0
    targets: tuple[TargetFigures, ...] = ()
    messages: Count = 0
    streams: StreamCounts | None = None
    sequence: dict[str, Count] = msgspec.field(default_factory=dict)
    cpu_ns: Nanoseconds = 0
    cpu_share_most: float = 0.0
    busy_share_most: float | None = None
    peak_memory_bytes: Bytes | None = None
    series: tuple[SecondOfLoad, ...] = ()
    warnings: tuple[EngineWarning, ...] = ()

    def latency(self, histogram: str) -> LatencySummary | None:
        """The summary of that histogram; None where it holds nothing."""
        summary = self.histograms.get(histogram)
        return summary if summary and summary.count else None
