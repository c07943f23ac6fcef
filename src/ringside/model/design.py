"""The design of a run: experiments, points, cells, metrics. docs/KEYS.md has the meaning of each key."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, TypeVar, get_args

import msgspec
from msgspec import Meta

Level = int | str
# One level may stand by itself: `nodes = 100` is `nodes = [100]`.
Levels = Level | Annotated[tuple[Level, ...], Meta(min_length=1)]
Texts = tuple[str, ...]
Names = Annotated[Texts, Meta(min_length=1)]
Positive = Annotated[int, Meta(gt=0)]
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")
PLACEHOLDER = re.compile(r"\{([^{}]+)\}")

# The units of metrics: times, bytes, rates, shares of a hundred, and ratios and counts, which have none.
Unit = Literal["ns", "s", "B", "/s", "%", ""]
# How many nanoseconds a unit of time has.
NS_OF = {"ns": 1.0, "s": 1e9}

# When a run ends: when its answer is decided, or at the end of its blocks.
Goal = Literal["decided", "end"]

DEFAULT_BLOCKS = 40
# Ratios closer to 1 than this rarely decide which of two programs is chosen.
DEFAULT_MARGIN = 0.05

# In shorter work, clocks, the scheduler and a runtime's warm-up weigh more than the program.
LEAST_S = 0.1

Key = TypeVar("Key")
Item = TypeVar("Item")


def grouped(pairs: Iterable[tuple[Key, Item]]) -> dict[Key, list[Item]]:
    """The second of each pair by the first, both in the order in which they come."""
    groups: dict[Key, list[Item]] = {}
    for key, item in pairs:
        groups.setdefault(key, []).append(item)
    return groups


def is_number(level: Level) -> bool:
    """Whether a level has a place on an axis: an integer, or a decimal number, which is kept as text."""
    return isinstance(level, int) or _NUMBER.fullmatch(level) is not None


@dataclass(frozen=True, slots=True)
class Point:
    """One level for each factor, in the order of the workload's factors."""

    levels: tuple[tuple[str, Level], ...]

    def __getitem__(self, factor: str) -> Level:
        return self.as_dict()[factor]

    def as_dict(self) -> dict[str, Level]:
        return dict(self.levels)

    def numbers(self, *factors: str) -> Iterator[int]:
        """The levels of these factors, which are numbers."""
        return (int(self[factor]) for factor in factors)

    def but(self, **levels: Level) -> Point:
        """The same with other levels of the factors that are named."""
        return Point(tuple((factor, levels.get(factor, level)) for factor, level in self.levels))

    def without(self, *factors: str) -> Point:
        return Point(tuple(pair for pair in self.levels if pair[0] not in factors))

    def label(self, varying: Collection[str]) -> str:
        """The point by these of its factors, `nodes=10 cores=2`; by all of them where it has none."""
        named = [f"{factor}={level}" for factor, level in self.levels if factor in varying]
        return " ".join(named) or str(self)

    def filled_in(self, text: str) -> str:
        """The text with levels in place of `{FACTOR}`, in one pass, so that a level that looks like a
        placeholder stays as it is. Other braces stay too."""
        levels = self.as_dict()
        return PLACEHOLDER.sub(lambda match: str(levels.get(match[1], match[0])), text)

    def __str__(self) -> str:
        return " ".join(f"{factor}={level}" for factor, level in self.levels)


def varying_factors(points: Sequence[Point]) -> tuple[str, ...]:
    """The factors whose level is not the same at all points."""
    names = dict.fromkeys(name for point in points for name, _ in point.levels)
    return tuple(name for name in names if len({point.as_dict().get(name) for point in points}) > 1)


@dataclass(frozen=True, slots=True)
class Cell:
    """One contender at one point."""

    contender: str
    point: Point


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a file, or a value with its keys."""


def check_distinct(where: str, values: Collection[Level]) -> None:
    """Raise ValueError if a list has an item twice; `where` names the list."""
    if len(set(values)) < len(values):
        raise ValueError(f"{where}: an item is listed twice")


def as_tuple(levels: Levels) -> tuple[Level, ...]:
    return levels if isinstance(levels, tuple) else (levels,)


class ExperimentLimits(Table, frozen=True):
    """Bounds on one trial: `[limits]`. Those of None are chosen when it starts."""

    wall_s: Annotated[float, Meta(gt=0, le=1e9)] = 300.0
    memory_bytes: Positive | None = None
    output_bytes: Positive | None = None
    processes: Positive = 1024


class ShowKeys(Table, frozen=True):
    """The compared metrics, the headline first, and the factor on the x axis of plots."""

    metrics: Texts = ()
    sweep: str | None = None


class Show(ShowKeys, frozen=True):
    """`ratios`: pairs of numerator and denominator; each contender over the baseline where there are none."""

    ratios: tuple[tuple[str, str], ...] = ()


class ShowTable(ShowKeys, frozen=True):
    """`[show]` of an experiment, with ratios as `A/B`."""

    ratios: Texts = ()


class ExperimentFile(Table, frozen=True, kw_only=True):
    """`experiments/NAME.toml`."""

    title: str
    workload: str
    contenders: Names
    baseline: str | None = None
    note: str = ""
    blocks: Annotated[int, Meta(ge=1, le=10_000)] = DEFAULT_BLOCKS
    until: Goal = "decided"
    time: str | None = None
    margin: str | None = None
    least: str | None = None
    published: str | None = None
    factors: dict[str, Levels] = {}
    at: tuple[dict[str, Level], ...] = msgspec.field(name="point", default=())
    limits: ExperimentLimits = ExperimentLimits()
    show: ShowTable = ShowTable()

    def __post_init__(self) -> None:
        check_distinct("`contenders`", self.contenders)
        for factor, levels in self.factors.items():
            check_distinct(f"`factors.{factor}`", as_tuple(levels))
        if self.baseline is not None and self.baseline not in self.contenders:
            raise ValueError(f"`baseline`: `{self.baseline}` is not one of the contenders")
        for ratio in self.show.ratios:
            pair = ratio.split("/")
            if len(pair) != 2 or not {*pair} <= {*self.contenders}:
                raise ValueError(f"`show.ratios`: {ratio} is not of the form A/B with two of the contenders")


@dataclass(frozen=True, slots=True)
class Experiment:
    """The design of a run. Each combination of the levels of `factors` is a point; with `at`, this holds for
    each of its entries, whose levels replace those of `factors`. A run ends after `blocks` or `time_s`
    seconds, or with `until_decided` once the headline's first place and comparisons are decided."""

    name: str
    title: str
    workload: str
    contenders: tuple[str, ...]
    factors: Mapping[str, tuple[Level, ...]]
    baseline: str
    blocks: int
    note: str = ""
    published: str | None = None
    limits: ExperimentLimits = field(default_factory=ExperimentLimits)
    show: Show = field(default_factory=Show)
    at: tuple[Mapping[str, Level], ...] = ()
    until_decided: bool = False
    time_s: float | None = None
    # The name of each entry of `at`, empty if it has none.
    names: tuple[str, ...] = ()
    # Ratios between 1 / (1 + margin) and 1 + margin count as equivalent.
    margin: float = DEFAULT_MARGIN
    # Programs that can repeat their work in one process do so until it took as long.
    least_s: float = LEAST_S
    sandbox: bool = False  # Under bubblewrap.
    engines: int = 0  # This many on other machines load the programs; 0: the probe beside the program does.
    # What `vs --metric` finds in the output of commands.
    outputs: tuple[Metric, ...] = ()

    def entry_of(self, point: Point) -> tuple[frozenset[str], str]:
        """The factors that `at` sets for a point, and the point's name (empty if it has none), by the entry
        that matches most factors. There, a level in words (`all`) matches any number."""
        levels = point.as_dict()
        entries = [
            (own, name)
            for own, name in zip(self.at, self.names or [""] * len(self.at), strict=True)
            if all(
                levels.get(factor) == level
                or (isinstance(level, str) and isinstance(levels.get(factor), int))
                for factor, level in own.items()
            )
        ]
        own, name = max(entries, key=lambda entry: len(entry[0]), default=({}, ""))
        return frozenset((*self.factors, *own)), name


class Suite(Table, frozen=True, kw_only=True):
    """`experiments/NAME.toml` with `parts`, experiments in turn. `full`: those of `run --full`."""

    title: str
    experiments: Names = msgspec.field(name="parts")
    full: Texts = ()
    note: str = ""

    def __post_init__(self) -> None:
        check_distinct("`parts`", self.experiments)
        check_distinct("`full`", self.full)


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that a program reads. `pieces` yields its bytes, each piece with the bytes of its answer.
    `smaller`: how a user asks for a smaller file."""

    name: str
    most_bytes: int
    pieces: Callable[[], Iterator[tuple[bytes, bytes]]]
    smaller: str = ""


@dataclass(frozen=True, slots=True)
class Input:
    """An input file, its size, the hash of the right output, and the file with that output."""

    path: Path
    size_bytes: int
    answer_sha256: str
    answers: Path


@dataclass(frozen=True, slots=True)
class NoFloor:
    """Why the reference program is no floor, at points with `from_cores` or more."""

    reason: str
    from_cores: int = 1


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure of a trial: its name in documents, unit, explanation, and better direction. `phrase`: its name
    inside a sentence, where that is not the title in lower case: `time per hop`. `no_floor`: why the
    reference program is no floor in this metric, if a contender may be better."""

    name: str
    unit: Unit
    title: str
    explanation: str
    smaller_is_better: bool = True
    phrase: str = ""
    no_floor: NoFloor | None = None

    def __post_init__(self) -> None:
        if self.unit not in get_args(Unit):
            known = ", ".join(repr(unit) for unit in get_args(Unit))
            raise ValueError(f"the metric {self.name} has the unit {self.unit!r}, which is none of {known}")

    @property
    def is_time(self) -> bool:
        return self.unit in NS_OF

    @property
    def is_speed(self) -> bool:
        """Whether it is a time, or a number of units of work in a time."""
        return self.is_time or self.unit == "/s"

    @property
    def noun(self) -> str:
        """The metric inside a sentence."""
        return self.phrase or self.title[:1].lower() + self.title[1:]
