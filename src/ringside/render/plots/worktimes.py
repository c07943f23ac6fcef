"""Who did what when: the pieces of work of a trial as bars, a row for each unit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ringside import units as numbers
from ringside.model.results import Span
from ringside.render.plots.drawing import altair, chart, spec

_ROW, _LEAST = 18, 60


def picture(spans: Sequence[Span], tint: str) -> dict[str, Any]:
    """The Vega-Lite specification. Units are numbered from 1 in the order of their own names."""
    alt = altair()
    unit_s, unit_name = numbers.scale(max(span.end_s for span in spans), "s")
    units = {unit: number for number, unit in enumerate(sorted({span.unit for span in spans}), 1)}
    rows = [
        {
            "job": job,
            "unit": units[span.unit],
            "begin": span.begin_s / unit_s,
            "end": span.end_s / unit_s,
            "took": numbers.quantity(span.end_s - span.begin_s, "s"),
        }
        for job, span in enumerate(spans, 1)
    ]
    x_title = f"{unit_name} since the first job was handed over"
    bars = (
        chart("rows")
        .mark_bar(color=tint, stroke="var(--paper)", strokeWidth=0.5, height={"band": 0.8})
        .encode(
            x=alt.X("begin:Q", title=x_title, axis=alt.Axis(grid=True, tickCount=6)),
            x2=alt.X2("end:Q"),
            y=alt.Y("unit:O", title="unit", axis=alt.Axis(grid=False)),
            tooltip=[alt.Tooltip("job:Q"), alt.Tooltip("took:N")],
        )
    )
    return spec([bars], max(_LEAST, _ROW * len(units)), {"rows": rows})
