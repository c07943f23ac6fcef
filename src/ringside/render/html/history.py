"""The history of an experiment as a part of a page, without a script; its order: history_view.html.j2."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from ringside.analysis.history import History
from ringside.render.plots.charts import config, missing
from ringside.render.plots.history import chart
from ringside.render.plots.spec import Json
from ringside.render.tables.history import change_table, run_table

_WIDTH = 1100


def view(history: History, links: Mapping[str, str]) -> dict[str, Any]:
    """What the template shows. `links`: addresses of reports by the runs' ids."""
    plots = chart(history) if len(history.runs) > 1 and history.series else None
    return {
        "history": history,
        "plots": plots,
        "drawings": [(panel.title, drawing(panel.spec)) for panel in plots.panels] if plots else [],
        "tables": [change_table(history), run_table(history)],
        "links": links,
    }


def drawing(spec: Json, width: int = _WIDTH) -> Markup | None:
    """A plot as SVG that stands in a page and has its colours, light or dark; `width`: of the plot without
    its axis, in pixels. None where the package that draws is missing."""
    if missing():
        return None
    convert = importlib.import_module("vl_convert")
    svg: str = convert.vegalite_to_svg(json.dumps({**spec, "width": width, "config": config()}))
    return Markup(svg)
