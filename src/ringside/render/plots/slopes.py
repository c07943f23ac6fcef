"""Slopes as dots, then what they were fitted to, over the factor."""

from __future__ import annotations

from collections.abc import Iterator

from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric, Point
from ringside.render.plots.dots import dot_plot
from ringside.render.plots.marks import Mark
from ringside.render.plots.spec import Chart, Panel, sentence
from ringside.render.plots.sweeps import following, pair
from ringside.workloads.base import Slope


def charts(analysis: RunAnalysis) -> Iterator[Chart]:
    """For each slope of the workload a dot plot, then the metric over the factor where that varies."""
    for slope in analysis.measurement.slopes:
        yield _dots(analysis, slope)
        if slope.over in analysis.varying:
            yield _fitted(analysis, slope)


def _dots(analysis: RunAnalysis, slope: Slope) -> Chart:
    values = [row for row in analysis.slopes if row.slope.name == slope.name]
    settings = list(dict.fromkeys(row.fixed for row in values))
    metric = Metric(slope.name, slope.unit, slope.title, slope.explanation)
    panels = []
    for fixed in settings:
        by_name = {row.contender: row.value for row in values if row.fixed == fixed}
        marks = [Mark(name, by_name.get(name)) for name in analysis.names]
        title = str(fixed) if len(settings) > 1 else slope.title
        panels.append(Panel(title, dot_plot(analysis, metric, marks)))
    caption = f"{sentence(slope.explanation)} Dots are medians over blocks, bars 95 % intervals."
    return Chart(slope.title, caption, tuple(panels))


def _fitted(analysis: RunAnalysis, slope: Slope) -> Chart:
    metric = analysis.measurement.metric(slope.metric)
    apart = (slope.over, *following(analysis, slope.over))
    # One setting stands for all in factors that the metric cannot depend on.
    chosen: dict[Point, Point] = {}
    for point in analysis.points:
        chosen.setdefault(point.without(*apart, *slope.regardless_of), point.without(*apart))
    panels: list[Panel] = []
    for setting in chosen.values():
        points = [point for point in analysis.points if point.without(*apart) == setting]
        panels += pair(analysis, metric, slope.over, points)
    return Chart(f"{metric.title} over {slope.over}", sentence(metric.explanation), tuple(panels))
