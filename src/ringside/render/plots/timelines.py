"""One trial over time: the CPU of its threads as stacked areas with its memory as lines, and which unit was
busy when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Cell, Metric, Point
from ringside.model.results import Interval, Span, Timeline, TimeSeries
from ringside.render.plots.lines import lines
from ringside.render.plots.spec import (
    COLOURS,
    Chart,
    Json,
    Mark,
    Panel,
    colour,
    layer,
    layered,
    log_ticks,
    nominal,
    quantitative,
)
from ringside.workloads.base import OTHER_THREADS, SpansView, TimelineView

_HEIGHT = 230
_MEMORY, _KERNEL = "memory (PSS)", "kernel, grown"


def timeline_charts(analysis: RunAnalysis) -> Iterator[Chart]:
    """CPU and memory over time of one trial of each cell, then the latest message of each second."""
    view = analysis.measurement.timeline_view
    if view is None:
        return
    for point in analysis.points:
        timelines = {
            name: timeline
            for name in analysis.names
            if (timeline := analysis.timelines.get(Cell(name, point)))
        }
        where = _where(analysis, point)
        blocks = ", ".join(f"{name} {timeline.block}" for name, timeline in timelines.items())
        yield Chart(
            f"Time line{where}",
            f"{view.caption} One trial of each, with the median headline (block: {blocks}).",
            tuple(
                Panel(name, _timeline(timeline, view))
                for name, timeline in timelines.items()
                if timeline.cpu and timeline.pss_bytes.values
            ),
        )
        yield from _latest(analysis, view, point, timelines, where)


def _where(analysis: RunAnalysis, point: Point) -> str:
    return f": {analysis.label(point)}" if len(analysis.points) > 1 else ""


def _latest(
    analysis: RunAnalysis, view: TimelineView, point: Point, timelines: Mapping[str, Timeline], where: str
) -> Iterator[Chart]:
    marks = [
        Mark(name, Interval(seconds, None, None, 1), t)
        for name, timeline in timelines.items()
        for t, seconds in zip(timeline.latest_s.times, timeline.latest_s.values, strict=True)
        if seconds > 0
    ]
    if len({mark.x for mark in marks}) > 1:
        metric = Metric("latest_s", "s", view.latest_y_title, "")
        panel = Panel(analysis.label(point), lines(analysis, metric, view.x_title, marks, log=True))
        caption = f"{view.latest_caption} Of the same trials; both axes are logarithmic."
        yield Chart(f"{view.latest_title}{where}", caption, (panel,))


def _timeline(timeline: Timeline, view: TimelineView) -> Json:
    # The first interval begins at 0, which a logarithmic axis does not have.
    first, last = next(edge for edge in timeline.edges if edge > 0), timeline.edges[-1]
    x = quantitative(
        "t",
        title=f"{view.x_title} (logarithmic)",
        scale={"type": "log", "domain": [first, last], "nice": False, "clamp": True},
        axis={"grid": False, "format": "~g", "values": log_ticks(first, last), "labelFlush": False},
    )
    highest = max([*timeline.pss_bytes.values, *timeline.kernel_bytes.values]) * 1.08
    unit, unit_name = units.scale(highest, "B")
    layers = [
        _areas(list(timeline.cpu), x),
        layer("marker", "rule", color="var(--quiet)", strokeDash=[5, 4], encoding={"x": x}),
        _connections(x, max(timeline.open.values, default=0.0)),
        _memory_lines(x, unit_name, highest / unit),
    ]
    data = {
        "open": [{"t": max(first, t), "open": value} for t, value in _pairs(timeline.open)],
        # The last interval ends where the picture does: a step needs a row there, too.
        "cpu": [
            {"t": t, "thread": name, "cores": value, "place": place}
            for place, (name, cores) in enumerate(timeline.cpu.items())
            for t, value in zip(timeline.edges[1:], (*cores[1:], cores[-1]), strict=True)
        ],
        "memory": [
            {"t": max(t, first), "what": what, "bytes": value / unit}
            for what, series in ((_MEMORY, timeline.pss_bytes), (_KERNEL, timeline.kernel_bytes))
            for t, value in _pairs(series)
        ],
        "marker": [] if timeline.marker_s is None else [{"t": max(first, timeline.marker_s)}],
    }
    return layered(layers, _HEIGHT, data, independent=("y",))


def _pairs(series: TimeSeries) -> Iterator[tuple[float, float]]:
    return zip(series.times, series.values, strict=True)


def _legend(**more: Any) -> Json:
    return {"orient": "bottom", "title": None, "labelColor": "var(--quiet)", **more}


def _areas(threads: Sequence[str], x: Json) -> Json:
    tints = [
        "var(--grid)" if name == OTHER_THREADS else f"var(--c{number % COLOURS})"
        for number, name in enumerate(threads)
    ]
    axis = {"format": ",~r", "tickCount": 5, "minExtent": 30}
    stack = {
        "x": x,
        "y": quantitative("cores", stack="zero", title="CPU (cores)", axis=axis),
        "color": nominal(
            "thread",
            scale={"domain": list(threads), "range": tints},
            legend=_legend(columns=4, symbolStrokeWidth=0),
        ),
        "order": quantitative("place"),
        "tooltip": [
            nominal("thread", title="thread"),
            quantitative("cores", title="cores", format=".3~r"),
            quantitative("t", title="from", format=".3~r"),
        ],
    }
    return layer("cpu", "area", interpolate="step-after", opacity=0.75, line=False, encoding=stack)


def _connections(x: Json, most: float) -> Json:
    """How many connections were open; the ramp. It has no axis: its top is all of them."""
    scale = {"domain": [0, max(1.0, most) * 1.08], "nice": False}
    ramp = {
        "x": x,
        "y": quantitative("open", scale=scale, axis=None),
        "tooltip": [
            quantitative("open", title="open connections", format=",.0f"),
            quantitative("t", title="at", format=".3~r"),
        ],
    }
    return layer("open", "line", color="var(--quiet)", strokeDash=[5, 4], encoding=ramp)


def _memory_lines(x: Json, unit_name: str, highest: float) -> Json:
    dashes = {"domain": [_MEMORY, _KERNEL], "range": [[1, 0], [2, 2]]}
    memory = {
        "x": x,
        "y": quantitative(
            "bytes",
            title=f"memory ({unit_name})",
            scale={"domain": [0, highest], "nice": False},
            axis={"orient": "right", "format": ",~r", "tickCount": 5, "grid": False, "minExtent": 30},
        ),
        "strokeDash": nominal("what", scale=dashes, legend=_legend(symbolStrokeColor="var(--ink)")),
    }
    ink = "var(--ink)"
    return layer("memory", "line", interpolate="step-after", strokeWidth=2, color=ink, encoding=memory)


_ROW, _MIN_HEIGHT = 18, 60


def span_charts(analysis: RunAnalysis) -> Iterator[Chart]:
    """A chart for each point, a panel for each contender that was traced."""
    view = analysis.measurement.spans_view
    if view is None:
        return
    for point in analysis.points:
        yield Chart(
            f"{view.title}{_where(analysis, point)}",
            f"{view.caption} One trial of each, with the median headline.",
            tuple(
                Panel(name, _span_bars(spans, view, colour(analysis, name)))
                for name in analysis.names
                if (spans := analysis.spans.get(Cell(name, point)))
            ),
        )


def _span_bars(spans: Sequence[Span], view: SpansView, tint: str) -> Json:
    """Units are numbered from 1 in the order of their own names."""
    unit_ns, unit_name = units.scale(max(span.end_ns for span in spans), "ns")
    numbers = {unit: number for number, unit in enumerate(sorted({span.unit for span in spans}), 1)}
    rows = [
        {
            "job": job,
            "unit": numbers[span.unit],
            "begin": span.begin_ns / unit_ns,
            "end": span.end_ns / unit_ns,
            "took": units.quantity(span.end_ns - span.begin_ns, "ns"),
        }
        for job, span in enumerate(spans, 1)
    ]
    at = {
        "x": quantitative(
            "begin", title=f"{unit_name} since {view.origin}", axis={"grid": True, "tickCount": 6}
        ),
        "x2": {"field": "end"},
        "y": {"field": "unit", "type": "ordinal", "title": "unit", "axis": {"grid": False}},
        "tooltip": [quantitative("job"), nominal("took")],
    }
    look: Json = {"color": tint, "stroke": "var(--paper)", "strokeWidth": 0.5, "height": {"band": 0.8}}
    bars = layer("rows", "bar", encoding=at, **look)
    return layered([bars], max(_MIN_HEIGHT, _ROW * len(numbers)), {"rows": rows})
