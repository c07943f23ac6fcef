"""Speed-up over cores as a picture: what was measured, the fitted law, and the ideal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ringside import units as numbers
from ringside.analysis.laws import Scaled
from ringside.analysis.summary import Summary
from ringside.model.results import Interval
from ringside.render.plots.drawing import altair, chart, colour, scale_of, spec, spread

_HEIGHT = 260
# Places at which a fitted curve is drawn.
_STEPS = 60


def picture(summary: Summary, rows: Sequence[Scaled]) -> dict[str, Any]:
    """The Vega-Lite specification: dots with intervals from 1 core on, curves where there are fits, and the
    ideal as a dashed line that ends where the axis does."""
    alt = altair()
    most = max(cores for one in rows for cores in one.speed_ups)
    dots = [row for one in rows for row in _dots(one)]
    highest = max(row["high"] for row in dots) * 1.08
    names = [one.contender for one in rows]
    colours = scale_of(names, lambda name: colour(summary, name))
    x = alt.X(
        "cores:Q",
        title="cores",
        scale=alt.Scale(domain=[1, most], nice=False),
        axis=alt.Axis(grid=False, values=sorted({row["cores"] for row in dots}), format="d"),
    )
    scale = alt.Scale(domain=[0, highest], nice=False)

    def y(field: str) -> Any:
        return alt.Y(f"{field}:Q", title="speed-up over one core", scale=scale, axis=alt.Axis(tickCount=6))

    hue = alt.Color("contender:N", scale=colours, legend=None)
    ideal = chart("ideal").mark_line(strokeDash=[5, 4], color="var(--quiet)").encode(x=x, y=y("value"))
    curves = chart("curves").mark_line(strokeWidth=2).encode(x=x, y=y("value"), color=hue)
    bars = (
        chart("dots")
        .mark_rule(strokeWidth=5, opacity=0.35)
        .encode(x=x, y=y("low"), y2=alt.Y2("high:Q"), color=hue)
    )
    points = (
        chart("dots")
        .mark_point(filled=True, size=60, opacity=1)
        .encode(
            x=x,
            y=y("value"),
            color=hue,
            tooltip=[
                alt.Tooltip("contender:N"),
                alt.Tooltip("cores:Q"),
                alt.Tooltip("shown:N", title="speed-up"),
            ],
        )
    )
    ends = {
        one.contender: _HEIGHT * (1 - one.speed_ups[max(one.speed_ups)].estimate / highest) for one in rows
    }
    labels = (
        chart("labels")
        .mark_text(align="left", baseline="middle", dx=9, fontSize=12)
        .encode(x=alt.XValue("width"), y=alt.Y("y:Q", scale=None, axis=None), text="contender:N", color=hue)
    )
    top = min(float(most), highest)
    data = {
        "dots": dots,
        "curves": [row for one in rows for row in _curve(one, most)],
        "ideal": [{"cores": 1, "value": 1}, {"cores": top, "value": top}],
        "labels": [{"contender": name, "y": place} for name, place in spread(ends, _HEIGHT).items()],
    }
    return spec([ideal, curves, bars, points, labels], _HEIGHT, data)


def _dots(one: Scaled) -> list[dict[str, Any]]:
    at = {1: Interval(1.0, None, None, 0), **one.speed_ups}
    return [
        {
            "contender": one.contender,
            "cores": cores,
            "value": ratio.estimate,
            "low": ratio.estimate if ratio.low is None else ratio.low,
            "high": ratio.estimate if ratio.high is None else ratio.high,
            "shown": numbers.ratio(ratio),
        }
        for cores, ratio in at.items()
    ]


def _curve(one: Scaled, most: int) -> list[dict[str, Any]]:
    """The fitted law; without one, straight lines between the dots."""
    if one.law is None:
        return [{key: row[key] for key in ("contender", "cores", "value")} for row in _dots(one)]
    places = (1 + (most - 1) * step / _STEPS for step in range(_STEPS + 1))
    return [{"contender": one.contender, "cores": at, "value": one.law.speed_up(at)} for at in places]
