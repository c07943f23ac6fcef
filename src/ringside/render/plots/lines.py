"""Lines over a factor, a percentile, a rate or time, each contender's named at its end."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from typing import Any

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric, Point
from ringside.render.plots.spec import (
    Chart,
    Json,
    Mark,
    Panel,
    axis_title,
    by_contender,
    dash,
    hue,
    layer,
    log_ticks,
    numbers,
    quantitative,
    rows,
    sentence,
    tooltip,
    with_names,
)
from ringside.workloads.base import Curve, OverRate

_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
_HEIGHT = 280


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
    low = min(mark.low for mark in marks) / unit / 1.15 if log else 0.0
    y = numbers(axis_title(metric, unit_name), low, highest / unit * (1.15 if log else 1.06), log=log)
    x = _x(x_title, marks, log=log if log_x is None else log_x, places=places)
    names = [name for name in analysis.names if any(mark.label == name for mark in marks)]
    colours = hue(analysis, names)
    shapes = by_contender(names, lambda name: _SHAPES[analysis.names.index(name) % len(_SHAPES)])
    tips = tooltip(contender="contender", shown=metric.title, interval="95 % interval", n="n")
    tips.insert(1, quantitative("x", title=x_title))
    at = {"x": x, "y": quantitative("median", **y), "color": colours}
    band = {"x": x, "y": quantitative("low", **y), "y2": {"field": "high"}, "color": colours}
    line = {**at, "strokeDash": dash(analysis, names)}
    dot = {**at, "shape": shapes, "tooltip": tips}
    has_bands = any(mark.value and mark.value.low is not None for mark in marks)
    layers = [
        *([layer("rows", "area", opacity=0.2, line=False, encoding=band)] if has_bands else []),
        layer("rows", "line", strokeWidth=2, encoding=line),
        layer("rows", "point", filled=True, size=46, opacity=1, encoding=dot),
    ]
    last = {name: max((m for m in marks if m.label == name), key=lambda mark: mark.x) for name in names}
    ends = {name: mark.value.estimate / unit for name, mark in last.items() if mark.value}
    return with_names(layers, _HEIGHT, {"rows": rows(marks, metric, unit)}, colours, ends, y)


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


def sweep(analysis: RunAnalysis, metric: Metric, factor: str) -> Chart:
    """Lines over a factor, a pair of panels for each setting of the others; one pair where the others follow
    it, as in an experiment that lists its points."""
    others = following(analysis, factor)
    apart = (factor, *others)
    panels: list[Panel] = []
    for setting in dict.fromkeys(point.without(*apart) for point in analysis.points):
        points = [point for point in analysis.points if point.without(*apart) == setting]
        panels += both_scales(analysis, metric, factor, points)
    together = f" Other levels with each level of {factor}: {', '.join(others)}." if others else ""
    return Chart(
        f"{metric.title} over {factor}",
        f"{sentence(metric.explanation)} Medians over blocks, their 95 % intervals as bands; each twice, on "
        f"linear and on logarithmic axes.{together}",
        tuple(panels),
    )


def following(analysis: RunAnalysis, factor: str) -> tuple[str, ...]:
    """The factors that vary with this one, where each of its levels is that of one point."""
    if len({point[factor] for point in analysis.points}) < len(analysis.points):
        return ()
    return tuple(name for name in analysis.varying if name != factor)


def both_scales(analysis: RunAnalysis, metric: Metric, factor: str, points: Sequence[Point]) -> list[Panel]:
    """A metric over a factor at points with different levels of it, on linear and on logarithmic axes."""
    marks = [
        Mark(name, value, float(point[factor]))
        for name in analysis.names
        for point in points
        if (value := analysis.cell(name, point).metrics.get(metric.name))
    ]
    if not marks:
        return []
    fixed = (name for name in analysis.varying if len({point[name] for point in points}) == 1)
    setting = " ".join(f"{name}={points[0][name]}" for name in fixed if name != factor)
    panels = []
    for log, kind in ((False, "linear"), (True, "logarithmic")):
        if log and min(*(mark.x for mark in marks), *(mark.low for mark in marks)) <= 0:
            continue
        title = f"{setting}, {kind}" if setting else kind.capitalize()
        panels.append(Panel(title, lines(analysis, metric, factor, marks, log=log)))
    return panels


def curve_charts(analysis: RunAnalysis) -> Iterator[Chart]:
    """The curves of the workload: each contender's metrics in their places. Those of one title are panels of
    one plot."""
    for title in dict.fromkeys(curve.title for curve in analysis.measurement.curves):
        together = [curve for curve in analysis.measurement.curves if curve.title == title]
        drawn = (
            (curve, point, _curve_marks(analysis, curve, point))
            for point in analysis.points
            for curve in together
            if curve.applies(point)
        )
        caption = f"{sentence(together[0].explanation)} Bands are 95 % intervals; the y axis is logarithmic."
        panels = [
            Panel(
                ", ".join(filter(None, (analysis.label(point), curve.panel))),
                _curve_lines(analysis, curve, marks),
            )
            for curve, point, marks in drawn
            if len({mark.x for mark in marks}) > 1
        ]
        yield Chart(title, caption, tuple(panels))


def _curve_marks(analysis: RunAnalysis, curve: Curve, point: Point) -> list[Mark]:
    return [
        Mark(name, value, place)
        for name in analysis.names
        for place, _, metric in curve.steps
        if (value := analysis.cell(name, point).metrics.get(metric)) and value.estimate > 0
    ]


def _curve_lines(analysis: RunAnalysis, curve: Curve, marks: Sequence[Mark]) -> Json:
    # All metrics of a curve have one unit.
    first = analysis.measurement.metric(curve.steps[0][2])
    metric = dataclasses.replace(first, title=curve.y_title, explanation=curve.explanation)
    places = () if curve.logarithmic else [(place, label) for place, label, _ in curve.steps]
    return lines(analysis, metric, curve.x_title, marks, log=True, log_x=curve.logarithmic, places=places)


def rate_charts(analysis: RunAnalysis) -> Iterator[Chart]:
    """A panel for each metric and each setting of the other factors, where there are two rates or more."""
    view = analysis.measurement.over_rate
    if view is None or view.factor not in analysis.varying:
        return
    settings = dict.fromkeys(point.without(view.factor) for point in analysis.points)
    panels = [panel for setting in settings for panel in _rate_panels(analysis, view, setting)]
    yield Chart(
        "Latency against rate",
        "Medians over blocks at each rate, their 95 % intervals as bands; both axes are logarithmic.",
        tuple(panels),
    )


def _rate_panels(analysis: RunAnalysis, view: OverRate, setting: Point) -> Iterator[Panel]:
    for metric in map(analysis.measurement.metric, view.metrics):
        marks = _rate_marks(analysis, view, setting, metric)
        if len({mark.x for mark in marks}) > 1:
            where = analysis.setting(setting)
            title = f"{where}, {metric.noun}" if where else metric.title
            yield Panel(title, lines(analysis, metric, "requests per second", marks, log=True))


def _rate_marks(analysis: RunAnalysis, view: OverRate, setting: Point, metric: Metric) -> list[Mark]:
    return [
        Mark(name, value, float(point[view.factor]))
        for name in analysis.names
        for point in analysis.points
        if point.without(view.factor) == setting
        # 0 is a closed loop, which has no rate of its own.
        and int(point[view.factor]) > 0
        and (value := analysis.cell(name, point).metrics.get(metric.name))
        and value.estimate > 0
    ]
