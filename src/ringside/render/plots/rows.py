"""Estimates in rows: a metric of each contender, slopes, ratios to the baseline, ratios then and now."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ringside import units
from ringside.analysis.published import ThenAndNow
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric, Point
from ringside.model.results import Comparison, Interval, Outcome
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
    log_ticks,
    middle_unit,
    quantitative,
    row_axis,
    rows,
    sentence,
    tooltip,
)
from ringside.text import capitalised
from ringside.workloads.base import Slope

_ROW_HEIGHT = 24


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
        _ROW_HEIGHT * len(order),
        {"rows": data, "floor": [{"median": floor.estimate / unit}] if floor else []},
    )


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
    margin = units.percent(analysis.experiment.margin)
    drawn = ((point, _comparisons(analysis, point)) for point in analysis.points)
    panels = [
        Panel(analysis.label(point), _forest(analysis, comparisons))
        for point, comparisons in drawn
        if comparisons
    ]
    return Chart(
        f"Ratio to {baseline}",
        f"{capitalised(metric.noun)} over that of {baseline} in the same block, with the "
        f"interval of the ratio. Between the dashed lines, {margin} around 1, two are equivalent.",
        tuple(panels),
    )


def _comparisons(analysis: RunAnalysis, point: Point) -> list[Comparison]:
    """Those with the baseline, the smallest ratio first."""
    baseline = analysis.experiment.baseline
    comparisons = (
        analysis.comparison(analysis.headline, name, baseline, point)
        for name in analysis.names
        if name != baseline
    )
    return sorted((each for each in comparisons if each and each.ratio.estimate > 0), key=_ratio)


def _ratio(comparison: Comparison) -> float:
    return comparison.ratio.estimate


def _forest(analysis: RunAnalysis, comparisons: Sequence[Comparison]) -> Json:
    margin = analysis.experiment.margin
    limits = [1 / (1 + margin), 1 + margin]
    data: list[Json] = []
    ends = [1.0, *limits]
    for each in comparisons:
        ratio = each.ratio
        ends += [end for end in (ratio.low, ratio.estimate, ratio.high) if end and end > 0]
        times, interval = units.ratio_parts(ratio)
        data.append(
            {
                "contender": each.contender,
                "ratio": ratio.estimate,
                "low": ratio.low if ratio.low and ratio.low > 0 else None,
                "high": ratio.high,
                "text": f"{times}×",
                "interval": interval or "too few blocks",
                "verdict": units.verdict_word(each.verdict, analysis.headline),
            }
        )
    labels = [each.contender for each in comparisons]
    return ratios(data, ends, limits, "times the baseline", row_axis(labels), hue(analysis, labels))


def ratios(
    rows: Sequence[Json], ends: Sequence[float], limits: Sequence[float], title: str, y: Json, colours: Json
) -> Json:
    """Ratios with their intervals, a row each, on a logarithmic axis from the least to the most of `ends`;
    with lines at 1 and, dashed, at the `limits` of the margin."""
    low, high = min(ends) / 1.1, max(ends) * 1.1
    across = {
        "title": f"{title} (logarithmic)",
        "scale": {"type": "log", "domain": [low, high], "nice": False, "clamp": True},
        "axis": {"format": ",~r", "values": log_ticks(low, high), "grid": True},
    }
    tips = tooltip(contender="contender", text="ratio", interval="interval", verdict="verdict")
    x = quantitative("limit", **across)
    layers = [
        layer("limits", "rule", color="var(--quiet)", strokeDash=[4, 4], encoding={"x": x}),
        layer("one", "rule", color="var(--quiet)", encoding={"x": x}),
        *interval_rows("ratio", across, y, colours, tips),
    ]
    values = {"rows": rows, "limits": [{"limit": limit} for limit in limits], "one": [{"limit": 1.0}]}
    return layered(layers, _ROW_HEIGHT * len(rows), values)


_RATIO = Metric("ratio", "", "now", "")


def published_charts(analysis: RunAnalysis) -> Iterator[Chart]:
    """For each metric of the source a panel for each pair: a row for each point, the source's ratio hollow,
    this run's filled."""
    for both in analysis.then_and_now:
        panels = [
            Panel(
                pair, _dumbbells(colour(analysis, pair.split(" / ")[0]), _ratio_marks(analysis, both, pair))
            )
            for pair in dict.fromkeys(row.label for row in both.ratios)
        ]
        yield Chart(
            f"{both.metric.title}: ratios then and now",
            f"○ {both.source.date[:4]}, as published in “{both.source.title}”; ● this run, with its 95 % "
            "interval as a bar. The line between them is the change; 1 means that both take the same.",
            tuple(panels),
        )


def _ratio_marks(analysis: RunAnalysis, both: ThenAndNow, pair: str) -> list[Mark]:
    return [
        Mark(analysis.label(row.point), row.now, then=row.then) for row in both.ratios if row.label == pair
    ]


def _dumbbells(tint: str, marks: Sequence[Mark]) -> Json:
    then = [Mark("", Interval(mark.then, None, None, 1)) for mark in marks if mark.then is not None]
    scale, axis = horizontal([*marks, *then], 1.0)
    low, high = scale["domain"]
    across = {"title": "times", "scale": scale, "axis": axis}
    y = row_axis([mark.label for mark in marks])
    tips = tooltip(contender="point", then_shown="then", shown="now", interval="95 % interval", n="n")
    equal = layer(
        "equal",
        "rule",
        color="var(--quiet)",
        strokeDash=[2, 3],
        encoding={"x": quantitative("then", **across)},
    )
    changes = layer(
        "rows",
        "rule",
        valid="median",
        color="var(--quiet)",
        opacity=0.6,
        encoding={"x": quantitative("then", **across), "x2": {"field": "median"}, "y": y},
    )
    bars = layer(
        "rows",
        "rule",
        valid="low",
        color=tint,
        strokeWidth=7,
        opacity=0.35,
        encoding={"x": quantitative("low", **across), "x2": {"field": "high"}, "y": y},
    )
    now = layer(
        "rows",
        "point",
        valid="median",
        filled=True,
        size=70,
        opacity=1,
        color=tint,
        encoding={"x": quantitative("median", **across), "y": y, "tooltip": tips},
    )
    published = layer(
        "rows",
        "point",
        size=60,
        opacity=1,
        color="var(--ink)",
        fill="var(--paper)",
        encoding={"x": quantitative("then", **across), "y": y, "tooltip": tips},
    )
    return layered(
        [*([equal] if low < 1 < high else []), changes, bars, now, published],
        _ROW_HEIGHT * len(marks),
        {"rows": rows(marks, _RATIO, 1.0), "equal": [{"then": 1.0}]},
    )
