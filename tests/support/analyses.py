"""Analyses of runs with exact figures, made from a plan and trials: for tests of what formats them."""

import copy
import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple
from unittest import mock

import pytest

from ringside.analysis import cells
from ringside.analysis.cells import CellAnalysis
from ringside.analysis.examination import Observations
from ringside.analysis.figures import RunFigures
from ringside.analysis.run import RunAnalysis
from ringside.model.catalogue import ContenderClass
from ringside.model.design import Cell, Experiment, Level, Metric, Point, Show
from ringside.model.results import Interval, Outcome, Run, Trial
from ringside.probe.protocol import TrialOutcome
from ringside.stats.interval import median_interval
from ringside.store.plans import PlannedContender, RunPlan
from ringside.workloads.base import Measurement, Slope

HOP = Metric("hop_ns", "ns", "Per hop", "time of one delivery", phrase="time per hop")
CPU = Metric("cpu_s", "s", "CPU", "CPU seconds of the process tree", phrase="CPU time")
RATE = Metric("rate", "/s", "Rate", "answers per second", smaller_is_better=False)
MEMORY = Metric("memory_bytes", "B", "Memory", "memory in use")

HOST: dict[str, Any] = {
    "cpu_model": "Example CPU 3000",
    "cpus": 4,
    "cpus_usable": [0, 1, 2, 3],
    "kernel": "6.1.0",
    "memory_bytes": 16 << 30,
}
# Text that tries to break out of a page, a table, a terminal.
HOSTILE = "</script><img src=x onerror=alert(1)><!-- {{ 7 * 7 }} | \x1b[31mred\x1b[0m & 'quotes\""

# Relative figures of seven blocks: the median is 1, and an interval of 95 % goes from 0.97 to 1.04.
NOISE = (1.0, 0.98, 1.01, 0.97, 1.04, 0.99, 1.02)

# Figures of one metric by block, from the first on; None if that block has no figure.
Values = Sequence[float | None]


class Exact(Measurement):
    """A measurement whose figures are put into trials as they are."""

    name = "exact"
    title = "Exact figures"
    metrics: tuple[Metric, ...] = (HOP, CPU, RATE, MEMORY)
    compared: tuple[str, ...] = (HOP.name,)

    def figures(self, trial: Trial) -> dict[str, float]:
        return {name: parts[0] / 1e6 for name, parts in trial.phases.items()}


class Compared(Exact):
    """Times and rates are compared."""

    compared = (HOP.name, RATE.name)


class OneFamily(Compared):
    one_family = True


class Secondary(Exact):
    compared = (HOP.name, CPU.name)
    secondary = (MEMORY.name, RATE.name)


class Sloped(Exact):
    slopes = (Slope("per_node", "B", "Memory per node", "growth over nodes", "nodes", MEMORY.name),)


class Repeated(Exact):
    """One whose headline is repeated in one process, as the phase `relay`."""

    repeated_metric = HOP.name

    def repeats_of(self, trial: Trial) -> tuple[float, ...]:
        return tuple(map(float, trial.repeats_ns("relay")))


class Planted(RunFigures):
    """Cells with these values by block, without trials. Whatever else a part of the analysis reads is given
    by name."""

    def __init__(
        self,
        values: Mapping[tuple[str, Point], Mapping[str, Mapping[int, float]]],
        measurement: Measurement | None = None,
        **attributes: Any,
    ) -> None:
        self.measurement, self.trials, self.by_cell = measurement or Exact(), (), {}
        self.names = tuple(dict.fromkeys(name for name, _ in values))
        self.points = tuple(dict.fromkeys(place for _, place in values))
        self.metrics, self.confidence = (HOP,), 0.95
        self.cells = {}
        for cell, by_block in values.items():
            medians = {name: median_interval(list(each.values())) for name, each in by_block.items() if each}
            self.cells[Cell(*cell)] = CellAnalysis(Cell(*cell), {}, medians, by_block)
        vars(self).update(attributes)


def point(**levels: Level) -> Point:
    return Point(tuple(levels.items()))


def scaled(value: float) -> tuple[float, ...]:
    """Figures of seven blocks whose median is `value`."""
    return tuple(value * relative for relative in NOISE)


def medians(
    *places: Point, metric: str = HOP.name, **values: float
) -> dict[tuple[str, Point], dict[str, Values]]:
    """Figures of one metric in seven blocks: each contender has its median at each of the points."""
    return {(name, place): {metric: scaled(value)} for place in places for name, value in values.items()}


def analysis(
    values: Mapping[tuple[str, Point], Mapping[str, Values]],
    *,
    measurement: Measurement | None = None,
    floor: str | None = None,
    kinds: Mapping[str, ContenderClass] | None = None,
    metrics: Sequence[str] = (),
    ratios: Sequence[tuple[str, str]] = (),
    failed: Collection[tuple[str, Point]] = (),
    unavailable: Collection[tuple[str, Point]] = (),
    reports: Mapping[str, TrialOutcome] | None = None,
    blocks: int | None = None,
    **more: Any,
) -> RunAnalysis:
    """The analysis of a run whose trials have these figures, by contender and point.

    `failed`: cells whose trials all crashed; `unavailable`: those that could not be measured. `blocks`:
    planned ones, if not those with figures. `reports`: what the probe reported of each trial, by contender.
    `more`: what else `planned` takes.
    """
    measurement = measurement or Exact()
    places = {*values, *failed, *unavailable}
    names = tuple(dict.fromkeys(name for name, _ in (*values, *failed, *unavailable)))
    points = tuple(dict.fromkeys(place for _, place in (*values, *failed, *unavailable)))
    done = max(len(each) for metrics in values.values() for each in metrics.values())
    run = planned(
        names,
        points,
        workload=measurement.name,
        blocks=done if blocks is None else blocks,
        kinds={**(kinds or {}), **({floor: "floor"} if floor else {})},
        show=Show(metrics=tuple(metrics), ratios=tuple(ratios)),
        **more,
    )

    def made(block: int, position: int, cell: tuple[str, Point]) -> Trial:
        report = (reports or {}).get(cell[0])
        trial = Trial(block, position, Cell(*cell), Outcome.OK, "", cpus=(1,), report=report)
        if cell in unavailable:
            return dataclasses.replace(trial, outcome=Outcome.UNAVAILABLE, detail="not here")
        if cell not in values:
            return dataclasses.replace(trial, outcome=Outcome.CRASHED, detail="exit status 3")
        present = {
            name: (round(value * 1e6),)
            for name, each in values[cell].items()
            if block <= len(each) and (value := each[block - 1]) is not None
        }
        return dataclasses.replace(trial, phases=present)

    order = [*enumerate(sorted(places, key=str))]
    return analyse(run, [made(block, *each) for block in range(1, done + 1) for each in order], measurement)


def analyse(run: Run, trials: Sequence[Trial], measurement: Measurement) -> RunAnalysis:
    """The analysis of these trials by a measurement that need not be registered."""
    with mock.patch("ringside.analysis.figures.find_measurement", return_value=measurement):
        return RunAnalysis(run, trials)


def with_figures(analysis: RunAnalysis, **figures: Any) -> RunAnalysis:
    """An analysis in which these attributes are different; what was not yet computed follows from them."""
    other = copy.copy(analysis)
    vars(other).update(figures)
    return other


class WholeInterval(NamedTuple):
    """An interval with both of its ends."""

    estimate: float
    low: float
    high: float
    n: int


def whole(interval: Interval | None) -> WholeInterval:
    """An interval that must be there, with both of its ends."""
    assert interval is not None
    assert interval.low is not None
    assert interval.high is not None
    return WholeInterval(interval.estimate, interval.low, interval.high, interval.n)


def near(value: Any, **tolerance: Any) -> Any:
    """Equal to what is nearly `value`, where a type other than that of `pytest.approx` is expected."""
    return pytest.approx(value, **tolerance)


def interval(low: float, estimate: float, high: float) -> Interval:
    """An interval of eight blocks."""
    return Interval(estimate, low, high, 8)


def exactly(value: float) -> Interval:
    """The interval of seven values, or ratios, that are all the same but for rounding errors."""
    return Interval(near(value), near(value), near(value), 7)


def by_block(values: Sequence[float]) -> dict[int, float]:
    """The first value is that of block 1."""
    return dict(enumerate(values, start=1))


def ok(block: int, name: str, place: Point, **figures: float) -> Trial:
    """An `ok` trial with these figures, by an `Exact` measurement."""
    phases = {metric: (round(value * 1e6),) for metric, value in figures.items()}
    return Trial(block, 0, Cell(name, place), Outcome.OK, "", cpus=(1,), phases=phases)


def planned(
    names: Sequence[str],
    points: Sequence[Point],
    *,
    baseline: str = "",
    kinds: Mapping[str, ContenderClass] | None = None,
    contenders: Mapping[str, PlannedContender] | None = None,
    host: Mapping[str, Any] | None = None,
    ended: bool = True,
    **of_experiment: Any,
) -> Run:
    """A run of these contenders at these points. `baseline`: the first contender if left out. `kinds`: of
    contenders that are not idiomatic."""
    usual: dict[str, Any] = {"name": "example", "title": "An example", "workload": Exact.name, "blocks": 7}
    experiment = Experiment(
        contenders=tuple(names),
        factors={name: () for name, _ in points[0].levels},
        baseline=baseline or names[0],
        **usual | of_experiment,
    )
    contenders = contenders or {
        name: PlannedContender(
            title=name.capitalize(),
            kind=(kinds or {}).get(name, "idiomatic"),
            version="1.2.3",
            runs_on=name.capitalize(),
        )
        for name in names
    }
    return Run(
        id="run-1",
        experiment="example",
        started_at="2030-01-02T03:04:05Z",
        ended_at="2030-01-02T03:05:00Z" if ended else None,
        seed=7,
        plan=RunPlan(experiment, tuple(points), contenders).values(),
        host=HOST if host is None else host,
    )


def analyse_cell(cell: Cell, trials: Sequence[Trial], measurement: Measurement) -> CellAnalysis:
    """The analysis of a cell from its trials alone."""
    return cells.analyse_cell(cell, trials, Observations(measurement, trials).values[cell], measurement)
