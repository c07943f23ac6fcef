"""A source's figures compared with those of this run."""

from collections.abc import Sequence
from dataclasses import dataclass

from ringside.analysis.figures import RunFigures
from ringside.model.catalogue import Figure, Published
from ringside.model.design import Cell, Metric, Point
from ringside.model.results import Interval
from ringside.workloads.base import Workload


@dataclass(frozen=True, slots=True)
class ThenAndNowRow:
    """Then and now at one point: of a contender, in the metric's unit, or of a pair (`A / B`), as a ratio.
    `note`: what was different then, in the source's words."""

    point: Point
    label: str
    then: float
    now: Interval | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class ThenAndNow:
    """The figures of contenders and ratios of pairs that a source and a run both have, in one metric."""

    source: Published
    metric: Metric
    figures: tuple[ThenAndNowRow, ...]
    ratios: tuple[ThenAndNowRow, ...]


def then_and_now(source: Published, run: RunFigures) -> tuple[ThenAndNow, ...]:
    """For each metric of the source, its figures and ratios that this run's points and pairs have, too."""
    workload = run.measurement
    if not isinstance(workload, Workload):
        return ()
    figures = [figure for figure in source.figures if figure.workload == workload.name]
    tables = []
    for metric in workload.metrics:
        rows, ratios = [], []
        for point in _comparable_points(workload, run.points, figures):
            known = ((name, _figure(figures, metric, name, point)) for name in run.names)
            then = {name: figure for name, figure in known if figure}
            for contender, figure in then.items():
                now = run.cell(contender, point).metrics.get(metric.name)
                rows.append(ThenAndNowRow(point, contender, figure.value, now, figure.as_published or ""))
            for contender, other in run.pairs:
                above, below = (then[name].value if name in then else 0 for name in (contender, other))
                # A source that printed 0.0 for a time gives no ratio.
                if above and below:
                    ratio = run.ratio(metric.name, Cell(contender, point), Cell(other, point))
                    ratios.append(ThenAndNowRow(point, f"{contender} / {other}", above / below, ratio))
        if rows:
            tables.append(ThenAndNow(source, metric, tuple(rows), tuple(ratios)))
    return tuple(tables)


def _comparable_points(workload: Workload, points: Sequence[Point], figures: Sequence[Figure]) -> list[Point]:
    """The points at which every factor that the run varies and the source does not know is at its default."""
    known = {factor for figure in figures for factor in figure.point}
    others = [factor for factor in workload.factors if factor.name not in known]
    varied = [each for each in others if len({point[each.name] for point in points}) > 1]
    return [point for point in points if all(each.is_plain(point[each.name]) for each in varied)]


def _figure(figures: Sequence[Figure], metric: Metric, contender: str, point: Point) -> Figure | None:
    """The source's figure for a contender at a point: its own, else that of its family: `stackless` stands
    for every `stackless-…`."""
    here = point.as_dict().items()
    suitable = [each for each in figures if each.metric == metric.name and each.point.items() <= here]
    own = (each for each in suitable if each.contender == contender)
    family = (each for each in suitable if contender.startswith(f"{each.contender}-"))
    return next(own, None) or next(family, None)
