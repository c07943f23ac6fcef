"""Single pictures as Vega-Lite specifications, by Altair: lines, dots in rows, pairs of dots.

Colours are CSS variables (`var(--c0)`), so the page decides how they look in light, in dark and on paper.
"""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ringside import units as numbers
from ringside.analysis.summary import LIMIT, Summary
from ringside.model.design import Metric
from ringside.model.results import Interval

# Defined twice by the page, for light and for dark; the first eight are told apart by the colour-blind too.
COLOURS = 13
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
_HEIGHT = 280
_ROW = 24
_LABEL_SPACE = 14


@dataclass(frozen=True, slots=True)
class Mark:
    """One dot with its interval: in a row of a dot plot, or at an x of a sweep."""

    who: str
    value: Interval | None
    x: float = 0.0
    absent: str = "–"
    then: float | None = None


def colour(summary: Summary, contender: str) -> str:
    """A contender's colour, by its place among the run's contenders; the limit has one of its own."""
    if contender == LIMIT:
        return "var(--limit)"
    others = [name for name in summary.names() if name != LIMIT]
    return f"var(--c{others.index(contender) % COLOURS})"


def lines(
    summary: Summary,
    metric: Metric,
    factor: str,
    marks: Sequence[Mark],
    *,
    log: bool,
    log_across: bool | None = None,
    places: Sequence[tuple[float, str]] = (),
) -> dict[str, Any]:
    """Lines over x with their intervals as bands, each named at its end. `log_across`: the x axis, when it
    differs from the y axis. `places`: where x has ticks, and what stands there, instead of round numbers."""
    alt = altair()
    highest = max(_ends(mark)[1] for mark in marks)
    unit, name = numbers.scale(highest, metric.unit)
    highest /= unit
    low, high = (least(marks) / unit / 1.15, highest * 1.15) if log else (0.0, highest * 1.06)
    across = sorted({mark.x for mark in marks} | {place for place, _ in places})
    log_x = log if log_across is None else log_across
    y_scale = alt.Scale(type="log" if log else "linear", domain=[low, high], nice=False)
    x_scale = alt.Scale(type="log" if log_x else "linear", domain=[across[0], across[-1]], nice=False)
    y_axis = alt.Axis(format=",~r", **({"values": log_ticks(low, high)} if log else {"tickCount": 6}))
    ticks: dict[str, Any] = {"format": "~s", "tickCount": 5}
    if places:
        # As an expression: Vega-Lite has no other way to words on an axis of numbers.
        words = " : ".join(f"datum.value == {place!r} ? {json.dumps(word)}" for place, word in places)
        ticks = {"values": [place for place, _ in places], "labelExpr": f"{words} : ''"}
    elif log_x:
        ticks = {"format": "~s", "values": log_ticks(across[0], across[-1])}
    x_axis = alt.Axis(grid=False, labelFlush=False, **ticks)
    x = alt.X("x:Q", title=factor or None, scale=x_scale, axis=x_axis)
    y_title = f"{metric.title} ({name})" if name else metric.title
    y = alt.Y("median:Q", title=y_title, scale=y_scale, axis=y_axis)
    names = [one for one in summary.names() if any(mark.who == one for mark in marks)]
    colours = scale_of(names, lambda one: colour(summary, one))
    dashes = scale_of(names, lambda one: [5, 4] if one == LIMIT else [1, 0])
    shapes = scale_of(names, lambda one: _SHAPES[summary.names().index(one) % len(_SHAPES)])
    base = chart("rows").encode(x=x, color=alt.Color("contender:N", scale=colours, legend=None))
    band = base.mark_area(opacity=0.2, line=False).encode(
        y=alt.Y("low:Q", title=y_title, scale=y_scale, axis=y_axis), y2=alt.Y2("high:Q")
    )
    line = base.mark_line(strokeWidth=2).encode(
        y=y, strokeDash=alt.StrokeDash("contender:N", scale=dashes, legend=None)
    )
    dots = base.mark_point(filled=True, size=46, opacity=1).encode(
        y=y,
        shape=alt.Shape("contender:N", scale=shapes, legend=None),
        tooltip=tips(contender="contender", x=factor, shown=metric.title, interval="95 % interval", n="n"),
    )
    ends = {one: max((m for m in marks if m.who == one), key=lambda m: m.x) for one in names}

    def pixel(value: float) -> float:
        share = math.log(value / low) / math.log(high / low) if log else (value - low) / (high - low)
        return _HEIGHT * (1 - share)

    wanted = {one: pixel(mark.value.estimate / unit) for one, mark in ends.items() if mark.value}
    placed = [{"contender": one, "y": y} for one, y in spread(wanted, _HEIGHT).items()]
    labels = (
        chart("labels")
        .mark_text(align="left", baseline="middle", dx=9, fontSize=12)
        .encode(
            x=alt.XValue("width"),
            y=alt.Y("y:Q", scale=None, axis=None),
            text=alt.Text("contender:N"),
            color=alt.Color("contender:N", scale=colours, legend=None),
        )
    )
    with_band = any(mark.value and mark.value.low is not None for mark in marks)
    layers = [*([band] if with_band else []), line, dots, labels]
    data = {"rows": _rows(marks, metric, unit), "labels": placed}
    return spec(layers, _HEIGHT, data)


def dot_plot(summary: Summary, metric: Metric, marks: Sequence[Mark]) -> dict[str, Any]:
    """Rows sorted by the figure, which is written beside each; the limit is a dashed line as well."""
    sign = 1 if metric.smaller_is_better else -1
    order = sorted(marks, key=lambda mark: sign * mark.value.estimate if mark.value else math.inf)
    alt = altair()
    unit, name = _unit(marks, metric.unit)
    colours = scale_of([mark.who for mark in order], lambda one: colour(summary, one))
    scale, axis = _across([mark for mark in marks if mark.value], unit)
    x_title = f"{metric.title} ({name})" if name else metric.title
    base = chart("rows").encode(
        y=_row_axis([mark.who for mark in order]),
        color=alt.Color("contender:N", scale=colours, legend=None),
    )
    x = alt.X("median:Q", title=x_title, scale=scale, axis=axis)
    bars = base.mark_rule(strokeWidth=7, opacity=0.35).encode(
        x=alt.X("low:Q", title=x_title, scale=scale, axis=axis), x2=alt.X2("high:Q")
    )
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=x, tooltip=tips(contender="contender", shown=metric.title, interval="95 % interval", n="n")
    )
    layers = [bars.transform_filter("isValid(datum.low)"), dots.transform_filter("isValid(datum.median)")]
    floor = next((mark.value for mark in marks if mark.who == LIMIT and mark.value), None)
    if floor:
        layers.insert(0, chart("floor").mark_rule(color="var(--limit)", strokeDash=[4, 4]).encode(x=x))
    rows = _rows(order, metric, unit)
    for row, mark in zip(rows, order, strict=True):
        row["text"] = row.get("shown", mark.absent)
    beside = base.mark_text(align="left", baseline="middle", dx=9, fontSize=12).encode(
        x=alt.XValue("width"), color=alt.ColorValue("var(--ink)"), text=alt.Text("text:N")
    )
    data = {"rows": rows, "floor": [{"median": floor.estimate / unit}] if floor else []}
    return spec([*layers, beside], _ROW * len(order), data)


def dumbbells(tint: str, marks: Sequence[Mark]) -> dict[str, Any]:
    alt = altair()
    metric = Metric("ratio", "", "now", "")
    scale, axis = _across([m for m in marks if m.value] + [Mark("", _exactly(m.then)) for m in marks], 1.0)
    low, high = scale["domain"]
    base = chart("rows").encode(y=_row_axis([mark.who for mark in marks]))

    def x(field: str) -> Any:
        return alt.X(f"{field}:Q", title="times", scale=scale, axis=axis)

    told = tips(contender="point", then_shown="then", shown="now", interval="95 % interval", n="n")
    layers = [
        base.mark_rule(color="var(--quiet)", opacity=0.6).encode(x=x("then"), x2=alt.X2("median:Q")),
        base.mark_rule(color=tint, strokeWidth=7, opacity=0.35).encode(x=x("low"), x2=alt.X2("high:Q")),
        base.mark_point(filled=True, size=70, opacity=1, color=tint).encode(x=x("median"), tooltip=told),
        base.mark_point(size=60, opacity=1, color="var(--ink)", fill="var(--paper)").encode(
            x=x("then"), tooltip=told
        ),
    ]
    for layer, field in zip((0, 1, 2), ("median", "low", "median"), strict=True):
        layers[layer] = layers[layer].transform_filter(f"isValid(datum.{field})")
    if low < 1 < high:
        one = chart("one").mark_rule(color="var(--quiet)", strokeDash=[2, 3])
        layers.insert(0, one.encode(x=x("then")))
    data = {"rows": _rows(marks, metric, 1.0), "one": [{"then": 1.0}]}
    return spec(layers, _ROW * len(marks), data)


def _row_axis(names: Sequence[str]) -> Any:
    alt = altair()
    axis = alt.Axis(title=None, domain=False, ticks=False, grid=True, labelColor="var(--ink)", labelPadding=8)
    return alt.Y("contender:N", sort=list(names), scale=alt.Scale(domain=list(names)), axis=axis)


def _across(marks: Sequence[Mark], unit: float) -> tuple[Any, Any]:
    """The horizontal scale and axis of a dot plot: logarithmic wherever all medians are positive."""
    alt = altair()
    middles = [mark.value.estimate / unit for mark in marks if mark.value]
    ends = [end / unit for mark in marks for end in _ends(mark)]
    if min(middles) > 0:
        low = min([*middles, *(end for end in ends if end > 0)]) / 1.3
        high = max(ends) * 1.3
        axis = alt.Axis(format=",~r", values=log_ticks(low, high), grid=True)
        return alt.Scale(type="log", domain=[low, high], nice=False, clamp=True), axis
    low, high = min(0.0, *ends), max(0.0, *ends) or 1.0
    return alt.Scale(type="linear", domain=[low, high], nice=True), alt.Axis(format=",~r", tickCount=5)


def tips(**titles: str) -> list[Any]:
    """Tooltips by field."""
    alt = altair()
    return [
        alt.Tooltip(field=field, type="quantitative" if field == "x" else "nominal", title=title)
        for field, title in titles.items()
    ]


def _rows(marks: Sequence[Mark], metric: Metric, unit: float) -> list[dict[str, Any]]:
    """The data of a panel: positions as numbers in the axis' unit, and the same as a tooltip says them."""
    rows: list[dict[str, Any]] = []
    for mark in marks:
        row: dict[str, Any] = {"contender": mark.who, "x": mark.x}
        if value := mark.value:
            row |= {
                "median": value.estimate / unit,
                "low": None if value.low is None else value.low / unit,
                "high": None if value.high is None else value.high / unit,
                "shown": _written(value, metric),
                "interval": _bounds(value, metric) or "too few blocks",
                "n": f"{value.n} blocks",
            }
        if mark.then is not None:
            row |= {"then": mark.then, "then_shown": numbers.significant(mark.then)}
        rows.append(row)
    return rows


def _written(value: Interval, metric: Metric) -> str:
    return numbers.quantity(value.estimate, metric.unit)


def _bounds(value: Interval, metric: Metric) -> str:
    return " – ".join(
        numbers.quantity(end, metric.unit) for end in (value.low, value.high) if end is not None
    )


def _ends(mark: Mark) -> tuple[float, float]:
    value = mark.value
    if value is None:
        return 0.0, 0.0
    return (
        value.estimate if value.low is None else value.low,
        value.estimate if value.high is None else value.high,
    )


def least(marks: Iterable[Mark]) -> float:
    return min(_ends(mark)[0] for mark in marks)


def _exactly(value: float | None) -> Interval | None:
    return None if value is None else Interval(value, None, None, 1)


def _unit(marks: Sequence[Mark], unit: str) -> tuple[float, str]:
    """One unit for a dot plot: that of the middle between the smallest and the largest."""
    values = [abs(mark.value.estimate) for mark in marks if mark.value and mark.value.estimate]
    middle = math.sqrt(min(values)) * math.sqrt(max(values)) if values else 1.0
    return numbers.scale(middle, unit)


def log_ticks(low: float, high: float) -> list[float]:
    """Three to eight round numbers on a logarithmic axis from `low` to `high`, both positive."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        found = [float(f"{s}e{d}") for d in decades for s in steps if low <= float(f"{s}e{d}") <= high]
        if len(found) >= 3:
            return found[:: math.ceil(len(found) / 8)]
    return _even_ticks(low, high)


def _even_ticks(low: float, high: float) -> list[float]:
    """Three to eight round numbers at even distances: on so short a stretch logarithms look even too."""
    digits = math.floor(math.log10(high - low))
    for step in (float(f"{times}e{digits - lower}") for lower in (0, 1) for times in (5, 2, 1)):
        first, last = math.ceil(low / step), math.floor(high / step)
        if last - first >= 2:
            found = [float(f"{count * step:.12g}") for count in range(first, last + 1)]
            return [tick for tick in found if low <= tick <= high][:: math.ceil(len(found) / 8)]
    return [low, high]


def spread(wanted: Mapping[str, float], height: float) -> dict[str, float]:
    """Places for labels as near as can be to those that are `wanted`, in their order, at least a line
    apart and inside the panel."""
    placed: dict[str, float] = {}
    last = -math.inf
    for name, y in sorted(wanted.items(), key=lambda item: item[1]):
        last = placed[name] = max(y, last + _LABEL_SPACE)
    limit = float(height)
    for name in reversed(placed):
        placed[name] = min(placed[name], limit)
        limit = placed[name] - _LABEL_SPACE
    return placed


def scale_of(names: Sequence[str], give: Callable[[str], Any]) -> Any:
    return altair().Scale(domain=list(names), range=[give(name) for name in names])


def chart(data: str) -> Any:
    """A chart of the data of that name."""
    # Data by name: Altair copies what it holds many times over, which took most of a report's time.
    alt = altair()
    return alt.Chart(alt.NamedData(data))


def spec(
    layers: Sequence[Any], height: int, data: Mapping[str, Any], *, apart: Sequence[str] = ()
) -> dict[str, Any]:
    """Layers over each other; those channels in `apart` have a scale in each layer."""
    drawn = [layer.to_dict(validate=False) for layer in layers]
    for layer in drawn:
        # All plots have the page's configuration, not Altair's own.
        layer.pop("config", None)
    # Put together here: Altair's own `layer` copies all that it is given, again and again.
    return {
        "$schema": drawn[0].pop("$schema"),
        "width": "container",
        "height": height,
        "padding": {"left": 4, "top": 8, "right": 8, "bottom": 4},
        # Text beside the plot counts as a part of it, so it has its room.
        "autosize": {"type": "fit-x", "contains": "padding"},
        "layer": [{key: value for key, value in layer.items() if key != "$schema"} for layer in drawn],
        "datasets": dict(data),
        **({"resolve": {"scale": dict.fromkeys(apart, "independent")}} if apart else {}),
    }


def altair() -> Any:
    """The library, when it is needed first."""
    # By name: it loads thousands of classes, and their types would cost mypy more than all the rest.
    return importlib.import_module("altair")
