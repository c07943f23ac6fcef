"""A run's plan as it is kept in the store: the resolved experiment, the contenders, the points."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Annotated, Any

import msgspec

from ringside.catalogue.releases import released
from ringside.errors import StoreError
from ringside.model.catalogue import ContenderClass, Published
from ringside.model.design import Cell, Experiment, Goal, Level, Point
from ringside.model.results import Run
from ringside.text import one_line
from ringside.workloads.base import AUTO, REPEATS

# The most that an experiment can ask for, and far more than is ever made.
_MAX_BLOCKS = 1_000_000
# The values of each time that an option was given: one, several (`-P n 1 8`), or True where it takes none.
KeptOptions = dict[str, tuple[bool | str | tuple[str, ...], ...]]


@dataclass(frozen=True, slots=True)
class PlannedContender:
    """A contender as it was when the run began. `version`, `receipt` and `executable` are None if its
    runtime is missing, and `content` is None if it could not be measured, for the reason `unavailable`."""

    title: str
    family: str = ""
    model: str = ""
    language: str = ""
    queue: str = ""
    scheduler: str = ""
    parallel: bool = False
    idiom: str = ""
    sharing: str | None = None
    tuning: tuple[str, ...] = ()
    unequal: tuple[str, ...] = ()
    kind: ContenderClass = "idiomatic"
    runtime: str = ""
    runs_on: str = ""  # the title of that runtime, or the language; commands and URLs have none
    command: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)  # hashes of its sources by path
    version: str | None = None
    receipt: str | None = None
    executable: str | None = None
    origin: str = ""  # the package that brought the program of its runtime
    content: str | None = None
    unavailable: str = ""
    remedy: str = ""
    log: str = ""

    @property
    def described(self) -> str:
        """`Erlang 25.2.3 (2022)`."""
        year = f" ({self.released.year})" if self.released else ""
        return f"{self.runs_on} {self.version or 'not found'}{year}"

    @property
    def released(self) -> date | None:
        """The day of the runtime's feature release; None if unknown."""
        return released(self.runs_on, self.version)


@dataclass(frozen=True, slots=True)
class Selection:
    """An experiment or suite by name or path, and what the command line changes of it; `outside`: its
    `--with`, as given; `sessions`: how often each is run."""

    name: str
    only: tuple[str, ...] = ()
    settings: Mapping[str, tuple[Level, ...]] | None = None
    blocks: int | None = None
    until: Goal | None = None
    margin: float | None = None
    seed: int | None = None
    full: bool = False
    sandbox: bool = False
    engines: int = 0
    outside: tuple[str, ...] = ()
    sessions: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteSelection(Selection):
    """The selection of a suite, or of several sessions, whose runs have this id in common, so that what is
    missing can be made later; title and note as the suite's file has them."""

    id: str
    title: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The plan of a run. `options`: those of the command line of `vs` or `load --vs`; `folder`: where
    `vs` was started. `suite`: the suite that it is a part of, as it was chosen; `selection`: how an
    experiment by itself was. `repeats`: by contender, the repeats at each of the points; empty before the
    trials that show them."""

    experiment: Experiment
    points: tuple[Point, ...]
    contenders: Mapping[str, PlannedContender]
    published: Published | None = None
    suite: SuiteSelection | None = None
    selection: Selection | None = None
    options: KeptOptions = field(default_factory=dict)
    folder: str = ""
    repeats: Mapping[str, tuple[Annotated[int, msgspec.Meta(ge=1)], ...]] = field(default_factory=dict)

    def repeats_of(self, cell: Cell) -> int | None:
        """How often a cell's work is repeated, by trials before the first block. None if the experiment sets
        it, or before these trials."""
        if cell.point.as_dict().get(REPEATS.name) != AUTO or cell.contender not in self.repeats:
            return None
        return self.repeats[cell.contender][self.points.index(cell.point)]

    def measured(self, cell: Cell) -> Cell:
        """A cell as it is measured: with the number of its repeats."""
        number = self.repeats_of(cell)
        return cell if number is None else Cell(cell.contender, cell.point.but(repeats=number))

    def values(self) -> dict[str, Any]:
        """The plan as JSON values; points are objects of factor and level."""
        values: dict[str, Any] = msgspec.to_builtins(replace(self, points=()))
        return values | {"points": [point.as_dict() for point in self.points]}

    @property
    def chosen(self) -> Selection | None:
        """How the command line chose the run, or the suite that it is a part of."""
        return self.suite or self.selection


def read_plan(run: Run) -> RunPlan:
    """The plan of a run. Raises StoreError if it cannot be read."""
    try:
        levels = msgspec.convert(run.plan["points"], tuple[dict[str, Level], ...])
        plan = msgspec.convert({**run.plan, "points": ()}, RunPlan)
    except (msgspec.ValidationError, AttributeError, KeyError, TypeError) as error:
        raise StoreError(f"the plan of run {run.id} cannot be read: {one_line(str(error))}") from error
    plan = replace(plan, points=tuple(Point(tuple(each.items())) for each in levels))
    if contradiction := _contradiction(plan):
        raise StoreError(f"the plan of run {run.id} cannot be read: {contradiction}")
    return plan


def _contradiction(plan: RunPlan) -> str:
    """The contradiction in a plan; empty if there is none. An experiment's file is checked when it is read,
    but anybody may have written a store or a record."""
    experiment, points, repeats = plan.experiment, plan.points, plan.repeats
    names = {*experiment.contenders}
    compared = {experiment.baseline, *(name for pair in experiment.show.ratios for name in pair)}
    is_of_cells = repeats.keys() == names and {*map(len, repeats.values())} == {len(points)}
    contradictions = {
        "it has no cells": not names or not points,
        "it does not describe all of its contenders": not names <= plan.contenders.keys(),
        "it has a cell twice": len(names) < len(experiment.contenders) or len(set(points)) < len(points),
        "it compares a contender that takes no part": not compared <= names,
        "its names are not those of its points": len(experiment.names) not in (0, len(experiment.at)),
        "its points have different factors": len({tuple(dict(each.levels)) for each in points}) > 1,
        "its repeats are not those of its cells": repeats and not is_of_cells,
        "its number of blocks is out of range": not 1 <= experiment.blocks <= _MAX_BLOCKS,
        "its margin is out of range": not 0 <= experiment.margin <= 1,
    }
    return next((text for text, is_true in contradictions.items() if is_true), "")
