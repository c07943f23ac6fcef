"""Repeats inside one process as a picture: how long each took, from the first on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from statistics import median
from typing import Any

from ringside import units as numbers
from ringside.analysis.summary import Summary
from ringside.model.design import Metric
from ringside.render.plots.drawing import altair, chart, colour, scale_of, spec, spread

_HEIGHT = 260


def picture(
    summary: Summary, metric: Metric, each: Mapping[str, Sequence[Sequence[float]]]
) -> dict[str, Any]:
    """The Vega-Lite specification: for each contender a thin line for each block and a thick one of medians
    over blocks; upright on a logarithmic axis. `each`: by contender, a series of figures for each block."""
    alt = altair()
    shortest = min(min(series) for found in each.values() for series in found)
    unit, unit_name = numbers.scale(shortest, metric.unit)
    blocks: list[dict[str, Any]] = [
        {"contender": name, "block": f"{name} {number}", "repeat": place, "value": value / unit}
        for name, found in each.items()
        for number, series in enumerate(found, 1)
        for place, value in enumerate(series, 1)
    ]
    medians = {name: _medians(found) for name, found in each.items()}
    middles = [
        {
            "contender": name,
            "repeat": place,
            "value": value / unit,
            "shown": numbers.quantity(value, metric.unit),
        }
        for name, values in medians.items()
        for place, value in enumerate(values, 1)
    ]
    low, high = min(row["value"] for row in blocks), max(row["value"] for row in blocks)
    low, high = low / 1.08, high * 1.08
    most = max(row["repeat"] for row in blocks)
    hue = alt.Color(
        "contender:N", scale=scale_of(list(each), lambda name: colour(summary, name)), legend=None
    )
    x = alt.X(
        "repeat:Q",
        title="repeat",
        scale=alt.Scale(domain=[1, most], nice=False),
        axis=alt.Axis(grid=False, format="d", tickMinStep=1),
    )
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    title = f"{metric.title.lower()}, {unit_name}" if unit_name else metric.title.lower()
    y = alt.Y("value:Q", title=title, scale=scale, axis=alt.Axis(tickCount=6))
    thin = (
        chart("blocks")
        .mark_line(strokeWidth=0.7, opacity=0.35)
        .encode(x=x, y=y, color=hue, detail=alt.Detail("block:N"))
    )
    thick = chart("middles").mark_line(strokeWidth=2).encode(x=x, y=y, color=hue)
    points = (
        chart("middles")
        .mark_point(filled=True, size=16, opacity=1)
        .encode(
            x=x,
            y=y,
            color=hue,
            tooltip=[alt.Tooltip("contender:N"), alt.Tooltip("repeat:Q"), alt.Tooltip("shown:N")],
        )
    )
    ends = {name: _height(values[-1] / unit, low, high) for name, values in medians.items()}
    labels = (
        chart("labels")
        .mark_text(align="left", baseline="middle", dx=9, fontSize=12)
        .encode(x=alt.XValue("width"), y=alt.Y("y:Q", scale=None, axis=None), text="contender:N", color=hue)
    )
    data = {
        "blocks": blocks,
        "middles": middles,
        "labels": [{"contender": name, "y": place} for name, place in spread(ends, _HEIGHT).items()],
    }
    return spec([thin, thick, points, labels], _HEIGHT, data)


def _medians(blocks: Sequence[Sequence[float]]) -> list[float]:
    longest = max(map(len, blocks))
    return [median(series[place] for series in blocks if place < len(series)) for place in range(longest)]


def _height(value: float, low: float, high: float) -> float:
    """Where a value lies on the logarithmic axis, in pixels from the top."""
    return _HEIGHT * (1 - log(value / low) / log(high / low))
