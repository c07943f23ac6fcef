"""Times of single requests over percentiles, on an axis of 1/(1 - share): each nine more is as far."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from ringside import units
from ringside.analysis.distributions import Percentile, PercentileCurve
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric
from ringside.render.plots.layout import height_of, label_rows, log_ticks
from ringside.render.plots.spec import (
    Chart,
    Json,
    Panel,
    axis_title,
    by_contender,
    end_labels,
    hue,
    layer,
    layered,
    quantitative,
    sentence,
    tooltip,
)
from ringside.workloads.base import Distribution

_HEIGHT = 300
_SOLID, _DASHED = [1, 0], [5, 4]
# Places of the axis in per cent; nines go as far as any count of requests.
_PERCENTS = ("0", "50", "90", "99", "99.9", "99.99", "99.999", "99.9999", "99.99999")


def charts(analysis: RunAnalysis) -> Iterator[Chart]:
    """A plot for each distribution of the workload, a panel for each point."""
    all_curves = analysis.percentiles
    for distribution in analysis.measurement.distributions:
        curves = [
            curve
            for curve in all_curves
            if curve.distribution == distribution and curve.percentiles[0].value_ns > 0
        ]
        drawn = (
            (point, [curve for curve in curves if curve.cell.point == point]) for point in analysis.points
        )
        panels = [Panel(analysis.label(point), _picture(analysis, here)) for point, here in drawn if here]
        yield Chart(distribution.title, _caption(distribution, curves), tuple(panels))


def _caption(distribution: Distribution, curves: Sequence[PercentileCurve]) -> str:
    merged = all(curve.is_merged for curve in curves)
    what = "of all trials together" if merged else "the median of each trial's own percentile"
    end = "A line ends where fewer than ten requests lie beyond it"
    return (
        f"{sentence(f'{distribution.explanation}, {what}')} "
        "Bands reach from the lowest to the highest trial. "
        f"{end if merged else f'{end} in a trial'}; both axes are logarithmic."
    )


def _picture(analysis: RunAnalysis, curves: Sequence[PercentileCurve]) -> Json:
    metric = Metric("time_ns", "ns", curves[0].distribution.y_title, "")
    every = [each for curve in curves for each in curve.percentiles]
    least = min(each.low_ns or each.value_ns for each in every)
    most = max(each.high_ns or each.value_ns for each in every)
    unit, unit_name = units.scale((max(1.0, least) * most) ** 0.5, metric.unit)
    low, high = max(1.0, least) / unit / 1.15, most / unit * 1.15
    upright = {
        "title": axis_title(metric, unit_name),
        "scale": {"type": "log", "domain": [low, high], "nice": False, "clamp": True},
        "axis": {"format": ",~r", "values": log_ticks(low, high)},
    }
    places = [_across(each.level) for each in every]
    x = _x(places[0], max(places))
    curves = sorted(curves, key=lambda curve: analysis.names.index(curve.cell.contender))
    names = [curve.cell.contender for curve in curves]
    colours = hue(analysis, names)
    dashes = by_contender(names, lambda name: _DASHED if name == analysis.floor else _SOLID)
    y = quantitative("value", **upright)
    tips = tooltip(
        contender="contender", level="percentile", shown=metric.title, trials="trials", n="requests"
    )
    layers = [
        layer(
            "rows",
            "area",
            valid="low",
            opacity=0.12,
            line=False,
            encoding={"x": x, "y": quantitative("low", **upright), "y2": {"field": "high"}, "color": colours},
        ),
        layer(
            "rows", "line", strokeWidth=2, encoding={"x": x, "y": y, "color": colours, "strokeDash": dashes}
        ),
        # Nothing is seen of them; they have the tooltips.
        layer(
            "rows",
            "point",
            size=90,
            filled=True,
            opacity=0,
            encoding={"x": x, "y": y, "color": colours, "tooltip": tips},
        ),
        end_labels(colours),
    ]
    wanted = {
        curve.cell.contender: height_of(curve.percentiles[-1].value_ns / unit, low, high, _HEIGHT, log=True)
        for curve in curves
    }
    rows = [_row(curve, each, unit) for curve in curves for each in curve.percentiles]
    return layered(layers, _HEIGHT, {"rows": rows, "labels": label_rows(wanted, _HEIGHT)})


def _across(level: float) -> float:
    """The place of a share on the axis. Rounded: 1 − 0.999 is not a thousandth to the last bit, and a tick
    beyond the last point is not drawn."""
    return float(f"{1 / (1 - level):.9g}")


def _x(first: float, last: float) -> Json:
    places = {_across(float(text) / 100): f"{text} %" for text in _PERCENTS}
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


def _row(curve: PercentileCurve, percentile: Percentile, unit: float) -> Json:
    low, high = percentile.low_ns, percentile.high_ns
    return {
        "contender": curve.cell.contender,
        "x": _across(percentile.level),
        "value": percentile.value_ns / unit,
        "low": low / unit if low else None,
        "high": high / unit if high else None,
        "level": f"{_percent(percentile.level)} %",
        "shown": units.quantity(percentile.value_ns, "ns"),
        "trials": (
            f"{units.quantity(low, 'ns')} – {units.quantity(high, 'ns')}"
            if low is not None and high is not None
            else "too few requests in each"
        ),
        "n": f"{curve.requests:,}",
    }


def _percent(level: float) -> str:
    """A share in per cent with as many decimals as its nines need: `50`, `99.95`."""
    text = str(round(100 * level, units.digits_between(100 * (1 - level))))
    return text.removesuffix(".0")
