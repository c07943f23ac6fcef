"""What `ringside run` is to do: one experiment, or the parts of a suite, as the command line changes them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ringside.catalogue.loader import Catalogue
from ringside.errors import UsageError
from ringside.measure import plan
from ringside.model.design import Experiment
from ringside.store import Run, Store
from ringside.workloads import workload as find_workload


def experiments(
    catalogue: Catalogue,
    name: str,
    *,
    only: Sequence[str] = (),
    settings: Mapping[str, Sequence[str]] | None = None,
    blocks: int | None = None,
    until: float | None = None,
) -> list[Experiment]:
    """The experiment of that name or path, or those of a suite, changed. Of a suite's parts each takes the
    contenders and factors that are its own. Raises UsageError where a name fits none of them."""
    suite = catalogue.suite(name)
    settings = settings or {}
    if suite is None:
        wanted = [catalogue.experiment(name)]
        parts = [(wanted[0], list(only), dict(settings))]
    else:
        wanted = [catalogue.experiment(part) for part in suite.parts]
        listed = {contender for one in wanted for contender in one.contenders}
        parts = [(one, _own(catalogue, one, only, listed), _factors(one, settings)) for one in wanted]
        for factor in settings:
            if not any(factor in own for _, _, own in parts):
                raise UsageError(f"no part of `{name}` has a factor `{factor}`")
        for contender in only:
            if not any(contender in own for _, own, _ in parts):
                raise UsageError(f"contender `{contender}` takes no part in `{name}`")
    found = []
    for experiment, contenders, levels in parts:
        if only and not contenders:
            continue
        changed = plan.with_settings(experiment, levels)
        if contenders:
            changed = plan.with_contenders(changed, contenders)
        changed = plan.with_blocks(changed, blocks) if blocks else changed
        found.append(plan.with_until(changed, until) if until else changed)
    return found


def _own(
    catalogue: Catalogue, experiment: Experiment, only: Sequence[str], listed: Collection[str]
) -> list[str]:
    """Those that it lists, and those that no part lists and that could take part in it."""
    found = []
    for name in only:
        able = experiment.workload in catalogue.contender(name).workloads
        if name in experiment.contenders or (able and name not in listed):
            found.append(name)
    return found


def _factors(experiment: Experiment, settings: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    known = {factor.name for factor in find_workload(experiment.workload).factors}
    return {factor: levels for factor, levels in settings.items() if factor in known}


def together(storage: Store, name: str) -> list[Run]:
    """The run of that id; all runs of the suite of that id; for `latest` those of the latest run's suite,
    in the order in which they were made. Raises UsageError."""
    try:
        run = storage.run(name)
    except UsageError:
        if mates := _mates(storage, name):
            return mates
        raise
    suite = suite_of(run).get("id") if name == "latest" else None
    return _mates(storage, suite) if suite else [run]


def single(storage: Store, name: str) -> Run:
    """The run of that id. Raises UsageError, also where it means several: a suite of them."""
    found = together(storage, name)
    if len(found) > 1:
        ids = ", ".join(one.id for one in found)
        raise UsageError(f"{name} is a suite of runs: name one of {ids}")
    return found[0]


def _mates(storage: Store, suite: str) -> list[Run]:
    return [run for run in storage.runs() if suite_of(run).get("id") == suite]


def suite_of(run: Run) -> Mapping[str, Any]:
    """What a run keeps of its suite: its id, name, and how it was called."""
    kept: Mapping[str, Any] = run.plan.get("suite") or {}
    return kept
