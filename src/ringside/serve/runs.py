"""The list of runs, with its filters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ringside.model.results import RunState
from ringside.store import RunSummary, Store
from ringside.text import minute

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


def listed(store: Store, summary: RunSummary) -> ListedRun:
    """A run with its state."""
    return ListedRun(summary, store.state(summary.id, summary.ended_at))


def run_list(store: Store, chosen: Filter) -> RunList:
    """The list of a store. Raises StoreError."""
    runs = [listed(store, summary) for summary in reversed(store.summaries())]
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
