"""Lines over a factor, a rate, a percentile, the repeats in one process, cores, blocks, or the date."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial

from ringside import units
from ringside.analysis.distributions import PercentileCurve
from ringside.analysis.history import History
from ringside.analysis.run import RunAnalysis
from ringside.analysis.scaling import CoresScaling
from ringside.model.design import Metric, Point, grouped
from ringside.model.results import Interval
from ringside.render.plots import spec
from ringside.render.text.words import counted

# An estimate of a contender at an x.
Estimate = tuple[str, float, Interval]


def estimate_lines(
    analysis: RunAnalysis, metric: Metric, x: spec.Json, estimates: Sequence[Estimate], *, log: bool = True
) -> spec.Json:
    """Lines over x with their intervals as bands."""
    unit, y = spec.axis(metric, spec.ends(value for _, _, value in estimates), log=log)
    tips = spec.estimate_tooltip(metric)
    tips.insert(1, spec.quantitative("x", title=x["title"]))
    at = spec.LineLayers(x, y, analysis.names, analysis.floor, "median")
    rows = [spec.estimate(name, value, metric, unit, x=place) for name, place, value in estimates]
    return at.panel([at.intervals(), at.lines(), at.dots(tips)], {"rows": rows}, 280)


def _estimates(
    analysis: RunAnalysis, steps: Iterable[tuple[float, Point, str]], *, positive: bool = True
) -> list[Estimate]:
    """The estimates of all contenders. `steps`: each x, with its point and metric."""
    cells = ((name, *step) for name in analysis.names for step in steps)
    values = ((name, x, analysis.cell(name, at).metrics.get(metric)) for name, x, at, metric in cells)
    return [(name, x, value) for name, x, value in values if value and (value.estimate > 0 or not positive)]


def _is_line(estimates: Sequence[Estimate]) -> bool:
    return len({x for _, x, _ in estimates}) > 1


def sweep(analysis: RunAnalysis, metric: Metric, factor: str) -> spec.Chart:
    """Lines over a factor: a pair of panels for each setting of the factors that do not follow it."""
    name, drawn = counted(analysis, factor), both_scales(analysis, metric, factor)
    others = ", ".join(counted(analysis, each) for each in following(analysis, factor))
    together = f" Other levels with each level of {name}: {others}." if others else ""
    return spec.chart("sweep", drawn, metric.explanation, metric=metric, factor=name, together=together)


def following(analysis: RunAnalysis, factor: str) -> tuple[str, ...]:
    """The factors that vary with this one, where each of its levels is that of one point."""
    if len({point[factor] for point in analysis.points}) < len(analysis.points):
        return ()
    return tuple(name for name in analysis.varying if name != factor)


def both_scales(
    analysis: RunAnalysis, metric: Metric, factor: str, regardless_of: Sequence[str] = ()
) -> Iterator[spec.Panel]:
    """A metric over a factor on linear and log axes, by setting; `regardless_of`: one setting for all."""
    apart = (factor, *following(analysis, factor))
    settings: dict[Point, Point] = {}
    for point in analysis.points:
        settings.setdefault(point.without(*apart, *regardless_of), point.without(*apart))
    for setting in settings.values():
        points = [point for point in analysis.points if point.without(*apart) == setting]
        steps = [(float(point[factor]), point, metric.name) for point in points]
        estimates = _estimates(analysis, steps, positive=False)
        fixed = {name for name in analysis.varying if len({point[name] for point in points}) == 1} - {factor}
        title = analysis.measurement.label(points[0], fixed) if fixed else ""
        for log, kind in ((False, "linear"), (True, "logarithmic")):
            positive = all(x > 0 and value.estimate > 0 for _, x, value in estimates)
            if estimates and (positive or not log):
                x = spec.x_axis("x", counted(analysis, factor), [x for _, x, _ in estimates], log=log)
                drawn = estimate_lines(analysis, metric, x, estimates, log=log)
                yield spec.Panel(f"{title}, {kind}" if title else kind.capitalize(), drawn)


def curve_charts(analysis: RunAnalysis) -> Iterator[spec.Chart]:
    """The workload's curves: metrics of each contender in their places. Curves of one title share a plot."""
    by_title = grouped((curve.title, curve) for curve in analysis.measurement.curves)
    for title, together in by_title.items():
        drawn = []
        for point, curve in itertools.product(analysis.points, together):
            estimates = _estimates(analysis, [(x, point, metric) for x, _, metric in curve.steps])
            if curve.applies(point) and _is_line(estimates):
                # All metrics of a curve have one unit.
                first = analysis.measurement.metric(curve.steps[0][2])
                metric = dataclasses.replace(first, title=curve.y_title, explanation=curve.explanation)
                words = {} if curve.logarithmic else {x: label for x, label, _ in curve.steps}
                xs = [x for _, x, _ in estimates]
                x = spec.x_axis("x", curve.x_title, xs, log=curve.logarithmic, words=words)
                where = ", ".join(filter(None, (analysis.label(point), curve.panel)))
                drawn.append(spec.Panel(where, estimate_lines(analysis, metric, x, estimates), point))
        yield spec.chart("curve", drawn, together[0].explanation, title=title)


def rate_charts(analysis: RunAnalysis) -> Iterator[spec.Chart]:
    """A panel for each metric and each setting of the other factors, where there are two rates or more."""
    view = analysis.measurement.over_rate
    if view is None or view.factor not in analysis.varying:
        return
    drawn = []
    for setting, here in grouped((point.without(view.factor), point) for point in analysis.points).items():
        # 0 is a closed loop, which has no rate of its own.
        rates = [(rate, point) for point in here if (rate := float(point[view.factor])) > 0]
        for metric in map(analysis.measurement.metric, view.metrics):
            estimates = _estimates(analysis, [(rate, point, metric.name) for rate, point in rates])
            if _is_line(estimates):
                where = analysis.setting(setting)
                x = spec.x_axis("x", "requests per second", [x for _, x, _ in estimates], log=True)
                title = f"{where}, {metric.noun}" if where else metric.title
                drawn.append(spec.Panel(title, estimate_lines(analysis, metric, x, estimates)))
    yield spec.chart("rates", drawn)


# Places of the axis in per cent; nines go as far as any count of requests.
_PERCENTS = ("0", "50", "90", "99", "99.9", "99.99", "99.999", "99.9999", "99.99999")


def percentile_charts(analysis: RunAnalysis) -> Iterator[spec.Chart]:
    """A plot for each distribution of the workload, a panel for each point."""
    for distribution in analysis.measurement.distributions:
        known = (curve for curve in analysis.percentiles if curve.distribution == distribution)
        curves = [curve for curve in known if curve.percentiles[0].value_ns > 0]
        drawn = spec.panels(analysis, partial(_percentile_lines, analysis, curves))
        what = f"{distribution.explanation}, of all trials together"
        yield spec.chart("percentiles", drawn, what, title=distribution.title)


def _percentile_lines(
    analysis: RunAnalysis, curves: Sequence[PercentileCurve], point: Point
) -> spec.Json | None:
    here = [curve for curve in curves if curve.cell.point == point]
    if not here:
        return None
    metric = Metric("time_ns", "ns", here[0].distribution.y_title, "")
    every = [each for curve in here for each in curve.percentiles]
    values = (value for each in every for value in (each.low_ns, each.value_ns, each.high_ns) if value)
    unit, y = spec.axis(metric, values)
    rows: list[spec.Json] = []
    for curve in here:
        for each in curve.percentiles:
            low, high = each.low_ns, each.high_ns
            # With as many decimals as its nines need: `50`, `99.95`.
            percent = round(100 * each.level, units.digits_between(100 * (1 - each.level)))
            trials = "too few requests in each"
            if low is not None and high is not None:
                trials = f"{units.quantity(low, 'ns')} – {units.quantity(high, 'ns')}"
            row: spec.Json = {"contender": curve.cell.contender, "x": percentile_place(each.level)}
            row |= {"value": each.value_ns / unit, "low": low / unit if low else None}
            row |= {"high": high / unit if high else None, "level": f"{str(percent).removesuffix('.0')} %"}
            row |= {"shown": units.quantity(each.value_ns, "ns"), "trials": trials}
            rows.append(row | {"n": f"{curve.requests:,}"})
    xs = [row["x"] for row in rows]
    x = spec.x_axis("x", "percentile", xs, log=True, words=percentile_ticks(max(xs)))
    at = spec.LineLayers(x, y, analysis.names, analysis.floor)
    tips = spec.tooltip(
        contender="contender", level="percentile", shown=metric.title, trials="trials", n="requests"
    )
    # The dots are not seen; they have the tooltips.
    layers = [at.intervals(opacity=0.12), at.lines(), at.dots(tips, size=90, opacity=0)]
    return at.panel(layers, {"rows": rows}, 300)


def percentile_place(level: float) -> float:
    """The place of a share on the axis. Rounded, since a tick beyond the last point would not be drawn."""
    return float(f"{1 / (1 - level):.9g}")


def percentile_ticks(last: float) -> dict[float, str]:
    """The labels of the axis by position, up to the last position."""
    places = {percentile_place(float(text) / 100): f"{text} %" for text in _PERCENTS}
    return {place: text for place, text in places.items() if place <= last}


# More repeats are drawn on a logarithmic axis, at this many places.
_MOST_PLACES = 60


def warm_up_charts(analysis: RunAnalysis) -> Iterator[spec.Chart]:
    """A panel for each point with repeats."""
    name = analysis.measurement.repeated_metric
    if name is None:
        return
    metric = analysis.measurement.metric(name)
    drawn = spec.panels(analysis, partial(_warm_up_lines, analysis, metric))
    yield spec.chart("warm-up", drawn, metric=metric)


def _warm_up_lines(analysis: RunAnalysis, metric: Metric, point: Point) -> spec.Json | None:
    """For each contender a thin line for each block and a thick one of medians over blocks."""
    here = {each.cell.contender: each for each in analysis.warm_ups if each.cell.point == point}
    warm_ups = {name: each for name, each in here.items() if min(map(min, each.series)) > 0}
    if not warm_ups:
        return None
    values = (value for each in warm_ups.values() for series in each.series for value in series)
    unit, y = spec.axis(metric, values)
    blocks: list[spec.Json] = []
    medians: list[spec.Json] = []
    for name, warm_up in warm_ups.items():
        for number, series in enumerate(warm_up.series, 1):
            own = {"contender": name, "block": f"{name} {number}"}
            blocks += [{**own, "repeat": repeat, "value": value / unit} for repeat, value in _thinned(series)]
        for repeat, value in _thinned(warm_up.medians):
            shown = units.quantity(value, metric.unit)
            medians.append({"contender": name, "repeat": repeat, "value": value / unit, "shown": shown})
    last = max(len(each.medians) for each in warm_ups.values())
    x = spec.x_axis("repeat", "repeat", (1, last), log=last > _MOST_PLACES)
    at = spec.LineLayers(x, y, analysis.names, analysis.floor)
    tips = [spec.nominal("contender"), spec.quantitative("repeat"), spec.nominal("shown")]
    thin = at.lines("blocks", detail="block", strokeWidth=0.7, opacity=0.35)
    layers = [thin, at.lines("medians"), at.dots(tips, data="medians", size=16)]
    return at.panel(layers, {"medians": medians, "blocks": blocks})


def _thinned(series: Sequence[float]) -> Iterator[tuple[int, float]]:
    """Values with their numbers, from 1; of many, those at even distances on a logarithmic axis."""
    last = len(series)
    steps = range(_MOST_PLACES)
    places = range(1, last + 1) if last <= _MOST_PLACES else {round(last ** (i / steps[-1])) for i in steps}
    for place in sorted(places):
        yield place, series[place - 1]


def speed_up_charts(analysis: RunAnalysis) -> Iterator[spec.Chart]:
    """For each law over cores a panel for each setting of the other factors."""
    for scalings in grouped((each.law, each) for each in analysis.cores_scaling).values():
        drawn = ((analysis.setting(each.fixed), _speed_up_lines(analysis, each)) for each in scalings)
        yield spec.chart("speed-up", (spec.Panel(title or "Speed-up", lines) for title, lines in drawn))


def _speed_up_lines(analysis: RunAnalysis, scaling: CoresScaling) -> spec.Json:
    """Dots with intervals, fitted curves, and the ideal as a dashed line up to the end of the axis."""
    rows: list[spec.Json] = []
    curves: list[spec.Json] = []
    for row in scaling.rows:
        name, curve = row.contender, scaling.curve(row)
        curves += [{"contender": name, "cores": cores, "value": value} for cores, value in curve]
        for cores, ratio in {1: Interval(1.0, None, None, 0), **row.speed_ups}.items():
            interval = {"low": ratio.low, "high": ratio.high, "shown": units.ratio(ratio)}
            rows.append({"contender": name, "cores": cores, "value": ratio.estimate, **interval})
    highest = 1.08 * max(spec.ends(ratio for row in scaling.rows for ratio in row.speed_ups.values()))
    y = spec.numbers("speed-up over one core", 0.0, max(highest, 1.08), log=False)
    words = {float(row["cores"]): str(row["cores"]) for row in rows}
    at = spec.LineLayers(spec.x_axis("cores", "cores", (), words=words), y, analysis.names, analysis.floor)
    tips = [spec.nominal("contender"), spec.quantitative("cores"), spec.nominal("shown", title="speed-up")]
    place = {"x": at.level["x"], "y": at.level["y"]}
    layers = [
        spec.layer("ideal", "line", strokeDash=[5, 4], color="var(--quiet)", encoding=place),
        at.lines("curves"),
        at.intervals("rule", data="dots"),
        at.dots(tips, data="dots", size=60),
    ]
    top = min(float(max(scaling.levels)), highest)
    ideal: list[spec.Json] = [{"cores": 1, "value": 1}, {"cores": top, "value": top}]
    return at.panel(layers, {"dots": rows, "curves": curves, "ideal": ideal})


# Fewer blocks show no course.
_MIN_BLOCKS = 3


def trial_chart(analysis: RunAnalysis) -> spec.Chart:
    """A panel for each point; a line for each contender."""
    return spec.chart("trials", spec.panels(analysis, partial(_trials, analysis)), metric=analysis.headline)


def _trials(analysis: RunAnalysis, point: Point) -> spec.Json | None:
    metric = analysis.headline
    by_block = {name: analysis.cell(name, point).by_block.get(metric.name, {}) for name in analysis.names}
    values = [value for each in by_block.values() for value in each.values()]
    if max(map(len, by_block.values())) < _MIN_BLOCKS:
        return None
    unit, y = spec.axis(metric, values, log=min(values) > 0)
    rows: list[spec.Json] = [
        {"contender": name, "x": block, "y": value / unit, "shown": units.quantity(value, metric.unit)}
        for name, each in by_block.items()
        for block, value in each.items()
    ]
    x = spec.x_axis("x", "block", [row["x"] for row in rows])
    at = spec.LineLayers(x, y, analysis.names, analysis.floor, "y")
    tips = spec.tooltip(contender="contender", shown=metric.title)
    tips.insert(1, spec.quantitative("x", title="block"))
    return at.panel([at.lines(strokeWidth=1, opacity=0.4), at.dots(tips, size=36)], {"rows": rows})


# More points would make a page of nothing but plots.
_MAX_POINTS = 6
_MAX_DAYS_WITH_HOURS = 8
_MAX_SECONDS_WITH_SECONDS = 600


def history_chart(history: History) -> spec.Chart:
    """A panel for each point: a line for each contender over time, on a log axis, changes of level marked."""
    points = history.points[:_MAX_POINTS]
    more = len(history.points) - len(points)
    others = f" {units.count(more, 'more point')} of the experiment are in the data." if more else ""
    drawn = (spec.Panel(history.label(point), _history_lines(history, point)) for point in points)
    return spec.chart("history", drawn, metric=history.metric, more=others)


def _history_lines(history: History, point: Point) -> spec.Json:
    series = [each for each in history.series if each.point == point]
    unit, y = spec.axis(history.metric, spec.ends(value for each in series for value in each.values))
    rows, changes = [], []
    for each in series:
        for index, value in zip(each.indices, each.values, strict=True):
            when = history.runs[index].started_at
            rows.append(spec.estimate(each.contender, value, history.metric, unit, when=when))
        for change in each.changes:
            when = history.runs[each.indices[change.index]].started_at
            times = f"×{units.significant(change.ratio)}"
            median = each.values[change.index].estimate / unit
            changes.append({"contender": each.contender, "when": when, "median": median, "text": times})
    begun = [run.started_at for run in history.runs]
    first, last = (datetime.fromisoformat(each) for each in (min(begun), max(begun)))
    # Ticks are hours apart on a short stretch: dates alone would be said again and again.
    is_one_day, is_short = first.date() == last.date(), (last - first).days < _MAX_DAYS_WITH_HOURS
    seconds = ":%S" if (last - first).total_seconds() < _MAX_SECONDS_WITH_SECONDS else ""
    form = f"%H:%M{seconds}" if is_one_day else "%m-%d %H:%M" if is_short else "%Y-%m-%d"
    title = f"{first:%Y-%m-%d}, UTC" if is_one_day else None
    date = {"format": form, "tickCount": 8}
    x = {"field": "when", "type": "temporal", "title": title, "axis": date, "scale": {"type": "utc"}}
    at = spec.LineLayers(x, y, history.contenders, field="median")
    dots = at.dots(spec.estimate_tooltip(history.metric), size=36)
    layers = [at.intervals("rule"), at.lines(strokeWidth=1.5), dots]
    if changes:
        rule = {"x": x, "color": at.level["color"]}
        text = {**at.level, "text": spec.nominal("text")}
        look: spec.Json = {"align": "left", "dx": 5, "dy": -9, "fontSize": 12, "fontWeight": "bold"}
        layers.append(spec.layer("marks", "rule", strokeDash=[4, 3], strokeWidth=1.5, encoding=rule))
        layers.append(spec.layer("marks", "text", encoding=text, **look))
    return at.panel(layers, {"rows": rows, "marks": changes})
