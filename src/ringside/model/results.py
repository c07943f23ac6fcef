"""Results of runs: trials, intervals, comparisons, verdicts, answers to claims. All are frozen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median
from typing import Any, Literal

from ringside.arrays import np
from ringside.model.design import Cell, Point
from ringside.probe.protocol import LoadMessage, Phase, Sample, Span, TrialOutcome


class Outcome(StrEnum):
    """How a trial ended. Only `ok` has figures."""

    OK = "ok"
    WRONG_EVIDENCE = "wrong-evidence"
    CRASHED = "crashed"
    TIMED_OUT = "timed-out"
    OUT_OF_MEMORY = "out-of-memory"
    FLOODED = "flooded"
    NEVER_READY = "never-ready"
    LOAD_FAILED = "load-failed"
    PROBE_FAILED = "probe-failed"
    UNAVAILABLE = "unavailable"
    INTERRUPTED = "interrupted"


# These outcomes say nothing about the cell, so a resumed run repeats the trial.
REPEATABLE = frozenset({Outcome.INTERRUPTED, Outcome.PROBE_FAILED})


class Verdict(StrEnum):
    """About the contender: `faster` and `slower` mean better and worse in any metric; `equivalent`: inside
    the margin; `inconclusive`: none of these is shown."""

    FASTER = "faster"
    SLOWER = "slower"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"


# The possible conclusions of a look about a pair.
LookVerdict = Literal["different", "equivalent"]


class Obstacle(StrEnum):
    """Why a comparison is inconclusive, if not because its interval is wide."""

    TOO_FEW_BLOCKS = "too-few-blocks"
    TOO_FEW_REQUESTS = "too-few-requests"
    FAILED_BLOCKS = "failed-blocks"
    SAME_VALUES = "same-values"
    NO_STEADY_STATE = "no-steady-state"
    WARMING_UP = "warming-up"
    CARRY_OVER = "carry-over"
    UNFINISHED = "unfinished"
    NO_REFERENCE = "no-reference"
    NO_RATIO = "no-ratio"


class RunState(StrEnum):
    """Whether a run has done all that was planned, and whether a process of this machine works on it."""

    IN_PROGRESS = "in progress"
    DONE = "done"
    CUT_OFF = "cut off"


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of an experiment, trials apart. `plan`: the resolved experiment, contenders and points;
    `host`: the machine's facts; both are JSON values (docs/STORE.md)."""

    id: str
    experiment: str
    started_at: str
    ended_at: str | None
    seed: int
    plan: Mapping[str, Any]
    host: Mapping[str, Any]

    @property
    def suite(self) -> Mapping[str, Any]:
        """The id, name and options of the run's suite; empty for a single run, or a plan of another shape."""
        suite = self.plan.get("suite")
        return suite if isinstance(suite, Mapping) else {}


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """Values at times, in seconds."""

    times: tuple[float, ...]
    values: tuple[float, ...]

    def __iter__(self) -> Iterator[tuple[float, float]]:
        return zip(self.times, self.values, strict=True)


@dataclass(frozen=True, slots=True)
class Timeline:
    """A trial over time, in seconds since the load began. `cpu`: by thread, the cores used in each interval
    between `edges`. `kernel_bytes`: growth of the kernel's memory since the first sample. `marker_s`: an
    instant to mark. `latest_s`: each second's latest message. `open`: connections."""

    block: int
    edges: tuple[float, ...]
    cpu: Mapping[str, tuple[float, ...]]
    pss_bytes: TimeSeries
    kernel_bytes: TimeSeries
    latest_s: TimeSeries
    marker_s: float | None = None
    open: TimeSeries = field(default_factory=lambda: TimeSeries((), ()))


@dataclass(frozen=True, slots=True, eq=False)
class Usage:
    """Samples as arrays for figures: instants and CPU time since the trial began, and PSS (NaN: not read)."""

    t_ns: np.ndarray
    cpu_ns: np.ndarray
    pss_bytes: np.ndarray

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> Usage:
        """The usage that these samples show."""
        return cls(
            np.array([sample.t_ns for sample in samples], dtype=np.int64),
            np.array([sample.cpu_ns for sample in samples], dtype=np.int64),
            np.array([sample.pss_bytes for sample in samples], dtype=np.float64),
        )


@dataclass(frozen=True, slots=True)
class StoredSamples:
    """Samples that the open store reads each time, to save memory. `usage` reads what figures need."""

    whole: Callable[[], Sequence[Sample]]
    usage: Callable[[], Usage]

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.whole())


@dataclass(frozen=True, slots=True)
class Trial:
    """One execution of a cell. `phases`: by name, the length of each occurrence in ns; `phase_lines`: as the
    probe read them; the store keeps their first and last time (`read_ns`). `report`: None without a
    probe's outcome. `machine`: its name in a run on several
    machines, else empty. `outputs`: the values of `vs --metric`."""

    block: int
    position: int
    cell: Cell
    outcome: Outcome
    detail: str
    cpus: tuple[int, ...] = ()
    started_at: str = ""
    report: TrialOutcome | None = None
    phases: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    phase_lines: tuple[Phase, ...] = ()
    read_ns: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    marks: Mapping[str, Sample] = field(default_factory=dict)
    samples: Sequence[Sample] | StoredSamples = ()
    loads: tuple[LoadMessage, ...] = ()
    spans: tuple[Span, ...] = ()
    missing: tuple[str, ...] = ()
    memory_limit_bytes: int | None = None
    input_bytes: int | None = None
    machine: str = ""
    outputs: Mapping[str, float] = field(default_factory=dict)

    @property
    def result(self) -> Mapping[str, str]:
        """The program's own report of its work."""
        return (self.report and self.report.result) or {}

    def usage(self) -> Usage:
        """The samples, as far as figures need them."""
        samples = self.samples
        return samples.usage() if isinstance(samples, StoredSamples) else Usage.of(samples)

    def load(self, step: str, name: str = "all") -> LoadMessage | None:
        return next((load for load in self.loads if (load.step, load.name) == (step, name)), None)

    def phases_read_ns(self, phase: str) -> tuple[int, ...]:
        """When the probe read the line of each occurrence of a phase, since the program's start."""
        return tuple(line.t_ns for line in self.phase_lines if line.name == phase)

    def phase_ns(self, phase: str) -> float | None:
        """The median of the later half of a phase's occurrences; None if none was reported."""
        each = self.phases.get(phase)
        return median(each[len(each) // 2 :]) if each else None

    def repeats_ns(self, phase: str) -> tuple[int, ...]:
        """Each occurrence of a phase where there are several; empty if the work was done once."""
        each = self.phases.get(phase, ())
        return each if len(each) > 1 else ()


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its 95 % interval; `low` and `high` are None if n is too small for one."""

    estimate: float
    low: float | None
    high: float | None
    n: int

    @property
    def inverse(self) -> Interval:
        low, high = (None if end is None else 1 / end for end in (self.high, self.low))
        return Interval(1 / self.estimate, low, high, self.n)


@dataclass(frozen=True, slots=True)
class Bin:
    """The number of values from `low` up to `high`."""

    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class Description:
    """A sample. `deviation`: None for one value; `outliers`: far from the median; `bins`: of all others."""

    n: int
    mean: float
    deviation: float | None
    median: float
    least: float
    most: float
    outliers: tuple[float, ...]
    bins: tuple[Bin, ...]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A weakness of figures by its code (docs/RULES.md), with values for its sentences, or its own `text`."""

    code: str
    subjects: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    remedy: str = ""


def counted(trials: Iterable[Trial]) -> list[Trial]:
    """The trials that count, in order: per cell and block the first final one, else the last one."""
    chosen: dict[tuple[int, Cell], Trial] = {}
    for trial in trials:
        before = chosen.get((trial.block, trial.cell))
        if before is None or before.outcome in REPEATABLE:
            chosen.pop((trial.block, trial.cell), None)
            chosen[trial.block, trial.cell] = trial
    return list(chosen.values())


@dataclass(frozen=True, slots=True)
class Comparison:
    """Contender over baseline at a point, from pairs inside blocks. `p`: adjusted for its family. `obstacle`:
    why it is inconclusive, if not for its interval. `blocks_needed`: about how many would decide it.
    `contradicted`: what an earlier look had shown. `overstated`: the run stopped when decided, so the ratio
    is probably nearer to 1. `modes`: of contenders that have two; the ratio is then of means."""

    point: Point
    metric: str
    contender: str
    baseline: str
    ratio: Interval
    verdict: Verdict
    p: float
    obstacle: Obstacle | None = None
    blocks_needed: int | None = None
    contradicted: LookVerdict | None = None
    overstated: bool = False
    modes: Mapping[str, tuple[float, float]] = field(default_factory=dict)


class Answer(StrEnum):
    """The answer of runs to a claim. `OTHER_CONDITIONS`: it holds only under a condition, which the sentence
    names. `FAILS_OTHERWISE`: no run has its source's condition, and without that it does not hold.
    `UNTESTABLE`: only stand-ins for the original program were measured."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    OTHER_CONDITIONS = "holds under other conditions"
    FAILS_OTHERWISE = "fails under other conditions"
    INCONCLUSIVE = "inconclusive"
    UNTESTABLE = "cannot be tested as it was"
    NOT_TESTED = "not tested here"


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """The answer to a claim. `sentence`: what was measured and is required, or why it was not tested. `runs`:
    ids of the runs that tested it. `figure`: what decides, in `unit` (none: a ratio)."""

    answer: Answer
    sentence: str
    experiment: str = ""
    runs: tuple[str, ...] = ()
    figure: Interval | None = None
    unit: str = ""
