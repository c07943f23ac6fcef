"""A run, or several, as one page that needs no network: first the answers, then a section for each run, at
the end what all runs share. Its looks are in page.css, its behaviour in page.js, its order in page.html.j2.

Whatever comes from contenders, files or a store is hostile: the template escapes all of it, control and
direction characters are made visible, and the page's Content-Security-Policy lets only the two scripts run
that were put in here, known by their hashes, without eval and without any network.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup

from ringside.analysis.families import FamilyStanding
from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import JudgedClaim, SuiteAnalysis
from ringside.model.results import Answer
from ringside.render.export.documents import FORMAT, document
from ringside.render.html import appendix, templates
from ringside.render.html.front import front
from ringside.render.html.pictures import family_picture
from ringside.render.html.templates import Script, environment, json_element, packed, policy, script, vega
from ringside.render.plots.charts import MARKS, charts_with_stems, config, missing
from ringside.render.plots.spec import Json, colour
from ringside.render.text import families, sentences
from ringside.render.text.cells import TableData
from ringside.render.text.command import own_command
from ringside.render.text.contenders import claim_summary, claim_table, contender_table
from ringside.render.text.diagnostics import for_pages
from ringside.render.text.tables import tables
from ringside.render.text.words import where
from ringside.text import minute


def shared_warnings(analyses: Sequence[RunAnalysis]) -> list[dict[str, Any]]:
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
            of_runs = [{**row, "remedy": "" if common else row["remedy"]} for row in rows]
            shared.append({"code": code, "remedy": common, "of_runs": of_runs})
    return shared


# Verdicts at more points than this are folded away below the summary of all.
_OPEN_POINTS = 6


def render(suite: SuiteAnalysis, source_texts: Mapping[str, str], *, home: str = "") -> str:
    """The whole page; `source_texts`: by hash, to which the plans' `files` refer; `home`: the address of the
    list that the page is one of. Without the package that draws plots it says so and has all the rest."""
    absent = missing()
    specs: list[Json] = []
    analyses = suite.runs
    shared = shared_warnings(analyses)
    sections = [
        _section(
            analysis,
            number,
            specs,
            shared,
            suite.by_family[number - 1],
            with_plots=absent is None,
            several=len(analyses) > 1,
        )
        for number, analysis in enumerate(analyses, 1)
    ]
    texts = appendix.SourceTexts(source_texts)
    contenders = appendix.contenders(analyses, texts)
    library = _library() if specs else None
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
        policy=policy([behaviour, *([library.script] if library else [])]),
        behaviour=behaviour.text,
        # Packed: they are unpacked when the page has been painted, or when a source is opened.
        library=library.packed if library else "",
        charts=_packed_charts(specs) if specs else "",
        texts=packed(json.dumps(texts.highlighted)) if texts.highlighted else "",
        style=Markup(templates.read_file("page.css")),
        data=json_element({"format": FORMAT, "runs": [_data(analysis) for analysis in analyses]}),
    )


@functools.cache
def _template() -> jinja2.Template:
    return environment().get_template("page.html.j2")


def _packed_charts(specs: Sequence[Json]) -> str:
    return packed(json.dumps({"config": config(), "specs": specs, "marks": MARKS}))


class Library(NamedTuple):
    script: Script
    packed: str


@functools.cache
def _library() -> Library:
    """What draws the plots; a megabyte, the same for all pages."""
    library = script(vega())
    return Library(library, packed(str(library.text)))


def _claims(claims: Sequence[JudgedClaim]) -> dict[str, Any] | None:
    """The claims that these runs test as a table, and the others as another."""
    others = [each for each in claims if each.finding.answer is Answer.NOT_TESTED]
    tested = [each for each in claims if each.finding.answer is not Answer.NOT_TESTED]
    return (
        {
            "summary": claim_summary(claims),
            "tested": _without_summary(tested),
            "others": _without_summary(others),
            "count": len(others),
        }
        if claims
        else None
    )


def _without_summary(claims: Sequence[JudgedClaim]) -> TableData | None:
    return replace(claim_table(claims), subtitle="") if claims else None


def _section(
    analysis: RunAnalysis,
    number: int,
    specs: list[Json],
    shared: Sequence[Mapping[str, Any]],
    by_family: FamilyStanding | None,
    *,
    with_plots: bool,
    several: bool,
) -> dict[str, Any]:
    """What the template shows of one run. Specifications of plots are put behind `specs`. Warnings that
    several runs have stand elsewhere, in `shared`."""
    headline = analysis.headline
    elsewhere = {each["code"] for each in shared}
    codes = list(dict.fromkeys(each.code for each in analysis.own_diagnostics))
    return {
        "id": f"run-{number}",
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
        "diagnostics": for_pages(each for each in analysis.own_diagnostics if each.code not in elsewhere),
        "shared": [code for code in codes if code in elsewhere],
        "is_interim": analysis.run.ended_at is None and "unfinished" not in codes,
        "command": own_command(analysis),
        "families": _families(by_family) if by_family else None,
        "charts": _charts(analysis, specs, several=several) if with_plots else [],
        "colours": {name: colour(analysis, name) for name in analysis.names},
        "tables": tables(analysis, is_part=True),
        "resolved": json.dumps(analysis.run.plan["experiment"], indent=2, ensure_ascii=False),
    }


def _families(standing: FamilyStanding) -> dict[str, Any]:
    return {
        "where": where(standing.analysis, standing.point, ""),
        "sentences": families.sentences(standing),
        "picture": family_picture(standing),
    }


def _charts(analysis: RunAnalysis, specs: list[Json], *, several: bool) -> list[dict[str, Any]]:
    numbered = []
    for chart, with_stems in charts_with_stems(analysis, several=several):
        panels = []
        for panel, stem in with_stems:
            panels.append({"panel": panel, "number": len(specs), "file": stem})
            specs.append(panel.spec)
        numbered.append({"title": chart.title, "caption": chart.caption, "panels": panels})
    return numbered


def _data(analysis: RunAnalysis) -> dict[str, Any]:
    """The command line's document, with the figures of each block besides."""
    values = document(analysis)
    for row, cell in zip(values["cells"], analysis.cells.values(), strict=True):
        row["by_block"] = {name: dict(by_block) for name, by_block in cell.by_block.items()}
    return values
