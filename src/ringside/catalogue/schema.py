"""The files of a catalogue as they are written: names, types, bounds and meanings of their keys.

These types are read by msgspec and turned into those of `ringside.model` by the loader. A key that stands in
no type is an error. The text below a key is its meaning, from which `scripts/keys.py` makes docs/KEYS.md.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ringside.model.catalogue import ContenderClass, ContenderFamily, QuestionFigure
from ringside.model.claims import ClaimRow
from ringside.model.design import Level


def _at_most(characters: int) -> Meta:
    """Longer texts would fill tables and pages."""
    return Meta(max_length=characters)


Texts = tuple[str, ...]
Names = Annotated[Texts, Meta(min_length=1)]
Command = Names
# One level may stand by itself: `nodes = 100` is `nodes = [100]`.
Levels = Level | Annotated[tuple[Level, ...], Meta(min_length=1)]
DEFAULT_BLOCKS = 40
Positive = Annotated[int, Meta(gt=0)]
Idiom = Annotated[str, _at_most(200)]


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of a file."""


# --- contenders/NAME/contender.toml ----------------------------------------------------------------


class RuntimeTable(_Table, frozen=True, kw_only=True):
    """What the contender runs on. The first runtime has the contender's plain name, others are
    `NAME@RUNTIME`."""

    executable: Names
    """Names or paths of the executable, with `*` where any name will do and `$NAME` for a variable of the
    environment; the first that prints a version that is new enough is used."""
    version: Command
    """The command that prints the version. `{runtime}` is the executable's path. It runs in `/`, not in the
    contender's folder."""
    minimum: str | None = None
    """The oldest version that will do, such as `1.21`."""
    locate: Texts = ()
    """A command that prints the path of the executable that is really started, where a version manager puts a
    shell script in front, which must not be measured."""
    install: dict[str, Texts] = {}
    """Packages by system, with the names of `/etc/os-release`: `debian` is for Debian and systems like it;
    `debian-12` takes precedence on that release. Where apt's own version of the first one is below `minimum`,
    `setup` takes it from another release that apt knows, such as backports."""
    instructions: dict[str, str] = {}
    """A sentence by system, with the same names, where apt's own packages are too old or missing: `setup` and
    `doctor` print it, and nothing is installed unless another release that apt knows has the package of
    `install` in a version from `minimum` on."""
    title: str = ""
    """What the version is a version of, if that is not the language: PyPy's 7.3 is not a version of
    Python."""
    parallel: bool | None = None
    """The manifest's `parallel`, where this runtime differs, such as a CPython without the interpreter's
    lock. Default: the manifest's."""
    optional: bool = False
    """Use this runtime only if it is installed, such as one more version of an interpreter; Ringside neither
    installs it nor reports its absence."""
    without: dict[str, str] = {}
    """Why the contender takes no part in a workload on this runtime, although it has a command for it."""
    arguments: Texts = ()
    """What follows `{runtime}` where a workload's command begins with it, such as Deno's `["run", "-A"]`."""
    build: tuple[Command, ...] = ()
    """Build steps of this runtime alone, before those of `[[build]]`."""
    brings: Texts = ()
    """If `executable` is a package manager (npm, pip) with which a build step installs the runtime: the
    runtime's program and the arguments that print its version, such as
    `["{build}/node_modules/@oven/bun-linux-*/bin/bun", "--version"]`. `{runtime}` in commands of workloads is
    this program, and the version is its own."""


class BuildTable(_Table, frozen=True, kw_only=True):
    """A build step; the steps run in their order, in the contender's folder. They write to `{build}` alone:
    for a compiler that writes beside its sources, the first step copies these there. Of a step that fails, a
    line `remedy: …` in its output says what is to be done."""

    command: Command
    """The command. `{runtime}` is the executable, `{build}` the folder for what it makes."""


class WorkloadTable(_Table, frozen=True, kw_only=True):
    """The contender's part in the workload of that name; `ringside list workloads` prints them."""

    command: Command
    """The command; the point's `key=value` arguments are appended. It can contain `{runtime}`, `{build}` and
    the names of the workload's factors, such as `{cores}`."""
    kind: ContenderClass | None = msgspec.field(name="class", default=None)
    """The class of this program. Default: the manifest's."""
    capabilities: Texts = ()
    """What it offers beyond the core of the contract, such as `["hold", "trace"]`; `ringside list workloads`
    prints them. Cells that need another one are `unavailable`."""
    most: dict[str, int] = {}
    """The largest levels that the contender supports, by factor: `{ nodes = 10000 }`. Beyond them the cell is
    `unavailable`."""
    only: dict[str, Levels] = {}
    """The only levels that it supports, by factor: `{ capacity = ["own", 1] }`."""
    host: bool = False
    """Of a server: whether it takes `host=ADDRESS` and listens there, so that its load can come from other
    machines (`run --engines`). Without it the server listens on 127.0.0.1."""


class VariantTable(_Table, frozen=True, kw_only=True):
    """The same programs with other settings, as the contender `NAME@VARIANT` on the first runtime: the plain
    name has the defaults. What is left out is the manifest's; `tuning` and `unequal` are not inherited."""

    title: Annotated[str, _at_most(80)]
    """Its name in tables."""
    model: Annotated[str, _at_most(200)] = ""
    """Its concurrency model, in a few words."""
    queue: Annotated[str, _at_most(60)] = ""
    """The bound of its queues."""
    idiom: Idiom = ""
    """Where the settings come from: the address of a page."""
    tuning: Texts = ()
    """What differs from the runtime's and the library's defaults."""
    unequal: Texts = ()
    """What the others have and it has not, or the other way round."""
    workloads: Texts = ()
    """The workloads in which it takes part. Default: all."""
    arguments: Texts = ()
    """Words behind each command, such as `max_clients=4096`; the placeholders of commands are known."""
    environment: dict[str, str] = {}
    """Variables of the environment. `{build}` is the folder of what was built."""
    build: tuple[BuildTable, ...] = ()
    """Further build steps. Without them it uses what is built for the plain name."""


class ManifestFile(_Table, frozen=True, kw_only=True):
    """A contender. Its name is that of the folder. It needs one `[runtime.NAME]` and one `[workload.NAME]` at
    least."""

    title: Annotated[str, _at_most(80)]
    """Its name in tables."""
    family: ContenderFamily
    """The family of its concurrency model. A program that does one thing at a time belongs to `threads`."""
    model: Annotated[str, _at_most(200)]
    """Its concurrency model, in a few words."""
    queue: Annotated[str, _at_most(60)]
    """The bound of its queues, such as `none` or `1`."""
    language: Annotated[str, _at_most(40)] = ""
    """The language, for tables and reports."""
    scheduler: Annotated[str, _at_most(60)] = ""
    """What schedules its units, for tables and reports."""
    parallel: bool = False
    """Whether its units can run on several CPUs at one time."""
    kind: ContenderClass = msgspec.field(name="class", default="idiomatic")
    """`idiomatic`; `bare`: written by hand on the runtime's own sockets; `floor`: `limit`, with which the
    others are compared."""
    idiom: Idiom = ""
    """Where its way of writing comes from: the address of the guide, the documentation or the library that
    its community follows."""
    tuning: Texts = ()
    """What differs from the runtime's and the library's defaults, each with its default:
    `"max_clients 4096 (default 10)"`. docs/BIAS.md has them in a table."""
    unequal: Texts = ()
    """Known inequalities: what others have and it has not, or the other way round, such as a queue without a
    bound."""
    teaches: Texts = ()
    """The workloads that `ringside new contender` copies from it where none is named. Of the contenders of a
    language, one that has this key is copied first."""
    runtime: dict[str, RuntimeTable] = {}
    build: tuple[BuildTable, ...] = ()
    workload: dict[str, WorkloadTable] = {}
    variant: dict[str, VariantTable] = {}
    without: dict[str, str] = {}
    """Why it takes no part in a workload: one sentence for each that it lacks. docs/CONTENDERS has those of
    the bundled contenders."""


# --- experiments/NAME.toml -------------------------------------------------------------------------


class LimitsTable(_Table, frozen=True, kw_only=True):
    """Bounds on one trial."""

    wall_s: Annotated[float, Meta(gt=0, le=1e9)] = 300.0
    """Wall time in seconds."""
    memory_bytes: Positive | None = None
    """Memory (PSS of the process tree). Default: three quarters of what is available."""
    output_bytes: Positive | None = None
    """Output. Default: the workload's."""
    processes: Positive = 1024
    """Processes alive at one time."""


class ShowTable(_Table, frozen=True, kw_only=True):
    """What tables and plots show."""

    metrics: Texts = ()
    """The metrics that are compared; the first is the headline. Default: the workload's."""
    sweep: str | None = None
    """The factor on the x axis of plots. Default: the numeric one with the most levels."""
    ratios: Texts = ()
    """The pairs whose ratios are shown, as `A/B`. Default: every contender over the baseline."""


class ExperimentFile(_Table, frozen=True, kw_only=True):
    """An experiment: every combination of the factors' levels is a point, every contender at a point a cell,
    and every block measures each cell once."""

    title: str
    """The heading of tables and reports."""
    workload: str
    """The name of the workload; `ringside list workloads` prints its factors."""
    contenders: Names
    """Names of contenders, also `NAME@RUNTIME`."""
    baseline: str | None = None
    """The contender with which the others are compared. Default: the first."""
    note: str = ""
    """Text for the report."""
    blocks: Annotated[int, Meta(ge=1, le=10_000)] = DEFAULT_BLOCKS
    """The largest number of blocks. Verdicts need six."""
    until: str = "decided"
    """`"decided"`: end as soon as every comparison of the headline is decided; `"end"`: make all blocks;
    `"2%"`: after these blocks, run more until every interval of the headline is narrower than this, at most
    500."""
    time: str | None = None
    """`"30s"`: begin no block after this time, but make at least seven."""
    margin: str | None = None
    """Ratios closer to 1 than this are equivalent. Default: `"5%"`."""
    least: str | None = None
    """How long the work of a trial takes at least: programs that can do it several times in one process do so
    until then, where `repeats` names no number. Up to `"10s"`. Default: `"100ms"`."""
    published: str | None = None
    """The name of a file in `published/`, whose figures are shown too."""
    factors: dict[str, Levels] = {}
    """A level or a list of levels for each factor of the workload. `cores` takes numbers, `"all"`, `"walk"`:
    1, 2, 4 … and all, or `"each"`: 1, 2, 3 … and all. Default: the workload's."""
    point: tuple[dict[str, Level], ...] = ()
    """Lists points one by one: each table has levels that replace those of `[factors]`."""
    limits: LimitsTable = LimitsTable()
    show: ShowTable = ShowTable()


class SuiteFile(_Table, frozen=True, kw_only=True):
    """A suite: experiments that run one after another. A file with `parts` is a suite."""

    title: str
    """The heading of tables and reports."""
    parts: Names
    """Names of the experiments, in their order."""
    full: tuple[str, ...] = ()
    """The experiments of `run --full`."""
    note: str = ""
    """Text for readers of the file."""


# --- questions/NAME.toml ---------------------------------------------------------------------------


class QuestionFile(_Table, frozen=True, kw_only=True):
    """What an engineer asks of a concurrency model, and the figures that answer it, by family."""

    text: Annotated[str, _at_most(120)]
    """The question."""
    order: int = 0
    """Its place among the questions."""
    holds: str = ""
    """For whom the answer holds, in a sentence."""
    limits: str = ""
    """Where it does not hold, in a sentence."""
    concerns: Texts = ()
    """The kinds of work that it matters for, one word each: `ringside ask WORD` shows it."""
    figure: Annotated[tuple[QuestionFigure, ...], Meta(min_length=1)]


# --- published/NAME.toml ---------------------------------------------------------------------------


class SourceTable(_Table, frozen=True, kw_only=True):
    """Where the figures and claims come from."""

    title: str
    """The source's title."""
    date: str
    """When it was published."""
    hardware: str = ""
    """The machine."""
    software: dict[str, str] = {}
    """Versions, by the name of a program."""
    metric_note: str = ""
    """How the source measured."""
    url: str = ""
    """Where it can be read; a source needs this or `seed`."""
    seed: str = ""
    """The file that the text was taken from."""
    points: tuple[dict[str, Any], ...] = ()
    """Points of figures that were published as plots only; for readers of the file."""


class FigureTable(_Table, frozen=True, kw_only=True):
    """A figure of the source."""

    workload: str
    """The workload."""
    point: dict[str, Level] = {}
    """Levels by factor."""
    contender: str
    """The contender, or the common beginning of several."""
    metric: str
    """The metric."""
    unit: str | None = None
    """The metric's own unit, where the file names it."""
    value: float | dict[str, float]
    """The value, or one for each name (`{ p50 = 611, p90 = 790 }`), which belong to `METRIC.p50`, …"""
    as_published: str | None = None
    """The figure in the source's own words."""


class ClaimTable(_Table, frozen=True, kw_only=True):
    """A conclusion of the source."""

    id: str
    """Its name within the source."""
    workload: str
    """The workload."""
    text: str
    """The conclusion, in our words."""
    test: ClaimRow | None = None
    """How runs test it. A distribution that brings a workload can have a function in the place of it."""


class PublishedFile(_Table, frozen=True, kw_only=True):
    """Figures and claims of one source."""

    source: SourceTable
    figure: tuple[FigureTable, ...] = ()
    claim: tuple[ClaimTable, ...] = ()
