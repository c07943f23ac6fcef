"""The result of one load: the engine's messages as one value, and its percentiles as a text."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from msgspec import structs

from ringside.errors import ProbeError
from ringside.load.target import Target
from ringside.probe import protocol as ipc
from ringside.stats.samples import PERCENTILES, is_supported

# If more requests fail, the p99 of the others does not describe what users see.
MAX_FAILED_SHARE = 0.01
# Of the table for a rising rate.
ROWS = 10
_TICKS_PER_HALF = 5
# For a histogram with three significant digits.
_SUB_BUCKETS = 2048


@dataclass(frozen=True, slots=True)
class Threshold:
    """A condition that must not hold. `unit`: `ns`, `per second`, `%` or empty (count). `rate`: a step's."""

    text: str
    figure: str
    operator: str
    limit: float
    unit: str
    rate: float | None = None
    option: str = "--fail-if"


@dataclass(frozen=True, slots=True)
class EnginePart:
    """One engine of several: its node, how it started, and the figures of its part of the load."""

    node: str
    address: str
    started: ipc.Started
    figures: ipc.LoadFigures


@dataclass(frozen=True, slots=True)
class LoadResult:
    """The result of one load."""

    figures: ipc.LoadFigures
    # All counts of each histogram by its name: pairs of value in nanoseconds and count.
    counts: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    # How the engine began; None if it did not.
    started: ipc.Started | None = None
    # For a load from several nodes: the part of each engine, and the largest spread of their starts.
    engines: tuple[EnginePart, ...] = ()
    started_within_s: float | None = None
    # For a staircase: the outcome of each step's requests.
    steps: tuple[tuple[ipc.StaircaseStep, ipc.SlotOfLoad], ...] = ()
    # How long the same load went before, which counts in no figure.
    warmup_s: float | None = None
    # Its progress in each second, without the counts.
    intervals: tuple[ipc.LoadProgress, ...] = ()
    # For a load at several targets, which took turns.
    several: tuple[Target, ...] = ()
    # The highest rate of a step that was kept without crossing a threshold; None if no rate was.
    highest: Mapping[Threshold, float | None] = field(default_factory=dict)

    @property
    def is_open_loop(self) -> bool:
        return self.figures.intended is not None

    @property
    def is_answered(self) -> bool:
        """Whether anything came back as expected."""
        return self.figures.requests + self.figures.late_requests + self.figures.messages > 0

    @property
    def is_refused(self) -> bool:
        """Whether every connection failed: no server listens or is trusted, or the proxy reaches none."""
        is_one = set(self.figures.errors) in ({"connect-refused"}, {"certificate"}, {"proxy"})
        return is_one and not self.figures.connections.get("opened")

    @property
    def censored(self) -> int:
        """Requests with a known age but no reply: timed out, and in open loops unfinished at the end."""
        timed_out = 0 if self.main_histogram == "lateness" else self.figures.errors.get("timeout", 0)
        return timed_out + self.figures.connects_timed_out + self.figures.unfinished * self.is_open_loop

    def rate_of(self, part: ipc.LoadFigures | ipc.TargetFigures) -> float:
        """The requests per second at one of several targets, or of the whole load: its share of the rate."""
        whole = self.figures
        return whole.achieved_rate_per_s * part.requests / whole.requests if whole.requests else 0.0

    @property
    def ceased(self) -> str:
        """Says that no request was answered from some moment to the end, else empty. A pause counts if it is
        longer than three times the longest before, or if the server is gone."""
        figures = self.figures
        # Requests that still wait after the end say nothing about the time before.
        seconds = figures.series[: figures.duration_ns // 1_000_000_000 + 1]
        answered = [index for index, second in enumerate(seconds) if second.requests]
        if not answered or not figures.failed:
            return ""
        last, pauses = answered[-1], [later - earlier for earlier, later in pairwise(answered)]
        is_gone = "connect-refused" in figures.errors and not figures.connections.get("open_at_end", 1)
        if is_gone and any(second.errors for second in seconds[last:]):
            return "the server was gone at the end: it refused connections"
        # The last second of a series is shorter than others.
        is_over = len(seconds) - 1 - last > 3 * max(pauses, default=1)
        return f"nothing was answered as expected from second {last + 1} on" if is_over else ""

    @property
    def main_histogram(self) -> str:
        """The name of the histogram that matters most: latency, or a stream's lateness."""
        return "lateness" if self.figures.latency("lateness") else "latency"


def is_kept(slot: ipc.SlotOfLoad) -> bool:
    """Whether a rate was: all but MAX_FAILED_SHARE of its requests were answered as expected."""
    return slot.answered >= (1 - MAX_FAILED_SHARE) * slot.due > 0


def unsupported(summary: ipc.LatencySummary) -> tuple[str, ...]:
    """The names of the percentiles beyond which fewer than MIN_BEYOND values lie: they describe those few."""
    return tuple(name for name, level in PERCENTILES.items() if not is_supported(level, summary.count))


def from_messages(messages: Iterable[ipc.EngineMessage], plan: ipc.LoadPlan | None = None) -> LoadResult:
    """The result in an engine's messages to a plan. Raises ProbeError if there is no outcome."""
    messages = list(messages)
    started = next((each for each in messages if isinstance(each, ipc.Started)), None)
    outcome = next((each for each in messages if isinstance(each, ipc.LoadOutcome)), None)
    counts = {each.name: each.counts for each in messages if isinstance(each, ipc.Histogram)}
    if outcome is None:
        raise ProbeError("the probe sent no outcome of the load: run `make setup`")
    steps = getattr(plan and plan.pacing, "steps", ())
    if steps and (last := steps[0].to_per_s) is not None:
        first, length_s = steps[0].rate_per_s, steps[0].duration_s / ROWS
        rates = [first + (last - first) * row / ROWS for row in range(ROWS + 1)]
        steps = [ipc.StaircaseStep(low, length_s, high) for low, high in pairwise(rates)]
    slots = tuple(zip(steps, outcome.course or (), strict=False))
    result = LoadResult(outcome, counts, started, steps=slots)
    return replace(result, figures=structs.replace(outcome, warnings=causes(result, plan)))


# A summary begins with these.
FIRST = {"answers-ceased", "not-kept-alive"}
# The engine's warnings that a server which is gone explains.
_FOLLOW = {"rate-not-kept", "errors", "unfinished", "little", "closed-loop-stalls"}


def causes(result: LoadResult, plan: ipc.LoadPlan | None) -> tuple[ipc.EngineWarning, ...]:
    """The warnings of a load: first what Ringside itself sees, then the engine's that no other explains."""
    figures, opened = result.figures, result.figures.connections.get("opened", 0)
    first, explained = [], set[str]()
    if ceased := result.ceased:
        remedy = "look at the server's log of that moment"
        first.append(ipc.EngineWarning("answers-ceased", ceased, remedy))
        explained |= _FOLLOW
    if not (figures.latency("latency") and result.is_answered):
        # They are shares of the latency.
        explained |= {"slack", "generator-bound"}
    if figures.outcome == "interrupted":
        explained |= {"unfinished", "little"}
    broken = sum(figures.errors.values()) - figures.errors.get("timeout", 0)
    if 2 * broken >= (figures.intended or 0) - figures.requests:
        explained.add("rate-not-kept")
    is_reused = plan and plan.request and not plan.request.close and figures.requests
    is_closed_loop = plan and plan.protocol == "http" and not plan.is_open_loop
    # After any other error it is the engine that has closed.
    closed = opened - sum(n for kind, n in figures.errors.items() if kind not in ("closed-early", "reset"))
    if plan and is_reused and is_closed_loop and closed > max(2 * plan.connections, figures.requests // 2):
        text = f"the server closes connections after their replies: {opened:,} were opened, and the time of "
        text += "that is in `connect`, not in the latency"
        first.append(ipc.EngineWarning("not-kept-alive", text, "use --close to count it"))
        explained.add("little")
    return (*first, *(warning for warning in figures.warnings if warning.code not in explained))


def failure(figures: ipc.LoadFigures) -> str:
    """Why a load does not show its target's speed: more than MAX_FAILED_SHARE failed. Empty if it does."""
    if figures.failed <= MAX_FAILED_SHARE * figures.attempted:
        return ""
    counts = {**figures.errors, "unfinished": figures.unfinished}
    kinds = ", ".join(f"{number:,} × {kind}" for kind, number in counts.items() if number)
    return f"{figures.failed:,} of {figures.attempted:,} requests failed: {kinds}"


def hdr_text(counts: Sequence[tuple[int, int]], mean_ns: float, stdev_ns: float) -> str:
    """A histogram, as (ns, count), in HdrHistogram's text of percentiles in milliseconds for its plotters:
    five lines to each halving of the rest (AbstractHistogram.outputPercentileDistribution)."""
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
    lines += [
        f"#[Mean    = {mean_ns / 1e6:12.6f}, StdDeviation   = {stdev_ns / 1e6:12.6f}]",
        f"#[Max     = {max_ns / 1e6:12.6f}, Total count    = {total:12d}]",
        f"#[Buckets = {buckets:12d}, SubBuckets     = {_SUB_BUCKETS:12d}]",
    ]
    return "\n".join([*lines, ""])
