"""All contenders of a point by two metrics at once: one across, one upright."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ringside import units as numbers
from ringside.analysis.summary import Summary
from ringside.model.design import Metric
from ringside.model.results import Interval
from ringside.render.plots.drawing import altair, chart, colour, log_ticks, scale_of, spec, tips

_HEIGHT = 320


def landscape(
    summary: Summary, across: Metric, upright: Metric, where: Mapping[str, tuple[Interval, Interval]]
) -> dict[str, Any]:
    """Dots with intervals both ways, named beside, on logarithmic axes. `where` has the place of each
    contender; all its estimates are positive."""
    alt = altair()
    (x_unit, x_looks), (y_unit, y_looks) = (
        _axis(metric, [both[place] for both in where.values()])
        for place, metric in enumerate((across, upright))
    )
    rows = []
    for name, (x, y) in where.items():
        rows.append(
            {
                "contender": name,
                **_ends("x", x, x_unit),
                **_ends("y", y, y_unit),
                "x_shown": numbers.with_interval(x, across.unit),
                "y_shown": numbers.with_interval(y, upright.unit),
            }
        )
    names = list(where)
    base = chart("rows").encode(
        color=alt.Color("contender:N", scale=scale_of(names, lambda one: colour(summary, one)), legend=None)
    )

    x, y = alt.X("x:Q", **x_looks), alt.Y("y:Q", **y_looks)
    bars = base.mark_rule(strokeWidth=4, opacity=0.35)
    layers = [
        bars.encode(x=alt.X("x_low:Q", **x_looks), x2=alt.X2("x_high:Q"), y=y).transform_filter(
            "isValid(datum.x_low)"
        ),
        bars.encode(y=alt.Y("y_low:Q", **y_looks), y2=alt.Y2("y_high:Q"), x=x).transform_filter(
            "isValid(datum.y_low)"
        ),
        base.mark_point(filled=True, size=90, opacity=1).encode(
            x=x,
            y=y,
            tooltip=tips(contender="contender", x_shown=across.title, y_shown=upright.title),
        ),
        base.mark_text(align="left", baseline="middle", dx=9, dy=-9, fontSize=12).encode(
            x=x, y=y, text=alt.Text("contender:N")
        ),
    ]
    return spec(layers, _HEIGHT, {"rows": rows})


def _axis(metric: Metric, values: list[Interval]) -> tuple[float, dict[str, Any]]:
    """The unit of an axis that holds all values, and the scale, ticks and title of its channels."""
    alt = altair()
    ends = [end for one in values for end in (one.low, one.estimate, one.high) if end is not None and end > 0]
    unit, name = numbers.scale((min(ends) * max(ends)) ** 0.5, metric.unit)
    low, high = min(ends) / unit / 1.5, max(ends) / unit * 1.5
    scale = alt.Scale(type="log", domain=[low, high], nice=False, clamp=True)
    axis = alt.Axis(format=",~r", values=log_ticks(low, high))
    title = f"{metric.title} ({name})" if name else metric.title
    return unit, {"scale": scale, "axis": axis, "title": title}


def _ends(name: str, value: Interval, unit: float) -> dict[str, float | None]:
    return {
        name: value.estimate / unit,
        f"{name}_low": None if value.low is None else value.low / unit,
        f"{name}_high": None if value.high is None else value.high / unit,
    }
