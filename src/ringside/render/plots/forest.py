"""Ratios to the baseline with their intervals, one row for each contender: a forest plot."""

from __future__ import annotations

from collections.abc import Sequence

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Point
from ringside.model.results import Comparison
from ringside.render.plots.layout import log_ticks
from ringside.render.plots.marks import interval_rows, row_axis
from ringside.render.plots.spec import Chart, Json, Panel, hue, layer, layered, quantitative, tooltip
from ringside.text import capitalised

_ROW = 24


def chart(analysis: RunAnalysis) -> Chart:
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
    return layered(layers, _ROW * len(rows), values)
