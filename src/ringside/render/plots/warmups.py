"""Repeats inside one process: how long each took, from the first on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ringside import units
from ringside.analysis.distributions import WarmUp
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric
from ringside.render.plots.layout import height_of, label_rows
from ringside.render.plots.spec import (
    Chart,
    Json,
    Panel,
    end_labels,
    hue,
    layer,
    layered,
    nominal,
    quantitative,
)

_HEIGHT = 260


def charts(analysis: RunAnalysis) -> Iterator[Chart]:
    """A panel for each point with repeats."""
    name = analysis.measurement.repeated_metric
    if name is None:
        return
    metric = analysis.measurement.metric(name)
    panels = []
    for point in analysis.points:
        drawn = [
            warm_up
            for warm_up in analysis.warm_ups
            if warm_up.cell.point == point and min(map(min, warm_up.series)) > 0
        ]
        if drawn:
            drawn.sort(key=lambda warm_up: analysis.names.index(warm_up.cell.contender))
            panels.append(Panel(analysis.label(point), _picture(analysis, metric, drawn)))
    yield Chart(
        f"{metric.title}, repeat by repeat",
        "The same work again and again in one process. Thin lines are blocks, the thick one is their median; "
        "the y axis is logarithmic.",
        tuple(panels),
    )


def _picture(analysis: RunAnalysis, metric: Metric, warm_ups: Sequence[WarmUp]) -> Json:
    """For each contender a thin line for each block and a thick one of medians over blocks."""
    shortest = min(min(series) for warm_up in warm_ups for series in warm_up.series)
    unit, unit_name = units.scale(shortest, metric.unit)
    blocks = [row for warm_up in warm_ups for row in _blocks(warm_up, unit)]
    medians = [row for warm_up in warm_ups for row in _medians(warm_up, metric, unit)]
    low = min(row["value"] for row in blocks) / 1.08
    high = max(row["value"] for row in blocks) * 1.08
    most = max(row["repeat"] for row in blocks)
    colours = hue(analysis, [warm_up.cell.contender for warm_up in warm_ups])
    x = quantitative(
        "repeat",
        title="repeat",
        scale={"domain": [1, most], "nice": False},
        axis={"grid": False, "format": "d", "tickMinStep": 1},
    )
    y = quantitative(
        "value",
        title=f"{metric.title.lower()}, {unit_name}" if unit_name else metric.title.lower(),
        scale={"type": "log", "domain": [low, high], "nice": False},
        axis={"tickCount": 6},
    )
    at = {"x": x, "y": y, "color": colours}
    tips = [nominal("contender"), quantitative("repeat"), nominal("shown")]
    layers = [
        layer("blocks", "line", strokeWidth=0.7, opacity=0.35, encoding={**at, "detail": nominal("block")}),
        layer("medians", "line", strokeWidth=2, encoding=at),
        layer("medians", "point", filled=True, size=16, opacity=1, encoding={**at, "tooltip": tips}),
        end_labels(colours),
    ]
    wanted = {
        warm_up.cell.contender: height_of(warm_up.medians[-1] / unit, low, high, _HEIGHT, log=True)
        for warm_up in warm_ups
    }
    data = {"blocks": blocks, "medians": medians, "labels": label_rows(wanted, _HEIGHT)}
    return layered(layers, _HEIGHT, data)


def _blocks(warm_up: WarmUp, unit: float) -> list[Json]:
    name = warm_up.cell.contender
    return [
        {"contender": name, "block": f"{name} {number}", "repeat": place, "value": value / unit}
        for number, series in enumerate(warm_up.series, 1)
        for place, value in enumerate(series, 1)
    ]


def _medians(warm_up: WarmUp, metric: Metric, unit: float) -> list[Json]:
    return [
        {
            "contender": warm_up.cell.contender,
            "repeat": place,
            "value": value / unit,
            "shown": units.quantity(value, metric.unit),
        }
        for place, value in enumerate(warm_up.medians, 1)
    ]
