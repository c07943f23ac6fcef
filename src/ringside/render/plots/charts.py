"""All plots of a run, and what they have in common."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

from ringside.analysis.run import RunAnalysis
from ringside.render.plots import (
    forest,
    percentiles,
    published,
    rates,
    scatters,
    slopes,
    spans,
    speedups,
    sweeps,
    timelines,
    trials,
    warmups,
)
from ringside.render.plots.dots import dots
from ringside.render.plots.spec import Chart, Json, described


def missing() -> str | None:
    """The package that plots need, where it is not installed."""
    return None if importlib.util.find_spec("vl_convert") else "vl-convert-python"


def config() -> Json:
    """What all plots have in common, as a Vega-Lite configuration."""
    ink, quiet, grid = "var(--ink)", "var(--quiet)", "var(--grid)"
    axis = {"labelColor": quiet, "titleColor": quiet, "tickColor": grid, "domainColor": grid}
    return {
        "background": "transparent",
        # A plot is described as a whole; its marks are too many, and the tables hold their figures.
        "mark": {"aria": False},
        "font": "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif",
        "view": {"stroke": "transparent"},
        "text": {"color": ink, "fontSize": 12},
        # One below the other: side by side they leave a narrow panel.
        "legend": {"layout": {"bottom": {"anchor": "start", "direction": "vertical", "margin": 4}}},
        "axis": {
            **axis,
            "gridColor": grid,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "labelOverlap": "greedy",
            "labelLimit": 210,
        },
    }


def charts(analysis: RunAnalysis) -> list[Chart]:
    """All plots of a run, in the order in which they are read."""
    return [described(chart) for chart in _charts(analysis) if chart.panels]


def _charts(analysis: RunAnalysis) -> Iterator[Chart]:
    names = [metric.name for metric in analysis.metrics]
    others = (analysis.measurement.metric(name) for name in analysis.measurement.plotted if name not in names)
    over_rate = analysis.measurement.over_rate
    for metric in (*analysis.metrics, *others):
        if over_rate and analysis.swept == over_rate.factor and metric.name in over_rate.metrics:
            # Their plots over the rate are the one of latency against rate.
            continue
        if analysis.swept:
            yield sweeps.sweep(analysis, metric, analysis.swept)
        else:
            yield dots(analysis, metric)
    yield forest.chart(analysis)
    yield from warmups.charts(analysis)
    yield from speedups.charts(analysis)
    yield from spans.charts(analysis)
    yield from scatters.charts(analysis)
    yield from rates.charts(analysis)
    yield from sweeps.curves(analysis)
    yield from percentiles.charts(analysis)
    yield from timelines.charts(analysis)
    yield from slopes.charts(analysis)
    yield from published.charts(analysis)
    yield trials.chart(analysis)
