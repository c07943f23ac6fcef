"""The pages' templates, and what the page of a run in progress shows: parts as HTML, each replaced when it
changes, and plots. All text is escaped, and its control and direction characters are made visible, as in the
report."""

import functools
import hashlib
from pathlib import Path
from typing import Any

from ringside.analysis.run import RunAnalysis
from ringside.render.html.templates import environment, read_file, vega
from ringside.render.plots.charts import CONFIG, charts, missing
from ringside.render.text.tables import tables

_FOLDER = Path(__file__).parent
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
# How many of a run's trials the page of a run in progress lists.
_LATEST = 8


def page(template: str, **values: Any) -> str:
    """A whole page, or a part of one."""
    return environment(_FOLDER / "templates").get_template(template).render(asset=asset, **values)


@functools.cache
def file(name: str) -> tuple[bytes, str] | None:
    """A file that the pages load, and its type; None if there is none of that name."""
    if name == "vega.js":
        return (vega().encode(), _TYPES[".js"]) if missing() is None else None
    if name == "ringside.css":
        return (read_file("page.css") + _read("serve.css")).encode(), _TYPES[".css"]
    if name in ("live.js", "icon.svg"):
        return _read(name).encode(), _TYPES[Path(name).suffix]
    return None


@functools.cache
def asset(name: str) -> str:
    """The address of a file of `static`, another one when it changes."""
    content = file(name)
    digest = hashlib.sha256(content[0]).hexdigest()[:12] if content else ""
    return f"/static/{name}?{digest}"


def _read(name: str) -> str:
    return (_FOLDER / "static" / name).read_text(encoding="utf-8")


def content(analysis: RunAnalysis) -> dict[str, Any]:
    """`parts`: HTML by the id of the element that it belongs into; `plots`: Vega-Lite specifications by the
    id of theirs, with the configuration that they share."""
    drawn = charts(analysis) if missing() is None else []
    # The answer's point comes first: the others are folded.
    answer = analysis.label(analysis.overview_point)
    shown = sorted(tables(analysis), key=lambda table: table.title != answer)
    values = {"analysis": analysis, "charts": drawn, "tables": shown, "latest": analysis.trials[-_LATEST:]}
    names = ("facts", "verdicts", "plots", "tables")
    parts = {name: page(f"part_{name}.html.j2", **values) for name in names}
    plots = {panel.stem: panel.spec for chart in drawn for panel in chart.panels}
    return {"parts": parts, "config": CONFIG, "plots": plots}
