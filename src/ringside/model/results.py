"""What came of it: trials, intervals, comparisons, verdicts. Frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ringside.model.design import Cell, Point


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
