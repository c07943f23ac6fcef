"""Speed-up over cores: what was measured, the fitted law, and the ideal."""

from __future__ import annotations

from collections.abc import Iterator

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.analysis.scaling import CoresScaling, ScaledContender
from ringside.model.results import Interval
from ringside.render.plots.layout import height_of, label_rows
from ringside.render.plots.spec import (
    Chart,
    Json,
    Panel,
    end_labels,
    hue,
    layer,
    layered,
    nominal,
    quantitative,
)

_HEIGHT = 260


def charts(analysis: RunAnalysis) -> Iterator[Chart]:
    """For each law over cores a panel for each setting of the other factors."""
    for law in dict.fromkeys(scaling.law for scaling in analysis.cores_scaling):
        yield Chart(
            "Speed-up over cores",
            "How many times faster than on one core, from pairs inside blocks, bars are 95 % intervals. "
            "Curves are the Universal Scalability Law where three numbers of cores or more allow a fit, else "
            "straight lines; the dashed line is the ideal.",
            tuple(
                Panel(analysis.setting(scaling.fixed) or "Speed-up", _picture(analysis, scaling))
                for scaling in analysis.cores_scaling
                if scaling.law == law
            ),
        )


def _picture(analysis: RunAnalysis, scaling: CoresScaling) -> Json:
    """Dots with intervals from 1 core on, curves, and the ideal as a dashed line that ends where the axis
    does."""
    most = max(scaling.levels)
    dots = [row for contender in scaling.rows for row in _dots(contender)]
    highest = max(row["high"] for row in dots) * 1.08
    colours = hue(analysis, [row.contender for row in scaling.rows])
    x = quantitative(
        "cores",
        title="cores",
        scale={"domain": [1, most], "nice": False},
        axis={"grid": False, "values": sorted({row["cores"] for row in dots}), "format": "d"},
    )
    upright = {
        "title": "speed-up over one core",
        "scale": {"domain": [0, highest], "nice": False},
        "axis": {"tickCount": 6},
    }
    y = quantitative("value", **upright)
    bar = {"x": x, "y": quantitative("low", **upright), "y2": {"field": "high"}, "color": colours}
    tips = [nominal("contender"), quantitative("cores"), nominal("shown", title="speed-up")]
    dot = {"x": x, "y": y, "color": colours, "tooltip": tips}
    layers = [
        layer("ideal", "line", strokeDash=[5, 4], color="var(--quiet)", encoding={"x": x, "y": y}),
        layer("curves", "line", strokeWidth=2, encoding={"x": x, "y": y, "color": colours}),
        layer("dots", "rule", strokeWidth=5, opacity=0.35, encoding=bar),
        layer("dots", "point", filled=True, size=60, opacity=1, encoding=dot),
        end_labels(colours),
    ]
    last = {row.contender: row.speed_ups[max(row.speed_ups)].estimate for row in scaling.rows}
    wanted = {name: height_of(value, 0.0, highest, _HEIGHT, log=False) for name, value in last.items()}
    top = min(float(most), highest)
    data = {
        "dots": dots,
        "curves": [row for contender in scaling.rows for row in _curve(contender)],
        "ideal": [{"cores": 1, "value": 1}, {"cores": top, "value": top}],
        "labels": label_rows(wanted, _HEIGHT),
    }
    return layered(layers, _HEIGHT, data)


def _dots(row: ScaledContender) -> list[Json]:
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


def _curve(row: ScaledContender) -> list[Json]:
    return [{"contender": row.contender, "cores": cores, "value": value} for cores, value in row.curve]
