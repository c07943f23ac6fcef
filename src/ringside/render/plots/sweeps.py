"""A metric over a factor, and the workload's own curves."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric, Point
from ringside.render.plots.lines import lines
from ringside.render.plots.marks import Mark
from ringside.render.plots.spec import Chart, Panel, sentence
from ringside.workloads.base import Curve


def sweep(analysis: RunAnalysis, metric: Metric, factor: str) -> Chart:
    """Lines over a factor, a pair of panels for each setting of the others; one pair where the others follow
    it, as in an experiment that lists its points."""
    others = following(analysis, factor)
    apart = (factor, *others)
    panels: list[Panel] = []
    for setting in dict.fromkeys(point.without(*apart) for point in analysis.points):
        points = [point for point in analysis.points if point.without(*apart) == setting]
        panels += pair(analysis, metric, factor, points)
    together = f" Other levels with each level of {factor}: {', '.join(others)}." if others else ""
    return Chart(
        f"{metric.title} over {factor}",
        f"{sentence(metric.explanation)} Medians over blocks, their 95 % intervals as bands; each twice, on "
        f"linear and on logarithmic axes.{together}",
        tuple(panels),
    )


def following(analysis: RunAnalysis, factor: str) -> tuple[str, ...]:
    """The factors that vary with this one, where each of its levels is that of one point."""
    if len({point[factor] for point in analysis.points}) < len(analysis.points):
        return ()
    return tuple(name for name in analysis.varying if name != factor)


def pair(analysis: RunAnalysis, metric: Metric, factor: str, points: Sequence[Point]) -> list[Panel]:
    """A metric over a factor at points with different levels of it, on linear and on logarithmic axes."""
    marks = [
        Mark(name, value, float(point[factor]))
        for name in analysis.names
        for point in points
        if (value := analysis.cell(name, point).metrics.get(metric.name))
    ]
    if not marks:
        return []
    fixed = (name for name in analysis.varying if len({point[name] for point in points}) == 1)
    setting = " ".join(f"{name}={points[0][name]}" for name in fixed if name != factor)
    panels = []
    for log, kind in ((False, "linear"), (True, "logarithmic")):
        if log and min(*(mark.x for mark in marks), *(mark.low for mark in marks)) <= 0:
            continue
        title = f"{setting}, {kind}" if setting else kind.capitalize()
        panels.append(Panel(title, lines(analysis, metric, factor, marks, log=log)))
    return panels


def curves(analysis: RunAnalysis) -> Iterator[Chart]:
    """The curves of the workload: each contender's metrics in their places. Those of one title are panels of
    one plot."""
    for title in dict.fromkeys(curve.title for curve in analysis.measurement.curves):
        together = [curve for curve in analysis.measurement.curves if curve.title == title]
        drawn = (
            (curve, point, _curve_marks(analysis, curve, point))
            for point in analysis.points
            for curve in together
            if curve.applies(point)
        )
        panels = [
            _panel(analysis, curve, point, marks)
            for curve, point, marks in drawn
            if len({mark.x for mark in marks}) > 1
        ]
        caption = f"{sentence(together[0].explanation)} Bands are 95 % intervals; the y axis is logarithmic."
        yield Chart(title, caption, tuple(panels))


def _panel(analysis: RunAnalysis, curve: Curve, point: Point, marks: Sequence[Mark]) -> Panel:
    title = ", ".join(filter(None, (analysis.label(point), curve.panel)))
    return Panel(title, _curve(analysis, curve, marks))


def _curve_marks(analysis: RunAnalysis, curve: Curve, point: Point) -> list[Mark]:
    return [
        Mark(name, value, place)
        for name in analysis.names
        for place, _, metric in curve.steps
        if (value := analysis.cell(name, point).metrics.get(metric)) and value.estimate > 0
    ]


def _curve(analysis: RunAnalysis, curve: Curve, marks: Sequence[Mark]) -> dict[str, object]:
    # All metrics of a curve have one unit.
    first = analysis.measurement.metric(curve.steps[0][2])
    metric = dataclasses.replace(first, title=curve.y_title, explanation=curve.explanation)
    places = () if curve.logarithmic else [(place, label) for place, label, _ in curve.steps]
    return lines(analysis, metric, curve.x_title, marks, log=True, log_x=curve.logarithmic, places=places)
