"""Lines over a factor, a percentile or time, each contender's named at its end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric
from ringside.render.plots.layout import height_of, label_rows, log_ticks
from ringside.render.plots.marks import Mark, rows
from ringside.render.plots.spec import (
    Json,
    axis_title,
    by_contender,
    end_labels,
    hue,
    layer,
    layered,
    quantitative,
    tooltip,
)

_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
_HEIGHT = 280
_SOLID, _DASHED = [1, 0], [5, 4]


def lines(
    analysis: RunAnalysis,
    metric: Metric,
    x_title: str,
    marks: Sequence[Mark],
    *,
    log: bool,
    log_x: bool | None = None,
    places: Sequence[tuple[float, str]] = (),
) -> Json:
    """Lines over x with their intervals as bands. `log_x`: the x axis, when it differs from the y axis.
    `places`: where x has ticks, and what stands there, instead of round numbers."""
    highest = max(mark.high for mark in marks)
    unit, unit_name = units.scale(highest, metric.unit)
    highest /= unit
    low = min(mark.low for mark in marks) / unit / 1.15 if log else 0.0
    high = highest * 1.15 if log else highest * 1.06
    y = {
        "title": axis_title(metric, unit_name),
        "scale": {"type": "log" if log else "linear", "domain": [low, high], "nice": False},
        "axis": {"format": ",~r", **({"values": log_ticks(low, high)} if log else {"tickCount": 6})},
    }
    x = _x(x_title, marks, log=log if log_x is None else log_x, places=places)
    names = [name for name in analysis.names if any(mark.label == name for mark in marks)]
    colours = hue(analysis, names)
    dashes = by_contender(names, lambda name: _DASHED if name == analysis.floor else _SOLID)
    shapes = by_contender(names, lambda name: _SHAPES[analysis.names.index(name) % len(_SHAPES)])
    bands = layer(
        "rows",
        "area",
        opacity=0.2,
        line=False,
        encoding={"x": x, "y": quantitative("low", **y), "y2": {"field": "high"}, "color": colours},
    )
    curves = layer(
        "rows",
        "line",
        strokeWidth=2,
        encoding={"x": x, "y": quantitative("median", **y), "color": colours, "strokeDash": dashes},
    )
    tips = tooltip(contender="contender", shown=metric.title, interval="95 % interval", n="n")
    dots = layer(
        "rows",
        "point",
        filled=True,
        size=46,
        opacity=1,
        encoding={
            "x": x,
            "y": quantitative("median", **y),
            "color": colours,
            "shape": shapes,
            "tooltip": [tips[0], quantitative("x", title=x_title), *tips[1:]],
        },
    )
    last = {name: max((m for m in marks if m.label == name), key=lambda mark: mark.x) for name in names}
    wanted = {
        name: height_of(mark.value.estimate / unit, low, high, _HEIGHT, log=log)
        for name, mark in last.items()
        if mark.value
    }
    has_bands = any(mark.value and mark.value.low is not None for mark in marks)
    layers = [*([bands] if has_bands else []), curves, dots, end_labels(colours)]
    data = {"rows": rows(marks, metric, unit), "labels": label_rows(wanted, _HEIGHT)}
    return layered(layers, _HEIGHT, data)


def _x(title: str, marks: Sequence[Mark], *, log: bool, places: Sequence[tuple[float, str]]) -> Json:
    across = sorted({mark.x for mark in marks} | {place for place, _ in places})
    # The prefix m of thousandths looks like a unit.
    number = "~g" if any(0 < abs(x) < 1 for x in across) else "~s"
    ticks: dict[str, Any] = {"format": number, "tickCount": 5}
    if places:
        # As an expression: Vega-Lite has no other way to words on an axis of numbers.
        words = " : ".join(f"datum.value == {place!r} ? {json.dumps(word)}" for place, word in places)
        ticks = {"values": [place for place, _ in places], "labelExpr": f"{words} : ''"}
    elif log:
        ticks = {"format": number, "values": log_ticks(across[0], across[-1])}
    return quantitative(
        "x",
        title=title or None,
        scale={"type": "log" if log else "linear", "domain": [across[0], across[-1]], "nice": False},
        axis={"grid": False, "labelFlush": False, **ticks},
    )
