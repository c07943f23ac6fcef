"""Figures over many runs of one experiment, with the runs at which their levels changed."""

from __future__ import annotations

from ringside import units
from ringside.analysis.history import History
from ringside.model.design import Point
from ringside.render.plots.colours import of_contender
from ringside.render.plots.spec import (
    Chart,
    Json,
    Panel,
    axis_title,
    by_contender,
    described,
    layer,
    layered,
    quantitative,
)

_HEIGHT = 260
# More points would make a page of nothing but plots.
_MAX_POINTS = 6


def chart(history: History) -> Chart:
    """A panel for each point: a line for each contender over time, on a log axis, changes of level marked."""
    points = history.points[:_MAX_POINTS]
    more = len(history.points) - len(points)
    caption = (
        f"The {history.metric.noun} by the date of the run: medians with 95 % intervals, on a log axis. A "
        "dashed line marks the run at which a level changed, and how many times the old level the new one is."
    )
    caption += f" {units.count(more, 'more point')} of the experiment are in the data." if more else ""
    panels = tuple(Panel(history.label(point), _spec(history, point)) for point in points)
    return described(Chart(f"{history.metric.title} over time", caption, panels))


def _spec(history: History, point: Point) -> Json:
    series = [each for each in history.series if each.point == point]
    highest = max(value.estimate for each in series for value in each.values)
    unit, unit_name = units.scale(highest, history.metric.unit)
    rows, marks = [], []
    for each in series:
        for index, value in zip(each.indices, each.values, strict=True):
            rows.append(
                {
                    "contender": each.contender,
                    "when": history.runs[index].started_at,
                    "median": value.estimate / unit,
                    "low": None if value.low is None else value.low / unit,
                    "high": None if value.high is None else value.high / unit,
                }
            )
        marks += [
            {
                "contender": each.contender,
                "when": history.runs[each.indices[change.index]].started_at,
                "text": f"×{units.significant(change.ratio)}",
                "median": each.values[change.index].estimate / unit,
            }
            for change in each.changes
        ]
    names = list(dict.fromkeys(each.contender for each in series))
    colours = by_contender(names, of_contender)
    x = {"field": "when", "type": "temporal", "title": None, "axis": {"format": "%Y-%m-%d", "tickCount": 8}}
    y = {
        "title": axis_title(history.metric, unit_name),
        "scale": {"type": "log", "nice": False, "zero": False},
        "axis": {"format": ",~r", "tickCount": 6},
    }
    level = {"x": x, "y": quantitative("median", **y), "color": colours}
    bars = {"x": x, "y": quantitative("low", **y), "y2": {"field": "high"}, "color": colours}
    drawn = [
        layer("rows", "line", strokeWidth=1.5, encoding=level),
        layer("rows", "rule", valid="low", opacity=0.5, strokeWidth=2, encoding=bars),
        layer("rows", "point", filled=True, size=36, encoding=level),
    ]
    if marks:
        drawn += [
            layer("marks", "rule", strokeDash=[4, 3], strokeWidth=1.5, encoding={"x": x, "color": colours}),
            layer(
                "marks",
                "text",
                align="left",
                dx=5,
                dy=-9,
                fontSize=12,
                fontWeight="bold",
                encoding={
                    "x": x,
                    "y": quantitative("median", **y),
                    "text": {"field": "text", "type": "nominal"},
                    "color": colours,
                },
            ),
        ]
    return layered(drawn, _HEIGHT, {"rows": rows, "marks": marks})
