"""Histories on request: a run is analysed once for as long as it has the same trials."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any
from urllib.parse import quote

from ringside import units
from ringside.analysis.history import HistoryRun, history, of_analysis
from ringside.analysis.run import analysis_of
from ringside.errors import RingsideError, UsageError
from ringside.model.design import Metric
from ringside.model.results import RunState
from ringside.render.html.history import view
from ringside.store import RunSummary, Store
from ringside.text import one_line

# Of more runs the latest: each has to be analysed once.
MAX_RUNS = 50
# Runs whose figures are kept: a few kilobytes each.
_MAX_KEPT = 500

# A run's id, its trials, its end: what its figures depend on.
_Key = tuple[str, int, str | None]
_Figures = tuple[HistoryRun, str, Metric]


class Histories:
    """Used by the worker alone."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_Key, _Figures] = OrderedDict()

    def page(self, store: Store, experiment: str) -> dict[str, Any]:
        """What the template of a history shows. Raises RingsideError, UsageError where the store has no run
        of the experiment that can be read."""
        mine = [run for run in store.summaries() if run.experiment == experiment]
        ended = [run for run in mine if store.state(run.id, run.ended_at) is not RunState.IN_PROGRESS]
        latest = ended[-MAX_RUNS:]
        known = [figures for run in latest if (figures := self._figures(store, run))]
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
            "view": view(history(experiment, title, metric, alike), links),
            "notes": [f"Left out: {units.count(n, 'run')} {why}." for why, n in left_out.items() if n],
        }

    def _figures(self, store: Store, run: RunSummary) -> _Figures | None:
        """What the history keeps of a run; None where it cannot be read."""
        key = (run.id, run.trials, run.ended_at)
        if key not in self._kept:
            figures = _analysed(store, run.id) if run.trials else None
            if figures is None:
                return None
            self._kept[key] = figures
            while len(self._kept) > _MAX_KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]


def _analysed(store: Store, run_id: str) -> _Figures | None:
    try:
        analysis = analysis_of(store, store.run(run_id), for_plots=False)
    except RingsideError:
        return None
    return of_analysis(analysis), analysis.experiment.title, analysis.headline
