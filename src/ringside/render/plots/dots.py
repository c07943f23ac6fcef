"""Dots in rows: a metric of each contender, the best on top."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric
from ringside.model.results import Outcome
from ringside.render.plots.marks import Mark, horizontal, interval_rows, middle_unit, row_axis, rows
from ringside.render.plots.spec import (
    Chart,
    Json,
    Panel,
    axis_title,
    hue,
    layer,
    layered,
    quantitative,
    sentence,
    tooltip,
)

_ROW = 24


def dots(analysis: RunAnalysis, metric: Metric) -> Chart:
    """A dot plot for each point."""
    panels = []
    for point in analysis.points:
        marks = []
        for name in analysis.names:
            cell = analysis.cell(name, point)
            failed = next((str(outcome) for outcome in cell.outcomes if outcome is not Outcome.OK), "–")
            marks.append(Mark(name, cell.metrics.get(metric.name), absent=failed))
        if any(mark.value for mark in marks):
            panels.append(Panel(analysis.label(point), dot_plot(analysis, metric, marks)))
    return Chart(
        metric.title,
        f"{sentence(metric.explanation)} Dots are medians over blocks, bars 95 % intervals; axes are "
        "logarithmic where no median is 0.",
        tuple(panels),
    )


def dot_plot(analysis: RunAnalysis, metric: Metric, marks: Sequence[Mark]) -> Json:
    """Rows sorted by the figure, which is written beside each; the floor is a dashed line as well."""
    sign = 1 if metric.smaller_is_better else -1
    order = sorted(marks, key=lambda mark: sign * mark.value.estimate if mark.value else math.inf)
    labels = [mark.label for mark in order]
    unit, unit_name = middle_unit(marks, metric.unit)
    scale, axis = horizontal(marks, unit)
    across = {"title": axis_title(metric, unit_name), "scale": scale, "axis": axis}
    y, colours = row_axis(labels), hue(analysis, labels)
    tips = tooltip(contender="contender", shown=metric.title, interval="95 % interval", n="n")
    intervals = interval_rows("median", across, y, colours, tips)
    floor = next((mark.value for mark in marks if mark.label == analysis.floor and mark.value), None)
    floor_line = layer(
        "floor",
        "rule",
        color="var(--limit)",
        strokeDash=[4, 4],
        encoding={"x": quantitative("median", **across)},
    )
    data = rows(order, metric, unit)
    for row, mark in zip(data, order, strict=True):
        row["text"] = row.get("shown", mark.absent)
    return layered(
        [*([floor_line] if floor else []), *intervals],
        _ROW * len(order),
        {"rows": data, "floor": [{"median": floor.estimate / unit}] if floor else []},
    )
