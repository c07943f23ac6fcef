"""Runs as one page that needs no network: answers, a section per run, what all share (page.css, page.js,
page.html.j2). All texts of contenders, files and stores are hostile: the template escapes them, control and
direction characters are made visible, and the Content-Security-Policy allows two scripts, by hash, no eval,
no network."""

import functools
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import SuiteAnalysis
from ringside.model.design import Point, grouped
from ringside.render.export.documents import FORMAT, document
from ringside.render.html import templates
from ringside.render.html.templates import environment, json_element, packed, policy, script, vega
from ringside.render.plots.charts import CONFIG, MARKS, charts_of, missing
from ringside.render.plots.spec import Chart, Panel
from ringside.render.text.cells import TableData, plain_table
from ringside.render.text.command import command, own_command
from ringside.render.text.words import listed
from ringside.store.plans import SuiteSelection
from ringside.text import capitalised


def render(suite: SuiteAnalysis, home: str = "") -> str:
    """The whole page. `home`: the address of the list of runs that it is one of."""
    analyses = suite.runs
    # The command line's documents, with the figures of each block besides.
    documents = list(map(document, analyses))
    for values, analysis in zip(documents, analyses, strict=True):
        for row, cell in zip(values["cells"], analysis.cells.values(), strict=True):
            row["by_block"] = {name: dict(by_block) for name, by_block in cell.by_block.items()}
    asked = [part.standing.analysis for each in suite.answers for part in each.parts if part.standing]
    drawn: Sequence[Sequence[Chart]] = [()] * len(analyses) if missing() else charts_of(analyses)
    sections: list[dict[str, Any]] = [
        {
            "id": f"run-{number}",
            "analysis": analysis,
            # The picture of a question is that of its run.
            "is_asked": analysis in asked,
            "charts": by_point(analysis, charts),
        }
        for number, (analysis, charts) in enumerate(zip(analyses, drawn, strict=True), 1)
    ]
    # In the order of the page, by which its script finds them.
    groups = (group for section in sections for _, charts in section["charts"] for group in charts)
    specs = [panel.spec for _, panels in groups for panel in panels]
    sources = {digest: text for analysis in analyses for digest, text in analysis.sources.items()}
    names = dict.fromkeys(name for analysis in analyses for name in analysis.names)
    contenders = [_contender(name, analyses, sources) for name in names]
    # By hash, each once, with its colours as HTML.
    files = {digest: (path, text) for each in contenders for path, digest, text in each["files"]}
    texts = {digest: templates.highlighted(path, text) for digest, (path, text) in files.items()}
    library, packed_library = _library() if specs else (Markup(), "")
    behaviour = script("".join(map(templates.read_file, ("sources.js", "page.js", "overview.js"))))
    template = environment().get_template("page.html.j2")
    return template.render(
        title=title(analyses),
        note=note(analyses),
        suite=suite,
        commands=commands(analyses),
        sections=sections,
        anchors={each["analysis"].experiment.name: f"#{each['id']}" for each in sections},
        home=home,
        contenders=contenders,
        # Those of runs that agree in all that lasts longer than a run, together.
        machines=grouped((tuple(_lasting_facts(each.run.host)), each.run.id) for each in analyses),
        moments=_moments(analyses),
        policy=policy([behaviour, *([library] if specs else [])]),
        behaviour=behaviour,
        # Packed: they are unpacked when the page has been painted, or when a source is opened.
        library=packed_library,
        charts=packed(json.dumps({"config": CONFIG, "specs": specs, "marks": MARKS})) if specs else "",
        texts=packed(json.dumps(texts)) if texts else "",
        style=Markup(templates.read_file("page.css")),
        data=json_element({"format": FORMAT, "runs": documents}),
    )


@functools.cache
def _library() -> tuple[Markup, str]:
    """The library that draws the plots, a megabyte, the same for all pages: as a script, and packed."""
    library = script(vega())
    return library, packed(str(library))


def by_point(
    analysis: RunAnalysis, charts: Sequence[Chart]
) -> list[tuple[Point | None, list[tuple[Chart, list[Panel]]]]]:
    """The plots of each point, then those of several points together."""
    groups = grouped(
        (point, (chart, list(panels)))
        for chart in charts
        for point, panels in itertools.groupby(chart.panels, key=attrgetter("point"))
    )
    return [(point, groups.get(point, [])) for point in (*analysis.points, None)]


def title(analyses: Sequence[RunAnalysis]) -> str:
    """The title of one run, or of several: that of their suite or experiment, where they have one."""
    suite = _suite(analyses) if len(analyses) > 1 else None
    if suite and (own := suite.title):
        return own
    titles = {analysis.experiment.title for analysis in analyses}
    if len(titles) == 1:
        return titles.pop() + (f", {len(analyses)} runs" if len(analyses) > 1 else "")
    name = f"{capitalised(Path(suite.name).stem)}: " if suite else ""
    return f"{name}{len(analyses)} experiments"


def commands(analyses: Sequence[RunAnalysis]) -> list[str]:
    """The commands that make these runs again, each once."""
    if len(analyses) == 1:
        return [own_command(analyses[0])]
    return list(dict.fromkeys(command(analysis) for analysis in analyses))


def _suite(analyses: Sequence[RunAnalysis]) -> SuiteSelection | None:
    """The suite that has all of these runs as parts."""
    suites = [analysis.plan.suite for analysis in analyses]
    first = suites[0]
    return first if first and all(each and each.id == first.id for each in suites) else None


def note(analyses: Sequence[RunAnalysis]) -> str:
    """The question of runs: their note, or their suite's; if they have none, what they compare."""
    if len(analyses) == 1:
        return analyses[0].experiment.note.strip()
    suite = _suite(analyses)
    if suite and (own := suite.note.strip()):
        return own
    problems = list(dict.fromkeys(analysis.measurement.name for analysis in analyses))
    names = {name for analysis in analyses for name in analysis.names}
    return f"What does each of {units.count(len(names), 'contender')} cost in {listed(problems, most=None)}?"


# Facts of the moment when a run began, and its observer: they differ between runs of one machine.
_MOMENTARY = {
    "load_average": "load average",
    "pressure_cpu": "CPU pressure (PSI)",
    "memory_available_bytes": "memory available",
    **{key: key for key in ("ringside", "revision", "python")},
}
_MACHINES = ("machines", "engines")
_MANIFESTS = (".toml", ".lock", ".sum", ".mod", ".json")


def _each_machine(host: Mapping[str, Any], name: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The facts of a run's machine, and of those that it names, with their names: `west: engine east`."""
    yield name, host
    for kind, word in zip(_MACHINES, ("", "engine "), strict=True):
        machines = host.get(kind)
        for inner, facts in machines.items() if isinstance(machines, Mapping) else ():
            if isinstance(facts, Mapping):
                yield from _each_machine(facts, f"{name}: {word}{inner}" if name else f"{word}{inner}")


def _lasting_facts(host: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The facts of the machine that are the same in all of its runs: what, how much."""
    rows = []
    for machine, facts in _each_machine(host):
        for key, value in facts.items():
            # Receipts have a table of their own.
            is_own = isinstance(value, Mapping) and (key in _MACHINES or (machine and key == "contenders"))
            if key in _MOMENTARY or is_own:
                continue
            for inside, item in value.items() if isinstance(value, Mapping) else [("", value)]:
                name = " ".join(filter(None, (key, inside))).replace("_bytes", "").replace("_", " ")
                rows.append((f"{machine}: {name}" if machine else name, _text(key, item)))
    return rows


def _text(key: str, value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, list | tuple):
        # A load average, with few digits.
        return ", ".join(f"{each:.2f}" if isinstance(each, float) else str(each) for each in value)
    if key == "pressure_cpu" and isinstance(value, int | float):
        return f"{value:.1f} %"
    if key.endswith("_bytes") and isinstance(value, int):
        return units.quantity(value, "B")
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _contender(name: str, analyses: Sequence[RunAnalysis], texts: Mapping[str, str]) -> dict[str, Any]:
    mine = [(analysis, analysis.contenders[name]) for analysis in analyses if name in analysis.names]
    files = {file for _, each in mine for file in each.files.items()}
    # Programs first, manifests and locks behind.
    files_in_order = sorted(files, key=lambda file: (file[0].endswith(_MANIFESTS), *file))
    listed_files = [(path, digest, texts.get(digest, "(not kept)")) for path, digest in files_in_order]
    readmes = [text for path, _, text in listed_files if path.lower() == "readme.md"]
    return {
        "name": name,
        "mine": mine,
        "commands": {analysis.measurement.name: " ".join(each.command) for analysis, each in mine},
        "readme": templates.markdown(readmes[0]) if readmes else "",
        "files": [file for file in listed_files if file[0].lower() != "readme.md"],
    }


def _moments(analyses: Sequence[RunAnalysis]) -> TableData:
    """The state of the machines when each run began, and the version that ran it."""
    rows = []
    for analysis in analyses:
        for machine, facts in _each_machine(analysis.run.host):
            known = (key for key in _MOMENTARY if facts.get(key) is not None)
            row = {_MOMENTARY[key]: _text(key, facts[key]) for key in known}
            if row:
                rows.append({"run": analysis.run.id, **({"machine": machine} if machine else {}), **row})
    columns = dict.fromkeys(column for row in rows for column in row)
    title = "When each run began" if len(analyses) > 1 else "When the run began"
    return plain_table(title, columns, [[row.get(column, "–") for column in columns] for row in rows])
