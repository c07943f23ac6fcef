"""Published ratios beside those of this run: pairs of dots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ringside.analysis.published import ThenAndNow
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric
from ringside.model.results import Interval
from ringside.render.plots.marks import Mark, horizontal, row_axis, rows
from ringside.render.plots.spec import Chart, Json, Panel, colour, layer, layered, quantitative, tooltip

_ROW = 24
_RATIO = Metric("ratio", "", "now", "")


def charts(analysis: RunAnalysis) -> Iterator[Chart]:
    """For each metric of the source a panel for each pair: a row for each point, the source's ratio hollow,
    this run's filled."""
    for both in analysis.then_and_now:
        panels = [
            Panel(pair, _dumbbells(colour(analysis, pair.split(" / ")[0]), _marks(analysis, both, pair)))
            for pair in dict.fromkeys(row.label for row in both.ratios)
        ]
        yield Chart(
            f"{both.metric.title}: ratios then and now",
            f"○ {both.source.date[:4]}, as published in “{both.source.title}”; ● this run, with its 95 % "
            "interval as a bar. The line between them is the change; 1 means that both take the same.",
            tuple(panels),
        )


def _marks(analysis: RunAnalysis, both: ThenAndNow, pair: str) -> list[Mark]:
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
        _ROW * len(marks),
        {"rows": rows(marks, _RATIO, 1.0), "equal": [{"then": 1.0}]},
    )
