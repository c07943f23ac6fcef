"""The plots of runs as files: SVG and PNG, in the page's light colours."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ringside.analysis.run import RunAnalysis
from ringside.errors import ReportError
from ringside.render.html.style import light_colours
from ringside.render.plots.charts import charts, config, missing
from ringside.render.plots.spec import Panel

# Pixels of a panel, whose page would have given it its own; and how many of a PNG stand for one of them.
_WIDTH = 640
_SCALE = 2


def write(analyses: Sequence[RunAnalysis], folder: Path) -> list[Path]:
    """Write each panel of each run as `NN-chart-panel.svg` and `.png` into a folder, which is made. Raises
    ReportError where that fails, or a package is missing."""
    if absent := missing():
        raise ReportError(f"figures need {absent}: install ringside with its extra `report`")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [path for analysis in analyses for path in _write(analysis, folder, len(analyses) > 1)]
    except OSError as error:
        raise ReportError(f"{folder} cannot be written: {error.strerror}; choose another") from error


def _write(analysis: RunAnalysis, folder: Path, several: bool) -> Iterator[Path]:
    convert = importlib.import_module("vl_convert")
    number = 0
    for chart in charts(analysis):
        for panel in chart.panels:
            number += 1
            parts = [analysis.experiment.name] if several else []
            parts += [f"{number:02}", chart.title, *([panel.title] if len(chart.panels) > 1 else [])]
            stem = "-".join(_slug(part) for part in parts)
            title = chart.title if len(chart.panels) == 1 else f"{chart.title}: {panel.title}"
            svg = convert.vegalite_to_svg(standing_alone(panel, title))
            for suffix, data in (("svg", svg.encode()), ("png", convert.svg_to_png(svg, scale=_SCALE))):
                path = folder / f"{stem}.{suffix}"
                path.write_bytes(data)
                yield path


def standing_alone(panel: Panel, title: str) -> str:
    """A panel's specification as JSON with a width, a title, and colours in place of the page's variables."""
    spec = {
        **panel.spec,
        "width": _WIDTH,
        "config": {**config(), "background": "white"},
        "title": {
            "text": title,
            "anchor": "start",
            "fontSize": 13,
            "limit": _WIDTH,
            "color": "var(--ink)",
        },
    }
    colours = light_colours()
    return re.sub(r"var\(--([a-z0-9]+)\)", lambda match: colours[match[1]], json.dumps(spec))


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "figure"
