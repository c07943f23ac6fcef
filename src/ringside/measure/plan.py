"""From an experiment to its points, checked against workload, contenders and machine. Pure."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

from ringside.errors import UsageError
from ringside.model.catalogue import Contender
from ringside.model.design import Experiment, Goal, Level, Point
from ringside.units import count
from ringside.workloads.base import Cores, Workload


def with_settings(experiment: Experiment, settings: Mapping[str, Sequence[str]]) -> Experiment:
    """The experiment with levels replaced (`--set nodes=10,100`). Levels are still text here."""
    factors = {**experiment.factors, **{factor: tuple(levels) for factor, levels in settings.items()}}
    at = tuple({name: level for name, level in own.items() if name not in settings} for own in experiment.at)
    return dataclasses.replace(experiment, factors=factors, at=at)


def with_contenders(experiment: Experiment, names: Sequence[str]) -> Experiment:
    """The experiment with only these contenders (`--only`), in its own order, others behind. The baseline
    becomes the first one when the experiment's own is left out."""
    chosen = [name for name in experiment.contenders if name in names]
    chosen += [name for name in dict.fromkeys(names) if name not in chosen]
    baseline = experiment.baseline if experiment.baseline in chosen else chosen[0]
    ratios = tuple(pair for pair in experiment.show.ratios if set(pair) <= set(chosen))
    show = dataclasses.replace(experiment.show, ratios=ratios)
    return dataclasses.replace(experiment, contenders=tuple(chosen), baseline=baseline, show=show)


def with_added(experiment: Experiment, names: Sequence[str]) -> Experiment:
    """The experiment with further contenders (`--with`)."""
    contenders = tuple(dict.fromkeys([*experiment.contenders, *names]))
    return dataclasses.replace(experiment, contenders=contenders)


def with_blocks(experiment: Experiment, count: int) -> Experiment:
    """The experiment with so many blocks (`--blocks`)."""
    return dataclasses.replace(experiment, blocks=count)


def with_until(experiment: Experiment, goal: Goal) -> Experiment:
    """The experiment with another goal (`--until`)."""
    return dataclasses.replace(
        experiment,
        until=goal if isinstance(goal, float) else None,
        until_decided=goal == "decided",
    )


def in_sandbox(experiment: Experiment) -> Experiment:
    """The experiment with its programs under bubblewrap (`--sandbox`)."""
    return dataclasses.replace(experiment, sandbox=True)


def with_engines(experiment: Experiment, engines: int, workload: Workload) -> Experiment:
    """The experiment with its load from so many engines on other machines (`--engines`). Raises UsageError
    where it has none."""
    if not workload.is_service:
        raise UsageError(f"--engines: programs of the workload `{workload.name}` get no load: leave it out")
    return dataclasses.replace(experiment, engines=engines)


def with_margin(experiment: Experiment, margin: float) -> Experiment:
    """The experiment with another margin of equivalence (`--margin`)."""
    return dataclasses.replace(experiment, margin=margin)


def points(experiment: Experiment, workload: Workload, cores: int) -> list[Point]:
    """Every combination of the levels, factors in the workload's order, defaults where none is given; for
    each entry of the experiment's `at` with its own levels.

    `cores` is the number of CPUs of this machine. Raises UsageError for an unknown factor or a level out
    of range. Levels that come to the same (`cores = [1, "all"]` on one CPU) make one point.
    """
    combinations: list[Point] = []
    for own in experiment.at or ({},):
        levels = {**experiment.factors, **{name: (level,) for name, level in own.items()}}
        combinations += _combinations(levels, workload, cores)
    return list(dict.fromkeys(combinations))


def _combinations(wanted: Mapping[str, tuple[Level, ...]], workload: Workload, cores: int) -> list[Point]:
    for name in wanted:
        workload.factor(name)
    axes: list[list[Level]] = []
    for factor in workload.factors:
        own = wanted.get(factor.name, (factor.default,))
        if isinstance(factor, Cores):
            levels: list[Level] = [number for level in own for number in factor.resolve(level, cores)]
        else:
            levels = [factor.check(level) for level in own]
        axes.append(list(dict.fromkeys(levels)))
    names = [factor.name for factor in workload.factors]
    points = [Point(tuple(zip(names, levels, strict=True))) for levels in itertools.product(*axes)]
    for point in points:
        workload.check(point)
    return points


def past_limit(contender: Contender, workload: Workload, point: Point, headline: str = "") -> str | None:
    """Why the contender does not take this point by its manifest, or None. `headline`: the metric that it is
    measured for."""
    entry = contender.workloads[workload.name]
    if reason := workload.missing(entry.capabilities, point, headline):
        return f"not for this contender: {reason}"
    for factor, most in entry.most.items():
        level = dict(point.levels).get(factor)
        if isinstance(level, int) and level > most:
            return f"past this contender's limit: {factor} up to {most}"
    for factor, levels in entry.only.items():
        level = dict(point.levels).get(factor)
        if level is not None and str(level) not in map(str, levels):
            return f"not for this contender: {factor} can be {', '.join(map(str, levels))} only"
    return None


def out_of_reach(contender: Contender, workload: str) -> str:
    """Why engines on other machines do not reach the contender's server; empty where they do."""
    if contender.workloads[workload].host:
        return ""
    return (
        "it listens on 127.0.0.1, where engines on other machines do not reach it: its manifest does not "
        "declare `host = true`"
    )


def check_machine(points: Sequence[Point], workload: Workload, cpus: int, descriptors: int) -> None:
    """No point may need more CPUs than contenders can get here, or more descriptors than a process can have.
    Raises UsageError with the numbers."""
    cores = max((workload.cores(point) for point in points), default=1)
    if cores > cpus:
        are = "is" if cpus == 1 else "are"
        raise UsageError(f"this run needs {count(cores, 'CPU')}, and only {cpus} {are} available here")
    needed, hint = max((workload.descriptors(point) for point in points), default=(0, ""))
    if needed > descriptors:
        raise UsageError(
            f"this experiment needs {needed:,} descriptors in one process, and the limit here is "
            f"{descriptors:,}: raise the hard limit (ulimit -Hn, LimitNOFILE), or {hint}"
        )


def check_contenders(contenders: Mapping[str, Contender], workload: Workload) -> None:
    """Every contender must take part in the workload, and name its factors rightly."""
    for name, contender in contenders.items():
        if workload.name not in contender.workloads:
            raise UsageError(f"contender `{name}` takes no part in the workload `{workload.name}`")
        entry = contender.workloads[workload.name]
        for factor in (*entry.most, *entry.only):
            workload.factor(factor)
