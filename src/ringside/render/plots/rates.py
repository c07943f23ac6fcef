"""Latency against the rate of requests, where the rate is a factor of the run."""

from __future__ import annotations

from collections.abc import Iterator

from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric, Point
from ringside.render.plots.lines import lines
from ringside.render.plots.marks import Mark
from ringside.render.plots.spec import Chart, Panel
from ringside.workloads.base import OverRate


def charts(analysis: RunAnalysis) -> Iterator[Chart]:
    """A panel for each metric and each setting of the other factors, where there are two rates or more."""
    view = analysis.measurement.over_rate
    if view is None or view.factor not in analysis.varying:
        return
    settings = dict.fromkeys(point.without(view.factor) for point in analysis.points)
    panels = [panel for setting in settings for panel in _panels(analysis, view, setting)]
    yield Chart(
        "Latency against rate",
        "Medians over blocks at each rate, their 95 % intervals as bands; both axes are logarithmic.",
        tuple(panels),
    )


def _panels(analysis: RunAnalysis, view: OverRate, setting: Point) -> Iterator[Panel]:
    for metric in map(analysis.measurement.metric, view.metrics):
        marks = _marks(analysis, view, setting, metric)
        if len({mark.x for mark in marks}) > 1:
            where = analysis.setting(setting)
            title = f"{where}, {metric.noun}" if where else metric.title
            yield Panel(title, lines(analysis, metric, "requests per second", marks, log=True))


def _marks(analysis: RunAnalysis, view: OverRate, setting: Point, metric: Metric) -> list[Mark]:
    return [
        Mark(name, value, float(point[view.factor]))
        for name in analysis.names
        for point in analysis.points
        if point.without(view.factor) == setting
        # 0 is a closed loop, which has no rate of its own.
        and int(point[view.factor]) > 0
        and (value := analysis.cell(name, point).metrics.get(metric.name))
        and value.estimate > 0
    ]
