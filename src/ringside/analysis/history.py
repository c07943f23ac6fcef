"""Many runs of one experiment over time: where the level of a figure changed, and what else changed there."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any

from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric, Point, varying_factors
from ringside.model.results import Interval
from ringside.stats.series import MIN_VALUES, LevelChange, level_changes, merged

# If one of these differs, it is another machine or state of it, for `compare` too. `engines`: of the load.
MACHINE = (
    *("cpu_model", "cpus", "cpus_usable", "kernel", "system", "hypervisor", "memory_bytes", "governor"),
    "engines",
)
# Shorter series are not looked at.
MIN_RUNS = MIN_VALUES
# Smaller changes of level do not count. A change must still be found at its place this many runs later.
LEAST_EFFECT, CONFIRMED_BY = 0.02, 2
# A change of the same machine's speed explains a figure's change if it makes up this share of it.
_SPEED_SHARE = 0.5
_MIN_SPEED_CHANGE = 0.02


@dataclass(frozen=True, slots=True)
class HistoryRun:
    """A run as the history sees it. `figures`: the headline's medians; `versions`, `contents`: the
    contenders' runtimes and hashes; `references_ns`: medians of reference computations."""

    id: str
    started_at: str
    host: Mapping[str, Any]
    figures: Mapping[tuple[str, Point], Interval]
    versions: Mapping[str, str]
    contents: Mapping[str, str]
    references_ns: Mapping[str, float]
    labels: Mapping[Point, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChangeCause:
    """A change near a change of level: `kind` is version, sources, machine (a fact) or speed (of a reference
    computation); `name`: whose; `before`, `after`: texts or ratios, None if missing."""

    kind: str
    name: str
    before: Any = None
    after: Any = None


@dataclass(frozen=True, slots=True)
class Change:
    """A change of level at a run. `ratio`: of the medians; `causes`: what else changed there, if known."""

    index: int
    run: str
    ratio: float
    p: float
    causes: tuple[ChangeCause, ...]


@dataclass(frozen=True, slots=True)
class FigureHistory:
    """The headline of one contender at one point, by run. `indices`: the runs' places in the history."""

    contender: str
    point: Point
    indices: tuple[int, ...]
    values: tuple[Interval, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class History:
    """Runs of one experiment, the earliest first, and their series."""

    experiment: str
    title: str
    metric: Metric
    runs: tuple[HistoryRun, ...]
    series: tuple[FigureHistory, ...]

    @property
    def points(self) -> tuple[Point, ...]:
        return tuple(dict.fromkeys(each.point for each in self.series))

    @property
    def contenders(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.contender for each in self.series))

    @property
    def changes(self) -> tuple[tuple[FigureHistory, Change], ...]:
        """All changes, the latest first."""
        changes = [(series, change) for series in self.series for change in series.changes]
        return tuple(sorted(changes, key=lambda each: each[0].indices[each[1].index], reverse=True))

    def since_before(self, index: int) -> list[ChangeCause] | None:
        """Differences from the previous run, for contenders in both; None for the first run."""
        if index == 0:
            return None
        before, run = self.runs[index - 1 : index + 1]
        return differences(before, run, sorted(before.versions.keys() & run.versions.keys()))

    def label(self, point: Point) -> str:
        """A point in the words of its latest run."""
        own = (run.labels[point] for run in reversed(self.runs) if point in run.labels)
        return next(own, point.label(varying_factors(self.points)))


def of_analysis(analysis: RunAnalysis) -> HistoryRun:
    """The part of a run that the history keeps."""
    headline = analysis.headline.name
    return HistoryRun(
        id=analysis.run.id,
        started_at=analysis.run.started_at,
        host=analysis.run.host,
        figures={
            (cell.contender, cell.point): each.metrics[headline]
            for cell, each in analysis.cells.items()
            if headline in each.metrics
        },
        versions={name: each.version or "" for name, each in analysis.contenders.items()},
        contents={name: each.content or "" for name, each in analysis.contenders.items()},
        labels={point: analysis.label(point) for point in analysis.points},
        references_ns={name: median(ns.values()) for name, ns in analysis.references_ns.items() if ns},
    )


def differences(before: HistoryRun, after: HistoryRun, contenders: Iterable[str]) -> list[ChangeCause]:
    """Differences between two runs: versions and sources of these contenders, facts of the machine."""
    causes = []
    for name in contenders:
        versions = before.versions.get(name), after.versions.get(name)
        if versions[0] != versions[1]:
            causes.append(ChangeCause("version", name, *versions))
        elif before.contents.get(name) != after.contents.get(name):
            causes.append(ChangeCause("sources", name))
    causes += [
        ChangeCause("machine", fact, before.host.get(fact), after.host.get(fact))
        for fact in MACHINE
        if before.host.get(fact) != after.host.get(fact)
    ]
    return causes


def history(experiment: str, title: str, metric: Metric, runs: Sequence[HistoryRun]) -> History:
    """The history of runs of one experiment, in any order. Cells that only one run has are left out."""
    ordered = tuple(sorted(runs, key=lambda run: (run.started_at, run.id)))
    series = []
    for cell in dict.fromkeys(cell for run in ordered for cell in run.figures):
        each = ((index, run, run.figures.get(cell)) for index, run in enumerate(ordered))
        known = [(index, run, value) for index, run, value in each if value and value.estimate > 0]
        if len(known) > 1:
            indices, own, values = zip(*known, strict=True)
            series.append(FigureHistory(*cell, indices, values, _changes(cell[0], own, values)))
    return History(experiment, title, metric, ordered, tuple(series))


def _changes(contender: str, runs: Sequence[HistoryRun], values: Sequence[Interval]) -> tuple[Change, ...]:
    # On the log scale a change of 10 % is as large at any level.
    logs = [math.log(value.estimate) for value in values]
    places = _confirmed(logs)
    levels = [slice(*ends) for ends in pairwise([0, *(place.index for place in places), len(values)])]
    changes = []
    for place, (before, after) in zip(places, pairwise(levels), strict=True):
        ratio = math.exp(median(logs[after]) - median(logs[before]))
        causes = _causes(contender, (runs[before], runs[after]), ratio)
        changes.append(Change(place.index, runs[place.index].id, ratio, place.p, causes))
    return tuple(changes)


def _confirmed(logs: Sequence[float]) -> list[LevelChange]:
    """Large changes that the series showed without its last runs, too: a history is looked at after each run,
    and each look may find a change where there is none."""
    earlier = [level_changes(logs[:-runs]) for runs in range(1, CONFIRMED_BY + 1)]
    places = [
        place
        for place in level_changes(logs)
        if all(any(abs(place.index - each.index) <= 1 for each in changes) for changes in earlier)
    ]
    edges = merged(logs, [0, *(place.index for place in places), len(logs)], math.log1p(LEAST_EFFECT))
    return [place for place in places if place.index in edges]


def _causes(contender: str, sides: Sequence[Sequence[HistoryRun]], ratio: float) -> tuple[ChangeCause, ...]:
    """The differences between the last run before a change and the first run after it."""
    old, new = sides[0][-1], sides[1][0]
    causes = differences(old, new, [contender])
    for name in old.references_ns.keys() & new.references_ns.keys():
        ns = [median(run.references_ns[name] for run in side if name in run.references_ns) for side in sides]
        speed = ns[1] / ns[0] if ns[0] > 0 else 1.0
        explains = math.log(speed) / math.log(ratio) if ratio != 1 and speed > 0 else 0.0
        if abs(speed - 1) >= _MIN_SPEED_CHANGE and explains >= _SPEED_SHARE:
            causes.append(ChangeCause("speed", name, 1.0, speed))
    return tuple(causes)
