"""One trial over time: the CPU of its threads, its memory, and which unit was busy when."""

from collections.abc import Iterator, Sequence

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Cell, Metric
from ringside.model.results import Interval, Timeline
from ringside.probe.protocol import Span
from ringside.render.plots import spec
from ringside.render.plots.lines import estimate_lines
from ringside.render.text.words import where
from ringside.workloads.base import OTHER_THREADS, SpansView, TimelineView


def timeline_charts(analysis: RunAnalysis) -> Iterator[spec.Chart]:
    """CPU and memory over time of one trial of each cell, then the latest message of each second."""
    view = analysis.measurement.timeline_view
    if view is None:
        return
    for point in analysis.points:
        timelines = {cell.contender: each for cell, each in analysis.timelines.items() if cell.point == point}
        blocks = ", ".join(f"{name} {timeline.block}" for name, timeline in timelines.items())
        at = where(analysis, point, ": ")
        drawn = (
            spec.Panel(name, _timeline(timeline, view), point)
            for name, timeline in timelines.items()
            if timeline.cpu and timeline.pss_bytes.values
        )
        yield spec.chart("timeline", drawn, at=at, view=view, blocks=blocks)
        latest = [
            (name, t, Interval(seconds, None, None, 1))
            for name, timeline in timelines.items()
            for t, seconds in timeline.latest_s
            if seconds > 0
        ]
        times = {t for _, t, _ in latest}
        if len(times) > 1:
            metric = Metric("latest_s", "s", view.latest_y_title, "")
            lines = estimate_lines(analysis, metric, spec.x_axis("x", view.x_title, times, log=True), latest)
            yield spec.chart("latest", [spec.Panel(analysis.label(point), lines, point)], at=at, view=view)


_MEMORY, _KERNEL = "memory (PSS)", "kernel, grown"


def _timeline(timeline: Timeline, view: TimelineView) -> spec.Json:
    # The first interval begins at 0, which a logarithmic axis does not have.
    first, last = next(edge for edge in timeline.edges if edge > 0), timeline.edges[-1]
    x = spec.x_axis("t", f"{view.x_title} (logarithmic)", (first, last), log=True)
    highest = max([*timeline.pss_bytes.values, *timeline.kernel_bytes.values]) * 1.08
    unit, unit_name = units.scale(highest, "B")
    threads = {name: f"var(--c{number % len(spec.BUNDLED)})" for number, name in enumerate(timeline.cpu)}
    threads |= {OTHER_THREADS: "var(--grid)"} if OTHER_THREADS in threads else {}
    layers = spec.template(
        "timeline",
        x=x,
        threads=list(threads),
        colours=list(threads.values()),
        # How many connections were open has no axis: its top is all of them.
        open=[0, max([1.0, *timeline.open.values]) * 1.08],
        title=f"memory ({unit_name})",
        memory=[0, highest / unit],
        kinds=[_MEMORY, _KERNEL],
    )
    memory = ((_MEMORY, timeline.pss_bytes), (_KERNEL, timeline.kernel_bytes))
    data = {
        "open": [{"t": max(first, t), "open": value} for t, value in timeline.open],
        # The last interval ends where the picture does: a step needs a row there, too.
        "cpu": [
            {"t": t, "thread": name, "cores": value, "place": place}
            for place, (name, values) in enumerate(timeline.cpu.items())
            for t, value in zip(timeline.edges[1:], (*values[1:], values[-1]), strict=True)
        ],
        "memory": [
            {"t": max(t, first), "what": what, "bytes": value / unit}
            for what, series in memory
            for t, value in series
        ],
        "marker": [] if timeline.marker_s is None else [{"t": max(first, timeline.marker_s)}],
    }
    return spec.layered(layers, 230, data) | {"resolve": {"scale": {"y": "independent"}}}


def span_charts(analysis: RunAnalysis) -> Iterator[spec.Chart]:
    """A chart for each point, a panel for each contender that was traced."""
    view = analysis.measurement.spans_view
    if view is None:
        return
    for point in analysis.points:
        drawn = (
            spec.Panel(name, _span_bars(spans, view, spec.colour(name, analysis.floor)), point)
            for name in analysis.names
            if (spans := analysis.spans.get(Cell(name, point)))
        )
        yield spec.chart("spans", drawn, at=where(analysis, point, ": "), view=view)


def _span_bars(spans: Sequence[Span], view: SpansView, tint: str) -> spec.Json:
    """Units are numbered from 1 in the order of their own names."""
    unit_ns, unit_name = units.scale(max(span.end_ns for span in spans), "ns")
    numbers = {unit: number for number, unit in enumerate(sorted({span.unit for span in spans}), 1)}
    rows = []
    for job, span in enumerate(spans, 1):
        begin, end = span.begin_ns / unit_ns, span.end_ns / unit_ns
        took = units.quantity(span.end_ns - span.begin_ns, "ns")
        rows.append({"job": job, "unit": numbers[span.unit], "begin": begin, "end": end, "took": took})
    layers = spec.template("spans", title=f"{unit_name} since {view.origin}", tint=tint)
    return spec.layered(layers, max(60, 18 * len(numbers)), {"rows": rows})
