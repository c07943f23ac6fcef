"""The site of whole runs: a page for each record and each of its parts, for each contender with its sources,
for each workload with its contract, and the history of what was measured several times. Plain files, which
share a style sheet and a script and work from a folder. The same records give the same bytes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ringside import units
from ringside.analysis.history import history, of_analysis
from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import Overview, Page, SuiteAnalysis, analyse_suite
from ringside.model.catalogue import Contender, Question
from ringside.render.html import templates
from ringside.render.html.front import front
from ringside.render.html.pictures import family_picture, headline_picture, history_view, questions_of_page
from ringside.render.site.post import file_name
from ringside.render.site.site import page
from ringside.render.text import cells, families, heading
from ringside.render.text.answers import Sentence, answers
from ringside.render.text.cells import TableCell, TableData
from ringside.render.text.contenders import contender_table
from ringside.render.text.diagnostics import for_pages
from ringside.render.text.tables import answer_table, part_tables
from ringside.store.plans import PlannedContender
from ringside.text import minute
from ringside.workloads import WORKLOADS
from ringside.workloads.base import Factor, Workload

# Files that tools write: their hashes are in the record, and nobody reads them.
_WRITTEN_BY_TOOLS = (".lock", ".sum", "package-lock.json", "requirements.txt")
# Points of a part whose pictures are open.
_OPEN_POINTS = 4


@dataclass(frozen=True, slots=True)
class Record:
    """The runs of one record, in the order of their suite. `name`: of what was run."""

    name: str
    pages: tuple[Page, ...]
    suite: SuiteAnalysis

    @staticmethod
    def of(name: str, pages: Sequence[Page], questions: Iterable[Question]) -> Record:
        return Record(name, tuple(pages), analyse_suite([each.analysis for each in pages], questions))

    @property
    def began(self) -> str:
        return min(run.run.started_at for run in self.suite.runs)

    def place(self, analysis: RunAnalysis) -> str:
        """The page of a part, from the site's folder."""
        return f"{file_name(self.name)}/{file_name(analysis.experiment.name)}.html"


@dataclass(frozen=True, slots=True)
class Site:
    """What all pages draw on. `records`: the newest first. `contracts`: Markdown by workload. `programs`: the
    catalogue's contenders, which say what plans of earlier versions do not."""

    records: tuple[Record, ...]
    contracts: Mapping[str, str]
    programs: Mapping[str, Contender]

    @property
    def parts(self) -> list[tuple[Record, Page]]:
        """Each run with its record, those of the newest record first."""
        return [(record, each) for record in self.records for each in record.pages]

    def described(self, name: str, planned: PlannedContender) -> PlannedContender:
        """A contender with its family, idiom, tuning and inequalities."""
        program = self.programs.get(name)
        if planned.family or program is None:
            return planned
        return replace(
            planned,
            family=program.family,
            idiom=program.idiom,
            tuning=program.tuning,
            unequal=program.unequal,
        )

    def contenders(self, root: str) -> dict[str, str]:
        """Where the names of contenders lead."""
        return {
            name: f"{root}contenders/{file_name(_folder(name))}.html"
            for _, each in self.parts
            for name in each.analysis.names
        }

    def experiments(self, root: str) -> dict[str, str]:
        """Where the names of experiments lead: to the newest run of each."""
        parts = reversed(self.parts)
        return {
            each.analysis.experiment.name: f"{root}{record.place(each.analysis)}" for record, each in parts
        }


def record_site(
    records: Sequence[Record], contracts: Mapping[str, str], programs: Iterable[Contender]
) -> dict[str, bytes]:
    """The files of the site of at least one record, by their paths. `contracts`: the contract of each
    workload as Markdown."""
    newest_first = sorted(records, key=lambda record: (record.began, record.name), reverse=True)
    site = Site(tuple(newest_first), contracts, {each.name: each for each in programs})
    files = {
        "assets/site.css": (templates.read_file("page.css") + _style()).encode(),
        "assets/overview.js": templates.read_file("overview.js").encode(),
        "assets/sources.js": templates.read_file("sources.js").encode(),
        "index.html": _index(site),
        "how-to-read.html": _how_to_read(site),
    }
    for record in site.records:
        files[f"{file_name(record.name)}.html"] = _record_page(site, record)
        for each in record.pages:
            files[record.place(each.analysis)] = _part_page(site, record, each.analysis)
    for folder in sorted({_folder(name) for _, each in site.parts for name in each.analysis.names}):
        files[f"contenders/{file_name(folder)}.html"] = _contender_page(site, folder)
    for name in sorted({each.analysis.measurement.name for _, each in site.parts}):
        files[f"workloads/{file_name(name)}.html"] = _workload_page(site, name)
    for name, parts in _repeated(site).items():
        files[f"history/{file_name(name)}.html"] = _history_page(site, name, parts)
    return files


def _style() -> str:
    return (Path(__file__).parent / "templates" / "site.css").read_text("utf-8")


def _folder(contender: str) -> str:
    """`tornado` of `tornado@pypy`: both are one program."""
    return contender.split("@")[0]


def _render(template: str, site: Site, root: str, title: str, **values: Any) -> bytes:
    return page(
        f"record_{template}.html.j2",
        root=root,
        title=title,
        records=[(record, f"{root}{file_name(record.name)}.html") for record in site.records],
        contenders=site.contenders(root),
        experiments=site.experiments(root),
        **values,
    )


def _title(record: Record) -> str:
    return str(front(record.suite)["title"])


def _index(site: Site) -> bytes:
    asked = next(
        (record for record in site.records if any(each.is_measured for each in record.suite.answers)), None
    )
    widest = max(site.records, key=lambda record: (len(record.suite.overview.names), record.began))
    return _render(
        "index",
        site,
        "",
        "What does each concurrency model cost?",
        questions=questions_of_page(asked.suite.answers) if asked else [],
        widest=widest,
        widest_href=f"{file_name(widest.name)}.html",
        parts=_parts(widest, ""),
        titles={record.name: _title(record) for record in site.records},
        dates={record.name: record.began[:10] for record in site.records},
        machines=_machines(site.records),
        workloads=[
            (name, WORKLOADS[name].title if name in WORKLOADS else name)
            for name in sorted({each.analysis.measurement.name for _, each in site.parts})
        ],
        by_family=_by_family(site),
        histories=sorted(_repeated(site)),
    )


def _machines(records: Iterable[Record]) -> list[str]:
    hosts = (each.analysis.run.host for record in records for each in record.pages)
    return list(dict.fromkeys(map(heading.machine, hosts)))


def _by_family(site: Site) -> list[tuple[str, list[str]]]:
    """The names of the contenders' folders by the words of their families."""
    newest: dict[str, str] = {}
    for _, each in site.parts:
        for name, planned in each.analysis.contenders.items():
            newest.setdefault(_folder(name), site.described(name, planned).family)
    ordered = sorted(newest, key=lambda name: (newest[name], name))
    return [
        (families.FAMILIES.get(family, family or "not said"), list(names))
        for family, names in itertools.groupby(ordered, key=newest.__getitem__)
    ]


def _parts(record: Record, root: str) -> list[dict[str, Any]]:
    """The parts of a record with their answers and, where it has several, the picture by family."""
    return [
        {
            "title": analysis.experiment.title,
            "href": f"{root}{record.place(analysis)}",
            "sentences": answers(analysis),
            "noun": analysis.headline.noun,
            "families": family_picture(standing) if standing else None,
            "dots": None if standing else headline_picture(analysis, analysis.overview_point),
        }
        for analysis, standing in zip(record.suite.runs, record.suite.by_family, strict=True)
    ]


def _record_page(site: Site, record: Record) -> bytes:
    suite, top = record.suite, front(record.suite)
    return _render(
        "suite",
        site,
        "",
        str(top["title"]),
        front=top,
        hrefs=_columns(record, suite.overview),
        parts=_parts(record, ""),
        begun=minute(record.began),
        contender_table=contender_table(*suite.runs),
        weak_points=for_pages(suite.machine_diagnostics),
        name=record.name,
    )


def _columns(record: Record, overview: Overview) -> dict[str, str]:
    """Where the columns of an overview lead."""
    return {column.label: record.place(column.analysis) for column in overview.columns}


def _part_page(site: Site, record: Record, analysis: RunAnalysis) -> bytes:
    standing = record.suite.by_family[record.suite.runs.index(analysis)]
    pictures = [
        {"label": analysis.label(point), "picture": picture}
        for point in sorted(analysis.points, key=lambda point: point != analysis.overview_point)
        if (picture := headline_picture(analysis, point))
    ]
    return _render(
        "part",
        site,
        "../",
        analysis.experiment.title,
        record_href=f"{file_name(record.name)}.html",
        record_title=_title(record),
        note=analysis.experiment.note.strip(),
        workload=analysis.measurement,
        sentences=answers(analysis),
        heading=heading.heading(analysis),
        machine=heading.machine(analysis.run.host),
        begun=minute(analysis.run.started_at),
        experiment=analysis.experiment.name,
        noun=analysis.headline.noun,
        standing=_standing(standing) if standing else None,
        pictures=pictures[:_OPEN_POINTS],
        more_pictures=pictures[_OPEN_POINTS:],
        tables=part_tables(analysis),
        weak_points=for_pages(analysis.own_diagnostics),
        has_history=analysis.experiment.name in _repeated(site),
        history=f"../history/{file_name(analysis.experiment.name)}.html",
    )


def _standing(standing: Any) -> dict[str, Any]:
    return {
        "where": families.where(standing),
        "sentences": families.sentences(standing),
        "picture": family_picture(standing),
    }


def _contender_page(site: Site, folder: str) -> bytes:
    mine = [
        (record, each, name)
        for record, each in site.parts
        for name in each.analysis.names
        if _folder(name) == folder
    ]
    planned = [(record, site.described(name, each.analysis.contenders[name])) for record, each, name in mine]
    newest = next((each for _, each in planned if not each.unavailable), planned[0][1])
    readme, sources, texts = _sources([(each, each.analysis.contenders[name]) for _, each, name in mine])
    return _render(
        "contender",
        site,
        "../",
        f"{folder}: {newest.title}",
        planned=newest,
        family=families.FAMILIES.get(newest.family, newest.family or "not said"),
        versions=_versions(planned),
        tuning=_each(text for _, each in planned for text in each.tuning),
        unequal=_each(text for _, each in planned for text in each.unequal),
        figures=_figures(mine),
        unavailable=_each(each.unavailable for _, each in planned),
        readme=readme,
        sources=sources,
        # Packed, or they would be the most of the site.
        texts=templates.packed(json.dumps(texts)),
    )


def _each(texts: Iterable[str]) -> list[str]:
    """The texts that say something, each once."""
    return list(dict.fromkeys(filter(None, texts)))


def _versions(planned: Sequence[tuple[Record, PlannedContender]]) -> list[str]:
    """`Go 1.19.8 (posts, today)`: each version with the records that have it."""
    by_version: dict[str, dict[str, None]] = {}
    for record, each in planned:
        if each.version:
            by_version.setdefault(f"{each.platform} {each.version}", {})[record.name] = None
    return [f"{version} ({', '.join(records)})" for version, records in by_version.items()]


def _figures(mine: Sequence[tuple[Record, Page, str]]) -> TableData:
    """The headline of each run of a contender at the point that stands for it."""
    rows, several = [], len({name for _, _, name in mine}) > 1
    for record, each, name in mine:
        analysis = each.analysis
        column = next(
            column for column in record.suite.overview.columns if column.analysis.run.id == analysis.run.id
        )
        cell, headline = column.cell(name), analysis.headline
        times = "" if cell is None or cell.ratio is None else units.significant(cell.ratio)
        ranks = units.rank_interval(cell.ranks) if cell and cell.ranks else cell.other_class if cell else ""
        rows.append(
            (
                cells.text(analysis.experiment.name),
                *([cells.text(name)] if several else []),
                cells.text(headline.noun),
                cells.text(analysis.label(column.point) if len(analysis.points) > 1 else ""),
                cells.figure(analysis.cell(name, column.point), headline, interval=True),
                TableCell(times or "–"),
                TableCell(ranks or "–"),
                cells.text(analysis.run.started_at[:10]),
            )
        )
    figures = ("metric", "at", "figure", "× the best", "rank", "measured")
    return TableData(
        "Figures",
        ("experiment", *(("as",) if several else ()), *figures),
        tuple(rows),
        subtitle="medians with 95 % intervals; × the best: how many times worse than the best one of the "
        "baseline's class",
    )


def _sources(
    plans: Sequence[tuple[Page, PlannedContender]],
) -> tuple[Markup | None, dict[str, str], dict[str, Markup]]:
    """The README and the sources of the newest run, and of what only other runs have: by path, how many lines
    there are, and the text as HTML."""
    newest: dict[str, tuple[str, str]] = {}
    for each, planned in plans:
        for path, digest in planned.files.items():
            newest.setdefault(path, (digest, each.sources.get(digest, "")))
    readme = next((text for path, (_, text) in newest.items() if path.lower() == "readme.md"), "")
    shown = {
        path: text
        for path, (_, text) in sorted(newest.items())
        if text and path.lower() != "readme.md" and not path.endswith(_WRITTEN_BY_TOOLS)
    }
    lines = {path: templates.line_count(text) for path, text in shown.items()}
    texts = {path: templates.highlighted(path, text) for path, text in shown.items()}
    return templates.markdown(readme) if readme else None, lines, texts


def _workload_page(site: Site, name: str) -> bytes:
    workload = WORKLOADS.get(name)
    parts = [(record, each.analysis) for record, each in site.parts if each.analysis.measurement.name == name]
    return _render(
        "workload",
        site,
        "../",
        f"{name}: {workload.title}" if workload else name,
        name=name,
        contract=templates.markdown(site.contracts[name]) if name in site.contracts else None,
        factors=_factors(workload) if workload else None,
        metrics=_metrics(workload) if workload else None,
        evidence=workload.evidence_note if workload else "",
        capabilities=workload.capabilities if workload else (),
        parts=[_figures_of(record, analysis) for record, analysis in parts],
    )


def _figures_of(record: Record, analysis: RunAnalysis) -> dict[str, Any]:
    point = analysis.overview_point
    answer: list[Sentence] = answers(analysis)
    return {
        "title": analysis.experiment.title,
        "experiment": analysis.experiment.name,
        "href": f"../{record.place(analysis)}",
        "date": analysis.run.started_at[:10],
        "where": analysis.label(point) if len(analysis.points) > 1 else "",
        "sentences": answer,
        "picture": headline_picture(analysis, point),
        "noun": analysis.headline.noun,
    }


def _factors(workload: Workload) -> TableData:
    def levels(factor: Factor) -> str:
        return ", ".join(map(str, factor.choices)) or f"{factor.least:,} to {factor.most:,}"

    rows = [
        (
            cells.text(each.name),
            cells.text(str(each.default)),
            cells.text(levels(each)),
            cells.text(each.explanation),
        )
        for each in workload.factors
    ]
    return TableData("Factors", ("factor", "default", "levels", "what it is"), tuple(rows))


def _metrics(workload: Workload) -> TableData:
    rows = [
        (cells.text(each.title), cells.text(each.unit), cells.text(each.explanation))
        for each in workload.metrics
    ]
    return TableData("Metrics", ("metric", "unit", "what it is"), tuple(rows))


def _repeated(site: Site) -> dict[str, list[tuple[Record, RunAnalysis]]]:
    """The experiments that several runs have measured."""
    by_name: dict[str, list[tuple[Record, RunAnalysis]]] = {}
    for record, each in site.parts:
        by_name.setdefault(each.analysis.experiment.name, []).append((record, each.analysis))
    return {name: parts for name, parts in by_name.items() if len(parts) > 1}


def _history_page(site: Site, name: str, parts: Sequence[tuple[Record, RunAnalysis]]) -> bytes:
    metric = parts[0][1].headline
    alike = [(record, run) for record, run in parts if run.headline.name == metric.name]
    title = parts[0][1].experiment.title
    of = history(name, title, metric, [of_analysis(run) for _, run in alike])
    links = {run.run.id: f"../{record.place(run)}" for record, run in alike}
    return _render("history", site, "../", f"{title}: history", view=history_view(of, links))


def _how_to_read(site: Site) -> bytes:
    """The page that explains a picture and a table, with a part of the widest record as the example."""
    example = _example(site)
    return _render("how_to_read", site, "", "How to read this", example=example)


def _example(site: Site) -> dict[str, Any]:
    """A part with few contenders and columns whose first place is shown."""

    def fitness(part: tuple[Record, RunAnalysis]) -> tuple[bool, bool, int]:
        table = answer_table(part[1])
        is_shown = answers(part[1])[0].kind == "faster"
        return "verdict" in table.columns, is_shown and 3 < len(table.rows) < 10, -len(table.columns)

    record, analysis = max(((record, each.analysis) for record, each in site.parts), key=fitness)
    return {
        "title": analysis.experiment.title,
        "href": record.place(analysis),
        "sentences": answers(analysis),
        "picture": headline_picture(analysis, analysis.overview_point),
        "table": answer_table(analysis),
        "noun": analysis.headline.noun,
        "where": analysis.label(analysis.overview_point),
    }
