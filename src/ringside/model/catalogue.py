"""Contenders, their runtimes, and what sources published. Frozen."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from msgspec import Struct

from ringside.model.claims import ClaimRow
from ringside.model.design import Level

ContenderClass = Literal["idiomatic", "bare", "floor"]
ContenderFamily = Literal[
    "actors", "channels", "green-threads", "tasks", "event-loop", "generators", "threads", "processes"
]

# What is replaced in a command: `{runtime}`, `{build}`, `{cores}`. Braces around anything else stay.
PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Runtime:
    """What a contender runs on. `executable` holds names or globs, tried in order; `title` is what its
    version is a version of, where that is not the language. By system: `install` has the packages that bring
    it, `instructions` a sentence for people where none does. `optional`: it is used only where it is
    found. `brings`: the program that the build installs with `executable`, with the arguments for its
    version; it, not `executable`, is what the contender runs on."""

    name: str
    executable: tuple[str, ...]
    version: tuple[str, ...]
    minimum: str | None = None
    locate: tuple[str, ...] = ()
    install: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    instructions: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    optional: bool = False
    brings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkloadEntry:
    """A contender's part in one workload: its command, its class, the largest levels that it takes, and for
    some factors the only ones. `capabilities`: what it offers beyond the core of the contract. `host`: its
    server can listen on an address that it is given. `is_plain`: a server that does not speak contract 1; it
    gets no `key=value` arguments, and is ready when it listens on `{port}`."""

    command: tuple[str, ...]
    kind: ContenderClass = "idiomatic"
    most: Mapping[str, int] = field(default_factory=dict)
    only: Mapping[str, tuple[Level, ...]] = field(default_factory=dict)
    capabilities: tuple[str, ...] = ()
    host: bool = False
    is_plain: bool = False


@dataclass(frozen=True, slots=True)
class Contender:
    """A program in one folder on one runtime. `name` is `folder@runtime` beyond the first runtime, and
    `folder@variant` with other settings: `environment` has variables of its own, in which `{build}` is its
    build's folder, and `built_as` the name of the contender whose build it uses. `family` is one of
    `ContenderFamily`, and empty where there is no manifest. `kind` is the manifest's `class`: `idiomatic`,
    written as the library's community writes it; `bare`, by hand on the runtime's sockets; `floor`, by hand
    down to the system calls: what the others are compared with.
    `idiom`: the address of a page that its way of writing comes from; `tuning`: what differs from
    defaults; `unequal`: what others have and it has not, or the other way round.
    `teaches`: the workloads that a copy of it has at first.
    `without`: why it takes no part in other workloads, by their names.
    `has_sources`: the folder is the contender's own, not just where its command was given."""

    name: str
    folder: Path
    title: str
    runtime: Runtime
    workloads: Mapping[str, WorkloadEntry]
    family: str = ""
    model: str = ""
    queue: str = ""
    language: str = ""
    scheduler: str = ""
    parallel: bool = False
    builds: tuple[tuple[str, ...], ...] = ()
    kind: ContenderClass = "idiomatic"
    without: Mapping[str, str] = field(default_factory=dict)
    teaches: tuple[str, ...] = ()
    idiom: str = ""
    tuning: tuple[str, ...] = ()
    unequal: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    built_as: str = ""
    has_sources: bool = True


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
    """A conclusion of a source, in our words. `id`: its name within its source. `test`: what tests it; None
    where the workload has a function that does."""

    text: str
    id: str = ""
    workload: str = ""
    test: ClaimRow | None = None


class QuestionFigure(Struct, frozen=True, forbid_unknown_fields=True):
    """A figure that answers the question."""

    experiment: str
    """The experiment that measures it."""
    metric: str
    """The metric of its workload."""
    words: str
    """What it is a figure of, as in a sentence: `a message that is waited for`."""
    at: dict[str, Level] = {}
    """Levels of the point, by factor; of several points that have them, the last with the most figures."""
    over: dict[str, Level] = {}
    """Levels in which another point differs: the figure is how many times better the metric is than there."""


@dataclass(frozen=True, slots=True)
class Question:
    """What an engineer asks of a concurrency model. `holds`: for whom the answer holds; `limits`: where it
    does not. `concerns`: the kinds of work that it matters for, of those that `ringside ask` knows by the
    questions."""

    name: str
    text: str
    figures: tuple[QuestionFigure, ...]
    holds: str = ""
    limits: str = ""
    concerns: tuple[str, ...] = ()
    order: int = 0


@dataclass(frozen=True, slots=True)
class KnownWorkload:
    """What files of a catalogue may name of a workload: its factors, the units of its metrics by their names,
    and its capabilities. `check`: raises UsageError for a level that a factor cannot have on any machine.
    `is_service`: whether its contenders listen; `server_arguments`: what those may get besides factors;
    `title`: its heading. `questions`: those that its own distribution brings."""

    factors: tuple[str, ...]
    metrics: Mapping[str, str]
    capabilities: tuple[str, ...] = ()
    check: Callable[[str, Level], object] = lambda factor, level: None
    is_service: bool = False
    server_arguments: tuple[str, ...] = ()
    title: str = ""
    questions: tuple[Question, ...] = ()


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
    """Proof of a toolchain: the program that will be started, its version, and the text it printed."""

    executable: str
    version: str
    text: str


@dataclass(frozen=True, slots=True)
class Ready:
    """A contender that can be measured: receipt, build folder and its content's hash. `build_s`: how long
    its build steps took, in seconds; None where it has none."""

    contender: Contender
    receipt: Receipt
    build: Path
    content: str
    build_s: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A contender that cannot be measured, why, and the way out. `receipt`: that of its runtime, where only
    the build failed; `log`: what that printed, hostile text."""

    contender: Contender
    reason: str
    remedy: str = ""
    log: str = ""
    receipt: Receipt | None = None
