"""From an experiment to blocks of cells. Pure: the same experiment, machine size and seed give the same
plan, which is what lets a killed run be taken up again."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Iterator, Mapping, Sequence

from ringside.errors import UsageError
from ringside.model.catalogue import Contender
from ringside.model.design import Block, Cell, Experiment, Level, Metric, Point
from ringside.workloads.base import Cores, Workload

# With a goal for the intervals no more blocks are made than this, reached or not.
_UNTIL_BLOCKS = 500


def with_settings(experiment: Experiment, settings: Mapping[str, Sequence[str]]) -> Experiment:
    """The experiment with levels replaced (`--set nodes=10,100`). Levels are still text here."""
    factors = {**experiment.factors, **{factor: tuple(levels) for factor, levels in settings.items()}}
    at = tuple({name: level for name, level in one.items() if name not in settings} for one in experiment.at)
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


def with_blocks(experiment: Experiment, count: int) -> Experiment:
    """The experiment with so many blocks (`--blocks`)."""
    return dataclasses.replace(experiment, blocks=count)


def with_until(experiment: Experiment, goal: float) -> Experiment:
    """The experiment with blocks until intervals are narrower than `goal` (`--until`)."""
    return dataclasses.replace(experiment, until=goal)


def pairs(experiment: Experiment) -> list[tuple[str, str]]:
    """The pairs whose ratios are shown: those that the experiment names, else all over the baseline."""
    if experiment.show.ratios:
        return list(experiment.show.ratios)
    return [(name, experiment.baseline) for name in experiment.contenders if name != experiment.baseline]


def compared(experiment: Experiment, workload: Workload) -> list[Metric]:
    """The metrics that are compared, the headline first."""
    return [workload.metric(name) for name in experiment.show.metrics or workload.compared]


def most_blocks(experiment: Experiment) -> int:
    """How many blocks are made at most."""
    return experiment.blocks if experiment.until is None else max(experiment.blocks, _UNTIL_BLOCKS)


def points(experiment: Experiment, workload: Workload, cores: int) -> list[Point]:
    """Every combination of the levels, factors in the workload's order, defaults where none is given; for
    each entry of the experiment's `at` with its own levels.

    `cores` is the number of CPUs of this machine. Raises UsageError for an unknown factor or a level out
    of range. Levels that come to the same (`cores = [1, "all"]` on one CPU) make one point.
    """
    found: list[Point] = []
    for own in experiment.at or ({},):
        levels = {**experiment.factors, **{name: (level,) for name, level in own.items()}}
        found += _combinations(levels, workload, cores)
    return list(dict.fromkeys(found))


def _combinations(given: Mapping[str, tuple[Level, ...]], workload: Workload, cores: int) -> list[Point]:
    for name in given:
        workload.factor(name)
    axes: list[list[Level]] = []
    for factor in workload.factors:
        wanted = given.get(factor.name, (factor.default,))
        if isinstance(factor, Cores):
            levels: list[Level] = [one for level in wanted for one in factor.resolve(level, cores)]
        else:
            levels = [factor.check(level) for level in wanted]
        axes.append(list(dict.fromkeys(levels)))
    names = [factor.name for factor in workload.factors]
    found = [Point(tuple(zip(names, levels, strict=True))) for levels in itertools.product(*axes)]
    for point in found:
        workload.check(point)
    return found


def blocks(all_points: Sequence[Point], contenders: Sequence[str], count: int, seed: int) -> Iterator[Block]:
    """`count` blocks, counted from 1. In each the points come in a random order, and the contenders of a
    point stand next to each other, in a random order too: drift of the machine then hits them alike."""
    for index in range(1, count + 1):
        generator = random.Random(f"{seed}/{index}")
        cells: list[Cell] = []
        for point in generator.sample(all_points, len(all_points)):
            cells += [Cell(name, point) for name in generator.sample(contenders, len(contenders))]
        yield Block(index, tuple(cells))


def padding_bytes(seed: int, block: int, position: int) -> int:
    """Length of an environment variable that only takes room: the size of the environment moves the stack
    and with it results (Mytkowicz et al., "Producing wrong data without doing anything obviously wrong!",
    ASPLOS 2009), so it varies at random instead of favouring someone."""
    return random.Random(f"padding/{seed}/{block}/{position}").randrange(4096)


def past_limit(contender: Contender, workload: str, point: Point) -> str | None:
    """Why the contender does not take this point by its manifest, or None."""
    entry = contender.workloads[workload]
    for factor, most in entry.most.items():
        level = dict(point.levels).get(factor)
        if isinstance(level, int) and level > most:
            return f"past this contender's limit: {factor} up to {most}"
    for factor, levels in entry.only.items():
        level = dict(point.levels).get(factor)
        if level is not None and str(level) not in map(str, levels):
            return f"not for this contender: {factor} can be {', '.join(map(str, levels))} only"
    return None


def check_descriptors(points: Sequence[Point], workload: Workload, most: int) -> None:
    """No point may need more descriptors than a process can have. Raises UsageError with the numbers."""
    needed = max((workload.descriptors(point) for point in points), default=0)
    if needed > most:
        raise UsageError(
            f"this experiment needs {needed:,} descriptors in one process, and the limit here is {most:,}: "
            "raise the hard limit (ulimit -Hn, LimitNOFILE), or take fewer connections with --set"
        )


def check_contenders(experiment: Experiment, contenders: Mapping[str, Contender], workload: Workload) -> None:
    """Every contender must take part in the workload, and name its factors rightly."""
    for name in experiment.contenders:
        contender = contenders[name]
        if workload.name not in contender.workloads:
            raise UsageError(f"contender `{name}` takes no part in the workload `{workload.name}`")
        entry = contender.workloads[workload.name]
        for factor in (*entry.most, *entry.only):
            workload.factor(factor)
