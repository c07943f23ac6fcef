"""A run, or several, as one page that needs no network. Its looks are in page.css, its little behaviour in
page.js, its order in page.html.j2.

Whatever comes from contenders, files or a store is hostile: the template escapes all of it, control and
direction characters are made visible, and the page's Content-Security-Policy lets only the two scripts run
that were put in here, known by their hashes, without eval and without any network.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2
from markupsafe import Markup

from ringside import __version__, units
from ringside.analysis.claims import examine, sources_of
from ringside.analysis.run import RunAnalysis
from ringside.model.results import Outcome
from ringside.render import diagnostics, failures, sentences
from ringside.render.documents import FORMAT, document
from ringside.render.html import facts, sources, style
from ringside.render.html.scripts import json_element, policy, script, vega
from ringside.render.plots.charts import charts, config, missing
from ringside.render.plots.spec import Json, colour
from ringside.render.table import TableData, column_kinds
from ringside.render.tables import tables
from ringside.render.tables.claims import table as claim_table

# Verdicts at more points than this are folded away below the summary of all.
_OPEN_POINTS = 6
_AXIS_PIXELS = 54

# By the files of a contender and their hashes: the anchor of the place where they are shown.
Shown = dict[tuple[tuple[str, str], ...], str]


@dataclass(frozen=True, slots=True)
class Page:
    """A run's part of the page. `sources`: texts by hash, to which the plan's `files` refer."""

    analysis: RunAnalysis
    sources: Mapping[str, str]


def render(pages: Sequence[Page]) -> str:
    """The whole page. Without the package that draws plots it says so and has all the rest."""
    absent = missing()
    specs: list[Json] = []
    shown: Shown = {}
    sections = [
        _section(page, number, specs, shown, with_plots=absent is None)
        for number, page in enumerate(pages, 1)
    ]
    scripts = [script(text) for text in (vega(), style.read("page.js"))] if specs else []
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(style.FOLDER),
        autoescape=True,
        finalize=sources.visible,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = sources.code
    return environment.get_template("page.html.j2").render(
        title=" · ".join(dict.fromkeys(page.analysis.experiment.title for page in pages)),
        sections=sections,
        claims=_claims([page.analysis for page in pages]),
        absent=absent,
        policy=policy(scripts),
        scripts=[each.text for each in scripts],
        style=Markup(style.read("page.css") + sources.highlighting_css()),
        specs=json_element({"config": config(), "specs": specs}),
        data=json_element({"format": FORMAT, "runs": [_data(page.analysis) for page in pages]}),
        version=__version__,
    )


def _section(page: Page, number: int, specs: list[Json], shown: Shown, *, with_plots: bool) -> dict[str, Any]:
    """What the template shows of one run. Specifications of plots are put behind `specs`, and where sources
    stand into `shown`."""
    analysis = page.analysis
    headline = analysis.headline
    return {
        "id": f"run-{number}",
        "analysis": analysis,
        "date": analysis.run.started_at[:16].replace("T", " "),
        "machine": facts.machine(analysis.run.host),
        "fixed": " ".join(f"{factor}={level}" for factor, level in analysis.fixed.items()),
        "noun": headline.noun,
        "overall": sentences.overall(analysis, headline),
        "points": [
            {"label": analysis.label(point), "sentences": sentences.at_point(analysis, headline, point)}
            for point in analysis.points
        ],
        "open": len(analysis.points) <= _OPEN_POINTS,
        "diagnostics": [
            {"code": each.code, "text": f"{text[:1].upper()}{text[1:]}", "remedy": remedy}
            for each in analysis.diagnostics
            for text, remedy in [diagnostics.words(each)]
        ],
        "charts": _charts(analysis, specs) if with_plots else [],
        "colours": {name: colour(analysis, name) for name in analysis.names},
        "tables": [_table(table) for table in tables(analysis)],
        "contenders": [_contender(page, f"run-{number}", name, shown) for name in analysis.names],
        "host": facts.rows(analysis.run.host),
        "resolved": json.dumps(analysis.run.plan["experiment"], indent=2, ensure_ascii=False),
    }


def _table(table: TableData) -> dict[str, Any]:
    return {"data": table, "kinds": column_kinds(table), "worded": "verdict" not in table.columns}


def _claims(analyses: Sequence[RunAnalysis]) -> dict[str, Any] | None:
    """What the runs say of their sources' claims; None where they have none."""
    examined = examine(sources_of(analyses), analyses)
    return _table(claim_table(examined)) if examined else None


def _charts(analysis: RunAnalysis, specs: list[Json]) -> list[dict[str, Any]]:
    numbered = []
    for chart in charts(analysis):
        panels = []
        for panel in chart.panels:
            # Room is kept for it, so that the page does not jump when it is drawn.
            height = panel.spec["height"] + _AXIS_PIXELS
            panels.append({"title": panel.title, "number": len(specs), "height": height})
            specs.append(panel.spec)
        numbered.append({"title": chart.title, "caption": chart.caption, "panels": panels})
    return numbered


def _contender(page: Page, section: str, name: str, shown: Shown) -> dict[str, Any]:
    contender = page.analysis.contenders[name]
    anchor = f"{section}-contender-{page.analysis.names.index(name) + 1}"
    # A page of many runs has the same programs again and again.
    first = shown.setdefault(tuple(sorted(contender.files.items())), anchor)
    own = contender.files if first == anchor else {}
    files = [
        (path, page.sources.get(digest, "(not kept)"))
        for path, digest in sorted(own.items(), key=_by_interest)
    ]
    readme = next((text for path, text in files if path.lower() == "readme.md"), None)
    return {
        "name": name,
        "planned": contender,
        "anchor": anchor,
        "shown_at": first if first != anchor else None,
        "command": " ".join(contender.command),
        "readme": sources.markdown(readme) if readme else None,
        "files": [
            {"path": path, "code": sources.highlighted(path, text), "lines": _lines(text)}
            for path, text in files
            if path.lower() != "readme.md"
        ],
        "failures": [
            {
                "label": page.analysis.label(cell.point),
                "reason": analysed.reason,
                "stderr": analysed.stderr,
                "repeat": failures.repeat_command(page.analysis, analysed),
            }
            for cell, analysed in page.analysis.cells.items()
            if cell.contender == name and any(outcome is not Outcome.OK for outcome in analysed.outcomes)
        ],
    }


def _lines(text: str) -> str:
    return units.count(text.rstrip("\n").count("\n") + 1, "line")


def _by_interest(item: tuple[str, str]) -> tuple[bool, str]:
    """Programs first, manifests and locks behind."""
    return item[0].endswith((".toml", ".lock", ".sum", ".mod", ".json")), item[0]


def _data(analysis: RunAnalysis) -> dict[str, Any]:
    """The command line's document, with the figures of each block besides."""
    values = document(analysis)
    for row, cell in zip(values["cells"], analysis.cells.values(), strict=True):
        row["by_block"] = {name: dict(by_block) for name, by_block in cell.by_block.items()}
    return values
