"""The plots of a run as Vega-Lite specifications, by Altair. Pure: nothing is drawn here.

Colours are CSS variables (`var(--c0)`), so the page decides how they look in light, in dark and on paper.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ringside.model import Cell, Interval, Metric, Outcome, Point
from ringside.report import numbers, published
from ringside.report.summary import LIMIT, Summary
from ringside.workloads.base import CPU_S

# A colour-blind-safe set of eight, defined twice by the page: for light and for dark.
COLOURS = 8
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
_HEIGHT = 280
_ROW = 24
_LABEL_SPACE = 14
_SWEEP_LEVELS = 3


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture: a title and its Vega-Lite specification, as wide as its container."""

    title: str
    spec: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Chart:
    """Panels that are read together. `caption` says what is shown, in plain words."""

    title: str
    caption: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class _Mark:
    """One dot with its interval: in a row of a dot plot, or at an x of a sweep."""

    who: str
    value: Interval | None
    x: float = 0.0
    absent: str = "–"
    then: float | None = None


def missing() -> str | None:
    """The first package that plots need and that is not installed."""
    found = (importlib.util.find_spec(name) for name in ("altair", "vl_convert"))
    return next((n for n, spec in zip(("altair", "vl-convert-python"), found, strict=True) if not spec), None)


def colour(summary: Summary, contender: str) -> str:
    """A contender's colour, by its place among the run's contenders; the limit has one of its own."""
    if contender == LIMIT:
        return "var(--limit)"
    others = [name for name in summary.names() if name != LIMIT]
    return f"var(--c{others.index(contender) % COLOURS})"


def config() -> dict[str, Any]:
    """What all plots have in common, as a Vega-Lite configuration."""
    ink, quiet, grid = "var(--ink)", "var(--quiet)", "var(--grid)"
    axis = {"labelColor": quiet, "titleColor": quiet, "tickColor": grid, "domainColor": grid}
    return {
        "background": "transparent",
        "font": "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif",
        "view": {"stroke": "transparent"},
        "text": {"color": ink, "fontSize": 12},
        "axis": {
            **axis,
            "gridColor": grid,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "labelOverlap": "greedy",
            "labelLimit": 210,
        },
    }


def charts(summary: Summary) -> list[Chart]:
    """All plots of a run, in the order in which they are read."""
    # Altair checks each part against a schema as it is made: a third of the time. A test checks the whole.
    with importlib.import_module("altair.utils.schemapi").debug_mode(False):
        return [chart for chart in _charts(summary) if chart.panels]


def _charts(summary: Summary) -> Iterator[Chart]:
    metrics = summary.metrics()
    if CPU_S in summary.workload.metrics and CPU_S not in metrics:
        metrics = [*metrics, CPU_S]
    sweep = swept(summary)
    for metric in metrics:
        yield _sweep(summary, metric, sweep) if sweep else _dots(summary, metric)
    yield from _slopes(summary)
    if then := published.then_and_now(summary):
        yield _then_and_now(summary, then)


def swept(summary: Summary) -> str | None:
    """The factor along which lines are drawn: the experiment's own, else the number that has the most
    levels, three at least."""

    def levels(factor: str) -> set[Any]:
        return {point[factor] for point in summary.points}

    if (own := summary.experiment.show.sweep) and len(levels(own)) > 1:
        return own
    numeric = [name for name in summary.varying() if all(isinstance(level, int) for level in levels(name))]
    best = max(numeric, key=lambda name: len(levels(name)), default=None)
    return best if best and len(levels(best)) >= _SWEEP_LEVELS else None


def _sweep(summary: Summary, metric: Metric, factor: str) -> Chart:
    """Lines over a factor, a pair of panels for each setting of the others."""
    panels: list[Panel] = []
    for setting in dict.fromkeys(point.without(factor) for point in summary.points):
        points = [point for point in summary.points if point.without(factor) == setting]
        panels += _pair(summary, metric, factor, points)
    return Chart(
        f"{metric.title} over {factor}",
        f"{_sentence(metric.explanation)} Medians over blocks, their 95 % intervals as bands; each twice, on "
        "linear and on logarithmic axes.",
        tuple(panels),
    )


def _pair(summary: Summary, metric: Metric, factor: str, points: Sequence[Point]) -> list[Panel]:
    marks = [
        _Mark(name, value, float(point[factor]))
        for name in summary.names()
        for point in points
        if (value := summary.cells[Cell(name, point)].metrics.get(metric.name))
    ]
    if not marks:
        return []
    varying = [name for name in summary.varying() if name != factor]
    setting = " ".join(f"{name}={points[0][name]}" for name in varying)
    found = []
    for log, words in ((False, "linear"), (True, "logarithmic")):
        if log and (min(mark.x for mark in marks) <= 0 or _least(marks) <= 0):
            continue
        title = f"{setting}, {words}" if setting else words.capitalize()
        found.append(Panel(title, _lines(summary, metric, factor, marks, log=log)))
    return found


def _lines(
    summary: Summary, metric: Metric, factor: str, marks: Sequence[_Mark], *, log: bool
) -> dict[str, Any]:
    alt = _altair()
    highest = max(_ends(mark)[1] for mark in marks)
    unit, name = numbers.scale(highest, metric.unit)
    highest /= unit
    low, high = (_least(marks) / unit / 1.15, highest * 1.15) if log else (0.0, highest * 1.06)
    across = sorted({mark.x for mark in marks})
    y_scale = alt.Scale(type="log" if log else "linear", domain=[low, high], nice=False)
    x_scale = alt.Scale(type="log" if log else "linear", domain=[across[0], across[-1]], nice=False)
    y_axis = alt.Axis(format=",~r", **({"values": log_ticks(low, high)} if log else {"tickCount": 6}))
    x_axis = alt.Axis(
        format="~s",
        grid=False,
        labelFlush=False,
        **({"values": log_ticks(across[0], across[-1])} if log else {"tickCount": 5}),
    )
    x = alt.X("x:Q", title=factor, scale=x_scale, axis=x_axis)
    y_title = f"{metric.title} ({name})" if name else metric.title
    y = alt.Y("median:Q", title=y_title, scale=y_scale, axis=y_axis)
    names = [one for one in summary.names() if any(mark.who == one for mark in marks)]
    colours = _scale(names, lambda one: colour(summary, one))
    dashes = _scale(names, lambda one: [5, 4] if one == LIMIT else [1, 0])
    shapes = _scale(names, lambda one: _SHAPES[summary.names().index(one) % len(_SHAPES)])
    base = _chart("rows").encode(x=x, color=alt.Color("contender:N", scale=colours, legend=None))
    band = base.mark_area(opacity=0.2, line=False).encode(
        y=alt.Y("low:Q", title=y_title, scale=y_scale, axis=y_axis), y2=alt.Y2("high:Q")
    )
    line = base.mark_line(strokeWidth=2).encode(
        y=y, strokeDash=alt.StrokeDash("contender:N", scale=dashes, legend=None)
    )
    dots = base.mark_point(filled=True, size=46, opacity=1).encode(
        y=y,
        shape=alt.Shape("contender:N", scale=shapes, legend=None),
        tooltip=_tips(contender="contender", x=factor, shown=metric.title, interval="95 % interval", n="n"),
    )
    ends = {one: max((m for m in marks if m.who == one), key=lambda m: m.x) for one in names}

    def pixel(value: float) -> float:
        share = math.log(value / low) / math.log(high / low) if log else (value - low) / (high - low)
        return _HEIGHT * (1 - share)

    wanted = {one: pixel(mark.value.estimate / unit) for one, mark in ends.items() if mark.value}
    placed = [{"contender": one, "y": y} for one, y in spread(wanted, _HEIGHT).items()]
    labels = (
        _chart("labels")
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
    return _spec(layers, _HEIGHT, data)


def _dots(summary: Summary, metric: Metric) -> Chart:
    """A dot plot for each point, the best contender on top."""
    panels = []
    for point in summary.points:
        marks = []
        for name in summary.names():
            cell = summary.cells[Cell(name, point)]
            failed = next((str(outcome) for outcome in cell.outcomes if outcome is not Outcome.OK), "–")
            marks.append(_Mark(name, cell.metrics.get(metric.name), absent=failed))
        if any(mark.value for mark in marks):
            title = summary.label(point)
            panels.append(Panel(title, _dot_plot(summary, metric, marks)))
    return Chart(
        metric.title,
        f"{_sentence(metric.explanation)} Dots are medians over blocks, bars 95 % intervals, on a "
        "logarithmic axis.",
        tuple(panels),
    )


def _dot_plot(summary: Summary, metric: Metric, marks: Sequence[_Mark]) -> dict[str, Any]:
    """Rows sorted by the figure, which is written beside each; the limit is a dashed line as well."""
    sign = 1 if metric.smaller_is_better else -1
    order = sorted(marks, key=lambda mark: sign * mark.value.estimate if mark.value else math.inf)
    alt = _altair()
    unit, name = _unit(marks, metric.unit)
    colours = _scale([mark.who for mark in order], lambda one: colour(summary, one))
    scale, axis = _across([mark for mark in marks if mark.value], unit)
    x_title = f"{metric.title} ({name})" if name else metric.title
    base = _chart("rows").encode(
        y=_row_axis([mark.who for mark in order]),
        color=alt.Color("contender:N", scale=colours, legend=None),
    )
    x = alt.X("median:Q", title=x_title, scale=scale, axis=axis)
    bars = base.mark_rule(strokeWidth=7, opacity=0.35).encode(
        x=alt.X("low:Q", title=x_title, scale=scale, axis=axis), x2=alt.X2("high:Q")
    )
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=x, tooltip=_tips(contender="contender", shown=metric.title, interval="95 % interval", n="n")
    )
    layers = [bars.transform_filter("isValid(datum.low)"), dots.transform_filter("isValid(datum.median)")]
    floor = next((mark.value for mark in marks if mark.who == LIMIT and mark.value), None)
    if floor:
        layers.insert(0, _chart("floor").mark_rule(color="var(--limit)", strokeDash=[4, 4]).encode(x=x))
    rows = _rows(order, metric, unit)
    for row, mark in zip(rows, order, strict=True):
        row["text"] = row.get("shown", mark.absent)
    beside = base.mark_text(align="left", baseline="middle", dx=9, fontSize=12).encode(
        x=alt.XValue("width"), color=alt.ColorValue("var(--ink)"), text=alt.Text("text:N")
    )
    data = {"rows": rows, "floor": [{"median": floor.estimate / unit}] if floor else []}
    return _spec([*layers, beside], _ROW * len(order), data)


def _slopes(summary: Summary) -> list[Chart]:
    """For each slope of the workload: its figures as dots, then what they were fitted to, over the factor."""
    found = []
    for slope in summary.workload.slopes:
        mine = [one for one in summary.slopes if one.slope.name == slope.name]
        settings = list(dict.fromkeys(one.fixed for one in mine))
        metric = Metric(slope.name, slope.unit, slope.title, slope.explanation)
        panels = []
        for fixed in settings:
            values = {one.contender: one.value for one in mine if one.fixed == fixed}
            marks = [_Mark(name, values.get(name)) for name in summary.names()]
            title = str(fixed) if len(settings) > 1 else slope.title
            panels.append(Panel(title, _dot_plot(summary, metric, marks)))
        caption = f"{_sentence(slope.explanation)} Dots are medians over blocks, bars 95 % intervals."
        found.append(Chart(slope.title, caption, tuple(panels)))
        if len({point[slope.over] for point in summary.points}) > 1:
            held = summary.workload.metric(slope.figure)
            # One setting stands for all in factors that the figure cannot depend on.
            chosen: dict[Point, Point] = {}
            for point in summary.points:
                chosen.setdefault(point.without(slope.over, *slope.regardless_of), point.without(slope.over))
            pairs: list[Panel] = []
            for setting in chosen.values():
                points = [point for point in summary.points if point.without(slope.over) == setting]
                pairs += _pair(summary, held, slope.over, points)
            found.append(Chart(f"{held.title} over {slope.over}", _sentence(held.explanation), tuple(pairs)))
    return found


def _then_and_now(summary: Summary, then: published.ThenAndNow) -> Chart:
    """A panel for each pair: a row for each point, the source's ratio hollow, this run's filled."""
    panels = []
    for who in dict.fromkeys(line.who for line in then.ratios):
        marks = [
            _Mark(summary.label(line.point), line.now, then=line.then)
            for line in then.ratios
            if line.who == who
        ]
        panels.append(Panel(who, _dumbbells(colour(summary, who.split(" / ")[0]), marks)))
    year = then.source.date[:4]
    return Chart(
        f"{then.metric.title}: ratios then and now",
        f"○ {year}, as published in “{then.source.title}”; ● this run, with its 95 % interval as a bar. "
        "The line between them is how far things have moved; 1 means that both take the same.",
        tuple(panels),
    )


def _dumbbells(tint: str, marks: Sequence[_Mark]) -> dict[str, Any]:
    alt = _altair()
    metric = Metric("ratio", "", "now", "")
    scale, axis = _across([m for m in marks if m.value] + [_Mark("", _exactly(m.then)) for m in marks], 1.0)
    low, high = scale["domain"]
    base = _chart("rows").encode(y=_row_axis([mark.who for mark in marks]))

    def x(field: str) -> Any:
        return alt.X(f"{field}:Q", title="times", scale=scale, axis=axis)

    tips = _tips(contender="point", then_shown="then", shown="now", interval="95 % interval", n="n")
    layers = [
        base.mark_rule(color="var(--quiet)", opacity=0.6).encode(x=x("then"), x2=alt.X2("median:Q")),
        base.mark_rule(color=tint, strokeWidth=7, opacity=0.35).encode(x=x("low"), x2=alt.X2("high:Q")),
        base.mark_point(filled=True, size=70, opacity=1, color=tint).encode(x=x("median"), tooltip=tips),
        base.mark_point(size=60, opacity=1, color="var(--ink)", fill="var(--paper)").encode(
            x=x("then"), tooltip=tips
        ),
    ]
    for layer, field in zip((0, 1, 2), ("median", "low", "median"), strict=True):
        layers[layer] = layers[layer].transform_filter(f"isValid(datum.{field})")
    if low < 1 < high:
        one = _chart("one").mark_rule(color="var(--quiet)", strokeDash=[2, 3])
        layers.insert(0, one.encode(x=x("then")))
    data = {"rows": _rows(marks, metric, 1.0), "one": [{"then": 1.0}]}
    return _spec(layers, _ROW * len(marks), data)


def _row_axis(names: Sequence[str]) -> Any:
    alt = _altair()
    axis = alt.Axis(title=None, domain=False, ticks=False, grid=True, labelColor="var(--ink)", labelPadding=8)
    return alt.Y("contender:N", sort=list(names), scale=alt.Scale(domain=list(names)), axis=axis)


def _across(marks: Sequence[_Mark], unit: float) -> tuple[Any, Any]:
    """The horizontal scale and axis of a dot plot: logarithmic wherever all medians are positive."""
    alt = _altair()
    middles = [mark.value.estimate / unit for mark in marks if mark.value]
    ends = [end / unit for mark in marks for end in _ends(mark)]
    if min(middles) > 0:
        low = min([*middles, *(end for end in ends if end > 0)]) / 1.3
        high = max(ends) * 1.3
        axis = alt.Axis(format=",~r", values=log_ticks(low, high), grid=True)
        return alt.Scale(type="log", domain=[low, high], nice=False, clamp=True), axis
    low, high = min(0.0, *ends), max(0.0, *ends) or 1.0
    return alt.Scale(type="linear", domain=[low, high], nice=True), alt.Axis(format=",~r", tickCount=5)


def _tips(**titles: str) -> list[Any]:
    """Tooltips by field."""
    alt = _altair()
    return [
        alt.Tooltip(field=field, type="quantitative" if field == "x" else "nominal", title=title)
        for field, title in titles.items()
    ]


def _rows(marks: Sequence[_Mark], metric: Metric, unit: float) -> list[dict[str, Any]]:
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


def _ends(mark: _Mark) -> tuple[float, float]:
    value = mark.value
    if value is None:
        return 0.0, 0.0
    return (
        value.estimate if value.low is None else value.low,
        value.estimate if value.high is None else value.high,
    )


def _least(marks: Iterable[_Mark]) -> float:
    return min(_ends(mark)[0] for mark in marks)


def _exactly(value: float | None) -> Interval | None:
    return None if value is None else Interval(value, None, None, 1)


def _unit(marks: Sequence[_Mark], unit: str) -> tuple[float, str]:
    """One unit for a dot plot: that of the middle between the smallest and the largest."""
    values = [abs(mark.value.estimate) for mark in marks if mark.value and mark.value.estimate]
    middle = math.sqrt(min(values)) * math.sqrt(max(values)) if values else 1.0
    return numbers.scale(middle, unit)


def log_ticks(low: float, high: float) -> list[float]:
    """Three to eight round numbers on a logarithmic axis from `low` to `high`, both positive."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found: list[float] = []
    for steps in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7), tuple(n / 10 for n in range(10, 100))):
        found = [float(f"{s}e{d}") for d in decades for s in steps if low <= float(f"{s}e{d}") <= high]
        if len(found) >= 3:
            break
    return found[:: math.ceil(len(found) / 8)] if len(found) > 1 else [low, high]


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


def _scale(names: Sequence[str], give: Callable[[str], Any]) -> Any:
    return _altair().Scale(domain=list(names), range=[give(name) for name in names])


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _chart(data: str) -> Any:
    # Data by name: Altair copies what it holds many times over, which took most of a report's time.
    alt = _altair()
    return alt.Chart(alt.NamedData(data))


def _spec(layers: Sequence[Any], height: int, data: Mapping[str, Any]) -> dict[str, Any]:
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
    }


def _altair() -> Any:
    # By name: it loads thousands of classes, and their types would cost mypy more than all the rest.
    return importlib.import_module("altair")
