"""What pages show of the store: the list of runs with its filters, histories, and static reports. A history
and a report are made once for as long as their runs have the same trials."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from ringside import units
from ringside.analysis.history import HistoryRun, history, of_analysis
from ringside.analysis.run import analysis_of
from ringside.analysis.suite import page_of
from ringside.catalogue.loader import Catalogue
from ringside.errors import RingsideError, UsageError
from ringside.model.catalogue import Question
from ringside.model.design import Metric
from ringside.model.results import RunState
from ringside.render.html.pictures import history_view
from ringside.render.site.site import render_pages
from ringside.serve.guard import POLICY
from ringside.store import RunSummary, Store
from ringside.store.runs import runs_of
from ringside.text import minute, one_line

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


class _Recent(Generic[V]):
    """The values that were used last, at most so many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, V] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], V | None]) -> V | None:
        """The value, made where it is not kept; None, which is not kept, where it cannot be made."""
        if key not in self._kept:
            if (value := make()) is None:
                return None
            self._kept[key] = value
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]


# Of more runs the latest: each has to be analysed once.
MAX_RUNS = 50
# Runs whose figures are kept, a few kilobytes each, and reports, some megabytes each.
_KEPT_FIGURES = 500
_KEPT_REPORTS = 6

_Figures = tuple[HistoryRun, str, Metric]


class Histories:
    """Used by the worker alone."""

    def __init__(self) -> None:
        self._figures = _Recent[_Figures](_KEPT_FIGURES)

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
        key = (run.id, run.trials, run.ended_at)
        return self._figures.get(key, lambda: _analysed(store, run.id) if run.trials else None)


def _analysed(store: Store, run_id: str) -> _Figures | None:
    try:
        analysis = analysis_of(store, store.run(run_id), for_plots=False)
    except RingsideError:
        return None
    return of_analysis(analysis), analysis.experiment.title, analysis.headline


class Reports:
    """Used by the worker alone."""

    def __init__(self, catalogue: Callable[[], Catalogue]) -> None:
        self._catalogue = catalogue
        self._reports = _Recent[tuple[bytes, str]](_KEPT_REPORTS)

    def _questions(self) -> list[Question]:
        # A file of them that cannot be read keeps nobody from a page: `ringside ask` says what is wrong.
        try:
            return self._catalogue().questions()
        except RingsideError:
            return []

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
            return text.encode(), policy_of(text)

        report = self._reports.get(key, make)
        assert report
        return report


def policy_of(text: str) -> str:
    """The policy that a report has as an element, for its header. Without one, ours: nothing in it runs."""
    reader = _PolicyReader()
    reader.feed(text[:100_000])
    return f"{reader.policy}; frame-ancestors 'none'" if reader.policy else POLICY


class _PolicyReader(HTMLParser):
    policy = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "meta" and (attributes.get("http-equiv") or "").lower() == "content-security-policy":
            self.policy = self.policy or (attributes.get("content") or "")
