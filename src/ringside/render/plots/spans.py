"""Which unit of a program was busy when: pieces of work as bars, a row for each unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Cell
from ringside.model.results import Span
from ringside.render.plots.spec import Chart, Json, Panel, colour, layer, layered, nominal, quantitative
from ringside.workloads.base import SpansView

_ROW, _MIN_HEIGHT = 18, 60


def charts(analysis: RunAnalysis) -> Iterator[Chart]:
    """A chart for each point, a panel for each contender that was traced."""
    view = analysis.measurement.spans_view
    if view is None:
        return
    for point in analysis.points:
        where = f": {analysis.label(point)}" if len(analysis.points) > 1 else ""
        yield Chart(
            f"{view.title}{where}",
            f"{view.caption} One trial of each, with the median headline.",
            tuple(
                Panel(name, _picture(spans, view, colour(analysis, name)))
                for name in analysis.names
                if (spans := analysis.spans.get(Cell(name, point)))
            ),
        )


def _picture(spans: Sequence[Span], view: SpansView, tint: str) -> Json:
    """Units are numbered from 1 in the order of their own names."""
    unit_s, unit_name = units.scale(max(span.end_s for span in spans), "s")
    numbers = {unit: number for number, unit in enumerate(sorted({span.unit for span in spans}), 1)}
    rows = [
        {
            "job": job,
            "unit": numbers[span.unit],
            "begin": span.begin_s / unit_s,
            "end": span.end_s / unit_s,
            "took": units.quantity(span.end_s - span.begin_s, "s"),
        }
        for job, span in enumerate(spans, 1)
    ]
    x_title = f"{unit_name} since {view.origin}"
    bars = layer(
        "rows",
        "bar",
        color=tint,
        stroke="var(--paper)",
        strokeWidth=0.5,
        height={"band": 0.8},
        encoding={
            "x": quantitative("begin", title=x_title, axis={"grid": True, "tickCount": 6}),
            "x2": {"field": "end"},
            "y": {"field": "unit", "type": "ordinal", "title": "unit", "axis": {"grid": False}},
            "tooltip": [quantitative("job"), nominal("took")],
        },
    )
    return layered([bars], max(_MIN_HEIGHT, _ROW * len(numbers)), {"rows": rows})
