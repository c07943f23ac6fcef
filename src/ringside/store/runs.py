"""Runs by the names that users give them: an id, the id of a suite, `latest`."""

from __future__ import annotations

from ringside.errors import UsageError
from ringside.model.results import Run
from ringside.store.database import Store


def runs_of(store: Store, name: str) -> list[Run]:
    """The run of that id; all runs of the suite of that id; for `latest` those of the latest run's suite,
    in the order in which they were made. Raises UsageError."""
    try:
        run = store.run(name)
    except UsageError:
        if members := _members(store, name):
            return members
        raise
    suite = run.suite.get("id") if name == "latest" else None
    return _members(store, suite) if suite else [run]


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


def _members(store: Store, suite: str) -> list[Run]:
    # One that cannot be read keeps nobody from the others.
    return [store.run(run.id) for run in store.summaries() if run.suite == suite]
