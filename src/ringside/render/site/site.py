"""The page of some runs, badges, posts, and sites: folders with a page per run, a history per experiment,
data, and feeds (Atom, RFC 4287; JSON Feed 1.1). Each call adds or updates runs."""

import json
import re
import uuid
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
from markupsafe import Markup
from rich.cells import cell_len

from ringside.analysis.history import HistoryRun, history, of_analysis
from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import analyse_suite
from ringside.model.catalogue import Question
from ringside.model.design import Metric, Point, grouped
from ringside.model.results import Answer, Interval
from ringside.render.export import formats
from ringside.render.export.documents import document
from ringside.render.html.page import commands, render, title
from ringside.render.html.templates import environment, read_file
from ringside.render.plots.charts import charts, figures, missing
from ringside.render.site.folder import Folder
from ringside.render.text.answers import answers, short_answer
from ringside.render.text.contenders import claim_table
from ringside.render.text.markdown import rendered
from ringside.render.text.words import machine, where
from ringside.text import minute, one_line

TEMPLATES = Path(__file__).parent / "templates"
_TITLE = "Runs of Ringside"
_MAX_ENTRIES = 50
_MAX_LENGTH = 2000


def render_page(pages: Sequence[RunAnalysis], questions: Sequence[Question] = (), home: str = "") -> str:
    """The page of runs with the questions that they answer. `home`: the address of the list of runs."""
    return render(analyse_suite(pages, questions), home)


def _rendered(template: str, **values: Any) -> bytes:
    style = Markup(read_file("page.css") + (TEMPLATES / "site.css").read_text("utf-8"))
    return environment(TEMPLATES).get_template(template).render(style=style, **values).encode()


_SIDE, _CHARACTER = 6, 6.4


def badge(analysis: RunAnalysis) -> bytes:
    """`time per hop | go 61.2 ns`: the first sentence of the answer in a few words, as SVG."""
    label = f"{analysis.headline.noun}{where(analysis, analysis.conclusion.here.point)}"
    label, message = (one_line(text, 60) for text in (label, short_answer(analysis)))
    left, right = (round(_CHARACTER * cell_len(text) + 2 * _SIDE) for text in (label, message))
    title = one_line(f"{analysis.experiment.title}: {label}: {message}", 200)
    texts = [(_SIDE, left - 2 * _SIDE, label), (left + _SIDE, right - 2 * _SIDE, message)]
    return _rendered("badge.svg.j2", title=title, left=left, right=right, texts=texts)


def file_name(name: str) -> str:
    """A run's id, or an experiment's name, as the stem of a file on any host."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip(".") or "run"
    return safe if safe == name else f"{safe[:80]}-{zlib.crc32(name.encode()):08x}"


def data_files(analysis: RunAnalysis) -> dict[str, bytes]:
    """A run as CSV, and as the document of `show --json` with its headline and reference computations."""
    references_ns = dict(of_analysis(analysis).references_ns)
    values = {**document(analysis), "headline": asdict(analysis.headline), "references_ns": references_ns}
    text = json.dumps(values, allow_nan=False, separators=(",", ":"))
    stem = f"data/{file_name(analysis.run.id)}"
    return {f"{stem}.json": f"{text}\n".encode(), f"{stem}.csv": formats.as_csv(analysis).encode()}


class SiteRun(msgspec.Struct, frozen=True):
    """A run in the site's list, index and feed; times in ISO 8601."""

    id: str
    experiment: str
    title: str
    started_at: str
    ended_at: str | None
    machine: str
    trials: int
    answers: tuple[str, ...]

    @property
    def name(self) -> str:
        """The stem of its files."""
        return file_name(self.id)

    @property
    def entry(self) -> dict[str, str]:
        """As an entry of a feed; its id is the same wherever the site lies."""
        return {
            "id": _urn("run", self.id),
            "title": one_line(f"{self.title} ({minute(self.started_at)})", _MAX_LENGTH),
            "updated": self.ended_at or self.started_at,
            "path": f"runs/{self.name}.html",
            "summary": one_line(" ".join(f"{text}." for text in self.answers), _MAX_LENGTH),
        }


def _urn(kind: str, name: str) -> str:
    return f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'ringside:{kind}:{name}')}"


class SiteList(msgspec.Struct):
    """The content of a site's list besides its files."""

    # The site's address with the last slash.
    base: str = ""
    runs: list[SiteRun] = []


def write_site(path: Path, pages: Sequence[RunAnalysis], base: str = "") -> list[str]:
    """Write or extend a site; its paths. Raises ReportError before it would touch files of others."""
    folder = Folder(path, "site", SiteList())
    kept: SiteList = folder.about
    base = f"{base.rstrip('/')}/" if base else kept.base
    analyses = {each.run.id: each for each in pages}
    known = {run.id: run for run in kept.runs}
    for name, analysis in analyses.items():
        known[name] = SiteRun(
            name,
            experiment=analysis.experiment.name,
            title=analysis.experiment.title,
            started_at=analysis.run.started_at,
            ended_at=analysis.run.ended_at,
            machine=machine(analysis.run.host),
            trials=analysis.trial_count,
            answers=tuple(sentence.text for sentence in answers(analysis)),
        )
    runs = sorted(known.values(), key=lambda run: (run.started_at, run.id), reverse=True)
    folder.about = SiteList(base, runs)
    by_experiment = grouped((run.experiment, run) for run in runs)
    experiments = [(name, file_name(name), each) for name, each in by_experiment.items()]
    entries = [run.entry for run in runs[:_MAX_ENTRIES]]
    feed = {"title": _TITLE, "site": _urn("site", base or _TITLE), "base": base, "entries": entries}
    files = {
        "index.html": _rendered("index.html.j2", root="", title=_TITLE, experiments=experiments),
        "data/schema.html": _rendered("schema.html.j2", root="../", title="What the data mean"),
        "feed.atom": _rendered("feed.atom.j2", **feed),
        "feed.json": _rendered("feed.json.j2", **feed),
    }
    for each in pages:
        name = file_name(each.run.id)
        files[f"runs/{name}.html"] = render_page([each], home="../index.html").encode()
        files |= data_files(each)
    for experiment in dict.fromkeys(analysis.experiment.name for analysis in analyses.values()):
        mine, name = by_experiment[experiment], file_name(experiment)
        files[f"history/{name}.html"] = _history_page(folder, mine, analyses)
        if newest := analyses.get(mine[0].id):
            files[f"badges/{name}.svg"] = badge(newest)
    return folder.write(files)


def _history_page(folder: Folder, runs: Sequence[SiteRun], analyses: Mapping[str, RunAnalysis]) -> bytes:
    """An experiment's history from this call's runs and the site's data, of the newest run's headline."""
    known = []
    for run in runs:
        if analysis := analyses.get(run.id):
            known.append((of_analysis(analysis), analysis.headline))
        elif data := folder.read(f"data/{run.name}.json"):
            known.append(_published_run(json.loads(data)))
    metric = known[0][1]
    alike = [run for run, headline in known if headline.name == metric.name]
    links = {run.id: f"../runs/{run.name}.html" for run in runs}
    past = history(runs[0].experiment, runs[0].title, metric, alike)
    title = f"{runs[0].title}: history"
    return _rendered("history.html.j2", root="../", title=title, history=past, links=links)


def _published_run(values: Mapping[str, Any]) -> tuple[HistoryRun, Metric]:
    """A run as far as its history needs it, and the metric of its headline, of its `data_files`."""
    metric, contenders = Metric(**values["headline"]), values["contenders"]
    medians = {}
    for cell in values["cells"]:
        if figure := cell["metrics"].get(metric.name):
            place = (cell["contender"], Point(tuple(cell["point"].items())))
            medians[place] = Interval(figure["median"], figure["low"], figure["high"], figure["n"])
    run = HistoryRun(
        id=values["run"],
        started_at=values["started_at"],
        host=values["host"],
        figures=medians,
        versions={name: each["version"] or "" for name, each in contenders.items()},
        contents={name: each["content"] or "" for name, each in contenders.items()},
        references_ns=values["references_ns"],
    )
    return run, metric


# A post of one run shows each chart by its first panel; one of several runs shows this many charts of each
# run. Links lead to the other panels.
_CHARTS_OF_SEVERAL = 2


def write_post(path: Path, analyses: Sequence[RunAnalysis]) -> list[str]:
    """Write or rewrite the folder; its paths. Raises ReportError before it would touch files of others."""
    folder, several = Folder(path, "post"), len(analyses) > 1
    files: dict[str, bytes] = {}
    parts = []
    for number, analysis in enumerate(analyses, 1):
        place = f"plots/{number:02}" if several else "plots"
        drawn = [] if missing() else charts(analysis)
        if drawn:
            files |= {f"{place}/{name}": data for name, data in figures(drawn).items()}
        files |= data_files(analysis)
        files[f"badges/{file_name(analysis.experiment.name)}.svg"] = badge(analysis)
        parts.append({"analysis": analysis, "place": place, "charts": drawn})
    suite = analyse_suite(analyses) if several else None
    claims = suite.claims if suite else ()
    tested = [each for each in claims if each.finding.answer is not Answer.NOT_TESTED]
    text = rendered(
        TEMPLATES / "post.md.j2",
        title=title(analyses),
        suite=suite,
        claims=claim_table(tested),
        parts=parts,
        most_charts=_CHARTS_OF_SEVERAL,
        analyses=analyses,
        commands=commands(analyses),
    )
    return folder.write({**files, "post.md": text.encode()})
