"""The tables of a catalogue's files (`…Table`, `…File`, `Manifest`), and the types that `catalogue` makes of
them. docs/KEYS.md explains the keys. Errors of `__post_init__` begin with the key."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ringside.model.claims import ClaimRow
from ringside.model.design import Level, Levels, Table, Texts, as_tuple, check_distinct

ContenderClass = Literal["idiomatic", "bare", "floor"]
ContenderFamily = Literal[
    "actors", "channels", "green-threads", "tasks", "event-loop", "generators", "threads", "processes"
]
Sharing = Literal["lock", "owner", "transaction", "single-thread"]
Command = Annotated[Texts, Meta(min_length=1)]
# Longer texts would fill tables and pages.
Title = Annotated[str, Meta(min_length=1, max_length=80)]
Words = Annotated[str, Meta(max_length=200)]
FewWords = Annotated[str, Meta(max_length=60)]

# A placeholder in a command: `{runtime}`, `{build}`, `{cores}`. Braces around anything else stay.
PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def check_placeholders(where: str, command: Iterable[str], known: Collection[str]) -> None:
    """Raise ValueError for a placeholder that is not known in a command; `where` names the command."""
    for name in (name for word in command for name in PLACEHOLDER.findall(word)):
        if name not in known:
            listed = ", ".join(f"`{{{each}}}`" for each in known)
            raise ValueError(
                f"{where}: unknown placeholder `{{{name}}}`; known here: {listed} (`{{ {name} }}` stays)"
            )


class RuntimeTable(Table, frozen=True, kw_only=True):
    """`[runtime.NAME]` of a manifest: what a contender runs on, and how it is made for that."""

    executable: Command
    version: Command
    minimum: str | None = None
    locate: Texts = ()
    install: dict[str, Texts] = {}
    instructions: dict[str, str] = {}
    title: str = ""
    optional: bool = False
    brings: Texts = ()
    parallel: bool | None = None
    without: dict[str, str] = {}
    arguments: Texts = ()
    build: tuple[Command, ...] = ()

    def __post_init__(self) -> None:
        check_placeholders("`version`", self.version, ("runtime",))
        check_placeholders("`locate`", self.locate, ("runtime",))
        check_placeholders("`brings`", self.brings, ("build",))
        for command in self.build:
            check_placeholders("`build`", command, ("runtime", "build"))


class Runtime(RuntimeTable, frozen=True, kw_only=True):
    """A runtime by its name."""

    name: str


class BuildTable(Table, frozen=True, kw_only=True):
    """`[[build]]` of a manifest."""

    command: Command

    def __post_init__(self) -> None:
        check_placeholders("`command`", self.command, ("runtime", "build", "workload"))


class WorkloadEntry(Table, frozen=True):
    """`[workload.NAME]` of a manifest: a contender's part in one workload. `kind`: if not the contender's."""

    command: Command
    capabilities: Texts = ()
    most: dict[str, int] = {}
    host: bool = False
    kind: ContenderClass | None = msgspec.field(name="class", default=None)
    only: dict[str, Levels] = {}

    def __post_init__(self) -> None:
        for factor, levels in self.only.items():
            check_distinct(f"`only.{factor}`", as_tuple(levels))


class DescriptionKeys(Table, frozen=True, kw_only=True):
    """The keys that a contender and a variant of it have in common."""

    title: Title
    model: Words = ""
    family: ContenderFamily | Literal[""] = ""
    queue: FewWords = ""
    idiom: Words = ""
    sharing: Sharing | None = None
    tuning: Texts = ()
    unequal: Texts = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"(https://\S+)?", self.idiom):
            raise ValueError(f"`idiom` must be the address of a page, https://…, not {self.idiom}")


class VariantTable(DescriptionKeys, frozen=True, kw_only=True):
    """`[variant.NAME]` of a manifest: the same programs with other settings."""

    workloads: Texts = ()
    arguments: Texts = ()
    environment: dict[str, str] = {}
    build: tuple[BuildTable, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_placeholders("`environment`", self.environment.values(), ("build",))


class ContenderKeys(DescriptionKeys, frozen=True, kw_only=True):
    """The keys of a manifest that mean the same when it is read."""

    language: Annotated[str, Meta(max_length=40)] = ""
    scheduler: FewWords = ""
    parallel: bool = False
    kind: ContenderClass = msgspec.field(name="class", default="idiomatic")
    teaches: Texts = ()
    without: dict[str, str] = {}


class Manifest(ContenderKeys, frozen=True, kw_only=True):
    """`contenders/NAME/contender.toml`."""

    family: ContenderFamily
    model: Words
    queue: FewWords
    runtime: Annotated[dict[str, RuntimeTable], Meta(min_length=1)]
    build: tuple[BuildTable, ...] = ()
    workload: Annotated[dict[str, WorkloadEntry], Meta(min_length=1)]
    variant: dict[str, VariantTable] = {}

    def __post_init__(self) -> None:
        super().__post_init__()
        lists = {
            "teaches": self.teaches,
            **{f"runtime.{name}.without": table.without for name, table in self.runtime.items()},
            **{f"variant.{name}.workloads": table.workloads for name, table in self.variant.items()},
        }
        for key, workloads in lists.items():
            for workload in workloads:
                if workload not in self.workload:
                    raise ValueError(f"`{key}`: the manifest has no command for `{workload}`")
        for name in self.variant.keys() & self.runtime.keys():
            raise ValueError(f"`variant.{name}`: there is a runtime of this name: rename the variant")
        for workload, reason in self.without.items():
            if workload in self.workload:
                raise ValueError(f"`without.{workload}`: it has a command and a reason why it has none")
            if not reason.strip():
                raise ValueError(f"`without.{workload}`: the reason is missing")


class Contender(ContenderKeys, frozen=True, kw_only=True):
    """A program in one folder on one runtime."""

    # `folder@runtime` beyond the first runtime, and `folder@variant` with other settings.
    name: str
    folder: Path
    runtime: Runtime
    workloads: dict[str, WorkloadEntry]
    builds: tuple[Command, ...] = ()
    # The values of `{workload}` in build commands: each of the folder's workloads.
    programs: Texts = ("",)
    # Variables of a variant, in which `{build}` is the folder of its build.
    environment: dict[str, str] = {}
    # The name of the contender whose build it uses, if that is another one.
    built_as: str = ""
    # False for a command without a manifest: a server that does not speak the protocol. It gets no
    # `key=value` arguments, and is ready when it listens on `{port}`.
    has_sources: bool = True

    def kind_in(self, workload: str) -> ContenderClass:
        """The class of its program for a workload."""
        return self.workloads[workload].kind or self.kind


class SourceTable(Table, frozen=True, kw_only=True):
    """`[source]` of published figures."""

    title: str
    date: str
    hardware: str = ""
    software: dict[str, str] = {}
    metric_note: str = ""
    url: str = ""
    seed: str = ""
    points: tuple[dict[str, Any], ...] = ()

    def __post_init__(self) -> None:
        if not (self.url or self.seed):
            raise ValueError("the source of the figures is missing: `url`, or `seed` for a text that is kept")


class FigureKeys(Table, frozen=True, kw_only=True):
    """The keys of a figure that mean the same when it is read."""

    workload: str
    point: dict[str, Level] = {}
    contender: str
    metric: str
    as_published: str | None = None


class Figure(FigureKeys, frozen=True, kw_only=True):
    """A number that a source reported, at one point."""

    value: float


class FigureTable(FigureKeys, frozen=True, kw_only=True):
    """`[[figure]]` of published figures: one value, or one for each name."""

    unit: str | None = None
    value: float | dict[str, float]


class Claim(Table, frozen=True):
    """A conclusion of a source, in our words. `id`: its name within its source."""

    text: str
    id: str
    workload: str
    test: ClaimRow


class PublishedFile(Table, frozen=True, kw_only=True):
    """`published/NAME.toml`."""

    source: SourceTable
    figure: tuple[FigureTable, ...] = ()
    claim: tuple[Claim, ...] = ()


@dataclass(frozen=True, slots=True)
class Published:
    """Figures and claims of one source, as plans keep them."""

    name: str
    title: str
    date: str
    hardware: str
    software: Mapping[str, str]
    metric_note: str
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]


class QuestionFigure(Table, frozen=True, kw_only=True):
    """A figure that answers a question. `words`: its subject, as in a sentence."""

    experiment: str
    metric: str
    words: str
    at: dict[str, Level] = {}
    over: dict[str, Level] = {}
    by: Literal["family", "sharing"] = "family"


class QuestionFile(Table, frozen=True, kw_only=True):
    """`questions/NAME.toml`: what an engineer asks of a concurrency model, and the figures that answer it."""

    text: Annotated[str, Meta(max_length=120)]
    order: int = 0
    holds: str = ""
    limits: str = ""
    concerns: tuple[Annotated[str, Meta(pattern=r"^[a-z][a-z-]{0,30}$")], ...] = ()
    figures: Annotated[tuple[QuestionFigure, ...], Meta(min_length=1)] = msgspec.field(name="figure")


class Question(QuestionFile, frozen=True, kw_only=True):
    """A question by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof of a toolchain: the program that will be started, its version, and the text it printed."""

    executable: str
    version: str
    text: str


@dataclass(frozen=True, slots=True)
class Ready:
    """A contender that can be measured. `content`: its build's hash; `program`: the only workload built."""

    contender: Contender
    receipt: Receipt
    build: Path
    content: str
    program: str = ""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A contender that cannot be measured, and why. `log`: the hostile output of a failed build; `receipt`:
    the runtime's, if only the build failed."""

    contender: Contender
    reason: str
    remedy: str = ""
    log: str = ""
    receipt: Receipt | None = None
