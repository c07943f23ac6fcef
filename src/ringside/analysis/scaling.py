"""How a metric changes over cores, the size of the work, or a factor; where the time went."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from statistics import fmean
from typing import Any, Generic, TypeVar

from ringside.analysis.figures import RunFigures
from ringside.model.design import Cell, Point, grouped
from ringside.model.results import Interval
from ringside.stats.interval import is_positive_finite
from ringside.stats.paired import paired_ratio
from ringside.stats.scaling import MIN_LEVELS as MIN_LEVELS
from ringside.stats.scaling import Scalability, exponent, scalability, slope_over_blocks
from ringside.workloads.base import ScalingLaw, Slope

Law = TypeVar("Law", ScalingLaw, Slope)
# By contender and setting of the factors that matter besides: a metric by block and level of a factor.
Levels = dict[tuple[str, Point], dict[int, dict[Any, float]]]


@dataclass(frozen=True, slots=True)
class Growth(Generic[Law]):
    """How a metric grows with a factor: per unit of it (`Slope`), or by a power (`ScalingLaw`)."""

    law: Law
    values: Mapping[tuple[str, Point], Interval]

    @property
    def order(self) -> tuple[str, ...]:
        """The contenders, the smallest growth first."""
        by_name = grouped((name, growth.estimate) for (name, _), growth in self.values.items())
        return tuple(sorted(by_name, key=lambda name: min(by_name[name])))


def analyse_slopes(run: RunFigures) -> tuple[Growth[Slope], ...]:
    """The slopes over numeric factors. In a block, points that the metric cannot tell apart are averaged."""

    def is_numeric(factor: str) -> bool:
        return all(isinstance(point.as_dict().get(factor), int) for point in run.points)

    slopes = (slope for slope in run.measurement.slopes if is_numeric(slope.over))
    return _grown(run, slopes, fmean, slope_over_blocks)


def analyse_growth(run: RunFigures) -> tuple[Growth[ScalingLaw], ...]:
    """The growth of each law's metric with the size of the work."""
    return _grown(run, run.laws("size"), _last_positive, exponent)


def _grown(
    run: RunFigures,
    laws: Iterable[Law],
    reduce: Callable[[Sequence[float]], float | None],
    fit: Callable[[Mapping[int, Mapping[float, float]]], Interval | None],
) -> tuple[Growth[Law], ...]:
    each = ((law, _levels(run, law, reduce)) for law in laws)
    fits = ((law, {key: fit(blocks) for key, blocks in by_key.items()}) for law, by_key in each)
    growths = (Growth(law, {key: value for key, value in known.items() if value}) for law, known in fits)
    return tuple(growth for growth in growths if growth.values)


def _levels(run: RunFigures, law: Law, reduce: Callable[[Sequence[float]], float | None]) -> Levels:
    """A law's metric. `reduce` makes one value of those that a block has at a level; None drops the level."""
    values: dict[tuple[str, Point], dict[int, dict[Any, list[float]]]] = {}
    for name, point in product(run.names, run.points):
        own = values.setdefault((name, point.without(law.over, *law.regardless_of)), {})
        # A parameter of a command may be a fraction.
        level = point[law.over] if isinstance(point[law.over], int) else float(point[law.over])
        for block, value in run.cell(name, point).values(law.metric).items():
            own.setdefault(block, {}).setdefault(level, []).append(value)
    return {
        key: {
            block: {level: kept for level, each in levels.items() if (kept := reduce(each)) is not None}
            for block, levels in blocks.items()
        }
        for key, blocks in values.items()
    }


def _last_positive(values: Sequence[float]) -> float | None:
    """A program may report a time of 0, which fits no law."""
    return next(filter(is_positive_finite, reversed(values)), None)


# Contention below this share is not reported.
_NO_CONTENTION = 0.005
# A smaller speed-up counts as none.
_GAIN = 1.1
# A best number of cores beyond this comes from rounding errors.
MAX_CORES = 10_000
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
    """A contender over cores. `speed_ups`: over one core, by number of cores. `efficiency`: with the most
    cores. `fit`: None without one, else with its `outlook` and the interval of cores or speed-up in it."""

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
        """Places (cores, speed-up) along the fitted law; without a fit, the points that were measured."""
        if row.fit is None:
            return [(1.0, 1.0), *((float(cores), ratio.estimate) for cores, ratio in row.speed_ups.items())]
        most = self.levels[-1]
        places = [1 + (most - 1) * step / _CURVE_STEPS for step in range(_CURVE_STEPS + 1)]
        return [(place, row.fit.speed_up(place)) for place in places]


def over_cores(run: RunFigures) -> tuple[CoresScaling, ...]:
    """The scaling over cores of each law and each setting of the other factors."""
    scalings = []
    for law in run.laws("cores"):
        levels = _levels(run, law, _last_positive).items()
        scaled = ((fixed, _scaled(name, blocks, run.confidence)) for (name, fixed), blocks in levels)
        for fixed, rows in grouped((fixed, row) for fixed, row in scaled if row).items():
            rows.sort(key=lambda row: -row.speed_ups[max(row.speed_ups)].estimate)
            scalings.append(CoresScaling(law, fixed, tuple(rows)))
    return tuple(scalings)


def _scaled(
    contender: str, by_block: Mapping[int, Mapping[int, float]], confidence: float
) -> ScaledContender | None:
    times = ((cores, (block, s)) for block, levels in by_block.items() for cores, s in levels.items())
    by_level = {cores: dict(each) for cores, each in grouped(times).items()}
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
    """The conclusion that holds over whole intervals, and the ends of its number; estimates alone mislead."""
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
    is_extrapolated = best.high < MAX_CORES or contention.low > _NO_CONTENTION
    # If half of the cores are siblings, the curve bends, which the law takes for coherency.
    fitted = [(fit.speed_up(cores), each.low or 0.0, each.high or 0.0) for cores, each in speed_ups.items()]
    agrees = all(low * (1 - _MISFIT) <= speed <= high * (1 + _MISFIT) for speed, low, high in fitted)
    if is_extrapolated and not agrees:
        return Outlook.NO_LAW, None
    if best.high < MAX_CORES:
        return Outlook.GAINS_UP_TO, (best.low, best.high)
    if contention.low > _NO_CONTENTION:
        return Outlook.NEVER_MORE_THAN, (1 / contention.high, 1 / contention.low)
    return (Outlook.NO_LIMIT if contention.high <= _NO_CONTENTION else Outlook.NOT_CLEAR), None


def analyse_breakdown(run: RunFigures) -> dict[Cell, str | None]:
    """How each cell spent its time, in the workload's words; with several numbers of cores, on the most."""
    points = run.points
    for law in run.laws("cores"):
        most = max(int(point[law.over]) for point in points)
        points = tuple(point for point in points if point[law.over] == most)
    diagnosis = run.measurement.diagnosis
    return {
        cell: diagnosis(cell.contender, cell.point, each.metrics)
        for cell, each in run.cells.items()
        if run.measurement.breakdown and cell.point in points and each.has_figures
    }
