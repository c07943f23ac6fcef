"""Every trial's headline over the blocks, in which drift and two modes show."""

from __future__ import annotations

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Point
from ringside.render.plots.layout import height_of, label_rows, log_ticks
from ringside.render.plots.spec import (
    Chart,
    Json,
    Panel,
    axis_title,
    end_labels,
    hue,
    layer,
    layered,
    quantitative,
    tooltip,
)

_HEIGHT = 260
# Fewer show no course.
_MIN_BLOCKS = 3


def chart(analysis: RunAnalysis) -> Chart:
    """A panel for each point; a line for each contender."""
    drawn = ((point, _trials(analysis, point)) for point in analysis.points)
    return Chart(
        f"{analysis.headline.title} of every trial",
        "One dot per trial, in the order of blocks. A slope that all share is the machine; two levels of one "
        "contender are two modes of its own.",
        tuple(Panel(analysis.label(point), spec) for point, spec in drawn if spec),
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
    high = max(every) / unit * 1.15 or 1.0
    y = {
        "title": axis_title(metric, unit_name),
        "scale": {"type": "log" if log else "linear", "domain": [low, high], "nice": False},
        "axis": {"format": ",~r", **({"values": log_ticks(low, high)} if log else {"tickCount": 6})},
    }
    blocks = [block for by_block in values.values() for block in by_block]
    across = {
        "title": "block",
        "scale": {"domain": [min(blocks), max(blocks)], "nice": False},
        "axis": {"format": "d", "tickMinStep": 1, "grid": False},
    }
    rows = [
        {"contender": name, "x": block, "y": value / unit, "shown": units.quantity(value, metric.unit)}
        for name, by_block in values.items()
        for block, value in by_block.items()
    ]
    colours = hue(analysis, values)
    at = {"x": quantitative("x", **across), "y": quantitative("y", **y), "color": colours}
    tips = tooltip(contender="contender", shown=metric.title)
    layers = [
        layer("rows", "line", strokeWidth=1, opacity=0.4, encoding=at),
        layer(
            "rows",
            "point",
            filled=True,
            size=36,
            opacity=1,
            encoding={**at, "tooltip": [tips[0], quantitative("x", title="block"), *tips[1:]]},
        ),
        end_labels(colours),
    ]
    wanted = {
        name: height_of(by_block[max(by_block)] / unit, low, high, _HEIGHT, log=log)
        for name, by_block in values.items()
    }
    return layered(layers, _HEIGHT, {"rows": rows, "labels": label_rows(wanted, _HEIGHT)})
