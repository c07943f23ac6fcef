"""A site: a folder for any static host, with a page for each run, a history for each experiment, the data and
a feed. Each call adds runs, or brings those that are there up to date."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ringside.analysis.history import History, HistoryRun, history, of_analysis
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric
from ringside.publish import feeds
from ringside.publish.badge import badge
from ringside.publish.data import as_bytes, file_name, history_run, published
from ringside.publish.folder import Folder
from ringside.publish.pages import page
from ringside.publish.runs import Page, render_pages
from ringside.render import csv
from ringside.render.answers import answers
from ringside.render.html import facts
from ringside.render.html.history import view
from ringside.text import minute

_TITLE = "Runs of Ringside"


@dataclass(frozen=True, slots=True)
class SiteRun:
    """What the site's index and feed show of a run. `name`: the stem of its files."""

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
        files[f"data/{run.name}.json"] = as_bytes(published(each.analysis))
        files[f"data/{run.name}.csv"] = csv.render(each.analysis).encode()
    runs = sorted(known.values(), key=lambda run: (run.started_at, run.id), reverse=True)
    analyses = {each.analysis.run.id: each.analysis for each in pages}
    for experiment in dict.fromkeys(each.analysis.experiment.name for each in pages):
        newest = [each.analysis for each in pages if each.analysis.experiment.name == experiment][-1]
        mine = [run for run in runs if run.experiment == experiment]
        name = file_name(experiment)
        files[f"history/{name}.html"] = _history_page(_history(folder, newest, mine, analyses), mine)
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
    entries = [_entry(run) for run in runs]
    files["feed.atom"] = feeds.atom(_TITLE, entries, base)
    files["feed.json"] = feeds.json_feed(_TITLE, entries, base)
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
        machine=facts.machine(run.host),
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


def _history(
    folder: Folder, newest: RunAnalysis, runs: Sequence[SiteRun], analyses: Mapping[str, RunAnalysis]
) -> History:
    """The runs of an experiment: those of this call, and those whose data the site has, as far as they have
    the same headline."""
    metric = newest.headline
    kept: list[HistoryRun] = []
    for run in runs:
        if run.id in analyses:
            if analyses[run.id].headline.name == metric.name:
                kept.append(of_analysis(analyses[run.id]))
        elif earlier := _earlier(folder, run, metric):
            kept.append(earlier)
    return history(newest.experiment.name, newest.experiment.title, metric, kept)


def _earlier(folder: Folder, run: SiteRun, metric: Metric) -> HistoryRun | None:
    data = folder.read(f"data/{run.name}.json")
    if data is None:
        return None
    try:
        earlier, its_metric = history_run(json.loads(data))
    except ValueError:
        return None
    return earlier if its_metric.name == metric.name else None


def _history_page(of: History, runs: Sequence[SiteRun]) -> bytes:
    links = {run.id: f"../runs/{run.name}.html" for run in runs}
    return page("history.html.j2", root="../", title=f"{of.title}: history", view=view(of, links))


def _entry(run: SiteRun) -> feeds.Entry:
    updated = run.ended_at or run.started_at
    return feeds.Entry(
        run.id,
        f"{run.title} ({run.started})",
        updated,
        " ".join(f"{text}." for text in run.answers),
        f"runs/{run.name}.html",
    )
