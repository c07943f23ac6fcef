"""The plots of runs as files: SVG and PNG, in the page's light colours."""

from __future__ import annotations

import copy
import importlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ringside.analysis.summary import Summary
from ringside.errors import ReportError
from ringside.render.html import page as html
from ringside.render.plots import charts

# Pixels of a panel, whose page would have given it its own; and how many of a PNG stand for one of them.
_WIDTH = 640
_SCALE = 2


def write(summaries: Sequence[Summary], folder: Path) -> list[Path]:
    """Write each panel of each run as `NN-chart-panel.svg` and `.png` into a folder, which is made. Raises
    ReportError where that fails, or a package is missing."""
    if absent := charts.missing():
        raise ReportError(f"figures need {absent}: install ringside with its extra `report`")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [path for one in summaries for path in _write(one, folder, len(summaries) > 1)]
    except OSError as error:
        raise ReportError(f"{folder} cannot be written: {error.strerror}; choose another") from error


def _write(summary: Summary, folder: Path, several: bool) -> Iterator[Path]:
    convert = importlib.import_module("vl_convert")
    number = 0
    for chart in charts.charts(summary):
        for panel in chart.panels:
            number += 1
            parts = [summary.experiment.name] if several else []
            parts += [f"{number:02}", chart.title, *([panel.title] if len(chart.panels) > 1 else [])]
            stem = "-".join(_slug(part) for part in parts)
            title = chart.title if len(chart.panels) == 1 else f"{chart.title}: {panel.title}"
            spec = _standing_alone(panel, title)
            svg = convert.vegalite_to_svg(spec)
            for suffix, data in (("svg", svg.encode()), ("png", convert.svg_to_png(svg, scale=_SCALE))):
                path = folder / f"{stem}.{suffix}"
                path.write_bytes(data)
                yield path


def _standing_alone(panel: charts.Panel, title: str) -> str:
    """A panel's specification with a width, a title, and colours in place of the page's variables."""
    spec = copy.deepcopy(panel.spec)
    spec |= {"width": _WIDTH, "config": {**charts.config(), "background": "white"}}
    spec["title"] = {"text": title, "anchor": "start", "fontSize": 13, "limit": _WIDTH, "color": "var(--ink)"}
    colours = html.light_colours()
    return re.sub(r"var\(--([a-z0-9]+)\)", lambda found: colours[found[1]], json.dumps(spec))


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "figure"
