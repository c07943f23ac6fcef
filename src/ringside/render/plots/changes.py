"""Plots of what changed: two runs, the second over the first, and figures over time."""

from __future__ import annotations

from collections.abc import Sequence

from ringside import units
from ringside.analysis.history import History
from ringside.analysis.run_diff import CellChange, RunDiff
from ringside.model.design import Point
from ringside.render.plots.rows import RatioRow, ratios
from ringside.render.plots.spec import (
    Chart,
    Json,
    Panel,
    axis_title,
    by_contender,
    contender_colour,
    described,
    layer,
    layered,
    nominal,
    quantitative,
    row_axis,
)

# More rows or panels than these are in the table alone.
_MAX_ROWS, _MAX_PANELS = 60, 6


def diff_chart(diff: RunDiff) -> Chart:
    """A panel for each metric of which both runs have positive figures."""
    metrics = list(dict.fromkeys(change.metric for change in diff.changes))
    panels = []
    for metric in metrics:
        changes = [each for each in diff.changes if each.metric == metric and each.ratio.estimate > 0]
        if changes:
            panels.append(Panel(metric.title, _forest(diff, changes[:_MAX_ROWS])))
    caption = (
        "The figures of the second run over those of the first, with the interval of the ratio. Between the "
        f"dashed lines, {units.percent(diff.margin)} around 1, two are equivalent."
    )
    return described(Chart("Second over first", caption, tuple(panels[:_MAX_PANELS])))


def _forest(diff: RunDiff, changes: Sequence[CellChange]) -> Json:
    contenders = {_label(diff, each): each.cell.contender for each in changes}
    colours = by_contender(contenders, lambda label: contender_colour(contenders[label]))
    rows = [RatioRow(_label(diff, each), each.ratio, each.verdict, each.metric) for each in changes]
    y = row_axis(list(contenders), labelLimit=320)
    return ratios(rows, diff.margin, "times the first run", y, colours)


def _label(diff: RunDiff, change: CellChange) -> str:
    """The contender, and the point where there are several."""
    name = change.cell.contender
    return f"{name}, {diff.first.label(change.cell.point)}" if len(diff.first.points) > 1 else name


_HEIGHT = 260
# More points would make a page of nothing but plots.
_MAX_POINTS = 6


def history_chart(history: History) -> Chart:
    """A panel for each point: a line for each contender over time, on a log axis, changes of level marked."""
    points = history.points[:_MAX_POINTS]
    more = len(history.points) - len(points)
    caption = (
        f"The {history.metric.noun} by the date of the run: medians with 95 % intervals, on a log axis. A "
        "dashed line marks the run at which a level changed, and how many times the old level the new one is."
    )
    caption += f" {units.count(more, 'more point')} of the experiment are in the data." if more else ""
    panels = tuple(Panel(history.label(point), _history_lines(history, point)) for point in points)
    return described(Chart(f"{history.metric.title} over time", caption, panels))


def _history_lines(history: History, point: Point) -> Json:
    series = [each for each in history.series if each.point == point]
    highest = max(value.estimate for each in series for value in each.values)
    unit, unit_name = units.scale(highest, history.metric.unit)
    rows = [
        {
            "contender": each.contender,
            "when": history.runs[index].started_at,
            "median": value.estimate / unit,
            "low": None if value.low is None else value.low / unit,
            "high": None if value.high is None else value.high / unit,
        }
        for each in series
        for index, value in zip(each.indices, each.values, strict=True)
    ]
    marks = [
        {
            "contender": each.contender,
            "when": history.runs[each.indices[change.index]].started_at,
            "text": f"×{units.significant(change.ratio)}",
            "median": each.values[change.index].estimate / unit,
        }
        for each in series
        for change in each.changes
    ]
    x = {"field": "when", "type": "temporal", "title": None, "axis": {"format": "%Y-%m-%d", "tickCount": 8}}
    y = {
        "title": axis_title(history.metric, unit_name),
        "scale": {"type": "log", "nice": False, "zero": False},
        "axis": {"format": ",~r", "tickCount": 6},
    }
    at = {"x": x, "color": by_contender(dict.fromkeys(each.contender for each in series), contender_colour)}
    level = {**at, "y": quantitative("median", **y)}
    bar = {**at, "y": quantitative("low", **y), "y2": {"field": "high"}}
    drawn = [
        layer("rows", "line", strokeWidth=1.5, encoding=level),
        layer("rows", "rule", valid="low", opacity=0.5, strokeWidth=2, encoding=bar),
        layer("rows", "point", filled=True, size=36, encoding=level),
    ]
    if marks:
        text = {**level, "text": nominal("text")}
        look: Json = {"align": "left", "dx": 5, "dy": -9, "fontSize": 12, "fontWeight": "bold"}
        drawn += [
            layer("marks", "rule", strokeDash=[4, 3], strokeWidth=1.5, encoding=at),
            layer("marks", "text", encoding=text, **look),
        ]
    return layered(drawn, _HEIGHT, {"rows": rows, "marks": marks})
