"""All plots of a run, as specifications, and as files: SVG and PNG in light colours, figures as CSV."""

import importlib.util
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ringside.analysis.run import RunAnalysis
from ringside.errors import ReportError
from ringside.render.plots import lines, rows, timelines
from ringside.render.plots.spec import Chart, Json, Panel, template
from ringside.text import csv_text


def missing() -> str | None:
    """The package that plots need, where it is not installed."""
    return None if importlib.util.find_spec("vl_convert") else "vl-convert-python"


# The Vega-Lite configuration of all plots: marks have no descriptions of their own, since they are too many;
# legends stand one below the other, since side by side they leave a narrow panel.
CONFIG: Json = template("config")


def charts_of(analyses: Sequence[RunAnalysis]) -> list[list[Chart]]:
    """The plots of each of several runs; the names of their files begin with the experiment, or with the id
    of the run where others are of that experiment, too."""
    counts = Counter(each.experiment.name for each in analyses)
    names = [each.run.id if counts[each.experiment.name] > 1 else each.experiment.name for each in analyses]
    return [charts(each, name if len(names) > 1 else "") for each, name in zip(analyses, names, strict=True)]


def charts(analysis: RunAnalysis, prefix: str = "") -> list[Chart]:
    """All plots of a run, in the order in which they are read. The files of a panel are called
    `[PREFIX-]NN-chart-panel`."""
    shown, numbers = [], itertools.count(1)
    for chart in _charts(analysis):
        panels = []
        for panel in chart.panels:
            parts = [prefix] if prefix else []
            parts += [f"{next(numbers):02}", chart.title, *([panel.title] if len(chart.panels) > 1 else [])]
            slugs = (re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-")[:60] for part in parts)
            panels.append(replace(panel, stem="-".join(slug or "figure" for slug in slugs)))
        if panels:
            shown.append(replace(chart, panels=tuple(panels)))
    return shown


def _charts(analysis: RunAnalysis) -> Iterator[Chart]:
    measurement, over_rate = analysis.measurement, analysis.measurement.over_rate
    plotted = {metric.name: metric for metric in analysis.metrics}
    plotted |= {name: measurement.metric(name) for name in measurement.plotted}
    for name, metric in plotted.items():
        if not analysis.swept:
            yield rows.dots(analysis, metric)
        # Plots over the rate are the one of latency against rate.
        elif not (over_rate and analysis.swept == over_rate.factor and name in over_rate.metrics):
            yield lines.sweep(analysis, metric, analysis.swept)
    yield from lines.warm_up_charts(analysis)
    yield from lines.speed_up_charts(analysis)
    yield from timelines.span_charts(analysis)
    yield from rows.scatter_charts(analysis)
    yield from lines.rate_charts(analysis)
    yield from lines.curve_charts(analysis)
    yield from lines.percentile_charts(analysis)
    yield from timelines.timeline_charts(analysis)
    yield from rows.slope_charts(analysis)
    yield from rows.published_charts(analysis)
    yield lines.trial_chart(analysis)


# Data that only draw: where names stand at the edge, and lines at fixed values or at the floor of the rows.
MARKS = ("labels", "floor", "limits", "one", "equal", "marker")
# Pixels of a panel, whose page would have given it its own; and how many of a PNG stand for one of them.
_WIDTH = 640
_SCALE = 2


def figures(charts: Iterable[Chart]) -> dict[str, bytes]:
    """Each panel as three files, by name. Raises ReportError if a package is missing."""
    if absent := missing():
        raise ReportError(f"figures need {absent}: run `make setup`, or install the extra `report`")
    convert = importlib.import_module("vl_convert")
    files = {}
    for chart, panel in ((each, panel) for each in charts for panel in each.panels):
        title = chart.title if len(chart.panels) == 1 else f"{chart.title}: {panel.title}"
        svg = convert.vegalite_to_svg(standing_alone(panel, title))
        files[f"{panel.stem}.svg"] = svg.encode()
        files[f"{panel.stem}.png"] = convert.svg_to_png(svg, scale=_SCALE)
        files[f"{panel.stem}.csv"] = figures_as_csv(panel.spec).encode()
    return files


def figures_as_csv(spec: Json) -> str:
    """The figures that a panel draws, as CSV; of several series all, with a column that names them."""
    series = {name: rows for name, rows in spec["datasets"].items() if name not in MARKS and rows}
    named = [(name, row) for name, rows in series.items() for row in rows]
    rows = [{"series": name, **row} if len(series) > 1 else row for name, row in named]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    figures = ([_field(row.get(column)) for column in columns] for row in rows)
    return csv_text([columns, *figures], line_end="\r\n")


def _field(value: Any) -> Any:
    """A value as a script of the page writes it: whole numbers without a point, truth in small letters."""
    if isinstance(value, bool):
        return str(value).lower()
    return int(value) if isinstance(value, float) and value.is_integer() else value


def standing_alone(panel: Panel, title: str) -> str:
    """A panel as JSON with a width, a title, and the page's light colours in place of its variables."""
    page = (Path(__file__).parents[1] / "html" / "page.css").read_text(encoding="utf-8")
    colours = dict(re.findall(r"--([a-z0-9]+): *(#[0-9a-f]{6});", page.split("}", 1)[0]))
    look = {"anchor": "start", "fontSize": 13, "limit": _WIDTH, "color": "var(--ink)"}
    spec = {**panel.spec, "width": _WIDTH, "config": {**CONFIG, "background": "white"}}
    text = json.dumps({**spec, "title": {"text": title, **look}})
    return re.sub(r"var\(--([a-z0-9]+)\)", lambda match: colours[match[1]], text)
