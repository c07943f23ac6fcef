"""All contenders of a point by two metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric, Point
from ringside.model.results import Interval
from ringside.render.plots.layout import log_ticks
from ringside.render.plots.spec import (
    Chart,
    Json,
    Panel,
    axis_title,
    hue,
    layer,
    layered,
    nominal,
    quantitative,
    sentence,
    tooltip,
)

_HEIGHT = 320


def charts(analysis: RunAnalysis) -> Iterator[Chart]:
    """For each pair of metrics of the workload a panel for each point with two contenders or more."""
    for names in analysis.measurement.scatters:
        x_metric, y_metric = (analysis.measurement.metric(name) for name in names)
        placed = ((point, _places(analysis, x_metric, y_metric, point)) for point in analysis.points)
        yield Chart(
            f"{x_metric.title} against {y_metric.title}",
            f"{sentence(x_metric.explanation)} {sentence(y_metric.explanation)} Left and low is cheap; "
            "both axes are logarithmic, bars are 95 % intervals.",
            tuple(
                Panel(analysis.label(point), _scatter(analysis, x_metric, y_metric, places))
                for point, places in placed
                if len(places) > 1
            ),
        )


def _places(
    analysis: RunAnalysis, x_metric: Metric, y_metric: Metric, point: Point
) -> dict[str, tuple[Interval, Interval]]:
    """Both values of each contender that has positive ones."""
    places = {}
    for name in analysis.names:
        metrics = analysis.cell(name, point).metrics
        x, y = metrics.get(x_metric.name), metrics.get(y_metric.name)
        if x and y and x.estimate > 0 and y.estimate > 0:
            places[name] = (x, y)
    return places


def _scatter(
    analysis: RunAnalysis,
    x_metric: Metric,
    y_metric: Metric,
    places: Mapping[str, tuple[Interval, Interval]],
) -> Json:
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
    layers = [
        layer("rows", "rule", valid="x_low", strokeWidth=4, opacity=0.35, encoding=x_bars),
        layer("rows", "rule", valid="y_low", strokeWidth=4, opacity=0.35, encoding=y_bars),
        layer("rows", "point", filled=True, size=90, opacity=1, encoding={**at, "tooltip": tips}),
        layer(
            "rows",
            "text",
            align="left",
            baseline="middle",
            dx=9,
            dy=-9,
            fontSize=12,
            encoding={**at, "text": nominal("contender")},
        ),
    ]
    return layered(layers, _HEIGHT, {"rows": data})


def _axis(metric: Metric, values: Sequence[Interval]) -> tuple[float, Json]:
    """The unit of an axis that holds all values, and the scale, ticks and title of its channels."""
    ends = [end for value in values for end in (value.low, value.estimate, value.high) if end and end > 0]
    unit, unit_name = units.scale((min(ends) * max(ends)) ** 0.5, metric.unit)
    low, high = min(ends) / unit / 1.5, max(ends) / unit * 1.5
    return unit, {
        "scale": {"type": "log", "domain": [low, high], "nice": False, "clamp": True},
        "axis": {"format": ",~r", "values": log_ticks(low, high)},
        "title": axis_title(metric, unit_name),
    }


def _ends(name: str, value: Interval, unit: float) -> dict[str, float | None]:
    return {
        name: value.estimate / unit,
        f"{name}_low": None if value.low is None else value.low / unit,
        f"{name}_high": None if value.high is None else value.high / unit,
    }
