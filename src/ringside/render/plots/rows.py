"""Rows of estimates: metrics, slopes, ratios to other runs and to a source; and two metrics as axes."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from ringside import units
from ringside.analysis.published import ThenAndNowRow
from ringside.analysis.run import RunAnalysis
from ringside.analysis.run_diff import RunDiff
from ringside.model.design import Metric, Point, grouped
from ringside.model.results import Interval
from ringside.render.plots import spec
from ringside.render.plots.lines import both_scales
from ringside.render.text.words import counted, where
from ringside.text import sentences

_ROW_HEIGHT = 24


def dots(analysis: RunAnalysis, metric: Metric) -> spec.Chart:
    """A dot plot for each point."""

    def draw(point: Point) -> spec.Json | None:
        cells = {name: analysis.cell(name, point) for name in analysis.names}
        values = {name: cell.metrics.get(metric.name) for name, cell in cells.items()}
        absent = {name: next(map(str, cell.failures), "–") for name, cell in cells.items()}
        return _dot_plot(analysis, metric, values, absent) if any(values.values()) else None

    return spec.chart("dots", spec.panels(analysis, draw), metric.explanation, metric=metric)


def _dot_plot(
    analysis: RunAnalysis, metric: Metric, values: Mapping[str, Interval | None], absent: Mapping[str, str]
) -> spec.Json:
    """Rows in order of their figures; a dashed line is the floor. `absent`: texts in place of figures."""
    sign = 1 if metric.smaller_is_better else -1
    keys = {name: sign * value.estimate if value else math.inf for name, value in values.items()}
    labels = sorted(keys, key=keys.__getitem__)
    log = min(value.estimate for value in values.values() if value) > 0
    unit, across = spec.axis(metric, spec.ends(values.values()), log=log, room=1.3, grid=log)
    rows = [spec.estimate(name, values[name], metric, unit) for name in labels]
    for row in rows:
        row["text"] = row.get("shown") or absent.get(row["contender"], "–")
    colours, tips = spec.hue(labels, analysis.floor), spec.estimate_tooltip(metric)
    layers = spec.interval_rows("median", across, spec.row_axis(labels), colours, tips)
    at_floor = (row for row in rows if row["contender"] == analysis.floor)
    if floor := [{"median": row["median"]} for row in at_floor if "median" in row]:
        at = {"x": spec.quantitative("median", **across)}
        layers.insert(0, spec.layer("floor", "rule", color="var(--limit)", strokeDash=[4, 4], encoding=at))
    return spec.layered(layers, _ROW_HEIGHT * len(rows), {"rows": rows, "floor": floor})


def slope_charts(analysis: RunAnalysis) -> Iterator[spec.Chart]:
    """For each slope of the workload a dot plot, then the metric over the factor where that varies."""
    by_slope = {growth.law.name: growth.values for growth in analysis.slopes}
    for slope in analysis.measurement.slopes:
        values = by_slope.get(slope.name, {})
        settings = dict.fromkeys(fixed for _, fixed in values)
        metric = Metric(slope.name, slope.unit, slope.title, slope.explanation)
        drawn = []
        for fixed in settings:
            title = (analysis.setting(fixed) if len(settings) > 1 else "") or slope.title
            own = {name: values.get((name, fixed)) for name in analysis.names}
            drawn.append(spec.Panel(title, _dot_plot(analysis, metric, own, {})))
        yield spec.chart("slope", drawn, slope.explanation, slope=slope)
        if slope.over in analysis.varying:
            measured, factor = analysis.measurement.metric(slope.metric), counted(analysis, slope.over)
            scales = both_scales(analysis, measured, slope.over, slope.regardless_of)
            yield spec.chart("over-factor", scales, measured.explanation, metric=measured, factor=factor)


# More rows or panels than these are in the table alone.
_MAX_ROWS, _MAX_PANELS = 60, 6


def diff_chart(diff: RunDiff) -> spec.Chart:
    """A panel for each metric that both runs have, with lines at 1 and, dashed, at the margin's ends."""
    by_metric = grouped((change.metric, change) for change in diff.changes if change.ratio.estimate > 0)
    limits, drawn = [1 / (1 + diff.margin), 1 + diff.margin], []
    for metric, changes in list(by_metric.items())[:_MAX_PANELS]:
        rows: list[spec.Json] = []
        colours = {}
        for change in changes[:_MAX_ROWS]:
            name, ratio = change.cell.contender, change.ratio
            label = f"{name}{where(diff.first, change.cell.point, ', ')}"
            colours[label] = spec.colour(name, diff.first.floor)
            low = ratio.low if ratio.low and ratio.low > 0 else None
            shown = {"contender": label, "text": f"{units.ratio_parts(ratio)[0]}×"}
            rows.append({**shown, "ratio": ratio.estimate, "low": low, "high": ratio.high})
        ends = [*limits, *(row[key] for row in rows for key in ("low", "ratio", "high") if row[key])]
        title = "times the first run (logarithmic)"
        across = spec.numbers(title, min(ends) / 1.1, max(ends) * 1.1, grid=True)
        at = {"x": spec.quantitative("limit", **across)}
        y = spec.row_axis(list(colours), labelLimit=320)
        layers = [
            spec.layer("limits", "rule", color="var(--quiet)", strokeDash=[4, 4], encoding=at),
            spec.layer("one", "rule", color="var(--quiet)", encoding=at),
            # The plot is a still picture: no pointer opens a tooltip.
            *spec.interval_rows("ratio", across, y, spec.by_contender(colours), tips=[]),
        ]
        data = {"rows": rows, "limits": [{"limit": each} for each in limits], "one": [{"limit": 1.0}]}
        drawn.append(spec.Panel(metric.title, spec.layered(layers, _ROW_HEIGHT * len(rows), data)))
    return spec.chart("diff", drawn, margin=units.percent(diff.margin))


def published_charts(analysis: RunAnalysis) -> Iterator[spec.Chart]:
    """For each metric a panel per pair and a row per point: the source's ratio hollow, this run's filled."""
    for both in analysis.then_and_now:
        by_pair = grouped((row.label, row) for row in both.ratios)
        drawn = (spec.Panel(pair, _dumbbells(analysis, pair, rows)) for pair, rows in by_pair.items())
        yield spec.chart("published", drawn, metric=both.metric, source=both.source)


def _dumbbells(analysis: RunAnalysis, pair: str, ratios: Sequence[ThenAndNowRow]) -> spec.Json:
    metric, rows = Metric("ratio", "", "times", ""), []
    for each in ratios:
        then = {"then": each.then, "then_shown": units.significant(each.then)}
        rows.append(spec.estimate(analysis.label(each.point), each.now, metric, 1.0, **then))
    values = [row[key] for row in rows for key in ("low", "median", "high", "then") if row.get(key)]
    _, across = spec.axis(metric, values, room=1.3, grid=True)
    low, high = across["scale"]["domain"]
    tint = spec.colour(pair.split(" / ")[0], analysis.floor)
    y = spec.row_axis([row["contender"] for row in rows])
    tips = spec.tooltip(contender="point", then_shown="then", shown="now", interval="95 % interval", n="n")
    fields = {"then": "then", "now": "median", "low": "low"}
    channels = {name: spec.quantitative(field, **across) for name, field in fields.items()}
    layers = spec.template("dumbbells", y=y, tint=tint, tips=tips, **channels)
    # The first is a line at 1.
    layers = layers if low < 1 < high else layers[1:]
    return spec.layered(layers, _ROW_HEIGHT * len(rows), {"rows": rows, "equal": [{"then": 1.0}]})


def scatter_charts(analysis: RunAnalysis) -> Iterator[spec.Chart]:
    """For each pair of metrics of the workload a panel for each point with two contenders or more."""
    for names in analysis.measurement.scatters:
        x, y = (analysis.measurement.metric(name) for name in names)
        drawn = spec.panels(analysis, partial(_scatter, analysis, (x, y)))
        yield spec.chart("scatter", drawn, sentences(x.explanation, y.explanation), x=x, y=y)


def _scatter(analysis: RunAnalysis, metrics: Sequence[Metric], point: Point) -> spec.Json | None:
    figures = {name: analysis.cell(name, point).metrics for name in analysis.names}
    values = {name: [each.get(metric.name) for metric in metrics] for name, each in figures.items()}
    places = {name: both for name, both in values.items() if all(each and each.estimate > 0 for each in both)}
    if len(places) < 2:
        return None
    rows: dict[str, spec.Json] = {name: {"contender": name} for name in places}
    channels: dict[str, spec.Json] = {}
    shown = {}
    for field, metric, column in zip("xy", metrics, zip(*places.values(), strict=True), strict=True):
        unit, channel = spec.axis(metric, spec.ends(column), room=1.5)
        low, high = f"{field}_low", f"{field}_high"
        channels |= {name: spec.quantitative(name, **channel) for name in (field, low)}
        shown[f"{field}_shown"] = metric.title
        for name, value in zip(places, column, strict=True):
            scaled = spec.estimate(name, value, metric, unit)
            rows[name] |= {field: scaled["median"], low: scaled["low"], high: scaled["high"]}
            rows[name][f"{field}_shown"] = units.with_interval(value, metric.unit)
    tips = spec.tooltip(contender="contender", **shown)
    layers = spec.template("scatter", color=spec.hue(places, analysis.floor), tips=tips, **channels)
    return spec.layered(layers, 320, {"rows": list(rows.values())})
