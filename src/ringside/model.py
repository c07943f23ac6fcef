"""The words of the design as types. Frozen, without behaviour beyond naming; imports nothing of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

Level = int | str


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
    UNAVAILABLE = "unavailable"
    INTERRUPTED = "interrupted"


class Verdict(StrEnum):
    """What a comparison says. `too-few-blocks` is the absence of a verdict."""

    FASTER = "faster"
    SLOWER = "slower"
    INDISTINGUISHABLE = "indistinguishable"
    TOO_FEW_BLOCKS = "too-few-blocks"


@dataclass(frozen=True, slots=True)
class Runtime:
    """What a contender runs on. `executable` holds names or globs, tried in order; `title` is what its
    version is a version of, where that is not the language."""

    name: str
    executable: tuple[str, ...]
    version: tuple[str, ...]
    minimum: str | None = None
    locate: tuple[str, ...] = ()
    install: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    title: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A contender's part in one workload: its command, the largest levels that it takes, and for some
    factors the only ones."""

    command: tuple[str, ...]
    most: Mapping[str, int] = field(default_factory=dict)
    only: Mapping[str, tuple[Level, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Contender:
    """A program in one folder on one runtime. `name` is `folder@runtime` beyond the first runtime."""

    name: str
    folder: Path
    title: str
    model: str
    queue: str
    language: str
    scheduler: str
    parallel: bool
    runtime: Runtime
    builds: tuple[tuple[str, ...], ...]
    workloads: Mapping[str, Entry]


@dataclass(frozen=True, slots=True)
class Point:
    """One level for each factor, in the order of the workload's factors."""

    levels: tuple[tuple[str, Level], ...]

    def __getitem__(self, factor: str) -> Level:
        for name, level in self.levels:
            if name == factor:
                return level
        raise KeyError(factor)

    def as_dict(self) -> dict[str, Level]:
        return dict(self.levels)

    def but(self, **levels: Level) -> Point:
        """The same with other levels of the factors that are named."""
        return Point(tuple((factor, levels.get(factor, level)) for factor, level in self.levels))

    def without(self, *factors: str) -> Point:
        return Point(tuple(pair for pair in self.levels if pair[0] not in factors))

    def __str__(self) -> str:
        return " ".join(f"{factor}={level}" for factor, level in self.levels)


@dataclass(frozen=True, slots=True)
class Cell:
    """One contender at one point."""

    contender: str
    point: Point


@dataclass(frozen=True, slots=True)
class Block:
    """One pass over all cells; contenders at one point stand next to each other."""

    index: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one trial. `memory_bytes` and `output_bytes` of None are chosen when it starts."""

    wall_s: float = 300.0
    memory_bytes: int | None = None
    output_bytes: int | None = None
    processes: int = 1024


@dataclass(frozen=True, slots=True)
class Show:
    """How an experiment is shown: the metrics that are compared, the first as the headline; the factor
    that a plot sweeps; and the pairs (numerator, denominator) whose ratios stand in the tables, each
    contender over the baseline where none are given."""

    metrics: tuple[str, ...] = ()
    sweep: str | None = None
    ratios: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Experiment:
    """What to run: every combination of the factors' levels is a point; where `at` is given, for each of
    its entries, whose levels stand in place of those of `factors`. `until`: after `blocks` blocks more are
    made until every interval of the headline is narrower than this share of its ratio."""

    name: str
    title: str
    workload: str
    contenders: tuple[str, ...]
    factors: Mapping[str, tuple[Level, ...]]
    baseline: str
    blocks: int
    note: str = ""
    published: str | None = None
    limits: Limits = field(default_factory=Limits)
    show: Show = field(default_factory=Show)
    at: tuple[Mapping[str, Level], ...] = ()
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Suite:
    """Experiments that are run one after another, by their names."""

    name: str
    title: str
    parts: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that a source reported, at one point."""

    workload: str
    point: Mapping[str, Level]
    contender: str
    metric: str
    value: float
    as_published: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A conclusion of a source in words, and how a run today could test it."""

    text: str
    test: str


@dataclass(frozen=True, slots=True)
class Published:
    """Figures and claims of one source."""

    name: str
    title: str
    date: str
    hardware: str
    software: Mapping[str, str]
    metric_note: str
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof of a toolchain: the program that will be started and what it said of its version."""

    executable: str
    version: str
    text: str


@dataclass(frozen=True, slots=True)
class Ready:
    """A contender that can be measured: receipt, build folder and its content's hash."""

    contender: Contender
    receipt: Receipt
    build: Path
    content: str


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A contender that cannot be measured, why, and the way out."""

    contender: Contender
    reason: str
    remedy: str = ""
    log: str = ""


@dataclass(frozen=True, slots=True)
class Expectation:
    """The evidence that makes a trial `ok`, as data for the probe."""

    result: Mapping[str, str]
    lines_total: int | None = None
    lines_starting: Mapping[str, int] = field(default_factory=dict)
    lines_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that a program reads. `pieces` makes its bytes, and beside them those of the right answer."""

    name: str
    most_bytes: int
    pieces: Callable[[], Iterator[tuple[bytes, bytes]]]


@dataclass(frozen=True, slots=True)
class Input:
    """An input file that is there, its size, and what a program that reads it must write: its hash, and the
    file that holds it."""

    path: Path
    size_bytes: int
    answer_sha256: str
    answers: Path


@dataclass(frozen=True, slots=True)
class Span:
    """A unit of a program was busy with one piece of work, in seconds of the program's own clock."""

    unit: int
    begin_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Trial:
    """One execution of a cell. `answers` holds what the probe said, sample lines apart."""

    block: int
    position: int
    cell: Cell
    outcome: Outcome
    detail: str
    cpus: tuple[int, ...] = ()
    started_at: str = ""
    outcome_line: Mapping[str, Any] = field(default_factory=dict)
    phases: Mapping[str, int] = field(default_factory=dict)
    marks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    samples: tuple[Mapping[str, Any], ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure of a trial: its name in documents, its unit, what it says, and which way is better."""

    name: str
    unit: str
    title: str
    explanation: str
    smaller_is_better: bool = True


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its 95 % interval; `low` and `high` are None where n is too small for one."""

    estimate: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Warned:
    """A weak point of figures: what it is, in words, and what to do."""

    code: str
    text: str
    remedy: str

    def sentences(self) -> str:
        """Both, as sentences."""
        parts = (part.strip().rstrip(".") for part in (self.text, self.remedy))
        return " ".join(f"{part[:1].upper()}{part[1:]}." for part in parts if part)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two contenders at one point: contender over baseline, from pairs inside blocks. `p` is that of the
    comparison as one of its family."""

    point: Point
    metric: str
    contender: str
    baseline: str
    ratio: Interval
    verdict: Verdict
    p: float
