"""The plots of a run as Vega-Lite specifications, by Altair. Pure: nothing is drawn here.

Colours are CSS variables (`var(--c0)`), so the page decides how they look in light, in dark and on paper.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ringside.analysis import laws, published
from ringside.analysis.summary import Summary
from ringside.model.design import Cell, Metric, Point
from ringside.model.results import Interval, Outcome
from ringside.render.plots import drawing, landscapes, speedups, timelines, warmups, worktimes
from ringside.workloads.base import CPU_S

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


def missing() -> str | None:
    """The first package that plots need and that is not installed."""
    found = (importlib.util.find_spec(name) for name in ("altair", "vl_convert"))
    return next((n for n, spec in zip(("altair", "vl-convert-python"), found, strict=True) if not spec), None)


def config() -> dict[str, Any]:
    """What all plots have in common, as a Vega-Lite configuration."""
    ink, quiet, grid = "var(--ink)", "var(--quiet)", "var(--grid)"
    axis = {"labelColor": quiet, "titleColor": quiet, "tickColor": grid, "domainColor": grid}
    return {
        "background": "transparent",
        "font": "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif",
        "view": {"stroke": "transparent"},
        "text": {"color": ink, "fontSize": 12},
        # One below the other: side by side they leave a narrow panel.
        "legend": {"layout": {"bottom": {"anchor": "start", "direction": "vertical", "margin": 4}}},
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
    yield from _repeats(summary)
    yield from _speed_ups(summary)
    yield from _work_times(summary)
    yield from _landscapes(summary)
    yield from _curves(summary)
    yield from _timelines(summary)
    yield from _slopes(summary)
    for then in published.then_and_now(summary):
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
        drawing.Mark(name, value, float(point[factor]))
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
        if log and (min(mark.x for mark in marks) <= 0 or drawing.least(marks) <= 0):
            continue
        title = f"{setting}, {words}" if setting else words.capitalize()
        found.append(Panel(title, drawing.lines(summary, metric, factor, marks, log=log)))
    return found


def _dots(summary: Summary, metric: Metric) -> Chart:
    """A dot plot for each point, the best contender on top."""
    panels = []
    for point in summary.points:
        marks = []
        for name in summary.names():
            cell = summary.cells[Cell(name, point)]
            failed = next((str(outcome) for outcome in cell.outcomes if outcome is not Outcome.OK), "–")
            marks.append(drawing.Mark(name, cell.metrics.get(metric.name), absent=failed))
        if any(mark.value for mark in marks):
            title = summary.label(point)
            panels.append(Panel(title, drawing.dot_plot(summary, metric, marks)))
    return Chart(
        metric.title,
        f"{_sentence(metric.explanation)} Dots are medians over blocks, bars 95 % intervals; axes are "
        "logarithmic where no median is 0.",
        tuple(panels),
    )


def _curves(summary: Summary) -> Iterator[Chart]:
    """The lines of the workload's own: each contender's metrics in their places."""
    for curve in summary.workload.curves:
        panels = []
        for point in summary.points:
            marks = [
                drawing.Mark(name, value, place)
                for name in summary.names()
                for place, _, metric in curve.steps
                if (value := summary.cells[Cell(name, point)].metrics.get(metric)) and value.estimate > 0
            ]
            if curve.applies(point) and len({mark.x for mark in marks}) > 1:
                metric = dataclasses.replace(
                    summary.workload.metric(curve.steps[0][2]), title="Latency", explanation=curve.explanation
                )
                places = () if curve.logarithmic else [(place, label) for place, label, _ in curve.steps]
                drawn = drawing.lines(
                    summary,
                    metric,
                    curve.axis,
                    marks,
                    log=True,
                    log_across=curve.logarithmic,
                    places=places,
                )
                panels.append(Panel(summary.label(point), drawn))
        caption = f"{_sentence(curve.explanation)} Bands are 95 % intervals; the upright axis is logarithmic."
        yield Chart(curve.title, caption, tuple(panels))


def _speed_ups(summary: Summary) -> Iterator[Chart]:
    """Over cores, with the fitted law and the ideal."""
    for law in laws.laws(summary, over_cores=True):
        panels = []
        for fixed in laws.settings(summary, law):
            if rows := laws.scaled(summary, law, fixed):
                varying = [name for name, _ in fixed.levels if name in summary.varying()]
                title = " ".join(f"{name}={fixed[name]}" for name in varying) or "Speed-up"
                panels.append(Panel(title, speedups.picture(summary, rows)))
        yield Chart(
            "Speed-up over cores",
            "How many times faster than on one core, from pairs inside blocks, bars are 95 % intervals. "
            "Curves are the Universal Scalability Law where three numbers of cores or more allow a fit, else "
            "straight lines; the dashed line is the ideal.",
            tuple(panels),
        )


def _repeats(summary: Summary) -> Iterator[Chart]:
    """How long each repeat inside one process took."""
    if summary.workload.repeated_metric is None:
        return
    metric = summary.workload.metric(summary.workload.repeated_metric)
    panels = []
    for point in summary.points:
        each = {
            name: found
            for name in summary.names()
            if (found := summary.repeats.get(Cell(name, point))) and min(map(min, found)) > 0
        }
        if each:
            panels.append(Panel(summary.label(point), warmups.picture(summary, metric, each)))
    yield Chart(
        f"{metric.title}, repeat by repeat",
        "The same work again and again in one process. Thin lines are blocks, the thick one is their median; "
        "the upright axis is logarithmic.",
        tuple(panels),
    )


def _work_times(summary: Summary) -> Iterator[Chart]:
    """Who did which job when: of one trial of each cell."""
    for point in summary.points:
        panels = tuple(
            Panel(name, worktimes.picture(spans, drawing.colour(summary, name)))
            for name in summary.names()
            if (spans := summary.spans.get(Cell(name, point)))
        )
        where = f": {summary.label(point)}" if len(summary.points) > 1 else ""
        yield Chart(
            f"Who did what when{where}",
            "A row for each unit (a worker, a thread, a process, a place), a bar for each job, by the "
            "program's own clock. One trial of each, with the middle headline.",
            panels,
        )


def _landscapes(summary: Summary) -> Iterator[Chart]:
    """All contenders of a point by two metrics."""
    for names in summary.workload.landscapes:
        across, upright = (summary.workload.metric(name) for name in names)
        panels = []
        for point in summary.points:
            where = {}
            for name in summary.names():
                metrics = summary.cells[Cell(name, point)].metrics
                x, y = metrics.get(across.name), metrics.get(upright.name)
                if x and y and x.estimate > 0 and y.estimate > 0:
                    where[name] = (x, y)
            if len(where) > 1:
                drawn = landscapes.landscape(summary, across, upright, where)
                panels.append(Panel(summary.label(point), drawn))
        yield Chart(
            f"{across.title} against {upright.title}",
            f"{_sentence(across.explanation)} {_sentence(upright.explanation)} Left and low is cheap; "
            "both axes are logarithmic, bars are 95 % intervals.",
            tuple(panels),
        )


def _timelines(summary: Summary) -> Iterator[Chart]:
    """Who used the CPU when, and what came late when: of one trial of each cell."""
    for point in summary.points:
        lines = {name: line for name in summary.names() if (line := summary.timelines.get(Cell(name, point)))}
        drawn = {name: timelines.picture(line) for name, line in lines.items()}
        blocks = ", ".join(f"{name} {line.block}" for name, line in lines.items())
        label = summary.label(point)
        where = f": {label}" if len(summary.points) > 1 else ""
        yield Chart(
            f"Time line{where}",
            "CPU of each thread as stacked areas, in cores; memory as a line, and as a dotted one what "
            "the kernel of the whole host holds above the beginning (both ends of each connection). At the "
            "dashed line all connections have been asked for. One trial of each, with the middle headline "
            f"(block: {blocks}).",
            tuple(Panel(name, spec) for name, spec in drawn.items() if spec),
        )
        late = [
            drawing.Mark(name, Interval(late_s, None, None, 1), t)
            for name, line in lines.items()
            for t, late_s in zip(line.latest_s.times, line.latest_s.values, strict=True)
            if late_s > 0
        ]
        if len({mark.x for mark in late}) > 1:
            metric = Metric("latest_s", "s", "Latest chunk", "")
            spec = drawing.lines(summary, metric, "seconds since the first connection", late, log=True)
            yield Chart(
                f"Lateness over time{where}",
                "The latest chunk of each second, of the same trials; both axes are logarithmic.",
                (Panel(label, spec),),
            )


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
            marks = [drawing.Mark(name, values.get(name)) for name in summary.names()]
            title = str(fixed) if len(settings) > 1 else slope.title
            panels.append(Panel(title, drawing.dot_plot(summary, metric, marks)))
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
            drawing.Mark(summary.label(line.point), line.now, then=line.then)
            for line in then.ratios
            if line.who == who
        ]
        panels.append(Panel(who, drawing.dumbbells(drawing.colour(summary, who.split(" / ")[0]), marks)))
    year = then.source.date[:4]
    return Chart(
        f"{then.metric.title}: ratios then and now",
        f"○ {year}, as published in “{then.source.title}”; ● this run, with its 95 % interval as a bar. "
        "The line between them is how far things have moved; 1 means that both take the same.",
        tuple(panels),
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
