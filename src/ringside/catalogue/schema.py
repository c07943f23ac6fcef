"""The files of a catalogue as they are written: names, types, bounds and meanings of their keys.

These types are read by msgspec and turned into those of `ringside.model` by the loader. A key that stands in
no type is an error. docs/KEYS.md is made from the descriptions (`reference`).
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ringside.model.catalogue import ContenderClass, ContenderFamily
from ringside.model.design import Level


def _about(description: str) -> Meta:
    return Meta(description=description)


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


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of a file."""


# --- contenders/NAME/contender.toml ----------------------------------------------------------------


class RuntimeTable(_Table, frozen=True, kw_only=True):
    """What the contender runs on. The first runtime has the contender's plain name, others are
    `NAME@RUNTIME`."""

    executable: Annotated[
        Names,
        _about(
            "Names or paths of the executable, with `*` where any name will do and `$NAME` for a variable of "
            "the environment; the first that prints a version that is new enough is used."
        ),
    ]
    version: Annotated[
        Command,
        _about(
            "The command that prints the version. `{runtime}` is the executable's path. It runs in `/`, not "
            "in the contender's folder."
        ),
    ]
    minimum: Annotated[str | None, _about("The oldest version that will do, such as `1.21`.")] = None
    locate: Annotated[
        Texts,
        _about(
            "A command that prints the path of the executable that is really started, where a version "
            "manager puts a shell script in front, which must not be measured."
        ),
    ] = ()
    install: Annotated[
        dict[str, Texts],
        _about(
            "Packages by system, with the names of `/etc/os-release`: `debian` is for Debian and systems "
            "like it; `debian-12` takes precedence on that release. Where apt's own version of the first one "
            "is below `minimum`, `setup` takes it from another release that apt knows, such as backports."
        ),
    ] = {}
    instructions: Annotated[
        dict[str, str],
        _about(
            "A sentence by system, with the same names, where apt's own packages are too old or missing: "
            "`setup` and `doctor` print it, and nothing is installed unless another release that apt knows "
            "has the package of `install` in a version from `minimum` on."
        ),
    ] = {}
    title: Annotated[
        str,
        _about(
            "What the version is a version of, if that is not the language: PyPy's 7.3 is not a version of "
            "Python."
        ),
    ] = ""
    parallel: Annotated[
        bool | None,
        _about(
            "The manifest's `parallel`, where this runtime differs, such as a CPython without the "
            "interpreter's lock. Default: the manifest's."
        ),
    ] = None
    optional: Annotated[
        bool,
        _about(
            "Use this runtime only if it is installed, such as one more version of an interpreter; Ringside "
            "neither installs it nor reports its absence."
        ),
    ] = False


class BuildTable(_Table, frozen=True, kw_only=True):
    """A build step; the steps run in their order, in the contender's folder. They write to `{build}` alone:
    for a compiler that writes beside its sources, the first step copies these there."""

    command: Annotated[
        Command, _about("The command. `{runtime}` is the executable, `{build}` the folder for what it makes.")
    ]


class WorkloadTable(_Table, frozen=True, kw_only=True):
    """The contender's part in the workload of that name; `ringside list workloads` prints them."""

    command: Annotated[
        Command,
        _about(
            "The command; the point's `key=value` arguments are appended. It can contain `{runtime}`, "
            "`{build}` and the names of the workload's factors, such as `{cores}`."
        ),
    ]
    kind: Annotated[ContenderClass | None, _about("The class of this program. Default: the manifest's.")] = (
        msgspec.field(name="class", default=None)
    )
    capabilities: Annotated[
        Texts,
        _about(
            'What it offers beyond the core of the contract, such as `["hold", "trace"]`; '
            "`ringside list workloads` prints them. Cells that need another one are `unavailable`."
        ),
    ] = ()
    most: Annotated[
        dict[str, int],
        _about(
            "The largest levels that the contender supports, by factor: `{ nodes = 10000 }`. Beyond them the "
            "cell is `unavailable`."
        ),
    ] = {}
    only: Annotated[
        dict[str, Levels],
        _about('The only levels that it supports, by factor: `{ capacity = ["own", 1] }`.'),
    ] = {}
    host: Annotated[
        bool,
        _about(
            "Of a server: whether it takes `host=ADDRESS` and listens there, so that its load can come from "
            "other machines (`run --engines`). Without it the server listens on 127.0.0.1."
        ),
    ] = False


class ManifestFile(_Table, frozen=True, kw_only=True):
    """A contender. Its name is that of the folder. It needs one `[runtime.NAME]` and one `[workload.NAME]` at
    least."""

    title: Annotated[str, _at_most(80), _about("Its name in tables.")]
    family: Annotated[
        ContenderFamily,
        _about(
            "The family of its concurrency model. A program that does one thing at a time belongs to "
            "`threads`."
        ),
    ]
    model: Annotated[str, _at_most(200), _about("Its concurrency model, in a few words.")]
    queue: Annotated[str, _at_most(60), _about("The bound of its queues, such as `none` or `1`.")]
    language: Annotated[str, _at_most(40), _about("The language, for tables and reports.")] = ""
    scheduler: Annotated[str, _at_most(60), _about("What schedules its units, for tables and reports.")] = ""
    parallel: Annotated[bool, _about("Whether its units can run on several CPUs at one time.")] = False
    kind: Annotated[
        ContenderClass,
        _about(
            "`idiomatic`; `bare`: written by hand on the runtime's own sockets; `floor`: `limit`, with which "
            "the others are compared."
        ),
    ] = msgspec.field(name="class", default="idiomatic")
    teaches: Annotated[
        Texts,
        _about(
            "The workloads that `ringside new contender` copies from it where none is named. Of the "
            "contenders of a language, one that has this key is copied first."
        ),
    ] = ()
    runtime: dict[str, RuntimeTable] = {}
    build: tuple[BuildTable, ...] = ()
    workload: dict[str, WorkloadTable] = {}
    without: Annotated[
        dict[str, str],
        _about(
            "Why it takes no part in a workload: one sentence for each that it lacks. README's table of the "
            "bundled contenders has them."
        ),
    ] = {}


# --- experiments/NAME.toml -------------------------------------------------------------------------


class LimitsTable(_Table, frozen=True, kw_only=True):
    """Bounds on one trial."""

    wall_s: Annotated[float, Meta(gt=0, le=1e9), _about("Wall time in seconds.")] = 300.0
    memory_bytes: Annotated[
        Positive | None,
        _about("Memory (PSS of the process tree). Default: three quarters of what is available."),
    ] = None
    output_bytes: Annotated[Positive | None, _about("Output. Default: the workload's.")] = None
    processes: Annotated[Positive, _about("Processes alive at one time.")] = 1024


class ShowTable(_Table, frozen=True, kw_only=True):
    """What tables and plots show."""

    metrics: Annotated[
        Texts,
        _about("The metrics that are compared; the first is the headline. Default: the workload's."),
    ] = ()
    sweep: Annotated[
        str | None,
        _about("The factor on the x axis of plots. Default: the numeric one with the most levels."),
    ] = None
    ratios: Annotated[
        Texts,
        _about("The pairs whose ratios are shown, as `A/B`. Default: every contender over the baseline."),
    ] = ()


class ExperimentFile(_Table, frozen=True, kw_only=True):
    """An experiment: every combination of the factors' levels is a point, every contender at a point a cell,
    and every block measures each cell once."""

    title: Annotated[str, _about("The heading of tables and reports.")]
    workload: Annotated[
        str, _about("The name of the workload; `ringside list workloads` prints its factors.")
    ]
    contenders: Annotated[Names, _about("Names of contenders, also `NAME@RUNTIME`.")]
    baseline: Annotated[
        str | None, _about("The contender with which the others are compared. Default: the first.")
    ] = None
    note: Annotated[str, _about("Text for the report.")] = ""
    blocks: Annotated[
        int, Meta(ge=1, le=10_000), _about("The largest number of blocks. Verdicts need six.")
    ] = DEFAULT_BLOCKS
    until: Annotated[
        str,
        _about(
            '`"decided"`: end as soon as every comparison of the headline is decided; `"end"`: make all '
            'blocks; `"2%"`: after these blocks, run more until every interval of the headline is narrower '
            "than this, at most 500."
        ),
    ] = "decided"
    time: Annotated[
        str | None, _about('`"30s"`: begin no block after this time, but make at least seven.')
    ] = None
    margin: Annotated[str | None, _about('Ratios closer to 1 than this are equivalent. Default: `"5%"`.')] = (
        None
    )
    published: Annotated[
        str | None, _about("The name of a file in `published/`, whose figures are shown too.")
    ] = None
    factors: Annotated[
        dict[str, Levels],
        _about(
            "A level or a list of levels for each factor of the workload. `cores` takes numbers, "
            '`"all"`, `"walk"`: 1, 2, 4 … and all, or `"each"`: 1, 2, 3 … and all. Default: the workload\'s.'
        ),
    ] = {}
    point: Annotated[
        tuple[dict[str, Level], ...],
        _about("Lists points one by one: each table has levels that replace those of `[factors]`."),
    ] = ()
    limits: LimitsTable = LimitsTable()
    show: ShowTable = ShowTable()


class SuiteFile(_Table, frozen=True, kw_only=True):
    """A suite: experiments that run one after another. A file with `parts` is a suite."""

    title: Annotated[str, _about("The heading of tables and reports.")]
    parts: Annotated[Names, _about("Names of the experiments, in their order.")]
    full: Annotated[tuple[str, ...], _about("The experiments of `run --full`.")] = ()
    note: Annotated[str, _about("Text for readers of the file.")] = ""


# --- published/NAME.toml ---------------------------------------------------------------------------


class SourceTable(_Table, frozen=True, kw_only=True):
    """Where the figures and claims come from."""

    title: Annotated[str, _about("The source's title.")]
    date: Annotated[str, _about("When it was published.")]
    hardware: Annotated[str, _about("The machine.")] = ""
    software: Annotated[dict[str, str], _about("Versions, by the name of a program.")] = {}
    metric_note: Annotated[str, _about("How the source measured.")] = ""
    url: Annotated[str, _about("Where it can be read; for readers of the file.")] = ""
    seed: Annotated[str, _about("The file that the text was taken from; for readers of the file.")] = ""
    points: Annotated[
        tuple[dict[str, Any], ...],
        _about("Points of figures that were published as plots only; for readers of the file."),
    ] = ()


class FigureTable(_Table, frozen=True, kw_only=True):
    """A figure of the source."""

    workload: Annotated[str, _about("The workload.")]
    point: Annotated[dict[str, Level], _about("Levels by factor.")] = {}
    contender: Annotated[str, _about("The contender, or the common beginning of several.")]
    metric: Annotated[str, _about("The metric.")]
    unit: Annotated[str | None, _about("The metric's own unit, where the file names it.")] = None
    value: Annotated[
        float | dict[str, float],
        _about(
            "The value, or one for each name (`{ p50 = 611, p90 = 790 }`), which belong to `METRIC.p50`, …"
        ),
    ]
    as_published: Annotated[str | None, _about("The figure in the source's own words.")] = None


class ClaimTable(_Table, frozen=True, kw_only=True):
    """A conclusion of the source."""

    id: Annotated[str, _about("The name of the test that the workload has of it.")]
    workload: Annotated[str, _about("The workload.")]
    text: Annotated[str, _about("The conclusion, in our words.")]


class PublishedFile(_Table, frozen=True, kw_only=True):
    """Figures and claims of one source."""

    source: SourceTable
    figure: tuple[FigureTable, ...] = ()
    claim: tuple[ClaimTable, ...] = ()
