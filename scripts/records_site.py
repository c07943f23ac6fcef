"""docs/site/: a page for each record and each of its experiments, for each contender with its sources, for
each workload with its contract, and the history of experiments that were measured several times. Plain
files, which share a style sheet and scripts and work from a folder. The same records give the same bytes."""

from __future__ import annotations

import inspect
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import vl_convert
from markupsafe import Markup

import ringside.render.site
from ringside import units
from ringside.analysis.history import history, of_analysis
from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import SuiteAnalysis, analyse_suite, judge_claims
from ringside.cli import context
from ringside.model.catalogue import Contender, Question
from ringside.render.html import templates
from ringside.render.html.page import note, title
from ringside.render.html.pictures import headline_picture
from ringside.render.plots.charts import standing_alone
from ringside.render.plots.timelines import timeline_charts
from ringside.render.site.site import file_name
from ringside.render.text import cells, words
from ringside.render.text.answers import answers
from ringside.render.text.cells import Row, TableCell, TableData
from ringside.render.text.contenders import claim_table, contender_table
from ringside.render.text.diagnostics import for_pages
from ringside.render.text.tables import POINT_TABLES, metric_table, point_table, tables
from ringside.store.plans import PlannedContender
from ringside.text import minute
from ringside.workloads import WORKLOADS
from ringside.workloads.base import Factor, Workload

_TEMPLATES = Path(__file__).parent / "site"
_STYLE = Path(ringside.render.site.__file__).parent / "templates" / "site.css"
# Tools write these files and nobody reads them. Their hashes are in the record.
_WRITTEN_BY_TOOLS = (".lock", ".sum", "package-lock.json", "requirements.txt")
_MOST_NAMED = 3
# An experiment's pictures are open for up to this many points.
_OPEN_POINTS = 4


@dataclass(frozen=True, slots=True)
class Record:
    """The runs of one record, in the order of their suite. `name`: of the suite or experiment."""

    name: str
    pages: tuple[RunAnalysis, ...]
    suite: SuiteAnalysis

    @staticmethod
    def of(name: str, pages: Sequence[RunAnalysis], questions: Iterable[Question]) -> Record:
        return Record(name, tuple(pages), analyse_suite(pages, questions))

    @property
    def began(self) -> str:
        return min(run.run.started_at for run in self.suite.runs)

    @property
    def title(self) -> str:
        suite = context.catalogue().suite(self.name)
        return suite.title if suite else title(self.suite.runs)

    @property
    def href(self) -> str:
        """The address of the record's page, from the site's folder."""
        return f"{file_name(self.name)}.html"

    def place(self, analysis: RunAnalysis) -> str:
        """The address of the page of one of its runs, from the site's folder."""
        return f"{file_name(self.name)}/{file_name(analysis.experiment.name)}.html"


class Site:
    """The pages of the site, made from at least one record."""

    def __init__(
        self, records: Iterable[Record], contracts: Mapping[str, str], programs: Iterable[Contender]
    ) -> None:
        """`contracts`: the contract of each workload as Markdown. `programs`: the catalogue's contenders;
        they have keys that the plans of older records lack."""
        # Suites come first, then single experiments.
        order = sorted(records, key=lambda each: (len(each.pages) > 1, each.began, each.name), reverse=True)
        self.records = order
        self.contracts = contracts
        self.programs = {each.name: each for each in programs}
        self.parts = [(record, each) for record in order for each in record.pages]
        self.environment = templates.environment(_TEMPLATES)
        by_name: dict[str, list[tuple[Record, RunAnalysis]]] = {}
        for record, each in self.parts:
            by_name.setdefault(each.experiment.name, []).append((record, each))
        self.by_experiment = by_name

    def files(self) -> dict[str, bytes]:
        """The files by their paths."""
        files = {
            "assets/site.css": (templates.read_file("page.css") + _STYLE.read_text("utf-8")).encode(),
            "assets/overview.js": templates.read_file("overview.js").encode(),
            "assets/sources.js": templates.read_file("sources.js").encode(),
            "index.html": self._index(),
            "how-to-read.html": self._how_to_read(),
        }
        for record in self.records:
            files[record.href] = self._record(record)
        for record, each in self.parts:
            time_lines = over_time(each)
            files[record.place(each)] = self._part(record, each, time_lines)
            files |= {f"{file_name(record.name)}/{file}": data for _, file, data in time_lines}
        for folder in sorted({_folder(name) for _, each in self.parts for name in each.names}):
            files[f"contenders/{file_name(folder)}.html"] = self._contender(folder)
        for name in self._workloads():
            files[f"workloads/{file_name(name)}.html"] = self._workload(name)
        for name in self._repeated():
            files[f"history/{file_name(name)}.html"] = self._history(name)
        return files

    def _page(self, template: str, root: str, title: str, **values: Any) -> bytes:
        """A page. `root`: the relative path from its folder to the site's folder."""
        names = (name for _, each in self.parts for name in each.names)
        text = self.environment.get_template(f"{template}.html.j2").render(
            root=root,
            title=title,
            records=[(record, f"{root}{record.href}") for record in self.records],
            contenders={name: f"{root}contenders/{file_name(_folder(name))}.html" for name in names},
            # For each experiment the run of the newest suite; if no suite has it, that of the newest record.
            experiments={
                name: f"{root}{runs[0][0].place(runs[0][1])}" for name, runs in self.by_experiment.items()
            },
            **values,
        )
        return text.encode()

    def _workloads(self) -> list[str]:
        return sorted({each.measurement.name for _, each in self.parts})

    def _repeated(self) -> list[str]:
        """The experiments that several runs have measured."""
        return sorted(name for name, runs in self.by_experiment.items() if len(runs) > 1)

    def _planned(self, name: str, planned: PlannedContender) -> PlannedContender:
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

    def _index(self) -> bytes:
        asked = (record.suite.answers for record in self.records)
        questions = next((all_ for all_ in asked if any(each.is_measured for each in all_)), ())
        widest = max(self.records, key=lambda record: (len(record.suite.overview.names), record.began))
        family_of: dict[str, str] = {}
        for _, each in self.parts:
            for name, planned in each.contenders.items():
                family_of.setdefault(_folder(name), self._planned(name, planned).family)
        by_family = itertools.groupby(
            sorted(family_of, key=lambda name: (not family_of[name], family_of[name], name)),
            key=family_of.__getitem__,
        )
        return self._page(
            "index",
            "",
            "What does each concurrency model cost?",
            questions=[each for each in questions if each.is_measured],
            asked=next((record for record in self.records if record.suite.answers is questions), widest),
            languages=len(
                {each.language for _, run in self.parts for each in run.contenders.values()} - {""}
            ),
            widest=widest,
            parts=[_summary(widest, each) for each in widest.suite.runs],
            machines=_once(words.machine(each.run.host) for _, each in self.parts),
            workloads=[
                (name, WORKLOADS[name].title if name in WORKLOADS else name) for name in self._workloads()
            ],
            by_family=[(_family(family), list(names)) for family, names in by_family],
            histories=self._repeated(),
        )

    def _record(self, record: Record) -> bytes:
        # The claims and the suite's note come from the catalogue. A record only has those of its own date.
        names = dict.fromkeys(each.source.name for each in record.suite.claims)
        sources = [context.catalogue().published(name) for name in names]
        suite = context.catalogue().suite(record.name)
        return self._page(
            "suite",
            "",
            record.title,
            suite=record.suite,
            note=suite.note.strip() if suite else note(record.suite.runs),
            hrefs={column.label: record.place(column.analysis) for column in record.suite.overview.columns},
            parts=[_summary(record, each) for each in record.suite.runs],
            begun=minute(record.began),
            contender_table=contender_table(*record.suite.runs),
            claims=claim_table(judge_claims(sources, record.suite.runs)),
            weak_points=for_pages(record.suite.machine_diagnostics),
            name=record.name,
        )

    def _part(
        self, record: Record, analysis: RunAnalysis, over_time: Sequence[tuple[str, str, bytes]]
    ) -> bytes:
        front = analysis.label(analysis.overview_point)
        pictures = [
            {"label": analysis.label(point), "picture": picture}
            for point in sorted(analysis.points, key=lambda point: point != analysis.overview_point)
            if (picture := headline_picture(analysis, point))
        ]
        return self._page(
            "part",
            "../",
            record=record,
            note=analysis.experiment.note.strip(),
            workload=analysis.measurement,
            heading=words.heading(analysis),
            machine=words.machine(analysis.run.host),
            begun=minute(analysis.run.started_at),
            pictures=pictures[:_OPEN_POINTS],
            more_pictures=pictures[_OPEN_POINTS:],
            tables=sorted(tables(analysis, is_part=True), key=lambda table: table.title != front),
            over_time=over_time,
            history=f"../history/{file_name(analysis.experiment.name)}.html"
            if analysis.experiment.name in self._repeated()
            else "",
            **_summary(record, analysis),
        )

    def _contender(self, folder: str) -> bytes:
        mine = [
            (record, each, name)
            for record, each in self.parts
            for name in each.names
            if _folder(name) == folder
        ]
        planned = [(record, self._planned(name, each.contenders[name])) for record, each, name in mine]
        newest = next((each for _, each in planned if not each.unavailable), planned[0][1])
        by_version: dict[str, list[str]] = {}
        for record, each in planned:
            if each.version:
                by_version.setdefault(f"{each.runs_on} {each.version}", []).append(record.name)
        readme, sources = _sources([(each, each.contenders[name]) for _, each, name in mine])
        texts = {path: templates.highlighted(path, text) for path, text in sources.items()}
        return self._page(
            "contender",
            "../",
            f"{folder}: {newest.title}",
            planned=newest,
            family=_family(newest.family),
            versions=[f"{version} ({', '.join(_once(names))})" for version, names in by_version.items()],
            tuning=_once(text for _, each in planned for text in each.tuning),
            unequal=_once(text for _, each in planned for text in each.unequal),
            summary=_standing(mine),
            figures=_figures(mine),
            unavailable=_once(each.unavailable for _, each in planned),
            readme=readme,
            sources={path: units.count(len(text.splitlines()), "line") for path, text in sources.items()},
            # Compressed, because they would otherwise be the largest part of the site.
            texts=templates.packed(json.dumps(texts)),
        )

    def _workload(self, name: str) -> bytes:
        workload = WORKLOADS.get(name)
        runs = [(record, each) for record, each in self.parts]
        return self._page(
            "workload",
            "../",
            workload.title if workload else name,
            name=name,
            about=templates.markdown(_about(workload)) if workload else None,
            contract=templates.markdown(self.contracts[name]) if name in self.contracts else None,
            factors=_factors(workload) if workload else None,
            metrics=_metrics(workload) if workload else None,
            evidence=workload.evidence_note if workload else "",
            capabilities=workload.capabilities if workload else (),
            parts=[_summary(record, run) for record, run in runs if run.measurement.name == name],
        )

    def _history(self, name: str) -> bytes:
        runs = self.by_experiment[name]
        metric, title = runs[0][1].headline, runs[0][1].experiment.title
        alike = [(record, run) for record, run in runs if run.headline.name == metric.name]
        links = {run.run.id: f"../{record.place(run)}" for record, run in alike}
        of = history(name, title, metric, [of_analysis(run) for _, run in alike])
        return self._page("history", "../", f"{title}: history", history=of, links=links)

    def _how_to_read(self) -> bytes:
        """The page that explains a picture and a table. Its example is an experiment with few contenders and
        columns, and with a first place."""

        def fitness(part: tuple[Record, RunAnalysis]) -> tuple[bool, bool, int]:
            table = _answer_table(part[1])
            is_shown = answers(part[1])[0].kind == "faster"
            return "verdict" in table.columns, is_shown and 3 < len(table.rows) < 10, -len(table.columns)

        record, example = max(self.parts, key=fitness)
        return self._page(
            "how_to_read",
            "",
            "How to read this",
            example=_summary(record, example),
            table=_answer_table(example),
        )


def over_time(analysis: RunAnalysis) -> list[tuple[str, str, bytes]]:
    """For runs of a source that has a plot over time: one trial of each program, as the program's name and a
    PNG with its file name."""
    if analysis.plan.published is None or len(analysis.points) > 1:
        return []
    chart = next(timeline_charts(analysis), None)
    pictures = []
    for panel in chart.panels if chart else ():
        # Variants differ only in a setting; without them the site stays small.
        if "@" not in panel.title and panel.title != analysis.floor:
            spec = standing_alone(panel, f"{panel.title}: CPU and memory over time")
            svg = vl_convert.vegalite_to_svg(spec)
            file = f"{file_name(analysis.experiment.name)}-{file_name(panel.title)}.png"
            pictures.append((panel.title, file, vl_convert.svg_to_png(svg)))
    return pictures


def _answer_table(analysis: RunAnalysis) -> TableData:
    """The table on which the answer in words is based."""
    if len(analysis.points) > POINT_TABLES:
        return metric_table(analysis, analysis.headline)
    return point_table(analysis, analysis.overview_point)


def _folder(contender: str) -> str:
    """`tornado` for `tornado@pypy`: both are one program."""
    return contender.split("@")[0]


def _family(name: str) -> str:
    return words.FAMILIES.get(name, name or "not said")


def _once(texts: Iterable[str]) -> list[str]:
    """The texts that are not empty, without duplicates."""
    return list(dict.fromkeys(filter(None, texts)))


def _summary(record: Record, analysis: RunAnalysis) -> dict[str, Any]:
    """The parts of a run that several pages show: its answer, and its picture at the point that stands for
    it."""
    point = analysis.overview_point
    return {
        "title": analysis.experiment.title,
        "problem": analysis.measurement.title,
        "prose": f"workloads/{file_name(analysis.measurement.name)}.html",
        "experiment": analysis.experiment.name,
        "href": record.place(analysis),
        "date": analysis.run.started_at[:10],
        "where": analysis.label(point),
        "several_points": len(analysis.points) > 1,
        "sentences": answers(analysis),
        "picture": headline_picture(analysis, point),
        "noun": analysis.headline.noun,
        "weak_points": for_pages(analysis.own_diagnostics),
    }


def _about(workload: Workload) -> str:
    """Markdown that says what a workload models, what real work it resembles, and what it does not show."""
    path = Path(inspect.getfile(type(workload))).with_name("about.md")
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _standing(mine: Sequence[tuple[Record, RunAnalysis, str]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """The experiments in which a contender is first, and those in which it is nearest to the best of its
    class and farthest from it. If an experiment has several runs, the newest counts."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for record, each, name in mine:
        columns = record.suite.overview.columns
        cell = next(column for column in columns if column.analysis.run.id == each.run.id).cell(name)
        if cell and cell.ratio and cell.ranks:
            row = {
                "title": each.experiment.title,
                "href": record.place(each),
                "as": name,
                "ratio": cell.ratio,
            }
            found.setdefault((each.experiment.name, name), {**row, "ranks": cell.ranks})
    first = [each for each in found.values() if each["ranks"] == (1, 1)]
    rest = sorted((each for each in found.values() if each not in first), key=lambda each: each["ratio"])
    near, far = rest[:_MOST_NAMED], rest[_MOST_NAMED:][-_MOST_NAMED:]
    shown = (
        (f"First in {len(first)} of {units.count(len(found), 'comparison')}", first[:_MOST_NAMED]),
        ("Nearest to the best", near),
        ("Farthest from the best", far[::-1]),
    )
    return [(title, each) for title, each in shown if each]


def _figures(mine: Sequence[tuple[Record, RunAnalysis, str]]) -> TableData:
    """The headline of each run of a contender at the point that stands for it."""
    rows, several = [], len({name for _, _, name in mine}) > 1
    for record, each, name in mine:
        analysis, headline = each, each.headline
        columns = record.suite.overview.columns
        column = next(column for column in columns if column.analysis.run.id == analysis.run.id)
        cell = column.cell(name)
        times = "" if cell is None or cell.ratio is None else units.significant(cell.ratio)
        ranks = units.rank_interval(cell.ranks) if cell and cell.ranks else cell.other_class if cell else ""
        figure = cells.figure(analysis.cell(name, column.point), headline, with_interval=True)
        row: Row = [("experiment", analysis.experiment.name), ("figure", figure)]
        row += [("× the best", TableCell(times or "–")), ("rank", TableCell(ranks or "–"))]
        row += [("metric", headline.noun), ("size", analysis.label(column.point))]
        row += [("as", name)] if several else []
        rows.append([*row, ("measured", analysis.run.started_at[:10])])
    of_class = "× the best: how many times worse than the best one of the baseline's class"
    return cells.table("Figures", rows, f"medians with 95 % intervals; {of_class}")


def _sources(plans: Sequence[tuple[RunAnalysis, PlannedContender]]) -> tuple[Markup | None, dict[str, str]]:
    """The README and the sources of the newest run by path, and the sources that only other runs have."""
    newest: dict[str, str] = {}
    for each, planned in plans:
        for path, digest in planned.files.items():
            newest.setdefault(path, each.sources.get(digest, ""))
    readme = next((text for path, text in newest.items() if path.lower() == "readme.md"), "")
    sources = {
        path: text
        for path, text in sorted(newest.items())
        if text and path.lower() != "readme.md" and not path.endswith(_WRITTEN_BY_TOOLS)
    }
    return templates.markdown(readme) if readme else None, sources


def _factors(workload: Workload) -> TableData:
    def levels(factor: Factor) -> str:
        return ", ".join(map(str, factor.choices)) or f"{factor.least:,} to {factor.most:,}"

    rows: list[Row] = []
    for each in workload.factors:
        row: Row = [("factor", each.name), ("default", str(each.default)), ("levels", levels(each))]
        rows.append([*row, ("what it is", each.explanation.replace("`", ""))])
    return cells.table("Factors", rows)


def _metrics(workload: Workload) -> TableData:
    rows: list[Row] = [
        [("metric", each.title), ("unit", each.unit), ("what it is", each.explanation)]
        for each in workload.metrics
    ]
    return cells.table("Metrics", rows)
