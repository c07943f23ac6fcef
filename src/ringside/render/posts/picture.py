"""The picture of a post: figures then and now, or under two conditions, as dots in rows."""

from __future__ import annotations

from ringside import units
from ringside.render.plots.charts import standing_alone
from ringside.render.plots.spec import (
    Json,
    Panel,
    layer,
    layered,
    nominal,
    numbers,
    quantitative,
    row_axis,
    with_grid,
)
from ringside.render.posts.page import Bar, Picture

_ROW = 34
# The share of the axis that is kept free for the texts of the largest figures.
_TEXT_SHARE = 0.16
# What was then is quiet; series that are measured have colours that are told apart by the colour-blind.
_THEN, _NOW = "var(--quiet)", ("var(--c0)", "var(--c1)", "var(--c2)", "var(--c3)")


def specification(picture: Picture) -> str:
    """The Vega-Lite specification as JSON, with its width and colours; at least one bar."""
    return standing_alone(Panel(picture.title, _spec(picture)), picture.title)


def _spec(picture: Picture) -> Json:
    bars = picture.bars
    groups = list(dict.fromkeys(bar.group for bar in bars))
    series = list(dict.fromkeys(bar.series for bar in bars))
    unit, unit_name = _unit(bars, picture.unit)
    ends = [end / unit for bar in bars for end in (bar.low, bar.value, bar.high) if end and end > 0]
    # The axis of a rate says so in words.
    title = f"{picture.axis} ({unit_name})" if unit_name not in ("", "/s") else picture.axis
    low, high = min(ends) / 1.3, max(ends) * 1.1
    across = with_grid(numbers(title, low, high * (high / low) ** _TEXT_SHARE, clamp=True))
    rows = {"y": row_axis(groups), "yOffset": nominal("series", sort=series, scale={"domain": series})}
    scale = {"domain": series, "range": _colours(series)}
    colour = nominal(
        "series", scale=scale, legend={"title": None, "orient": "bottom", "direction": "horizontal"}
    )
    at = {**rows, "x": quantitative("value", **across), "color": colour}
    span = {**at, "x": quantitative("low", **across), "x2": {"field": "high"}}
    text = {**rows, "x": quantitative("right", **across), "text": nominal("shown")}
    layers = [
        layer("rows", "rule", valid="low", strokeWidth=4, opacity=0.4, encoding=span),
        layer("rows", "point", filled=True, size=80, opacity=1, encoding=at),
        layer("rows", "text", align="left", baseline="middle", dx=8, fontSize=11, encoding=text),
    ]
    data = [_row(bar, unit, picture.unit) for bar in bars]
    return layered(layers, _ROW * max(2, len(groups) * max(1, len(series)) * 2 // 3), {"rows": data})


def _row(bar: Bar, unit: float, name: str) -> Json:
    return {
        "contender": bar.group,
        "series": bar.series,
        "value": bar.value / unit,
        "low": None if bar.low is None else bar.low / unit,
        "high": None if bar.high is None else bar.high / unit,
        "right": max(bar.value, bar.high or 0.0) / unit,
        "shown": units.quantity(bar.value, name) if name else units.significant(bar.value),
    }


def _unit(bars: tuple[Bar, ...], unit: str) -> tuple[float, str]:
    """The unit in which the middle of the axis reads well."""
    values = [bar.value for bar in bars if bar.value > 0]
    return units.scale((min(values) * max(values)) ** 0.5, unit)


def _colours(series: list[str]) -> list[str]:
    """A series that is a year is then."""
    now = iter(_NOW)
    return [_THEN if name.isdigit() else next(now, _NOW[-1]) for name in series]
