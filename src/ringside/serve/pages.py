"""The pages' templates, and what the page of a run in progress shows: parts as HTML, each replaced when it
changes, and plots. All text is escaped, and its control and direction characters are made visible, as in the
report."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.model.results import Outcome
from ringside.render.html.templates import environment, read_file, vega
from ringside.render.plots.charts import charts, config, missing
from ringside.render.plots.spec import colour
from ringside.render.text import diagnostics, heading, sentences
from ringside.render.text.answers import answers
from ringside.render.text.tables import tables

_FOLDER = Path(__file__).parent
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@functools.cache
def _environment() -> jinja2.Environment:
    templates = environment(_FOLDER / "templates")
    templates.filters["part"] = lambda text: quote(text, safe="")
    templates.globals["asset"] = asset
    return templates


def page(template: str, **values: Any) -> str:
    """A whole page, or a part of one."""
    return _environment().get_template(template).render(**values)


@functools.cache
def file(name: str) -> tuple[bytes, str] | None:
    """A file that the pages load, and its type; None where there is none of that name."""
    if name == "vega.js":
        return (vega().encode(), _TYPES[".js"]) if missing() is None else None
    if name == "ringside.css":
        return (read_file("page.css") + _read("serve.css")).encode(), _TYPES[".css"]
    if name not in {path.name for path in (_FOLDER / "static").iterdir()} or name.endswith(".css"):
        return None
    return _read(name).encode(), _TYPES[Path(name).suffix]


@functools.cache
def asset(name: str) -> str:
    """The address of such a file, another one when it changes."""
    content = file(name)
    digest = hashlib.sha256(content[0]).hexdigest()[:12] if content else ""
    return f"/static/{name}?{digest}"


def _read(name: str) -> str:
    return (_FOLDER / "static" / name).read_text(encoding="utf-8")


# Sentences at more points than this stand behind the summary of all.
_OPEN_POINTS = 4
_LATEST = 8


def content(analysis: RunAnalysis) -> dict[str, Any]:
    """`parts`: HTML by the id of the element that it belongs into; `plots`: Vega-Lite specifications by the
    id of theirs, with the configuration that they share."""
    plots: dict[str, Any] = {}
    drawn = []
    for chart in charts(analysis) if missing() is None else ():
        panels = []
        for panel in chart.panels:
            key = f"plot-{len(plots) + 1}"
            panels.append({"key": key, "panel": panel})
            plots[key] = panel.spec
        drawn.append({"title": chart.title, "caption": chart.caption, "panels": panels})
    is_over = analysis.run.ended_at is not None
    headline = analysis.headline
    return {
        "parts": {
            "facts": page(
                "part_facts.html.j2",
                analysis=analysis,
                heading=heading.heading(analysis),
                machine=heading.machine(analysis.run.host),
                latest=_latest(analysis),
                count=units.count(analysis.trial_count, "trial"),
            ),
            "verdicts": page(
                "part_verdicts.html.j2",
                is_over=is_over,
                noun=headline.noun,
                answers=answers(analysis),
                overall=sentences.overall(analysis, headline),
                points=[
                    (analysis.label(point), sentences.at_point(analysis, headline, point))
                    for point in analysis.points
                ],
                is_open=len(analysis.points) <= _OPEN_POINTS,
                diagnostics=diagnostics.for_pages(analysis.diagnostics),
            ),
            "plots": page(
                "part_plots.html.j2",
                charts=drawn,
                absent=missing(),
                colours={name: colour(name, analysis.floor) for name in analysis.names},
            ),
            "tables": page("part_tables.html.j2", tables=tables(analysis), is_over=is_over),
        },
        "config": config(),
        "plots": plots,
    }


def empty(title: str, text: str) -> dict[str, Any]:
    """The content of a run that has nothing to show yet."""
    return {
        "parts": {"facts": page("part_nothing.html.j2", title=title, text=text)},
        "config": {},
        "plots": {},
    }


def _latest(analysis: RunAnalysis) -> list[dict[str, str]]:
    """The last trials, the latest first."""
    return [
        {
            "contender": trial.cell.contender,
            "label": analysis.label(trial.cell.point),
            "block": f"block {trial.block}",
            "outcome": str(trial.outcome),
            "kind": "quiet" if trial.outcome is Outcome.OK else "failed",
            "detail": trial.detail,
        }
        for trial in reversed(analysis.trials[-_LATEST:])
    ]
