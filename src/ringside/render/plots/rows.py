"""Estimates in rows: a metric of each contender, slopes, ratios to the baseline, ratios then and now."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric, Point
from ringside.model.results import Interval, Outcome, Verdict
from ringside.render.plots.lines import both_scales, following
from ringside.render.plots.spec import (
    Chart,
    Json,
    Mark,
    Panel,
    axis_title,
    colour,
    horizontal,
    hue,
    interval_rows,
    layer,
    layered,
    middle_unit,
    numbers,
    panels,
    quantitative,
    row_axis,
    rows,
    sentence,
    tooltip,
    with_grid,
)
from ringside.render.text.words import verdict_word
from ringside.text import capitalised
from ringside.workloads.base import Slope

_ROW_HEIGHT = 24


def dots(analysis: RunAnalysis, metric: Metric) -> Chart:
    """A dot plot for each point."""

    def draw(point: Point) -> Json | None:
        marks = []
        for name in analysis.names:
            cell = analysis.cell(name, point)
            failed = next((str(outcome) for outcome in cell.outcomes if outcome is not Outcome.OK), "–")
            marks.append(Mark(name, cell.metrics.get(metric.name), absent=failed))
        return dot_plot(analysis, metric, marks) if any(mark.value for mark in marks) else None

    return Chart(
        metric.title,
        f"{sentence(metric.explanation)} Dots are medians over blocks, bars 95 % intervals; axes are "
        "logarithmic where no median is 0.",
        panels(analysis, draw),
    )


def dot_plot(analysis: RunAnalysis, metric: Metric, marks: Sequence[Mark]) -> Json:
    """Rows sorted by the figure, which is written beside each; the floor is a dashed line as well."""
    sign = 1 if metric.smaller_is_better else -1
    order = sorted(marks, key=lambda mark: sign * mark.value.estimate if mark.value else math.inf)
    labels = [mark.label for mark in order]
    unit, unit_name = middle_unit(marks, metric.unit)
    across = horizontal(marks, unit, axis_title(metric, unit_name))
    tips = tooltip(contender="contender", shown=metric.title, interval="95 % interval", n="n")
    layers = interval_rows("median", across, row_axis(labels), hue(analysis, labels), tips)
    data: dict[str, list[Json]] = {"rows": rows(order, metric, unit), "floor": []}
    for row, mark in zip(data["rows"], order, strict=True):
        row["text"] = row.get("shown", mark.absent)
        if mark.label == analysis.floor and mark.value:
            data["floor"] = [{"median": mark.value.estimate / unit}]
            at = {"x": quantitative("median", **across)}
            layers.insert(0, layer("floor", "rule", color="var(--limit)", strokeDash=[4, 4], encoding=at))
    return layered(layers, _ROW_HEIGHT * len(order), data)


def slope_charts(analysis: RunAnalysis) -> Iterator[Chart]:
    """For each slope of the workload a dot plot, then the metric over the factor where that varies."""
    for slope in analysis.measurement.slopes:
        yield _slope_dots(analysis, slope)
        if slope.over in analysis.varying:
            yield _fitted(analysis, slope)


def _slope_dots(analysis: RunAnalysis, slope: Slope) -> Chart:
    values = [row for row in analysis.slopes if row.slope.name == slope.name]
    settings = list(dict.fromkeys(row.fixed for row in values))
    metric = Metric(slope.name, slope.unit, slope.title, slope.explanation)
    panels = []
    for fixed in settings:
        by_name = {row.contender: row.value for row in values if row.fixed == fixed}
        marks = [Mark(name, by_name.get(name)) for name in analysis.names]
        title = str(fixed) if len(settings) > 1 else slope.title
        panels.append(Panel(title, dot_plot(analysis, metric, marks)))
    caption = f"{sentence(slope.explanation)} Dots are medians over blocks, bars 95 % intervals."
    return Chart(slope.title, caption, tuple(panels))


def _fitted(analysis: RunAnalysis, slope: Slope) -> Chart:
    metric = analysis.measurement.metric(slope.metric)
    apart = (slope.over, *following(analysis, slope.over))
    # One setting stands for all in factors that the metric cannot depend on.
    chosen: dict[Point, Point] = {}
    for point in analysis.points:
        chosen.setdefault(point.without(*apart, *slope.regardless_of), point.without(*apart))
    panels: list[Panel] = []
    for setting in chosen.values():
        points = [point for point in analysis.points if point.without(*apart) == setting]
        panels += both_scales(analysis, metric, slope.over, points)
    return Chart(f"{metric.title} over {slope.over}", sentence(metric.explanation), tuple(panels))


def forest_chart(analysis: RunAnalysis) -> Chart:
    """The headline of each contender over the baseline's, a panel for each point."""
    metric, baseline = analysis.headline, analysis.experiment.baseline
    margin = analysis.experiment.margin

    def draw(point: Point) -> Json | None:
        compared = (
            analysis.comparison(metric, name, baseline, point) for name in analysis.names if name != baseline
        )
        ordered = sorted(
            (each for each in compared if each and each.ratio.estimate > 0),
            key=lambda each: each.ratio.estimate,
        )
        names = [each.contender for each in ordered]
        drawn = [
            RatioRow(each.contender, each.ratio, each.claim, metric, "too few blocks") for each in ordered
        ]
        if not drawn:
            return None
        return ratios(drawn, margin, "times the baseline", row_axis(names), hue(analysis, names))

    return Chart(
        f"Ratio to {baseline}",
        f"{capitalised(metric.noun)} over that of {baseline} in the same block, with the interval of the "
        f"ratio. Between the dashed lines, {units.percent(margin)} around 1, two are equivalent.",
        panels(analysis, draw),
    )


@dataclass(frozen=True, slots=True)
class RatioRow:
    """A row of a plot of ratios. `absent`: what stands in the place of an interval."""

    label: str
    ratio: Interval
    verdict: Verdict
    metric: Metric
    absent: str = ""


def ratios(drawn: Sequence[RatioRow], margin: float, title: str, y: Json, colours: Json) -> Json:
    """Ratios with their intervals, a row each, on a logarithmic axis that has room for all of them; with
    lines at 1 and, dashed, at the limits of the margin."""
    limits = [1 / (1 + margin), 1 + margin]
    ends = [1.0, *limits]
    data: list[Json] = []
    for row in drawn:
        ratio = row.ratio
        ends += [end for end in (ratio.low, ratio.estimate, ratio.high) if end and end > 0]
        times, interval = units.ratio_parts(ratio)
        data.append(
            {
                "contender": row.label,
                "ratio": ratio.estimate,
                "low": ratio.low if ratio.low and ratio.low > 0 else None,
                "high": ratio.high,
                "text": f"{times}×",
                "interval": interval or row.absent,
                "verdict": verdict_word(row.verdict, row.metric),
            }
        )
    across = with_grid(numbers(f"{title} (logarithmic)", min(ends) / 1.1, max(ends) * 1.1, clamp=True))
    tips = tooltip(contender="contender", text="ratio", interval="interval", verdict="verdict")
    at = {"x": quantitative("limit", **across)}
    layers = [
        layer("limits", "rule", color="var(--quiet)", strokeDash=[4, 4], encoding=at),
        layer("one", "rule", color="var(--quiet)", encoding=at),
        *interval_rows("ratio", across, y, colours, tips),
    ]
    values = {"rows": data, "limits": [{"limit": limit} for limit in limits], "one": [{"limit": 1.0}]}
    return layered(layers, _ROW_HEIGHT * len(drawn), values)


_RATIO = Metric("ratio", "", "now", "")


def published_charts(analysis: RunAnalysis) -> Iterator[Chart]:
    """For each metric of the source a panel for each pair: a row for each point, the source's ratio hollow,
    this run's filled."""
    for both in analysis.then_and_now:
        marks: dict[str, list[Mark]] = {}
        for row in both.ratios:
            mark = Mark(analysis.label(row.point), row.now, then=row.then)
            marks.setdefault(row.label, []).append(mark)
        yield Chart(
            f"{both.metric.title}: ratios then and now",
            f"○ {both.source.date[:4]}, as published in “{both.source.title}”; ● this run, with its 95 % "
            "interval as a bar. The line between them is the change; 1 means that both take the same.",
            tuple(
                Panel(pair, _dumbbells(colour(analysis, pair.split(" / ")[0]), each))
                for pair, each in marks.items()
            ),
        )


def _dumbbells(tint: str, marks: Sequence[Mark]) -> Json:
    then = [Mark("", Interval(mark.then, None, None, 1)) for mark in marks if mark.then is not None]
    across = horizontal([*marks, *then], 1.0, "times")
    low, high = across["scale"]["domain"]
    tips = tooltip(contender="point", then_shown="then", shown="now", interval="95 % interval", n="n")
    y = row_axis([mark.label for mark in marks])
    x_then = quantitative("then", **across)
    change = {"x": x_then, "x2": {"field": "median"}, "y": y}
    bar = {"x": quantitative("low", **across), "x2": {"field": "high"}, "y": y}
    now = {"x": quantitative("median", **across), "y": y, "tooltip": tips}
    published = {"x": x_then, "y": y, "tooltip": tips}
    hollow = {"color": "var(--ink)", "fill": "var(--paper)"}
    quiet = "var(--quiet)"
    equal = layer("equal", "rule", color=quiet, strokeDash=[2, 3], encoding={"x": x_then})
    layers = [
        *([equal] if low < 1 < high else []),
        layer("rows", "rule", valid="median", color=quiet, opacity=0.6, encoding=change),
        layer("rows", "rule", valid="low", color=tint, strokeWidth=7, opacity=0.35, encoding=bar),
        layer("rows", "point", valid="median", filled=True, size=70, opacity=1, color=tint, encoding=now),
        layer("rows", "point", size=60, opacity=1, **hollow, encoding=published),
    ]
    return layered(
        layers, _ROW_HEIGHT * len(marks), {"rows": rows(marks, _RATIO, 1.0), "equal": [{"then": 1.0}]}
    )
