"""How a metric changes over cores, over the size of the work, and per unit of a factor; where
the time went."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean
from typing import Any

from ringside.analysis.figures import RunFigures
from ringside.model.design import Cell, Point
from ringside.model.results import Interval
from ringside.stats.interval import is_positive_finite
from ringside.stats.paired import paired_ratio
from ringside.stats.scaling import Scalability, exponent, scalability, slope_over_blocks
from ringside.workloads.base import ScalingLaw, Slope


@dataclass(frozen=True, slots=True)
class SlopeAnalysis:
    """The slope of one contender, the other factors fixed."""

    slope: Slope
    contender: str
    fixed: Point
    value: Interval


def analyse_slopes(run: RunFigures) -> tuple[SlopeAnalysis, ...]:
    """A slope for each contender and each setting of the factors that matter, over factors whose levels are
    all numbers. In a block, points that differ only in factors that the metric cannot depend on are
    averaged."""
    slopes = []
    for slope in run.measurement.slopes:
        if not all(isinstance(point.as_dict().get(slope.over), int) for point in run.points):
            continue
        ignored = (slope.over, *slope.regardless_of)
        for contender in run.names:
            for fixed in dict.fromkeys(point.without(*ignored) for point in run.points):
                points = [point for point in run.points if point.without(*ignored) == fixed]
                blocks = {
                    block: {level: fmean(values) for level, values in levels.items()}
                    for block, levels in _by_level(run, slope.metric, slope.over, contender, points).items()
                }
                if (growth := slope_over_blocks(blocks)) is not None:
                    slopes.append(SlopeAnalysis(slope, contender, fixed, growth))
    return tuple(slopes)


def _by_level(
    run: RunFigures, metric: str, over: str, contender: str, points: Iterable[Point]
) -> dict[int, dict[Any, list[float]]]:
    """A metric by block and level of a factor, at each of the points that have this level."""
    blocks: dict[int, dict[Any, list[float]]] = {}
    for point in points:
        # A parameter of a command may be a fraction.
        level = point[over] if isinstance(point[over], int) else float(point[over])
        for block, value in run.cell(contender, point).values(metric).items():
            blocks.setdefault(block, {}).setdefault(level, []).append(value)
    return blocks


# Contention below this share is not reported.
_NO_CONTENTION = 0.005
# A speed-up below this is none.
_GAIN = 1.1
# A best number of cores beyond this comes from rounding errors.
_MAX_CORES = 10_000
# A fitted speed-up so far outside of the interval of the measured one is off the law.
_MISFIT = 0.02
# Places at which a fitted curve is drawn.
_CURVE_STEPS = 60


class Outlook(StrEnum):
    """The conclusions on more cores that the intervals of speed-ups and of the fitted law allow."""

    NO_GAIN = "no gain"
    SLOWER_BEYOND = "slower beyond"
    GAINS_UP_TO = "gains up to"
    NEVER_MORE_THAN = "never more than"
    NO_LIMIT = "no limit"
    NO_LAW = "no law"
    NOT_CLEAR = "not clear"


@dataclass(frozen=True, slots=True)
class ScaledContender:
    """A contender over cores. `speed_ups`: by number of cores, over one core, from pairs inside blocks.
    `efficiency`: the speed-up at the most cores, over these cores. `fit`: None where the law cannot be
    fitted; else `outlook` is what it says, with the interval of the number of cores or of the speed-up that
    it names."""

    contender: str
    speed_ups: Mapping[int, Interval]
    efficiency: float
    fit: Scalability | None
    outlook: Outlook | None = None
    outlook_ends: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class CoresScaling:
    """All contenders over cores with the other factors fixed, those with the largest speed-up first."""

    law: ScalingLaw
    fixed: Point
    rows: tuple[ScaledContender, ...]

    @property
    def levels(self) -> tuple[int, ...]:
        """The numbers of cores beyond one."""
        return tuple(sorted({cores for row in self.rows for cores in row.speed_ups}))

    @property
    def fitted_levels(self) -> tuple[int, ...]:
        """The numbers of cores that fits were made from; empty without fits."""
        return tuple(sorted({cores for row in self.rows if row.fit for cores in row.fit.levels}))

    def curve(self, row: ScaledContender) -> list[tuple[float, float]]:
        """(cores, speed-up) along the fitted law, up to the most cores of any contender; without a fit,
        straight lines between what was measured."""
        if row.fit is None:
            return [(1.0, 1.0), *((float(cores), ratio.estimate) for cores, ratio in row.speed_ups.items())]
        most = self.levels[-1]
        places = [1 + (most - 1) * step / _CURVE_STEPS for step in range(_CURVE_STEPS + 1)]
        return [(place, row.fit.speed_up(place)) for place in places]


@dataclass(frozen=True, slots=True)
class Growth:
    """The power of a factor with which a metric grows, by contender and setting of the other factors."""

    law: ScalingLaw
    settings: tuple[Point, ...]
    exponents: Mapping[tuple[str, Point], Interval]

    @property
    def order(self) -> tuple[str, ...]:
        """The contenders, the smallest power first."""
        smallest: dict[str, float] = {}
        for (name, _), power in self.exponents.items():
            smallest[name] = min(power.estimate, smallest.get(name, math.inf))
        return tuple(sorted(smallest, key=smallest.__getitem__))


def over_cores(run: RunFigures) -> tuple[CoresScaling, ...]:
    """The scaling over cores of each law and each setting of the other factors."""
    scalings = []
    for law in run.laws("cores"):
        for fixed in dict.fromkeys(law.setting(point) for point in run.points):
            blocks = ((name, _by_block(run, law, name, fixed)) for name in run.names)
            rows = [row for name, each in blocks if (row := _scaled(name, each, run.confidence))]
            if rows:
                rows.sort(key=lambda row: -row.speed_ups[max(row.speed_ups)].estimate)
                scalings.append(CoresScaling(law, fixed, tuple(rows)))
    return tuple(scalings)


def analyse_growth(run: RunFigures) -> tuple[Growth, ...]:
    """The growth of each law's metric with the size of the work."""
    tables = []
    for law in run.laws("size"):
        exponents = {}
        for name in run.names:
            for fixed in dict.fromkeys(law.setting(point) for point in run.points):
                if power := exponent(_by_block(run, law, name, fixed)):
                    exponents[name, fixed] = power
        if exponents:
            tables.append(Growth(law, tuple(dict.fromkeys(fixed for _, fixed in exponents)), exponents))
    return tuple(tables)


def _by_block(run: RunFigures, law: ScalingLaw, contender: str, fixed: Point) -> dict[int, dict[Any, float]]:
    """The law's metric by block and level. A program may report a time of 0, which fits no law."""
    points = [point for point in run.points if law.setting(point) == fixed]
    return {
        block: {
            level: positive[-1]
            for level, values in levels.items()
            if (positive := list(filter(is_positive_finite, values)))
        }
        for block, levels in _by_level(run, law.metric, law.over, contender, points).items()
    }


def _scaled(
    contender: str, by_block: Mapping[int, Mapping[int, float]], confidence: float
) -> ScaledContender | None:
    by_level: dict[int, dict[int, float]] = {}
    for block, levels in by_block.items():
        for cores, seconds in levels.items():
            by_level.setdefault(cores, {})[block] = seconds
    speed_ups = {
        cores: ratio
        for cores in sorted(by_level)
        if cores > 1 and (ratio := paired_ratio(by_level.get(1, {}), by_level[cores], confidence))
    }
    if not speed_ups:
        return None
    most = max(speed_ups)
    fit = scalability(by_block)
    outlook, ends = _outlook(fit, speed_ups) if fit else (None, None)
    return ScaledContender(contender, speed_ups, speed_ups[most].estimate / most, fit, outlook, ends)


def _outlook(
    fit: Scalability, speed_ups: Mapping[int, Interval]
) -> tuple[Outlook, tuple[float, float] | None]:
    """The conclusion that holds over the whole intervals, and the ends of its number. A point estimate
    says nothing: where the true coherency is 0, half of all fits make it more than 0."""
    most, best, contention = fit.levels[-1], fit.best, fit.contention
    highest = [ratio.high for ratio in speed_ups.values()]
    if all(high is not None and high < _GAIN for high in highest):
        return Outlook.NO_GAIN, None
    if best.low is None or best.high is None or contention.low is None or contention.high is None:
        return Outlook.NOT_CLEAR, None
    if best.high <= most:
        return Outlook.SLOWER_BEYOND, (best.low, best.high)
    if best.low <= most:
        return Outlook.NOT_CLEAR, None
    is_extrapolated = best.high < _MAX_CORES or contention.low > _NO_CONTENTION
    # If half of the cores are siblings, the curve bends, which the law takes for coherency.
    fitted = [(fit.speed_up(cores), each.low or 0.0, each.high or 0.0) for cores, each in speed_ups.items()]
    agrees = all(low * (1 - _MISFIT) <= speed <= high * (1 + _MISFIT) for speed, low, high in fitted)
    if is_extrapolated and not agrees:
        return Outlook.NO_LAW, None
    if best.high < _MAX_CORES:
        return Outlook.GAINS_UP_TO, (best.low, best.high)
    if contention.low > _NO_CONTENTION:
        return Outlook.NEVER_MORE_THAN, (1 / contention.high, 1 / contention.low)
    return (Outlook.NO_LIMIT if contention.high <= _NO_CONTENTION else Outlook.NOT_CLEAR), None


@dataclass(frozen=True, slots=True)
class BreakdownRow:
    """Where the time of one cell went: its metrics of the breakdown, and the workload's own sentence."""

    cell: Cell
    figures: Mapping[str, Interval]
    diagnosis: str | None


def analyse_breakdown(run: RunFigures) -> tuple[BreakdownRow, ...]:
    """Where the time went in each cell with figures; at the most cores where several were measured."""
    metrics, points = run.measurement.breakdown, run.points
    for law in run.laws("cores"):
        most = max(int(point[law.over]) for point in points)
        points = tuple(point for point in points if point[law.over] == most)
    cells = [each for each in run.cells.values() if each.cell.point in points and each.has_figures]
    return tuple(
        BreakdownRow(
            each.cell,
            {metric: each.metrics[metric] for metric in metrics if metric in each.metrics},
            run.measurement.diagnosis(each.cell.contender, each.cell.point, each.metrics),
        )
        for each in (cells if metrics else ())
    )
