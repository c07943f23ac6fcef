"""Curves over percentiles, over repeats in one process, and over cores."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from ringside import units
from ringside.analysis.distributions import Percentile, PercentileCurve, WarmUp
from ringside.analysis.run import RunAnalysis
from ringside.analysis.scaling import CoresScaling, ScaledContender
from ringside.model.design import Metric, Point
from ringside.model.results import Interval
from ringside.render.plots.spec import (
    Chart,
    Json,
    Panel,
    axis_title,
    dash,
    hue,
    layer,
    nominal,
    numbers,
    panels,
    quantitative,
    sentence,
    tooltip,
    with_names,
)
from ringside.workloads.base import Distribution

# More repeats have a logarithmic axis, and so many places on it.
_MOST_PLACES = 60
_PERCENTILE_HEIGHT, _HEIGHT = 300, 260
# Places of the axis in per cent; nines go as far as any count of requests.
_PERCENTS = ("0", "50", "90", "99", "99.9", "99.99", "99.999", "99.9999", "99.99999")


def percentile_charts(analysis: RunAnalysis) -> Iterator[Chart]:
    """A plot for each distribution of the workload, a panel for each point."""
    for distribution in analysis.measurement.distributions:
        curves = sorted(
            (
                curve
                for curve in analysis.percentiles
                if curve.distribution == distribution and curve.percentiles[0].value_ns > 0
            ),
            key=lambda curve: analysis.names.index(curve.cell.contender),
        )

        def draw(point: Point, curves: Sequence[PercentileCurve] = curves) -> Json | None:
            return _percentile_curves(analysis, [curve for curve in curves if curve.cell.point == point])

        yield Chart(distribution.title, _caption(distribution, curves), panels(analysis, draw))


def _caption(distribution: Distribution, curves: Sequence[PercentileCurve]) -> str:
    merged = all(curve.is_merged for curve in curves)
    what = "of all trials together" if merged else "the median of each trial's own percentile"
    end = "A line ends where fewer than ten requests lie beyond it"
    return (
        f"{sentence(f'{distribution.explanation}, {what}')} "
        "Bands reach from the lowest to the highest trial. "
        f"{end if merged else f'{end} in a trial'}; both axes are logarithmic."
    )


def _percentile_curves(analysis: RunAnalysis, curves: Sequence[PercentileCurve]) -> Json | None:
    if not curves:
        return None
    metric = Metric("time_ns", "ns", curves[0].distribution.y_title, "")
    every = [each for curve in curves for each in curve.percentiles]
    least = max(1.0, min(each.low_ns or each.value_ns for each in every))
    most = max(each.high_ns or each.value_ns for each in every)
    unit, unit_name = units.scale((least * most) ** 0.5, metric.unit)
    upright = numbers(axis_title(metric, unit_name), least / unit / 1.15, most / unit * 1.15, clamp=True)
    places = [across(each.level) for each in every]
    names = [curve.cell.contender for curve in curves]
    colours = hue(analysis, names)
    tips = tooltip(
        contender="contender", level="percentile", shown=metric.title, trials="trials", n="requests"
    )
    x = percentile_axis(places[0], max(places))
    at = {"x": x, "y": quantitative("value", **upright), "color": colours}
    band = {"x": x, "y": quantitative("low", **upright), "y2": {"field": "high"}, "color": colours}
    line = {**at, "strokeDash": dash(analysis, names)}
    layers = [
        layer("rows", "area", valid="low", opacity=0.12, line=False, encoding=band),
        layer("rows", "line", strokeWidth=2, encoding=line),
        # Nothing is seen of them; they have the tooltips.
        layer("rows", "point", size=90, filled=True, opacity=0, encoding={**at, "tooltip": tips}),
    ]
    rows = [_percentile_row(curve, each, unit) for curve in curves for each in curve.percentiles]
    ends = {curve.cell.contender: curve.percentiles[-1].value_ns / unit for curve in curves}
    return with_names(layers, _PERCENTILE_HEIGHT, {"rows": rows}, colours, ends, upright)


def across(level: float) -> float:
    """The place of a share on the axis. Rounded: 1 − 0.999 is not a thousandth to the last bit, and a tick
    beyond the last point is not drawn."""
    return float(f"{1 / (1 - level):.9g}")


def percentile_axis(first: float, last: float) -> Json:
    places = {across(float(text) / 100): f"{text} %" for text in _PERCENTS}
    ticks = {place: text for place, text in places.items() if place <= last}
    # As an expression: Vega-Lite has no other way to words on an axis of numbers.
    words = " : ".join(
        f"abs(datum.value / {place!r} - 1) < 1e-6 ? {json.dumps(text)}" for place, text in ticks.items()
    )
    return quantitative(
        "x",
        title="percentile",
        scale={"type": "log", "domain": [first, last], "nice": False},
        axis={"grid": True, "labelFlush": False, "values": list(ticks), "labelExpr": f"{words} : ''"},
    )


def _percentile_row(curve: PercentileCurve, percentile: Percentile, unit: float) -> Json:
    low, high = percentile.low_ns, percentile.high_ns
    trials = "too few requests in each"
    if low is not None and high is not None:
        trials = f"{units.quantity(low, 'ns')} – {units.quantity(high, 'ns')}"
    return {
        "contender": curve.cell.contender,
        "x": across(percentile.level),
        "value": percentile.value_ns / unit,
        "low": low / unit if low else None,
        "high": high / unit if high else None,
        "level": f"{_percent(percentile.level)} %",
        "shown": units.quantity(percentile.value_ns, "ns"),
        "trials": trials,
        "n": f"{curve.requests:,}",
    }


def _percent(level: float) -> str:
    """A share in per cent with as many decimals as its nines need: `50`, `99.95`."""
    text = str(round(100 * level, units.digits_between(100 * (1 - level))))
    return text.removesuffix(".0")


def warm_up_charts(analysis: RunAnalysis) -> Iterator[Chart]:
    """A panel for each point with repeats."""
    name = analysis.measurement.repeated_metric
    if name is None:
        return
    metric = analysis.measurement.metric(name)
    warm_ups = sorted(
        (warm_up for warm_up in analysis.warm_ups if min(map(min, warm_up.series)) > 0),
        key=lambda warm_up: analysis.names.index(warm_up.cell.contender),
    )

    def draw(point: Point) -> Json | None:
        here = [warm_up for warm_up in warm_ups if warm_up.cell.point == point]
        return _warm_up_lines(analysis, metric, here) if here else None

    yield Chart(
        f"{metric.title}, repeat by repeat",
        "The same work again and again in one process. Thin lines are blocks, the thick one is their median; "
        "the y axis is logarithmic.",
        panels(analysis, draw),
    )


def _warm_up_lines(analysis: RunAnalysis, metric: Metric, warm_ups: Sequence[WarmUp]) -> Json:
    """For each contender a thin line for each block and a thick one of medians over blocks."""
    shortest = min(min(series) for warm_up in warm_ups for series in warm_up.series)
    unit, unit_name = units.scale(shortest, metric.unit)
    blocks = [row for warm_up in warm_ups for row in _block_rows(warm_up, unit)]
    medians = [row for warm_up in warm_ups for row in _median_rows(warm_up, metric, unit)]
    low = min(row["value"] for row in blocks) / 1.08
    high = max(row["value"] for row in blocks) * 1.08
    upright = {
        "title": f"{metric.title.lower()}, {unit_name}" if unit_name else metric.title.lower(),
        "scale": {"type": "log", "domain": [low, high], "nice": False},
        "axis": {"tickCount": 6},
    }
    last = max(row["repeat"] for row in blocks)
    x = quantitative(
        "repeat",
        title="repeat",
        scale={
            "domain": [1, last],
            "nice": False,
            **({"type": "log"} if last > _MOST_PLACES else {}),
        },
        axis={"grid": False, "format": "d", "tickMinStep": 1},
    )
    colours = hue(analysis, [warm_up.cell.contender for warm_up in warm_ups])
    at = {"x": x, "y": quantitative("value", **upright), "color": colours}
    tips = [nominal("contender"), quantitative("repeat"), nominal("shown")]
    layers = [
        layer("blocks", "line", strokeWidth=0.7, opacity=0.35, encoding={**at, "detail": nominal("block")}),
        layer("medians", "line", strokeWidth=2, encoding=at),
        layer("medians", "point", filled=True, size=16, opacity=1, encoding={**at, "tooltip": tips}),
    ]
    ends = {warm_up.cell.contender: warm_up.medians[-1] / unit for warm_up in warm_ups}
    return with_names(layers, _HEIGHT, {"blocks": blocks, "medians": medians}, colours, ends, upright)


def _block_rows(warm_up: WarmUp, unit: float) -> list[Json]:
    name = warm_up.cell.contender
    return [
        {"contender": name, "block": f"{name} {number}", "repeat": place, "value": value / unit}
        for number, series in enumerate(warm_up.series, 1)
        for place, value in _thinned(series)
    ]


def _thinned(series: Sequence[float]) -> Iterator[tuple[int, float]]:
    """Values with their numbers, from 1; of many the first, the last, and those between at even distances on
    a logarithmic axis."""
    last = len(series)
    steps = range(_MOST_PLACES)
    places = range(1, last + 1) if last <= _MOST_PLACES else {round(last ** (i / steps[-1])) for i in steps}
    for place in sorted(places):
        yield place, series[place - 1]


def _median_rows(warm_up: WarmUp, metric: Metric, unit: float) -> list[Json]:
    return [
        {
            "contender": warm_up.cell.contender,
            "repeat": place,
            "value": value / unit,
            "shown": units.quantity(value, metric.unit),
        }
        for place, value in _thinned(warm_up.medians)
    ]


def speed_up_charts(analysis: RunAnalysis) -> Iterator[Chart]:
    """For each law over cores a panel for each setting of the other factors."""
    for law in dict.fromkeys(scaling.law for scaling in analysis.cores_scaling):
        yield Chart(
            "Speed-up over cores",
            "How many times faster than on one core, from pairs inside blocks, bars are 95 % intervals. "
            "Curves are the Universal Scalability Law where three numbers of cores or more allow a fit, else "
            "straight lines; the dashed line is the ideal.",
            tuple(
                Panel(analysis.setting(scaling.fixed) or "Speed-up", _speed_up_lines(analysis, scaling))
                for scaling in analysis.cores_scaling
                if scaling.law == law
            ),
        )


def _speed_up_lines(analysis: RunAnalysis, scaling: CoresScaling) -> Json:
    """Dots with intervals from 1 core on, curves, and the ideal as a dashed line that ends where the axis
    does."""
    most = max(scaling.levels)
    dots = [row for contender in scaling.rows for row in _speed_up_rows(contender)]
    highest = max(row["high"] for row in dots) * 1.08
    upright = {
        "title": "speed-up over one core",
        "scale": {"domain": [0, highest], "nice": False},
        "axis": {"tickCount": 6},
    }
    x = quantitative(
        "cores",
        title="cores",
        scale={"domain": [1, most], "nice": False},
        axis={"grid": False, "values": sorted({row["cores"] for row in dots}), "format": "d"},
    )
    colours = hue(analysis, [row.contender for row in scaling.rows])
    at = {"x": x, "y": quantitative("value", **upright)}
    line = {**at, "color": colours}
    bar = {"x": x, "y": quantitative("low", **upright), "y2": {"field": "high"}, "color": colours}
    tips = [nominal("contender"), quantitative("cores"), nominal("shown", title="speed-up")]
    layers = [
        layer("ideal", "line", strokeDash=[5, 4], color="var(--quiet)", encoding=at),
        layer("curves", "line", strokeWidth=2, encoding=line),
        layer("dots", "rule", strokeWidth=5, opacity=0.35, encoding=bar),
        layer("dots", "point", filled=True, size=60, opacity=1, encoding={**line, "tooltip": tips}),
    ]
    top = min(float(most), highest)
    data = {
        "dots": dots,
        "curves": [
            {"contender": row.contender, "cores": cores, "value": value}
            for row in scaling.rows
            for cores, value in scaling.curve(row)
        ],
        "ideal": [{"cores": 1, "value": 1}, {"cores": top, "value": top}],
    }
    ends = {row.contender: row.speed_ups[max(row.speed_ups)].estimate for row in scaling.rows}
    return with_names(layers, _HEIGHT, data, colours, ends, upright)


def _speed_up_rows(row: ScaledContender) -> list[Json]:
    speed_ups = {1: Interval(1.0, None, None, 0), **row.speed_ups}
    return [
        {
            "contender": row.contender,
            "cores": cores,
            "value": ratio.estimate,
            "low": ratio.estimate if ratio.low is None else ratio.low,
            "high": ratio.estimate if ratio.high is None else ratio.high,
            "shown": units.ratio(ratio),
        }
        for cores, ratio in speed_ups.items()
    ]
