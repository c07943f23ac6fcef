"""Runs by the names that users give them: an id, the id of a suite, an experiment's or a suite's name for the
latest of it, `latest`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, count

from ringside.errors import UsageError
from ringside.model.results import Run
from ringside.store.database import RunSummary, Store

# The beginning of an id, such as `20260918-174158-`.
_STAMP = 16


def runs_of(store: Store, name: str) -> list[Run]:
    """The run of that id, or the latest of that experiment; all runs of the suite of that id, or of the
    latest suite of that name; for `latest` those of the latest run's suite; in the order in which they were
    made. Raises UsageError."""
    try:
        run = store.run(name)
    except UsageError:
        summaries = store.summaries()
        ids = _members(summaries, name) or _members(summaries, _latest(summaries, name))
        if not ids:
            raise
    else:
        suite = run.suite.get("id") if name == "latest" else None
        if not suite:
            return [run]
        ids = _members(store.summaries(), suite)
    # Load only these: an unreadable run must not break the rest.
    return [store.run(id) for id in ids]


def suite_of(runs: Sequence[Run], name: str) -> str | None:
    """The id of the suite that `name` means, of which these are the runs; None where it means one run."""
    is_one = len(runs) == 1 and name in (runs[0].id, runs[0].experiment)
    return None if is_one else runs[0].suite.get("id")


def free_suite_id(store: Store, id: str) -> str:
    """The id, or one with a number behind it where another suite began in the same second."""
    taken = {run.suite for run in store.summaries()}
    return next(each for each in chain([id], (f"{id}.{number}" for number in count(2))) if each not in taken)


def single_run(store: Store, name: str) -> Run:
    """The run of that id. Raises UsageError, also where it means the several of a suite."""
    runs = runs_of(store, name)
    if len(runs) > 1:
        ids = ", ".join(run.id for run in runs)
        raise UsageError(f"{name} is a suite of runs: name one of {ids}")
    return runs[0]


def runs_of_side(store: Store, names: str) -> list[Run]:
    """The runs of these ids, with commas between them. Raises UsageError."""
    if not all(each.strip() for each in names.split(",")):
        raise UsageError(f"`{names}`: write several runs as A1,A2,A3")
    return [single_run(store, each.strip()) for each in names.split(",")]


def _latest(summaries: Sequence[RunSummary], name: str) -> str:
    """The id of the latest run of that experiment, or suite of that name; empty where there is none."""
    for run in reversed(summaries):
        if re.fullmatch(rf"{re.escape(name)}(-x\d+)?(\.\d+)?", run.suite[_STAMP:]):
            return run.suite
        if run.experiment == name:
            return run.id
    return ""


def _members(summaries: Sequence[RunSummary], id: str) -> list[str]:
    """The ids of the runs that a run's or a suite's id means."""
    return [run.id for run in summaries if id and id in (run.id, run.suite)]
