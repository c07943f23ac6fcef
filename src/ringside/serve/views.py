"""What pages show of the store: the list of runs with its filters, histories, and static reports. A history
and a report are made once for as long as their runs have the same trials."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

from ringside import units
from ringside.analysis.history import HistoryRun, history, of_analysis
from ringside.analysis.run import analysis_of
from ringside.analysis.suite import page_of
from ringside.errors import RingsideError, UsageError
from ringside.model.catalogue import Question
from ringside.model.design import Metric
from ringside.model.results import RunState
from ringside.render.html.pictures import history_view
from ringside.render.site.site import render_pages
from ringside.store import RunSummary, Store
from ringside.store.runs import runs_of
from ringside.text import minute, one_line

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_PER_PAGE = 200


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run of the list."""

    summary: RunSummary
    state: RunState

    @property
    def started(self) -> str:
        return minute(self.summary.started_at)


@dataclass(frozen=True, slots=True)
class Filter:
    """What is shown: runs of an experiment, in a state, with a text in their ids or titles. Empty: all."""

    experiment: str = ""
    state: str = ""
    text: str = ""
    suite: str = ""

    @staticmethod
    def of(query: Mapping[str, str]) -> Filter:
        """The filter of an address."""
        return Filter(*(query.get(name, "").strip() for name in ("experiment", "state", "text", "suite")))

    def fits(self, run: ListedRun) -> bool:
        """Whether a run is shown."""
        summary = run.summary
        if self.experiment and summary.experiment != self.experiment:
            return False
        if self.state and run.state != self.state:
            return False
        if self.suite and summary.suite != self.suite:
            return False
        shown = f"{summary.id} {summary.title} {summary.suite}".lower()
        return all(word in shown for word in self.text.lower().split())


@dataclass(frozen=True, slots=True)
class RunList:
    """The runs that a filter lets through, the latest first, at most 200 of `total`. A comparison begins with
    `other`, the latest one of which there is an earlier one, and `one`, the run before it of the same
    experiment; both are empty where there are none."""

    runs: Sequence[ListedRun]
    total: int
    experiments: Sequence[str]
    filter: Filter
    one: str
    other: str

    @property
    def is_filtered(self) -> bool:
        return self.filter != Filter()


def run_list(store: Store, chosen: Filter) -> RunList:
    """The list of a store. Raises StoreError."""
    runs = [
        ListedRun(summary, store.state(summary.id, summary.ended_at))
        for summary in reversed(store.summaries())
    ]
    fitting = [run for run in runs if chosen.fits(run)]
    experiments = sorted({run.summary.experiment for run in runs})
    shown = fitting[:_PER_PAGE]
    return RunList(shown, len(fitting), experiments, chosen, *_pair(shown))


def _pair(runs: Sequence[ListedRun]) -> tuple[str, str]:
    """The two runs with which a comparison begins."""
    before: dict[str, str] = {}
    pairs: dict[str, str] = {}
    for run in reversed(runs):
        experiment = run.summary.experiment
        if experiment in before:
            pairs[run.summary.id] = before[experiment]
        before[experiment] = run.summary.id
    other = next((run.summary.id for run in runs if run.summary.id in pairs), "")
    return pairs.get(other, ""), other


def _kept(values: dict[K, V], most: int, key: K, make: Callable[[], V]) -> V:
    """The value of a key, made where it is missing; `values` keeps those that were made last, at most so
    many."""
    if key not in values:
        values[key] = make()
        if len(values) > most:
            del values[next(iter(values))]
    return values[key]


# Of more runs the latest: each has to be analysed once.
MAX_RUNS = 50
# Runs whose figures are kept, a few kilobytes each, and reports, some megabytes each.
_KEPT_FIGURES = 500
_KEPT_REPORTS = 6

_Figures = tuple[HistoryRun, str, Metric]


class Histories:
    """Used by the worker alone."""

    def __init__(self) -> None:
        self._figures: dict[Hashable, _Figures] = {}

    def page(self, store: Store, experiment: str) -> dict[str, Any]:
        """What the template of a history shows. Raises RingsideError, UsageError where the store has no run
        of the experiment that can be read."""
        mine = [run for run in store.summaries() if run.experiment == experiment]
        ended = [run for run in mine if store.state(run.id, run.ended_at) is not RunState.IN_PROGRESS]
        latest = ended[-MAX_RUNS:]
        known = [figures for run in latest if (figures := self._figures_of(store, run))]
        if not known:
            raise UsageError(
                f"the store has no run of the experiment `{one_line(experiment, 120)}` that has ended and "
                "can be read"
            )
        _, title, metric = known[-1]
        alike = [run for run, _, its in known if its.name == metric.name]
        links = {run.id: f"/runs/{quote(run.id, safe='')}" for run in alike}
        left_out = {
            "older than these": len(ended) - len(latest),
            "that cannot be read": len(latest) - len(known),
            "with another headline": len(known) - len(alike),
            "in progress": len(mine) - len(ended),
        }
        return {
            "title": f"{title}: history",
            "view": history_view(history(experiment, title, metric, alike), links),
            "notes": [f"Left out: {units.count(n, 'run')} {why}." for why, n in left_out.items() if n],
        }

    def _figures_of(self, store: Store, run: RunSummary) -> _Figures | None:
        """What the history keeps of a run; None where it cannot be read."""

        def make() -> _Figures:
            analysis = analysis_of(store, store.run(run.id))
            return of_analysis(analysis), analysis.experiment.title, analysis.headline

        try:
            key = (run.id, run.trials, run.ended_at)
            return _kept(self._figures, _KEPT_FIGURES, key, make) if run.trials else None
        except RingsideError:
            return None


class Reports:
    """Used by the worker alone. `questions`: all that the catalogue has now."""

    def __init__(self, questions: Callable[[], Sequence[Question]]) -> None:
        self._questions = questions
        self._reports: dict[Hashable, tuple[bytes, str]] = {}

    def report(self, store: Store, name: str) -> tuple[bytes, str]:
        """The page that `ringside report` writes of a run or of a suite's runs, with a link to the list of
        runs, and its Content-Security-Policy. Raises RingsideError."""
        runs = runs_of(store, name)
        progress = [store.progress(run.id) for run in runs]
        key = tuple(
            (run.id, trials, store.state(run.id, ended_at))
            for run, (trials, ended_at) in zip(runs, progress, strict=True)
        )

        def make() -> tuple[bytes, str]:
            text = render_pages([page_of(store, run) for run in runs], self._questions(), home="/")
            return text.encode(), f"{policy_of(text)}; frame-ancestors 'none'"

        return _kept(self._reports, _KEPT_REPORTS, key, make)


_POLICY = re.compile('<meta http-equiv="Content-Security-Policy" content="([^"]*)">')


def policy_of(page: str) -> str:
    """The policy that a report has as an element, for a header."""
    match = _POLICY.search(page)
    assert match
    return html.unescape(match[1])
