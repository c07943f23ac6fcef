"""The store's contents for pages: the list of runs with its filters, histories, and static reports."""

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import quote

from ringside import units
from ringside.analysis.history import HistoryRun, history, of_analysis
from ringside.analysis.run import analysis_of
from ringside.errors import RingsideError, UsageError
from ringside.model.design import Metric, grouped
from ringside.model.results import RunState
from ringside.render.site.site import render_page
from ringside.render.text.answers import short_answer
from ringside.serve.source import Questions
from ringside.store import RunSummary, Store
from ringside.store.database import runs_of
from ringside.store.plans import read_plan
from ringside.text import one_line

_PER_PAGE = 200


@dataclass(frozen=True, slots=True)
class Filter:
    """The runs to show: of an experiment, in a state, with a text in their ids or titles, of a suite. Empty:
    all."""

    experiment: str = ""
    state: str = ""
    text: str = ""
    suite: str = ""

    def fits(self, run: RunSummary, state: RunState) -> bool:
        shown = f"{run.id} {run.title} {run.suite}".lower()
        return (
            self.experiment in ("", run.experiment)
            and self.state in ("", state)
            and self.suite in ("", run.suite)
            and all(word in shown for word in self.text.lower().split())
        )


def _time_left(store: Store, run: RunSummary) -> str:
    """`about 4 min left` for a run in progress, an upper bound; empty if it is not known."""
    try:
        plan = read_plan(store.run(run.id))
    except RingsideError:
        return ""
    planned = plan.experiment.blocks * len(plan.points) * len(plan.experiment.contenders)
    if not 0 < run.trials < planned:
        return ""
    elapsed = (datetime.now(UTC) - datetime.fromisoformat(run.started_at)).total_seconds()
    left = units.duration(elapsed * (planned - run.trials) / run.trials)
    return f"{run.trials:,} of {planned:,} trials, {'at most ' * plan.experiment.until_decided}{left} left"


# If there are more runs, only the latest: each must be analysed once.
MAX_RUNS = 50
# How many runs keep their figures, some kilobytes each, and their reports, some megabytes each.
_KEPT_FIGURES = 500
_KEPT_REPORTS = 6

# The list of runs waits this long for answers that are not ready; the next request finds more of them.
_PATIENCE_S = 1.0

Value = TypeVar("Value")
_Figures = tuple[HistoryRun, str, Metric, str]


class Views:
    """Lists of runs, histories and reports; figures and reports are made once for as long as their runs have
    the same trials. Used in one thread alone."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions
        self._figures: dict[Hashable, _Figures] = {}
        self._reports: dict[Hashable, bytes] = {}

    def run_list(self, store: Store, chosen: Filter) -> dict[str, Any]:
        """The template's values for the list: the latest 200 runs that fit, each with its state, and its
        answer (if it is known soon) or the time left. Also the two runs that the comparison form starts with:
        the latest run with an earlier run of its experiment, and that earlier run. Raises StoreError."""
        states = {run: store.state(run.id, run.ended_at) for run in reversed(store.summaries())}
        fitting = [run for run, state in states.items() if chosen.fits(run, state)]
        shown = fitting[:_PER_PAGE]
        said, end_s = {}, time.monotonic() + _PATIENCE_S
        for run in shown:
            if states[run] is RunState.IN_PROGRESS:
                said[run.id] = _time_left(store, run)
            elif (run.id, run.trials, run.ended_at) in self._figures or time.monotonic() < end_s:
                figures = self._figures_of(store, run)
                said[run.id] = figures[3] if figures else ""
        by_experiment = grouped((run.experiment, run.id) for run in shown).values()
        return {
            "runs": [(run, states[run], said.get(run.id, "")) for run in shown],
            "total": len(fitting),
            "experiments": sorted({run.experiment for run in states}),
            "states": list(RunState),
            "filter": chosen,
            "is_filtered": chosen != Filter(),
            "compared": next(((ids[1], ids[0]) for ids in by_experiment if len(ids) > 1), ("", "")),
        }

    def history(self, store: Store, experiment: str) -> dict[str, Any]:
        """The values for the template of a history. Raises RingsideError, UsageError if the store has no
        readable run of the experiment."""
        mine = [run for run in store.summaries() if run.experiment == experiment]
        ended = [run for run in mine if store.state(run.id, run.ended_at) is not RunState.IN_PROGRESS]
        latest = ended[-MAX_RUNS:]
        known = [figures for run in latest if (figures := self._figures_of(store, run))]
        if not known:
            raise UsageError(
                f"the store has no run of the experiment `{one_line(experiment, 120)}` that has ended and "
                "can be read"
            )
        _, title, metric, _ = known[-1]
        alike = [run for run, _, its, _ in known if its.name == metric.name]
        links = {run.id: f"/runs/{quote(run.id, safe='')}" for run in alike}
        left_out = {
            "older than these": len(ended) - len(latest),
            "that cannot be read": len(latest) - len(known),
            "with another headline": len(known) - len(alike),
            "in progress": len(mine) - len(ended),
        }
        return {
            "title": f"{title}: history",
            "history": history(experiment, title, metric, alike),
            "links": links,
            "notes": [f"Left out: {units.count(n, 'run')} {why}." for why, n in left_out.items() if n],
        }

    def _figures_of(self, store: Store, run: RunSummary) -> _Figures | None:
        """The figures of a run that are kept; None if it cannot be read."""

        def make() -> _Figures:
            analysis = analysis_of(store, store.run(run.id))
            answer = short_answer(analysis)
            return of_analysis(analysis), analysis.experiment.title, analysis.headline, answer

        try:
            key = (run.id, run.trials, run.ended_at)
            return _kept(self._figures, _KEPT_FIGURES, key, make) if run.trials else None
        except RingsideError:
            return None

    def report(self, store: Store, name: str) -> bytes:
        """The page that `ringside report` writes of a run or of a suite's runs, with a link to the list of
        runs. Raises RingsideError."""
        runs = runs_of(store, name)
        key = tuple((run.id, store.progress(run.id)) for run in runs)

        def make() -> bytes:
            analyses = [analysis_of(store, run) for run in runs]
            return render_page(analyses, self._questions(), home="/").encode()

        return _kept(self._reports, _KEPT_REPORTS, key, make)


def _kept(values: dict[Hashable, Value], most: int, key: Hashable, make: Callable[[], Value]) -> Value:
    """The value of a key, made if it is missing; `values` keeps the latest ones, up to a limit."""
    if key not in values:
        values[key] = make()
        if len(values) > most:
            del values[next(iter(values))]
    return values[key]
