"""The files of a catalogue as they are written: names, types and bounds of their keys.

These types are read by msgspec and turned into those of `ringside.model` by the loader. A key that stands in
no type is an error.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ringside.model.design import Level

Texts = tuple[str, ...]
Names = Annotated[Texts, Meta(min_length=1)]
Command = Names
# One level may stand by itself: `nodes = 100` is `nodes = [100]`.
Levels = Level | Annotated[tuple[Level, ...], Meta(min_length=1)]
Positive = Annotated[int, Meta(gt=0)]


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of a file."""


# --- contenders/NAME/contender.toml ----------------------------------------------------------------


class RuntimeTable(_Table, frozen=True, kw_only=True):
    """[runtime.NAME]"""

    executable: Names
    version: Command
    minimum: str | None = None
    locate: Texts = ()
    install: dict[str, Texts] = {}
    instructions: dict[str, str] = {}
    title: str = ""


class BuildTable(_Table, frozen=True, kw_only=True):
    """[[build]]"""

    command: Command


Class = Literal["idiomatic", "bare", "floor"]


class WorkloadTable(_Table, frozen=True, kw_only=True):
    """[workload.NAME]. `class`: that of this program, where it is not the manifest's."""

    command: Command
    kind: Class | None = msgspec.field(name="class", default=None)
    most: dict[str, int] = {}
    only: dict[str, Levels] = {}


class ManifestFile(_Table, frozen=True, kw_only=True):
    """A contender's manifest."""

    title: str
    model: str
    queue: str
    language: str = ""
    scheduler: str = ""
    parallel: bool = False
    kind: Class = msgspec.field(name="class", default="idiomatic")
    runtime: dict[str, RuntimeTable] = {}
    build: tuple[BuildTable, ...] = ()
    workload: dict[str, WorkloadTable] = {}


# --- experiments/NAME.toml -------------------------------------------------------------------------


class LimitsTable(_Table, frozen=True, kw_only=True):
    """[limits]"""

    wall_s: Annotated[float, Meta(gt=0, le=1e9)] = 300.0
    memory_bytes: Positive | None = None
    output_bytes: Positive | None = None
    processes: Positive = 1024


class ShowTable(_Table, frozen=True, kw_only=True):
    """[show]"""

    metrics: Texts = ()
    sweep: str | None = None
    ratios: Texts = ()


class ExperimentFile(_Table, frozen=True, kw_only=True):
    """An experiment."""

    title: str
    workload: str
    contenders: Names
    baseline: str | None = None
    note: str = ""
    blocks: Annotated[int, Meta(ge=1, le=10_000)] = 40
    until: str = "decided"
    time: str | None = None
    margin: str | None = None
    published: str | None = None
    factors: dict[str, Levels] = {}
    point: tuple[dict[str, Level], ...] = ()
    limits: LimitsTable = LimitsTable()
    show: ShowTable = ShowTable()


class SuiteFile(_Table, frozen=True, kw_only=True):
    """A suite: experiments by name, and those of `run --full`."""

    title: str
    parts: Names
    full: tuple[str, ...] = ()
    note: str = ""


# --- published/NAME.toml ---------------------------------------------------------------------------


class SourceTable(_Table, frozen=True, kw_only=True):
    """[source]. `seed` (the file that the text was taken from) and `points` (those of figures that were
    published as plots only) are kept for readers of the file."""

    title: str
    date: str
    hardware: str = ""
    software: dict[str, str] = {}
    metric_note: str = ""
    seed: str = ""
    points: tuple[dict[str, Any], ...] = ()


class FigureTable(_Table, frozen=True, kw_only=True):
    """[[figure]]. A value by itself, or one for each name: `{ p50 = 611, p90 = 790 }`. `unit`: the metric's
    own, where the file names it."""

    workload: str
    point: dict[str, Level] = {}
    contender: str
    metric: str
    unit: str | None = None
    value: float | dict[str, float]
    as_published: str | None = None


class ClaimTable(_Table, frozen=True, kw_only=True):
    """[[claim]]. `id`: of the test that `workload` has of it."""

    id: str
    workload: str
    text: str


class PublishedFile(_Table, frozen=True, kw_only=True):
    """Figures and claims of one source."""

    source: SourceTable
    figure: tuple[FigureTable, ...] = ()
    claim: tuple[ClaimTable, ...] = ()
