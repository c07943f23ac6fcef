"""Many runs of one experiment: changes of level, what was different from run to run, figures over time."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from ringside import units
from ringside.analysis.history import CONFIRMED_BY, LEAST_EFFECT, MIN_RUNS, Cause, Change, History, Series
from ringside.model.design import Point
from ringside.model.results import Verdict
from ringside.render.plots.charts import config, missing
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
)
from ringside.render.table import TableCell, TableData
from ringside.render.tables import cells
from ringside.text import minute, one_line

_MAX_NAMED = 6


def change_table(history: History) -> TableData:
    """A row for each change of level, the latest first."""
    rows = tuple(_change_row(history, series, change) for series, change in history.changes)
    tested = [series for series in history.series if len(series.values) >= MIN_RUNS]
    least = units.percent(LEAST_EFFECT)
    rule = f"E-divisive at 1 %, {least} or more, confirmed by {CONFIRMED_BY} later runs"
    if not tested:
        runs = units.count(len(history.runs), "run")
        note = f"Changes of level are looked for from {MIN_RUNS} runs on; this history has {runs}."
    elif not rows:
        note = f"No level changed in {len(tested)} series: {rule}."
    else:
        cause = "What changed at the same run may be the cause, and need not be."
        note = f"{rule}, in {len(tested)} series. {cause}"
    columns = (
        "contender",
        "point",
        "since",
        "before",
        "after",
        "after / before",
        "p",
        "what else changed there",
    )
    return TableData(f"Changes of the {history.metric.noun}", columns, rows, notes=(note,))


def run_table(history: History) -> TableData:
    """A row for each run, the latest first: when, and what was different from the run before."""
    rows = []
    for index, run in reversed(list(enumerate(history.runs))):
        rows.append(
            (
                cells.text(run.id),
                cells.text(minute(run.started_at)),
                cells.text(one_line(str(run.host.get("cpu_model") or "unknown CPU"))),
                cells.text(str(run.host.get("ringside") or "")),
                cells.text(_differences(history.since_before(index))),
            )
        )
    columns = ("run", "began (UTC)", "CPU", "ringside", "different from the run before")
    return TableData("Runs", columns, tuple(rows))


def cause_text(cause: Cause) -> str:
    """`go: 1.22 → 1.23`, `kernel: 6.1 → 6.12`, `the machine computes in 1.10 times the time`."""
    if cause.kind == "version":
        return f"{cause.name}: {_value(cause.before)} → {_value(cause.after)}"
    if cause.kind == "sources":
        return f"{cause.name}: its sources"
    if cause.kind == "speed":
        times = units.significant(cause.after)
        return f"the machine: its reference computation ({cause.name}) took {times} times as long"
    return f"the machine: {cause.name.replace('_', ' ')} {_value(cause.before)} → {_value(cause.after)}"


def attribution(change: Change) -> str:
    """What else changed at a change of level, in words."""
    return "; ".join(map(cause_text, change.causes)) or "nothing that is recorded"


def _change_row(history: History, series: Series, change: Change) -> tuple[TableCell, ...]:
    metric = history.metric
    is_better = (change.ratio < 1) == metric.smaller_is_better
    kind = units.kind(Verdict.FASTER if is_better else Verdict.SLOWER)
    before, after = (series.values[change.index + step] for step in (-1, 0))
    return (
        cells.text(series.contender),
        cells.text(history.label(series.point)),
        cells.text(change.run),
        TableCell(units.metric_estimate(before, metric)),
        TableCell(units.metric_estimate(after, metric)),
        TableCell(units.significant(change.ratio), kind),
        TableCell(f"{change.p:.3f}"),
        cells.text(attribution(change)),
    )


def _differences(causes: Sequence[Cause] | None) -> str:
    if causes is None:
        return "the first run"
    texts = sorted(map(cause_text, causes))
    more = f"; {len(texts) - _MAX_NAMED} more" if len(texts) > _MAX_NAMED else ""
    return "; ".join(texts[:_MAX_NAMED]) + more or "nothing that is recorded"


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        value = ",".join(map(str, value))
    return one_line(str(value), 80) if value not in (None, "") else "none"


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


_WIDTH = 1100


def history_view(history: History, links: Mapping[str, str]) -> dict[str, Any]:
    """What the template shows. `links`: addresses of reports by the runs' ids."""
    plots = history_chart(history) if len(history.runs) > 1 and history.series else None
    return {
        "history": history,
        "plots": plots,
        "drawings": [(panel.title, drawing(panel.spec)) for panel in plots.panels] if plots else [],
        "tables": [change_table(history), run_table(history)],
        "links": links,
    }


def drawing(spec: Json, width: int = _WIDTH) -> Markup | None:
    """A plot as SVG that stands in a page and has its colours, light or dark; `width`: of the plot without
    its axis, in pixels. None where the package that draws is missing."""
    if missing():
        return None
    convert = importlib.import_module("vl_convert")
    svg: str = convert.vegalite_to_svg(json.dumps({**spec, "width": width, "config": config()}))
    return Markup(svg)
