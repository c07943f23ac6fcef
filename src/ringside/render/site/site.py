"""The page of some runs, and a site: a folder for any static host, with a page for each run, a history for
each experiment, the data, and a feed (Atom, RFC 4287, and JSON Feed 1.1). Each call adds runs, or brings
those that are there up to date."""

from __future__ import annotations

import functools
import json
import uuid
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from ringside.analysis.history import History, HistoryRun, history, of_analysis
from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import Page, analyse_suite
from ringside.model.catalogue import Question
from ringside.model.design import Metric
from ringside.render.export import formats
from ringside.render.html.page import render
from ringside.render.html.pictures import history_view
from ringside.render.html.templates import environment, read_file
from ringside.render.site.folder import Folder
from ringside.render.site.post import as_bytes, badge, file_name, history_run, published_data
from ringside.render.text import heading
from ringside.render.text.answers import answers
from ringside.text import minute, one_line

_ATOM = "http://www.w3.org/2005/Atom"
_MAX_ENTRIES = 50
_MAX_LENGTH = 2000


@dataclass(frozen=True, slots=True)
class SiteRun:
    """What the site's index and feed show of a run. `name`: the stem of its files; times in ISO 8601."""

    id: str
    name: str
    experiment: str
    title: str
    started_at: str
    ended_at: str | None
    machine: str
    trials: int
    answers: tuple[str, ...]

    @property
    def started(self) -> str:
        return minute(self.started_at)

    @property
    def entry(self) -> dict[str, str]:
        """As an entry of a feed; its id is the same wherever the site lies."""
        return {
            "id": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'ringside:run:{self.id}')}",
            "title": one_line(f"{self.title} ({self.started})", _MAX_LENGTH),
            "updated": self.ended_at or self.started_at,
            "path": f"runs/{self.name}.html",
            "summary": one_line(" ".join(f"{text}." for text in self.answers), _MAX_LENGTH),
        }


def atom(title: str, runs: Sequence[SiteRun], base: str) -> bytes:
    """The latest runs, which come first. `base`: the address of the site, with its last slash; empty where it
    is not known."""
    ElementTree.register_namespace("", _ATOM)
    feed = ElementTree.Element(f"{{{_ATOM}}}feed")
    entries = [run.entry for run in runs[:_MAX_ENTRIES]]

    def add(parent: ElementTree.Element, name: str, text: str = "", **attributes: str) -> ElementTree.Element:
        element = ElementTree.SubElement(parent, f"{{{_ATOM}}}{name}", attributes)
        element.text = text or None
        return element

    add(feed, "title", title)
    add(feed, "id", f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'ringside:site:{base or title}')}")
    add(feed, "updated", entries[0]["updated"] if entries else "1970-01-01T00:00:00+00:00")
    add(add(feed, "author"), "name", "Ringside")
    add(feed, "link", rel="self", href=f"{base}feed.atom")
    add(feed, "link", href=f"{base}index.html")
    for each in entries:
        entry = add(feed, "entry")
        add(entry, "id", each["id"])
        add(entry, "title", each["title"])
        add(entry, "updated", each["updated"])
        add(entry, "link", href=f"{base}{each['path']}")
        add(entry, "summary", each["summary"])
    text: bytes = ElementTree.tostring(feed, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def json_feed(title: str, runs: Sequence[SiteRun], base: str) -> bytes:
    """The same as JSON."""
    values: dict[str, Any] = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": title,
        **({"home_page_url": base, "feed_url": f"{base}feed.json"} if base else {}),
        "items": [
            {
                "id": each["id"],
                "url": f"{base}{each['path']}",
                "title": each["title"],
                "content_text": each["summary"],
                "date_published": each["updated"],
            }
            for each in (run.entry for run in runs[:_MAX_ENTRIES])
        ],
    }
    return (json.dumps(values, indent=1) + "\n").encode()


_TEMPLATES = Path(__file__).parent / "templates"


@functools.cache
def _environment() -> jinja2.Environment:
    templates = environment(_TEMPLATES)
    templates.globals["style"] = Markup(read_file("page.css") + (_TEMPLATES / "site.css").read_text("utf-8"))
    return templates


def page(template: str, **values: Any) -> bytes:
    """A whole page. `root`: the way from the page's folder to the site's."""
    return _environment().get_template(template).render(**values).encode()


_TITLE = "Runs of Ringside"


def render_pages(pages: Sequence[Page], questions: Sequence[Question] = (), *, home: str = "") -> str:
    """The page of some runs, with those of the questions that they answer; `home`: the address of the list of
    runs that it is one of."""
    sources = {digest: text for each in pages for digest, text in each.sources.items()}
    return render(analyse_suite([each.analysis for each in pages], questions), sources, home=home)


def write_site(path: Path, pages: Sequence[Page], base: str = "") -> list[str]:
    """Write or extend a site; the paths of what was written. `base`: its address, for the feed. Raises
    ReportError, before anything is written where the folder holds files of others."""
    folder = Folder.open(path, "site")
    base = base or str(folder.about.get("base") or "")
    base = f"{base.rstrip('/')}/" if base else ""
    known = {run.id: run for run in map(_site_run, folder.about.get("runs") or ()) if run}
    files: dict[str, bytes] = {}
    for each in pages:
        run = _of_analysis(each.analysis)
        known[run.id] = run
        files[f"runs/{run.name}.html"] = render_pages([each], home="../index.html").encode()
        files[f"data/{run.name}.json"] = as_bytes(published_data(each.analysis))
        files[f"data/{run.name}.csv"] = formats.as_csv(each.analysis).encode()
    runs = sorted(known.values(), key=lambda run: (run.started_at, run.id), reverse=True)
    analyses = {each.analysis.run.id: each.analysis for each in pages}
    for experiment in dict.fromkeys(each.analysis.experiment.name for each in pages):
        mine = [run for run in runs if run.experiment == experiment]
        name = file_name(experiment)
        files[f"history/{name}.html"] = _history_page(_history(folder, mine, analyses), mine)
        if mine[0].id in analyses:
            files[f"badges/{name}.svg"] = badge(analyses[mine[0].id]).encode()
    by_experiment: dict[str, list[SiteRun]] = {}
    for run in runs:
        by_experiment.setdefault(run.experiment, []).append(run)
    files["data/schema.html"] = page("schema.html.j2", root="../", title="What the data mean")
    files["index.html"] = page(
        "index.html.j2",
        root="",
        title=_TITLE,
        experiments=[(name, file_name(name), each) for name, each in by_experiment.items()],
    )
    files["feed.atom"] = atom(_TITLE, runs, base)
    files["feed.json"] = json_feed(_TITLE, runs, base)
    folder.write(files, {"base": base, "runs": [asdict(run) for run in runs]})
    return sorted(files)


def _of_analysis(analysis: RunAnalysis) -> SiteRun:
    run = analysis.run
    return SiteRun(
        id=run.id,
        name=file_name(run.id),
        experiment=analysis.experiment.name,
        title=analysis.experiment.title,
        started_at=run.started_at,
        ended_at=run.ended_at,
        machine=heading.machine(run.host),
        trials=analysis.trial_count,
        answers=tuple(sentence.text for sentence in answers(analysis)),
    )


def _site_run(values: Any) -> SiteRun | None:
    """A run of the folder's own list."""
    try:
        run = SiteRun(**values)
        return replace(run, answers=tuple(map(str, run.answers)), name=file_name(run.id))
    except TypeError:
        return None


def _history(folder: Folder, runs: Sequence[SiteRun], analyses: Mapping[str, RunAnalysis]) -> History:
    """The history of an experiment's runs, which come newest first: those of this call, and those whose data
    the site has. Runs of another headline than the newest's are left out."""
    known = [
        (of_analysis(analyses[run.id]), analyses[run.id].headline)
        if run.id in analyses
        else _earlier(folder, run)
        for run in runs
    ]
    kept = [each for each in known if each]
    metric = kept[0][1]
    alike = [run for run, headline in kept if headline.name == metric.name]
    return history(runs[0].experiment, runs[0].title, metric, alike)


def _earlier(folder: Folder, run: SiteRun) -> tuple[HistoryRun, Metric] | None:
    data = folder.read(f"data/{run.name}.json")
    if data is None:
        return None
    try:
        return history_run(json.loads(data))
    except ValueError:
        return None


def _history_page(of: History, runs: Sequence[SiteRun]) -> bytes:
    links = {run.id: f"../runs/{run.name}.html" for run in runs}
    return page("history.html.j2", root="../", title=f"{of.title}: history", view=history_view(of, links))
