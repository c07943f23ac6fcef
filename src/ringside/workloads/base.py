"""What every workload has: factors with their ranges, expected evidence, metrics. Pure: nothing here
starts anything."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from ringside.errors import UsageError
from ringside.model.design import Expectation, InputFile, Level, Metric, Point
from ringside.model.results import Interval, Span, Trial
from ringside.workloads.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Factor:
    """A parameter of a workload: either whole numbers from `least` to `most`, or one of `choices`."""

    name: str
    default: Level
    explanation: str
    least: int = 0
    most: int = 0
    choices: tuple[Level, ...] = ()

    def check(self, level: Level) -> Level:
        """The level itself. Raises UsageError when it is out of range."""
        if self.choices:
            for choice in self.choices:
                if str(choice) == str(level):
                    return choice
            raise UsageError(f"{self.name}={level} is none of {', '.join(map(str, self.choices))}")
        try:
            number = int(level)
        except ValueError:
            raise UsageError(f"{self.name}={level} is no whole number") from None
        if not self.least <= number <= self.most:
            raise UsageError(f"{self.name}={number} is out of range: {self.least} to {self.most}")
        return number


@dataclass(frozen=True, slots=True)
class Cores(Factor):
    """The number of CPUs: 1 to what the machine has, `all`, or `walk` for 1, 2, 4 … and all."""

    def resolve(self, level: Level, available: int) -> tuple[int, ...]:
        """The numbers of CPUs that `level` means on a machine with `available` of them. Raises UsageError."""
        if level == "all":
            return (available,)
        if level == "walk":
            doubled = (1 << power for power in range(available.bit_length()))
            return (*(number for number in doubled if number < available), available)
        number = int(Factor("cores", 1, "", least=1, most=4096).check(level))
        if number > available:
            raise UsageError(f"cores={number}: this machine lends {available}; take that at most, or `all`")
        return (number,)


CORES = Cores(
    "cores", 1, "CPUs that the contender is pinned to and may use: a number, `all`, or `walk`: 1, 2, 4 … all"
)


REPEATS = Factor(
    "repeats",
    1,
    "times that the program does the whole work, one after the other in one process",
    least=1,
    most=150,
)


@dataclass(frozen=True, slots=True)
class Slope:
    """A metric that grows with a factor: what is wanted is the growth per unit of the factor."""

    name: str
    unit: str
    title: str
    explanation: str
    over: str
    figure: str
    # Factors that the figure cannot depend on.
    regardless_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Curve:
    """Metrics that are read as one line for each contender: `steps` are places on the axis, the label of
    each and the metric that stands there. It applies to points that have the levels of `where`."""

    title: str
    explanation: str
    axis: str
    steps: tuple[tuple[float, str, str], ...]
    where: Mapping[str, Level] = field(default_factory=dict)
    logarithmic: bool = False

    def applies(self, point: Point) -> bool:
        levels = point.as_dict()
        return all(levels.get(name) == level for name, level in self.where.items())


@dataclass(frozen=True, slots=True)
class Law:
    """How a figure should change over a factor: `cores` is fitted by the Universal Scalability Law, any other
    by a power. Points that differ in `over` alone make one fit."""

    over: str
    figure: str


CPU_S = Metric("cpu_s", "s", "CPU", "CPU seconds of the whole process tree, start-up included")
WALL_S = Metric("wall_s", "s", "Wall", "seconds from start to end of the process, start-up included")
PEAK = Metric("peak_pss_bytes", "B", "Peak memory", "largest PSS of the process tree that was seen")
THREADS = Metric("peak_threads", "", "Threads", "most threads of the kernel alive at one time")
SWITCHES = Metric(
    "context_switches", "", "Switches", "context switches by the kernel, voluntary and involuntary"
)
BUSY = Metric(
    "busy_share",
    "",
    "Cores busy",
    "CPU time over wall time and cores: 1 is all of them busy all the time, start-up included",
    smaller_is_better=False,
)
BUSIEST = Metric(
    "busiest_core",
    "",
    "Busiest core",
    "the share of the trial in which the busiest of its cores was busy, for whoever it was",
    smaller_is_better=False,
)
IDLEST = Metric(
    "idlest_core",
    "",
    "Idlest core",
    "the same of the one that was busy least",
    smaller_is_better=False,
)
RUN_QUEUE = Metric(
    "run_queue_s", "s", "Queued", "time in which threads waited for a CPU, sampled: a lower bound"
)


class Workload(ABC):
    """A concurrency problem with a written contract (docs/PROTOCOL.md)."""

    name: str
    title: str
    factors: tuple[Factor, ...]
    metrics: tuple[Metric, ...]
    compared: tuple[str, ...]
    slopes: tuple[Slope, ...] = ()
    curves: tuple[Curve, ...] = ()
    laws: tuple[Law, ...] = ()
    # Metrics that tell where the time of a trial went.
    parts: tuple[str, ...] = ()
    # Two metrics whose picture shows all contenders of a point: the first across, the second upright.
    landscapes: tuple[tuple[str, str], ...] = ()
    # Samples tell threads and the kernel's memory too, and figures are made from all of them.
    timeline = False
    # The metric of `repeats_of`.
    repeated_metric: str | None = None
    # Metrics that stand beside those which are compared, where all contenders of a point are shown.
    beside: tuple[str, ...] = ()

    def factor(self, name: str) -> Factor:
        """The factor of that name. Raises UsageError for an unknown one."""
        for factor in self.factors:
            if factor.name == name:
                return factor
        known = ", ".join(factor.name for factor in self.factors)
        raise UsageError(f"the workload `{self.name}` has no factor `{name}`; known: {known}")

    def metric(self, name: str) -> Metric:
        """The metric of that name. Raises UsageError for an unknown one."""
        for metric in self.metrics:
            if metric.name == name:
                return metric
        known = ", ".join(metric.name for metric in self.metrics)
        raise UsageError(f"the workload `{self.name}` has no metric `{name}`; known: {known}")

    def check(self, point: Point) -> None:
        """Raise UsageError for a point whose levels do not go together."""
        del point

    def descriptors(self, point: Point) -> int:
        """How many a process must be allowed to have open: of the contender, and of the probe."""
        del point
        return 0

    def service(self, point: Point, seed: int) -> dict[str, Any] | None:
        """For a contender that listens, what the probe does with it (docs/PROTOCOL.md, "A service under
        load"); None for a program that ends by itself."""
        del point, seed
        return None

    def input(self, point: Point) -> InputFile | None:
        """The file that the program reads, given as `input`; what it then writes is checked by its hash."""
        del point
        return None

    def input_cached(self, point: Point) -> bool:
        """Whether that file lies in the page cache when the program starts."""
        del point
        return True

    @abstractmethod
    def arguments(self, point: Point) -> dict[str, str]:
        """What the contender is told besides the point's levels."""

    @abstractmethod
    def expectation(self, point: Point, seed: int) -> Expectation:
        """The evidence of a contender that did the work."""

    @abstractmethod
    def output_bytes(self, point: Point) -> int:
        """More output than this is a flood."""

    @abstractmethod
    def work(self, point: Point) -> int:
        """The size of the work, to guess how long a trial takes: only ratios matter."""

    def rehearsal(self, point: Point) -> Point:
        """What a contender is run with before the first block of an experiment whose least point this is."""
        return point

    def timeline_of(self, trial: Trial) -> Timeline | None:
        """What the trial looked like over time; None where that is not kept."""
        del trial
        return None

    def spans_of(self, trial: Trial) -> tuple[Span, ...]:
        """Which unit of the program was busy when, where that was asked for."""
        spans = trial.outcome_line.get("spans", ())
        return tuple(Span(unit, begin_ns / 1e9, end_ns / 1e9) for unit, begin_ns, end_ns in spans)

    def repeats_of(self, trial: Trial) -> tuple[float, ...]:
        """The figure that shows how long one repeat took, for each in one process in their order; empty where
        the work was done once."""
        del trial
        return ()

    def diagnosis(self, contender: str, point: Point, figures: Mapping[str, Interval]) -> str | None:
        """What the figures say of why it took so long, in a sentence; None where they do not tell."""
        del contender, point, figures
        return None

    @abstractmethod
    def figures(self, trial: Trial) -> dict[str, float]:
        """The metrics of an `ok` trial, by name; one that was not seen is left out."""


def repeats(point: Point) -> int:
    """How many times the program does its work; 1 where a point of an older run does not say."""
    return int(point.as_dict().get(REPEATS.name, REPEATS.default))


def repeated(trial: Trial, phase: str) -> tuple[int, ...]:
    """How long a phase took each time, in nanoseconds; empty where the work was done once."""
    return tuple(trial.outcome_line.get("repeats", {}).get(phase, ()))


def phase_ns(trial: Trial, phase: str) -> float | None:
    """How long a phase took, in nanoseconds: where the work was repeated, the median over the later half of
    the repeats, so that warming up does not count. None where it was not told."""
    each = repeated(trial, phase)
    if each:
        return median(each[len(each) // 2 :])
    return trial.phases.get(phase)


def process_figures(outcome: Mapping[str, object]) -> dict[str, float]:
    """The figures that every trial of a program that ends has, from the probe's outcome line."""

    def number(key: str) -> float | None:
        value = outcome.get(key)
        return float(value) if isinstance(value, int | float) else None

    def total(first: str, second: str, scale: float) -> float | None:
        one, two = number(first), number(second)
        return None if one is None or two is None else (one + two) * scale

    wall, queued = number("wall_ns"), number("run_queue_ns")
    found = {
        CPU_S.name: total("cpu_user_ns", "cpu_system_ns", 1e-9),
        WALL_S.name: None if wall is None else wall * 1e-9,
        # 0: it ended before the first look.
        PEAK.name: number("peak_pss_bytes") or None,
        THREADS.name: number("peak_threads") or None,
        SWITCHES.name: total("voluntary_switches", "involuntary_switches", 1),
        RUN_QUEUE.name: None if queued is None else queued * 1e-9,
    }
    return {name: value for name, value in found.items() if value is not None}


def core_figures(outcome: Mapping[str, Any], cores: int) -> dict[str, float]:
    """How busy the CPUs of the program were, from the probe's outcome line."""
    found = {}
    own = process_figures(outcome)
    if CPU_S.name in own and own.get(WALL_S.name):
        found[BUSY.name] = own[CPU_S.name] / (own[WALL_S.name] * cores)
    shares = []
    for one in outcome.get("cpus", ()):
        total = one["busy_ns"] + one["idle_ns"] + one["stolen_ns"]
        if total:
            shares.append(one["busy_ns"] / total)
    if shares:
        found |= {BUSIEST.name: max(shares), IDLEST.name: min(shares)}
    return found
