"""What a source reported beside what this run found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ringside.analysis.summary import Summary
from ringside.model.catalogue import Claim, Figure, Published
from ringside.model.design import Cell, Metric, Point
from ringside.model.results import Interval


@dataclass(frozen=True, slots=True)
class Line:
    """Then and now at one point: of a contender, in the metric's unit, or of a pair (`A / B`), as a ratio."""

    point: Point
    who: str
    then: float
    now: Interval | None


@dataclass(frozen=True, slots=True)
class ThenAndNow:
    """A source and what it shares with a run: figures of contenders, ratios of pairs."""

    source: Published
    metric: Metric
    figures: tuple[Line, ...]
    ratios: tuple[Line, ...]


def source_of(summary: Summary) -> Published | None:
    """The published source as it was when the run began."""
    kept = summary.run.plan.get("published")
    if not kept:
        return None
    fields = {**kept, "figures": tuple(Figure(**figure) for figure in kept["figures"])}
    return Published(**{**fields, "claims": tuple(Claim(**claim) for claim in kept["claims"])})


def then_and_now(summary: Summary) -> list[ThenAndNow]:
    """The figures of the run's source that belong to points and contenders of the run, for each metric
    that has some."""
    source = source_of(summary)
    if source is None:
        return []
    figures = [figure for figure in source.figures if figure.workload == summary.workload.name]
    names = {figure.metric for figure in figures}
    metrics = [metric for metric in summary.workload.metrics if metric.name in names]
    found = [_of_metric(summary, source, figures, metric) for metric in metrics]
    return [one for one in found if one.figures]


def _of_metric(summary: Summary, source: Published, figures: Sequence[Figure], metric: Metric) -> ThenAndNow:
    lines, ratios = [], []
    for point in _spoken_of(summary, figures):
        then = {name: _value(figures, metric, name, point) for name in summary.names()}
        for contender, value in then.items():
            if value is not None:
                now = summary.cells[Cell(contender, point)].metrics.get(metric.name)
                lines.append(Line(point, contender, value, now))
        for one, other in summary.pairs():
            above, below = then[one], then[other]
            # A source that printed 0.0 for a time gives no ratio.
            if above is not None and below:
                compared = summary.compare(metric, one, other, point)
                now = compared.ratio if compared else None
                ratios.append(Line(point, f"{one} / {other}", above / below, now))
    return ThenAndNow(source, metric, tuple(lines), tuple(ratios))


def _spoken_of(summary: Summary, figures: Sequence[Figure]) -> list[Point]:
    """The points where what the run walks through and the source does not know is at its default."""
    known = {factor for figure in figures for factor in figure.point}
    defaults = {
        factor.name: factor.default for factor in summary.workload.factors if factor.name not in known
    }
    # A run of an earlier version may not know a factor: then it had its default.
    levels = {point: {**defaults, **point.as_dict()} for point in summary.points}
    walked = [name for name in defaults if len({levels[point][name] for point in summary.points}) > 1]
    return [
        point for point in summary.points if all(levels[point][name] == defaults[name] for name in walked)
    ]


def _value(figures: Sequence[Figure], metric: Metric, contender: str, point: Point) -> float | None:
    """The source's figure for a contender at a point. A source's name of a family (`stackless`) stands for
    every contender of it (`stackless-pypy`)."""
    levels = point.as_dict()
    for figure in figures:
        same = contender == figure.contender or contender.startswith(f"{figure.contender}-")
        if figure.metric == metric.name and same and _holds(figure.point, levels):
            return figure.value
    return None


def _holds(wanted: Mapping[str, object], levels: Mapping[str, object]) -> bool:
    return all(levels.get(factor) == level for factor, level in wanted.items())
