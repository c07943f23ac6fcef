"""What `ringside run` is to do: one experiment, or those of a suite, as the command line changes them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from ringside.catalogue.loader import Catalogue
from ringside.errors import UsageError
from ringside.measure import plan
from ringside.model.design import Experiment, Goal
from ringside.store.plans import KeptSelection
from ringside.workloads import workload as find_workload


@dataclass(frozen=True, slots=True)
class Selection:
    """An experiment or suite by name or path, and what the command line changes of it; `outside`: its
    `--with`, as given. It is kept with the runs, those of a suite under the suite's id, so that what is
    missing can be made later."""

    name: str
    only: tuple[str, ...] = ()
    settings: Mapping[str, tuple[str, ...]] | None = None
    blocks: int | None = None
    until: Goal | None = None
    margin: float | None = None
    seed: int | None = None
    full: bool = False
    sandbox: bool = False
    engines: int = 0
    outside: tuple[str, ...] = ()

    def kept(self) -> KeptSelection:
        """For the plan of a run."""
        return cast(KeptSelection, asdict(self))

    def as_suite(self, suite_id: str) -> KeptSelection:
        """For the plans of a suite's runs."""
        return {"id": suite_id, **self.kept()}


def kept_suite(selection: Selection, suite_id: str, catalogue: Catalogue) -> KeptSelection:
    """For the plans of a suite's runs: how it was chosen, and its title and note as they are now."""
    suite = catalogue.suite(selection.name)
    kept = selection.as_suite(suite_id)
    return {**kept, "title": suite.title, "note": suite.note} if suite else kept


def selection_of(suite: Mapping[str, Any]) -> Selection:
    """The selection that is kept with a run of a suite."""
    return Selection(
        name=suite["name"],
        only=tuple(suite["only"]),
        settings={factor: tuple(levels) for factor, levels in (suite["settings"] or {}).items()},
        blocks=suite["blocks"],
        until=suite.get("until"),
        margin=suite.get("margin"),
        seed=suite["seed"],
        full=suite.get("full", False),
        sandbox=suite.get("sandbox", False),
        engines=suite.get("engines", 0),
        outside=tuple(suite.get("outside", ())),
    )


def experiments(catalogue: Catalogue, selection: Selection) -> list[Experiment]:
    """The experiment of that name or path, or those of a suite, changed. Each of a suite's experiments takes
    the contenders and factors that are its own. Raises UsageError where a name fits none of them."""
    suite = catalogue.suite(selection.name)
    only, settings = selection.only, selection.settings or {}
    if selection.full and not (suite and suite.full):
        raise UsageError(f"`{selection.name}` has no full form: leave out --full")
    if suite is None:
        experiment = _experiment(catalogue, selection.name)
        _check_added(catalogue, [experiment])
        if not experiment.contenders and not only:
            raise UsageError(
                f"`{selection.name}` is a workload: name its contenders with --only or --with, or an "
                "experiment (`ringside list experiments`)"
            )
        return [_changed(experiment, only, settings, selection)]
    parts = suite.full if selection.full else suite.experiments
    members = [_experiment(catalogue, name) for name in parts]
    _check_added(catalogue, members)
    listed = {contender for experiment in members for contender in experiment.contenders}
    chosen = [_chosen(catalogue, experiment, only, listed) for experiment in members]
    factors = [_factors(experiment, settings) for experiment in members]
    for factor in settings:
        if not any(factor in levels for levels in factors):
            raise UsageError(f"no part of `{selection.name}` has a factor `{factor}`")
    for contender in only:
        if not any(contender in names for names in chosen):
            raise UsageError(f"contender `{contender}` takes no part in `{selection.name}`")
    return [
        _changed(experiment, names, levels, selection)
        for experiment, names, levels in zip(members, chosen, factors, strict=True)
        if names or not only
    ]


def _experiment(catalogue: Catalogue, name: str) -> Experiment:
    """The experiment of that name or path, with the contenders from outside that have its workload."""
    experiment = catalogue.experiment(name)
    return plan.with_added(experiment, catalogue.added(experiment.workload))


def _check_added(catalogue: Catalogue, experiments: Sequence[Experiment]) -> None:
    """Raises UsageError for a contender from outside that no experiment has a use for."""
    for name in catalogue.added():
        if not any(name in experiment.contenders for experiment in experiments):
            workloads = ", ".join(dict.fromkeys(experiment.workload for experiment in experiments))
            raise UsageError(f"--with: contender `{name}` takes no part in {workloads}")


def _changed(
    experiment: Experiment,
    contenders: Sequence[str],
    settings: Mapping[str, Sequence[str]],
    selection: Selection,
) -> Experiment:
    changed = plan.with_settings(experiment, settings)
    if contenders:
        changed = plan.with_contenders(changed, contenders)
    if selection.blocks:
        changed = plan.with_blocks(changed, selection.blocks)
    if selection.margin is not None:
        changed = plan.with_margin(changed, selection.margin)
    if selection.sandbox:
        changed = plan.in_sandbox(changed)
    if selection.engines:
        changed = plan.with_engines(changed, selection.engines, find_workload(changed.workload))
    return plan.with_until(changed, selection.until) if selection.until else changed


def _chosen(
    catalogue: Catalogue, experiment: Experiment, only: Sequence[str], listed: Collection[str]
) -> list[str]:
    """Of `only` those that the experiment lists, and those that no experiment lists and that could take part
    in it."""
    chosen = []
    for name in only:
        able = experiment.workload in catalogue.contender(name).workloads
        if name in experiment.contenders or (able and name not in listed):
            chosen.append(name)
    return chosen


def _factors(experiment: Experiment, settings: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    known = {factor.name for factor in find_workload(experiment.workload).factors}
    return {factor: levels for factor, levels in settings.items() if factor in known}
