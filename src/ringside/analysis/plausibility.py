"""Figures that no honest program can have, or that are better than the reference program's."""

from collections import Counter
from collections.abc import Iterable, Iterator

from ringside.analysis.figures import RunFigures
from ringside.analysis.scaling import Growth
from ringside.model.design import Metric, Point, grouped
from ringside.model.results import Diagnostic, Outcome
from ringside.workloads.base import Slope
from ringside.workloads.phases import CYCLE_NS
from ringside.workloads.process import THREADS

FASTER_THAN_FLOOR = "faster-than-floor"
CODES = (FASTER_THAN_FLOOR, "below-a-cycle", "too-little-memory", "answered-unasked")
# The reference program is worse than a contender, by more than the margin.
BEYOND = (FASTER_THAN_FLOOR, "beyond-floor")
# A thread or a process has its own page of stack; a unit inside a process needs a pointer.
PAGE_BYTES, POINTER_BYTES = 4096, 8
# No reply comes through TCP in less time.
MIN_LATENCY_NS = 1000


def beyond_floor(run: RunFigures) -> Iterator[Diagnostic]:
    """A warning per metric in which contenders beat the floor, unless `implausible` warns of it."""
    floor = run.floor
    if floor is None:
        return
    for metric in run.metrics:
        is_headline = metric is run.headline
        points = [point for point in run.points if not (is_headline and _is_floored(metric, point))]
        if best := _better(run, metric, points):
            meant = f"{floor} is meant to be the floor of this, and can be better"
            reason = no_floor(metric, floor, points) or meant
            values = {"floor": floor, "times": best, "noun": metric.noun, "reason": reason}
            yield Diagnostic("beyond-floor", tuple(best), values)


def no_floor(metric: Metric, floor: str, points: Iterable[Point]) -> str:
    """Why a contender may be better than the floor in this metric. Empty if none should be."""
    if metric.no_floor:
        return "" if all(_is_floored(metric, point) for point in points) else metric.no_floor.reason
    return "" if metric.is_speed else f"{floor} is written for the time of the whole work, not for this"


def _is_floored(metric: Metric, point: Point) -> bool:
    """Whether no honest program beats the floor in this metric: a speed, unless the workload excludes it."""
    cores = point.as_dict().get("cores", 1)
    excepted = metric.no_floor and isinstance(cores, int) and cores >= metric.no_floor.from_cores
    return metric.is_speed and not excepted


def implausible(run: RunFigures, slopes: Iterable[Growth[Slope]]) -> Iterator[Diagnostic]:
    """Figures that no honest program has."""
    floored = [point for point in run.points if _is_floored(run.headline, point)]
    if best := _better(run, run.headline, floored):
        yield Diagnostic(FASTER_THAN_FLOOR, tuple(best), {"floor": run.floor, "times": best})
    values = ((cell.contender, each.metrics.get(run.headline.name)) for cell, each in run.cells.items())
    below = grouped((name, value.estimate) for name, value in values if value and value.estimate < CYCLE_NS)
    least = {name: min(each) for name, each in below.items()}
    if least and run.headline.unit == "ns":
        yield Diagnostic("below-a-cycle", tuple(least), {"amounts": least, "noun": run.headline.noun})
    yield from _too_little_memory(run, slopes)
    yield from _answered_unasked(run)


def _better(run: RunFigures, metric: Metric, points: Iterable[Point]) -> dict[str, float]:
    """By contender, how many times better than the floor it is at most, where that exceeds the margin."""
    ratios = (each for point in points for each in run.floor_ratios[metric.name, point].items())
    # How many times faster, also where more is better.
    faster = ((name, ratio.inverse if metric.smaller_is_better else ratio) for name, ratio in ratios)
    least = 1 + run.experiment.margin
    better = grouped((name, times.estimate) for name, times in faster if times.low and times.low > least)
    return {name: max(each) for name, each in better.items()}


def _too_little_memory(run: RunFigures, slopes: Iterable[Growth[Slope]]) -> Iterator[Diagnostic]:
    """Memory that grows by less per unit than a unit needs; the kernel's memory is not counted."""
    amounts: dict[str, float] = {}
    for growth in (each for each in slopes if each.law.unit == "B" and each.law.is_own):
        for (name, _), value in growth.values.items():
            # Whether each unit is a thread or a process, by how many there were.
            counts = [
                (float(cell.point[growth.law.over]), threads.estimate)
                for cell, analysis in run.cells.items()
                if cell.contender == name and (threads := analysis.metrics.get(THREADS.name))
            ]
            are_threads = bool(counts) and all(threads >= units for units, threads in counts)
            if value.high is not None and value.high < (PAGE_BYTES if are_threads else POINTER_BYTES):
                amounts[name] = min(amounts.get(name, value.estimate), value.estimate)
    if amounts:
        yield Diagnostic("too-little-memory", tuple(amounts), {"memory": amounts})


def _answered_unasked(run: RunFigures) -> Iterator[Diagnostic]:
    """Replies without a request, or sooner than one can come."""
    counts: Counter[str] = Counter()
    for trial in run.trials:
        for load in run.measurement.decisive_loads(trial) if trial.outcome is Outcome.OK else ():
            summary = load.latency("latency")
            too_soon = summary is not None and summary.min_ns < MIN_LATENCY_NS
            if number := load.errors.get("unsolicited", 0) + too_soon:
                counts[trial.cell.contender] += number
    if counts:
        yield Diagnostic("answered-unasked", tuple(counts), {"counts": dict(counts)})
