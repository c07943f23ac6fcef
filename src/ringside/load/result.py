"""What a load by itself showed: the engine's messages as one value, and its percentiles as a text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from msgspec import structs

from ringside.errors import ProbeError
from ringside.probe.protocol import (
    EngineMessage,
    EngineWarning,
    Histogram,
    LatencySummary,
    LoadFigures,
    LoadOutcome,
    Started,
)
from ringside.stats.samples import is_supported

# Those of a summary, with their levels.
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999}
# A p99 of a target that loses more is not one of its users'.
MAX_FAILED_SHARE = 0.01
_TICKS_PER_HALF = 5
# Of a histogram with three significant digits.
_SUB_BUCKETS = 2048


@dataclass(frozen=True, slots=True)
class EnginePart:
    """What one engine of several did: its node, how it began, and the figures of its part of the load."""

    node: str
    address: str
    started: Started
    figures: LoadFigures


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What one load showed."""

    figures: LoadFigures
    # All counts of each histogram by its name: pairs of value in nanoseconds and count.
    counts: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    # How the engine began; None where it did not.
    started: Started | None = None
    # Of a load from several nodes: what each engine did, and how far apart they started at most.
    engines: tuple[EnginePart, ...] = ()
    started_within_s: float | None = None

    @property
    def is_open_loop(self) -> bool:
        return self.figures.intended is not None

    @property
    def is_answered(self) -> bool:
        """Whether anything came back as expected."""
        return self.figures.requests + self.figures.late_requests + self.figures.messages > 0

    @property
    def is_refused(self) -> bool:
        """Whether no server listened: every connection was refused."""
        return self._failed_by("connect-refused")

    @property
    def is_untrusted(self) -> bool:
        """Whether every connection failed because of the server's certificate."""
        return self._failed_by("certificate")

    def _failed_by(self, kind: str) -> bool:
        return not self.figures.connections.get("opened") and set(self.figures.errors) == {kind}

    @property
    def is_lower_bound(self) -> bool:
        """Whether latencies are lower bounds: requests without an answer are among them with their age."""
        return self.censored > 0

    @property
    def censored(self) -> int:
        """Requests without an answer that are among the latencies with their age: those that timed out, also
        with their connect or its handshake, and in an open loop those that were unfinished at the end."""
        timed_out = 0 if self.main_histogram == "lateness" else self.figures.errors.get("timeout", 0)
        return timed_out + self.figures.connects_timed_out + self.figures.unfinished * self.is_open_loop

    @property
    def silent_from_s(self) -> int | None:
        """The second from which on nothing was answered, although it was before and requests went on; None
        where answers went on until the end. A second counts once it is longer than three times the longest
        pause before."""
        # What is still waited for after the end says nothing of the time before.
        seconds = self.figures.series[: self.figures.duration_ns // 1_000_000_000 + 1]
        answered = [index for index, second in enumerate(seconds) if second.requests]
        if not answered or not self.figures.failed:
            return None
        pauses = [later - earlier for earlier, later in pairwise(answered)]
        last = answered[-1]
        # The last second of a series is shorter than others.
        is_over = len(seconds) - 1 - last > 3 * max(pauses, default=1)
        return last + 1 if is_over else None

    @property
    def main_histogram(self) -> str:
        """The name of the histogram that matters most: latency, or a stream's lateness."""
        return "lateness" if self.figures.latency("lateness") else "latency"

    def with_warning(self, code: str, text: str, remedy: str) -> LoadResult:
        """The same with one more warning."""
        warnings = (*self.figures.warnings, EngineWarning(code, text, remedy))
        return replace(self, figures=structs.replace(self.figures, warnings=warnings))


def unsupported(summary: LatencySummary) -> tuple[str, ...]:
    """The names of the percentiles beyond which fewer than MIN_BEYOND values lie: they describe those few."""
    return tuple(name for name, level in PERCENTILES.items() if not is_supported(level, summary.count))


def from_messages(messages: Iterable[EngineMessage]) -> LoadResult:
    """The result in an engine's messages. Raises ProbeError where there is no outcome."""
    started: Started | None = None
    outcome: LoadOutcome | None = None
    counts = {}
    for message in messages:
        match message:
            case Started():
                started = message
            case Histogram():
                counts[message.name] = message.counts
            case LoadOutcome():
                outcome = message
    if outcome is None:
        raise ProbeError("the probe sent no outcome of the load: run `make setup`")
    result = LoadResult(outcome, counts, started)
    second = result.silent_from_s
    return (
        result
        if second is None
        else result.with_warning(
            "answers-ceased",
            f"nothing was answered from second {second} on: the figures are those of the time before",
            "look at what the server says of that moment",
        )
    )


def failure(figures: LoadFigures) -> str:
    """Why a load says nothing of how fast its target is: more than MAX_FAILED_SHARE of its requests failed.
    Empty where it does."""
    if figures.failed <= MAX_FAILED_SHARE * figures.attempted:
        return ""
    counts = {**figures.errors, "unfinished": figures.unfinished}
    kinds = ", ".join(f"{number:,} × {kind}" for kind, number in counts.items() if number)
    return f"{figures.failed:,} of {figures.attempted:,} requests failed: {kinds}"


def hdr_text(counts: Sequence[tuple[int, int]], mean_ns: float, stdev_ns: float) -> str:
    """A histogram of (value in nanoseconds, count) pairs as HdrHistogram's text of percentiles, which its
    plotters read: a line for each percentile, five to each halving of what is left up to 100 %, values in
    milliseconds (HdrHistogram, AbstractHistogram.outputPercentileDistribution and PercentileIterator).

    The Python package `hdrhistogram` (0.10.8) writes other figures than the Java library: percentiles at
    other levels (its steps shrink at each line instead of at each halving), whole microseconds only, and a
    standard deviation in another unit than the rest. It also needs setuptools and pbr.
    """
    ordered = sorted((value_ns, count) for value_ns, count in counts if count > 0)
    total = sum(count for _, count in ordered)
    max_ns = ordered[-1][0] if ordered else 0
    lines = ["       Value     Percentile TotalCount 1/(1-Percentile)", ""]
    level, reached = 0.0, 0
    for value_ns, count in ordered:
        reached += count
        while 100 * reached / total >= level:
            share = level / 100
            lines.append(f"{value_ns / 1e6:12.6f} {share:14.12f} {reached:10d} {1 / (1 - share):14.2f}")
            halvings = math.floor(math.log2(100 / (100 - level))) + 1
            level += 100 / (_TICKS_PER_HALF * 2**halvings)
            if reached == total:
                break
    if ordered:
        lines.append(f"{max_ns / 1e6:12.6f} {1:14.12f} {total:10d}")
    # The first bucket ends below 2,048 ns, each other one holds a doubling.
    buckets = max(1, max_ns.bit_length() - _SUB_BUCKETS.bit_length() + 2)
    return "\n".join(
        [
            *lines,
            f"#[Mean    = {mean_ns / 1e6:12.6f}, StdDeviation   = {stdev_ns / 1e6:12.6f}]",
            f"#[Max     = {max_ns / 1e6:12.6f}, Total count    = {total:12d}]",
            f"#[Buckets = {buckets:12d}, SubBuckets     = {_SUB_BUCKETS:12d}]",
            "",
        ]
    )
