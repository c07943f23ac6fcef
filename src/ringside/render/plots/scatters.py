"""Points: contenders by two metrics, and every trial over the blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric, Point
from ringside.model.results import Interval
from ringside.render.plots.spec import (
    Chart,
    Json,
    axis_title,
    hue,
    layer,
    layered,
    nominal,
    numbers,
    panels,
    quantitative,
    sentence,
    tooltip,
    with_names,
)

_SCATTER_HEIGHT = 320


def scatter_charts(analysis: RunAnalysis) -> Iterator[Chart]:
    """For each pair of metrics of the workload a panel for each point with two contenders or more."""
    for names in analysis.measurement.scatters:
        x, y = (analysis.measurement.metric(name) for name in names)
        yield Chart(
            f"{x.title} against {y.title}",
            f"{sentence(x.explanation)} {sentence(y.explanation)} Left and low is cheap; both axes are "
            "logarithmic, bars are 95 % intervals.",
            panels(analysis, partial(_scatter, analysis, x, y)),
        )


def _scatter(analysis: RunAnalysis, x_metric: Metric, y_metric: Metric, point: Point) -> Json | None:
    places = {}
    for name in analysis.names:
        metrics = analysis.cell(name, point).metrics
        x, y = metrics.get(x_metric.name), metrics.get(y_metric.name)
        if x and y and x.estimate > 0 and y.estimate > 0:
            places[name] = (x, y)
    if len(places) < 2:
        return None
    x_unit, across = _axis(x_metric, [x for x, _ in places.values()])
    y_unit, upright = _axis(y_metric, [y for _, y in places.values()])
    data = [
        {
            "contender": name,
            **_ends("x", x, x_unit),
            **_ends("y", y, y_unit),
            "x_shown": units.with_interval(x, x_metric.unit),
            "y_shown": units.with_interval(y, y_metric.unit),
        }
        for name, (x, y) in places.items()
    ]
    colours = hue(analysis, places)
    at = {"x": quantitative("x", **across), "y": quantitative("y", **upright), "color": colours}
    x_bars = at | {"x": quantitative("x_low", **across), "x2": {"field": "x_high"}}
    y_bars = at | {"y": quantitative("y_low", **upright), "y2": {"field": "y_high"}}
    tips = tooltip(contender="contender", x_shown=x_metric.title, y_shown=y_metric.title)
    label = {**at, "text": nominal("contender")}
    layers = [
        layer("rows", "rule", valid="x_low", strokeWidth=4, opacity=0.35, encoding=x_bars),
        layer("rows", "rule", valid="y_low", strokeWidth=4, opacity=0.35, encoding=y_bars),
        layer("rows", "point", filled=True, size=90, opacity=1, encoding={**at, "tooltip": tips}),
        layer("rows", "text", align="left", baseline="middle", dx=9, dy=-9, fontSize=12, encoding=label),
    ]
    return layered(layers, _SCATTER_HEIGHT, {"rows": data})


def _axis(metric: Metric, values: Sequence[Interval]) -> tuple[float, Json]:
    """The unit of an axis that holds all values, and the properties of its channels."""
    ends = [end for value in values for end in (value.low, value.estimate, value.high) if end and end > 0]
    unit, unit_name = units.scale((min(ends) * max(ends)) ** 0.5, metric.unit)
    low, high = min(ends) / unit / 1.5, max(ends) / unit * 1.5
    return unit, numbers(axis_title(metric, unit_name), low, high, clamp=True)


def _ends(name: str, value: Interval, unit: float) -> dict[str, float | None]:
    return {
        name: value.estimate / unit,
        f"{name}_low": None if value.low is None else value.low / unit,
        f"{name}_high": None if value.high is None else value.high / unit,
    }


_TRIALS_HEIGHT = 260
# Fewer show no course.
_MIN_BLOCKS = 3


def trial_chart(analysis: RunAnalysis) -> Chart:
    """A panel for each point; a line for each contender."""
    return Chart(
        f"{analysis.headline.title} of every trial",
        "One dot per trial, in the order of blocks. A slope that all share is the machine; two levels of one "
        "contender are two modes of its own.",
        panels(analysis, partial(_trials, analysis)),
    )


def _trials(analysis: RunAnalysis, point: Point) -> Json | None:
    metric = analysis.headline
    values = {
        name: by_block
        for name in analysis.names
        if (by_block := analysis.cell(name, point).by_block.get(metric.name))
    }
    every = [value for by_block in values.values() for value in by_block.values()]
    if not every or max(map(len, values.values())) < _MIN_BLOCKS:
        return None
    log = min(every) > 0
    middle = (min(every) * max(every)) ** 0.5 if log else max(every, key=abs)
    unit, unit_name = units.scale(middle, metric.unit)
    low = min(every) / unit / 1.15 if log else min(0.0, *every) / unit
    upright = numbers(axis_title(metric, unit_name), low, max(every) / unit * 1.15 or 1.0, log=log)
    blocks = [block for by_block in values.values() for block in by_block]
    x = quantitative(
        "x",
        title="block",
        scale={"domain": [min(blocks), max(blocks)], "nice": False},
        axis={"format": "d", "tickMinStep": 1, "grid": False},
    )
    rows = [
        {"contender": name, "x": block, "y": value / unit, "shown": units.quantity(value, metric.unit)}
        for name, by_block in values.items()
        for block, value in by_block.items()
    ]
    colours = hue(analysis, values)
    tips = tooltip(contender="contender", shown=metric.title)
    tips.insert(1, quantitative("x", title="block"))
    at = {"x": x, "y": quantitative("y", **upright), "color": colours}
    layers = [
        layer("rows", "line", strokeWidth=1, opacity=0.4, encoding=at),
        layer("rows", "point", filled=True, size=36, opacity=1, encoding={**at, "tooltip": tips}),
    ]
    ends = {name: by_block[max(by_block)] / unit for name, by_block in values.items()}
    return with_names(layers, _TRIALS_HEIGHT, {"rows": rows}, colours, ends, upright)
