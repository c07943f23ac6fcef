"""Whether a run can be believed: rows that fit together, and figures that an honest program can have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ringside.analysis.cells import CellAnalysis
from ringside.analysis.scaling import SlopeAnalysis
from ringside.model.design import Metric, Point
from ringside.model.results import Diagnostic, Interval, Outcome, Trial
from ringside.workloads.base import Measurement
from ringside.workloads.phases import CYCLE_NS
from ringside.workloads.process import THREADS

FASTER_THAN_FLOOR = "faster-than-floor"
CODES = (FASTER_THAN_FLOOR, "below-a-cycle", "too-little-memory", "answered-unasked")
# A thread or a process has a page of stack at least, of its own; a unit inside a process a pointer.
PAGE_BYTES, POINTER_BYTES = 4096, 8
# No reply comes through TCP in less, whoever sends it.
MIN_LATENCY_NS = 1000


def beyond_floor(
    metrics: Sequence[Metric],
    floor: str | None,
    floor_ratios: Mapping[tuple[str, Point], Mapping[str, Interval]],
    points: Sequence[Point],
    *,
    margin: float,
) -> Iterator[Diagnostic]:
    """A warning for each metric in which contenders are better than the floor, at some point. Those of a
    headline for which `limit` is written have a stronger one of `implausible`."""
    if floor is None:
        return
    for index, metric in enumerate(metrics):
        by_point = {
            point: floor_ratios.get((metric.name, point), {})
            for point in points
            if index or not _is_floored(metric, point)
        }
        if best := _better(metric, by_point, margin):
            reason = (
                no_floor(metric, floor, by_point)
                or f"{floor} is meant to be the floor of this, and can be better"
            )
            values = {"floor": floor, "times": best, "noun": metric.noun, "reason": reason}
            yield Diagnostic("beyond-floor", tuple(best), values)


def floor_excess(metric: Metric, over_floor: Interval | None) -> Interval | None:
    """How many times worse the floor is than a contender, by the ratio of this one to it; None where there is
    no ratio, or the floor is shown to be better."""
    if over_floor is None:
        return None
    excess = over_floor.inverse if metric.smaller_is_better else over_floor
    return excess if excess.high is None or excess.high >= 1 else None


def no_floor(metric: Metric, floor: str, points: Iterable[Point]) -> str:
    """What the floor is not, where a contender is better in this metric. Empty where it should be one."""
    if metric.no_floor:
        return "" if all(_is_floored(metric, point) for point in points) else metric.no_floor.reason
    return "" if metric.is_speed else f"{floor} is written for the time of the whole work, not for this"


def _is_floored(metric: Metric, point: Point) -> bool:
    """Whether no honest program is better than the floor in this metric: times, but for those that a workload
    excepts."""
    cores = point.as_dict().get("cores", 1)
    excepted = metric.no_floor and isinstance(cores, int) and cores >= metric.no_floor.from_cores
    return metric.is_speed and not excepted


def implausible(
    headline: Metric,
    floor: str | None,
    floor_ratios: Mapping[Point, Mapping[str, Interval]],
    cells: Iterable[CellAnalysis],
    slopes: Iterable[SlopeAnalysis],
    measurement: Measurement,
    trials: Sequence[Trial],
    *,
    margin: float,
) -> Iterator[Diagnostic]:
    """`floor_ratios`: of the headline, by point. `margin`: ratios closer to 1 are equivalent."""
    cells = list(cells)
    floored = {point: ratios for point, ratios in floor_ratios.items() if _is_floored(headline, point)}
    if floor is not None and (best := _better(headline, floored, margin)):
        yield Diagnostic(FASTER_THAN_FLOOR, tuple(best), {"floor": floor, "times": best})
    if headline.unit == "ns":
        yield from _below_a_cycle(headline, cells)
    yield from _too_little_memory(slopes, cells)
    yield from _answered_unasked(measurement, trials)


def _better(
    metric: Metric, by_point: Mapping[Point, Mapping[str, Interval]], margin: float
) -> dict[str, float]:
    """How many times better than the floor each contender is at most, of those whose interval of the ratio
    lies beyond the margin at some point."""
    best: dict[str, float] = {}
    for ratios in by_point.values():
        for name, ratio in ratios.items():
            if ratio.low is None or ratio.high is None:
                continue
            # How many times faster, also where more is better.
            times = 1 / ratio.estimate if metric.smaller_is_better else ratio.estimate
            least = 1 / ratio.high if metric.smaller_is_better else ratio.low
            if least > 1 + margin:
                best[name] = max(best.get(name, 0.0), times)
    return best


def _below_a_cycle(headline: Metric, cells: Iterable[CellAnalysis]) -> Iterator[Diagnostic]:
    least: dict[str, float] = {}
    for cell in cells:
        value = cell.metrics.get(headline.name)
        if value is not None and value.estimate < CYCLE_NS:
            name = cell.cell.contender
            least[name] = min(least.get(name, value.estimate), value.estimate)
    if least:
        yield Diagnostic("below-a-cycle", tuple(least), {"amounts": least, "noun": headline.noun})


def _too_little_memory(
    slopes: Iterable[SlopeAnalysis], cells: Sequence[CellAnalysis]
) -> Iterator[Diagnostic]:
    """The whole interval of the growth over units is below what a unit takes. Of the kernel's memory it may
    take none."""
    amounts: dict[str, float] = {}
    for row in slopes:
        high = row.value.high
        if row.slope.unit != "B" or not row.slope.is_own or high is None:
            continue
        least = PAGE_BYTES if _are_threads(row, cells) else POINTER_BYTES
        if high < least:
            amounts[row.contender] = min(amounts.get(row.contender, row.value.estimate), row.value.estimate)
    if amounts:
        yield Diagnostic("too-little-memory", tuple(amounts), {"memory": amounts})


def _are_threads(row: SlopeAnalysis, cells: Sequence[CellAnalysis]) -> bool:
    """Whether each unit is a thread or a process, by how many there were."""
    counts = [
        (float(cell.cell.point[row.slope.over]), threads.estimate)
        for cell in cells
        if cell.cell.contender == row.contender and (threads := cell.metrics.get(THREADS.name))
    ]
    return bool(counts) and all(threads >= units for units, threads in counts)


def _answered_unasked(measurement: Measurement, trials: Sequence[Trial]) -> Iterator[Diagnostic]:
    """Replies without a request, or sooner than one can come."""
    counts: dict[str, int] = {}
    for trial in trials:
        if trial.outcome is not Outcome.OK:
            continue
        for load in measurement.decisive_loads(trial):
            summary = load.latency("latency")
            too_soon = summary is not None and summary.min_ns < MIN_LATENCY_NS
            if number := load.errors.get("unsolicited", 0) + too_soon:
                name = trial.cell.contender
                counts[name] = counts.get(name, 0) + number
    if counts:
        yield Diagnostic("answered-unasked", tuple(counts), {"counts": counts})
