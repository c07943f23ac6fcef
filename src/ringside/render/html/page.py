"""A run, or several, as one page that needs no network: first the answers, then a section for each run, at
the end what all runs share. Its looks are in page.css, its behaviour in page.js, its order in page.html.j2.

Whatever comes from contenders, files or a store is hostile: the template escapes all of it, control and
direction characters are made visible, and the page's Content-Security-Policy lets only the two scripts run
that were put in here, known by their hashes, without eval and without any network.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jinja2
from markupsafe import Markup

from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import JudgedClaim, SuiteAnalysis
from ringside.model.results import Answer
from ringside.render.export.documents import FORMAT, document
from ringside.render.html import appendix, templates
from ringside.render.html.front import front
from ringside.render.html.pictures import family_view
from ringside.render.html.templates import environment, json_element, packed, policy, script, vega
from ringside.render.plots.charts import MARKS, charts_with_stems, config, missing
from ringside.render.plots.spec import Json, colour
from ringside.render.text import sentences
from ringside.render.text.command import own_command
from ringside.render.text.contenders import claim_summary, claim_table, contender_table
from ringside.render.text.diagnostics import for_pages
from ringside.render.text.tables import tables
from ringside.text import minute

# Verdicts at more points than this are folded away below the summary of all.
_OPEN_POINTS = 6


def render(suite: SuiteAnalysis, source_texts: Mapping[str, str], *, home: str = "") -> str:
    """The whole page; `source_texts`: by hash, to which the plans' `files` refer; `home`: the address of the
    list that the page is one of. Without the package that draws plots it says so and has all the rest."""
    absent = missing()
    specs: list[Json] = []
    analyses = suite.runs
    shared = _shared_warnings(analyses)
    sections = [
        _section(suite, number, {each["code"] for each in shared}, specs, draws=not absent)
        for number in range(len(analyses))
    ]
    texts = appendix.SourceTexts(source_texts)
    contenders = appendix.contenders(analyses, texts)
    library, packed_library = _library() if specs else (Markup(), "")
    behaviour = script("".join(map(templates.read_file, ("sources.js", "page.js", "overview.js"))))
    top = front(suite)
    return _template().render(
        title=top["title"],
        front=top,
        sections=sections,
        home=home,
        claims=_claims(suite.claims),
        common=for_pages(suite.machine_diagnostics),
        shared=shared,
        contenders=contenders,
        contender_table=contender_table(*analyses),
        machines=appendix.machines(analyses),
        moments=appendix.moments(analyses),
        evidence=list(dict.fromkeys(filter(None, (each.measurement.evidence_note for each in analyses)))),
        absent=absent,
        policy=policy([behaviour, *([library] if specs else [])]),
        behaviour=behaviour,
        # Packed: they are unpacked when the page has been painted, or when a source is opened.
        library=packed_library,
        charts=packed(json.dumps({"config": config(), "specs": specs, "marks": MARKS})) if specs else "",
        texts=packed(json.dumps(texts.highlighted)) if texts.highlighted else "",
        style=Markup(templates.read_file("page.css")),
        data=json_element({"format": FORMAT, "runs": list(map(_data, analyses))}),
    )


@functools.cache
def _template() -> jinja2.Template:
    return environment().get_template("page.html.j2")


@functools.cache
def _library() -> tuple[Markup, str]:
    """What draws the plots, a megabyte, the same for all pages: as a script, and packed."""
    library = script(vega())
    return library, packed(str(library))


def _shared_warnings(analyses: Sequence[RunAnalysis]) -> list[dict[str, Any]]:
    """The warnings of at least two runs, in the order in which they first occur. A remedy that all of these
    have stands once, else with each of them."""
    by_code: dict[str, list[dict[str, str]]] = {}
    for number, analysis in enumerate(analyses, 1):
        for each in for_pages(analysis.own_diagnostics):
            row = {**each, "experiment": analysis.experiment.name, "anchor": f"run-{number}"}
            by_code.setdefault(each["code"], []).append(row)
    shared = []
    for code, rows in by_code.items():
        if len({row["anchor"] for row in rows}) > 1:
            remedies = {row["remedy"] for row in rows}
            common = remedies.pop() if len(remedies) == 1 else ""
            of_runs = [{**row, "remedy": ""} if common else row for row in rows]
            shared.append({"code": code, "remedy": common, "of_runs": of_runs})
    return shared


def _claims(claims: Sequence[JudgedClaim]) -> dict[str, Any] | None:
    """The claims that these runs test as a table, and the others as another."""
    if not claims:
        return None
    tested = [each for each in claims if each.finding.answer is not Answer.NOT_TESTED]
    others = [each for each in claims if each.finding.answer is Answer.NOT_TESTED]
    tables = [replace(claim_table(each), subtitle="") if each else None for each in (tested, others)]
    summary = claim_summary(claims)
    return {"summary": summary, "tested": tables[0], "others": tables[1], "count": len(others)}


def _section(
    suite: SuiteAnalysis, number: int, shared: Collection[str], specs: list[Json], *, draws: bool
) -> dict[str, Any]:
    """What the template shows of one run. Specifications of plots are put behind `specs`. Warnings that
    several runs have stand elsewhere: `shared` has their codes."""
    analysis, by_family = suite.runs[number], suite.by_family[number]
    headline = analysis.headline
    codes = list(dict.fromkeys(each.code for each in analysis.own_diagnostics))
    charts = []
    for chart, with_stems in charts_with_stems(analysis, several=len(suite.runs) > 1) if draws else ():
        panels = []
        for panel, stem in with_stems:
            panels.append({"panel": panel, "number": len(specs), "file": stem})
            specs.append(panel.spec)
        charts.append({"title": chart.title, "caption": chart.caption, "panels": panels})
    return {
        "id": f"run-{number + 1}",
        "analysis": analysis,
        "date": minute(analysis.run.started_at),
        "fixed": " ".join(f"{factor}={level}" for factor, level in analysis.fixed.items()),
        "noun": headline.noun,
        "overall": sentences.overall(analysis, headline),
        "points": [
            {"label": analysis.label(point), "sentences": sentences.at_point(analysis, headline, point)}
            for point in analysis.points
        ],
        "open": len(analysis.points) <= _OPEN_POINTS,
        "diagnostics": for_pages(each for each in analysis.own_diagnostics if each.code not in shared),
        "shared": [code for code in codes if code in shared],
        "is_interim": analysis.run.ended_at is None and "unfinished" not in codes,
        "command": own_command(analysis),
        "families": family_view(by_family) if by_family else None,
        "charts": charts,
        "colours": {name: colour(name, analysis.floor) for name in analysis.names},
        "tables": tables(analysis, is_part=True),
        "resolved": json.dumps(analysis.run.plan["experiment"], indent=2, ensure_ascii=False),
    }


def _data(analysis: RunAnalysis) -> dict[str, Any]:
    """The command line's document, with the figures of each block besides."""
    values = document(analysis)
    for row, cell in zip(values["cells"], analysis.cells.values(), strict=True):
        row["by_block"] = {name: dict(by_block) for name, by_block in cell.by_block.items()}
    return values
