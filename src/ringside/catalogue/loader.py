"""Finds contenders, experiments and published figures, and reads them into the model's types.

The catalogue that travels with ringside comes first; folders `contenders/`, `experiments/` and
`published/` of the working directory, and those named in RINGSIDE_CATALOGUE (separated by `:`), add to it.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from packaging.version import InvalidVersion, Version

from ringside.catalogue import tomlfile
from ringside.catalogue.decode import decode
from ringside.catalogue.quantities import goal, margin, seconds
from ringside.catalogue.schema import (
    ExperimentFile,
    FigureTable,
    Levels,
    ManifestFile,
    PublishedFile,
    RuntimeTable,
    SuiteFile,
)
from ringside.catalogue.tomlfile import Key, TomlFile
from ringside.errors import CatalogueError, UsageError
from ringside.model.catalogue import (
    PLACEHOLDER,
    Claim,
    Contender,
    Figure,
    KnownWorkload,
    Published,
    Runtime,
    WorkloadEntry,
)
from ringside.model.design import DEFAULT_MARGIN, Experiment, Level, Limits, Show, Suite

NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_NAME_RULE = "may hold a-z, 0-9, `.`, `_` and `-` only, and begins with a letter or a digit"

T = TypeVar("T")

# The workloads that there are, by their names.
Workloads = Mapping[str, KnownWorkload]


def own_folder() -> Path:
    """Where ringside's own catalogue is: in the wheel, or in the checkout that this module belongs to."""
    bundled = Path(__file__).resolve().parents[1] / "bundled"
    return bundled if bundled.is_dir() else Path(__file__).resolve().parents[3]


def roots() -> list[Path]:
    """The folders that hold a catalogue, ringside's own first."""
    named = [Path(part) for part in os.environ.get("RINGSIDE_CATALOGUE", "").split(":") if part]
    for folder in named:
        if not folder.is_dir():
            raise UsageError(f"RINGSIDE_CATALOGUE names {folder}, which is not a folder: correct or unset it")
    return list(dict.fromkeys(folder.resolve() for folder in [own_folder(), *named, Path.cwd()]))


class Catalogue:
    """All that can be run. A file is read when it is asked for, so a broken one hurts only its users."""

    def __init__(self, folders: Iterable[Path] | None = None, workloads: Workloads | None = None) -> None:
        """`folders`: where to look, those of `roots` by default. `workloads`: those that there are; manifests
        and published figures are checked against them where they are known."""
        self.folders = list(folders) if folders is not None else roots()
        self._workloads = workloads

    def contender_names(self) -> list[str]:
        """Names of the folders that hold a `contender.toml`, sorted."""
        return sorted(self._manifests())

    def experiment_names(self) -> list[str]:
        """Names of experiments and suites, sorted."""
        return sorted(self._files("experiments"))

    def contender(self, name: str) -> Contender:
        """The contender `name` or `name@runtime`. Raises UsageError for an unknown one."""
        folder, _, runtime = name.partition("@")
        contenders = {contender.name: contender for contender in self.runtimes(folder)}
        if runtime and name not in contenders:
            raise UsageError(
                f"contender `{folder}` has no runtime `{runtime}`; it has: {', '.join(contenders)}"
            )
        return contenders[name] if runtime else next(iter(contenders.values()))

    def runtimes(self, folder: str) -> list[Contender]:
        """The contender of a folder on each of its runtimes, the first runtime's first. Raises UsageError for
        an unknown one."""
        manifests = self._manifests()
        if folder not in manifests:
            raise _unknown("contender", folder, manifests)
        return list(read_contender(manifests[folder], self._workloads).values())

    def contenders(self) -> tuple[list[Contender], dict[str, CatalogueError]]:
        """All contenders on each of their runtimes; and the errors of manifests that cannot be read, by the
        folder's name."""
        contenders: list[Contender] = []
        errors: dict[str, CatalogueError] = {}
        for folder in self.contender_names():
            try:
                contenders += self.runtimes(folder)
            except CatalogueError as error:
                errors[folder] = error
        return contenders, errors

    def experiment(self, name: str) -> Experiment:
        """The experiment `name`, or the one in the file of that path."""
        if _is_path(name):
            if not Path(name).is_file():
                raise UsageError(f"there is no experiment file {name}")
            return read_experiment(Path(name))
        files = self._files("experiments")
        if name not in files:
            raise _unknown("experiment", name, files)
        return read_experiment(files[name])

    def suite(self, name: str) -> Suite | None:
        """The suite of that name or path, None where it is an experiment."""
        file = Path(name) if _is_path(name) else self._files("experiments").get(name)
        return read_suite(file) if file and file.is_file() else None

    def published(self, name: str) -> Published:
        """The published figures and claims of a source. Raises UsageError for an unknown one."""
        files = self._files("published")
        if name not in files:
            raise _unknown("source of published figures", name, files)
        return read_published(files[name], self._workloads, self.contender_names())

    def published_names(self) -> list[str]:
        """Names of the sources of published figures, sorted."""
        return sorted(self._files("published"))

    def _manifests(self) -> dict[str, Path]:
        return {file.parent.name: file for file in self._glob("contenders", "*/contender.toml")}

    def _files(self, kind: str) -> dict[str, Path]:
        return {file.stem: file for file in self._glob(kind, "*.toml")}

    def _glob(self, kind: str, pattern: str) -> list[Path]:
        """The files, those of the first folder last: by name, they stand in place of others."""
        return [file for root in reversed(self.folders) for file in (root / kind).glob(pattern)]


def _is_path(name: str) -> bool:
    return name.endswith(".toml") or "/" in name


def _unknown(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """The error for a name that is not known, with the nearest ones."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names) or 'none'}"
    return UsageError(f"there is no {kind} `{name}`; {hint}")


# --- contenders ------------------------------------------------------------------------------------


def read_contender(path: Path, known: Workloads | None = None) -> dict[str, Contender]:
    """A manifest: the contender on each of its runtimes, by name. The first runtime has the bare name.
    `known`: the workloads that there are; without them their names are not checked."""
    file = tomlfile.read(path)
    folder = path.parent
    if not NAME.fullmatch(folder.name):
        raise CatalogueError(f"{path}: the folder's name {_NAME_RULE}")
    manifest = decode(file, ManifestFile)
    for index, build in enumerate(manifest.build):
        _check_placeholders(file, build.command, ("runtime", "build"), ("build", index, "command"))
    runtimes = [_runtime(file, name, table) for name, table in manifest.runtime.items()]
    if not runtimes:
        raise file.error("`[runtime.NAME]` is missing: a contender has at least one")
    if not manifest.workload:
        raise file.error("`[workload.NAME]` is missing: a contender takes part in at least one")
    if known is not None:
        _check_workloads(file, manifest, known)
    workloads = {
        name: WorkloadEntry(
            command=table.command,
            kind=table.kind or manifest.kind,
            most=table.most,
            only=_levels(file, ("workload", name, "only"), table.only),
        )
        for name, table in manifest.workload.items()
    }
    contenders = [
        Contender(
            name=folder.name if index == 0 else f"{folder.name}@{runtime.name}",
            folder=folder.resolve(),
            title=manifest.title,
            model=manifest.model,
            queue=manifest.queue,
            language=manifest.language,
            scheduler=manifest.scheduler,
            parallel=manifest.parallel,
            runtime=runtime,
            builds=tuple(build.command for build in manifest.build),
            workloads=workloads,
            kind=manifest.kind,
        )
        for index, runtime in enumerate(runtimes)
    ]
    return {contender.name: contender for contender in contenders}


def _runtime(file: TomlFile, name: str, table: RuntimeTable) -> Runtime:
    keys = ("runtime", name)
    if not NAME.fullmatch(name):
        raise file.error(f"the runtime's name `{name}` {_NAME_RULE}", keys)
    for key, command in (("version", table.version), ("locate", table.locate)):
        _check_placeholders(file, command, ("runtime",), (*keys, key))
    if table.minimum is not None:
        try:
            Version(table.minimum)
        except InvalidVersion:
            message = f"`runtime.{name}.minimum` must be a version like 1.19, not {table.minimum}"
            raise file.error(message, (*keys, "minimum")) from None
    return Runtime(
        name=name,
        executable=table.executable,
        version=table.version,
        minimum=table.minimum,
        locate=table.locate,
        install=table.install,
        instructions=table.instructions,
        title=table.title,
    )


def _check_workloads(file: TomlFile, manifest: ManifestFile, known: Workloads) -> None:
    """Workloads, factors and placeholders must be known."""
    for name, table in manifest.workload.items():
        keys = ("workload", name)
        factors = _known_workload(file, name, known, keys).factors
        for key, named in (("most", table.most), ("only", table.only)):
            for factor in named:
                if factor not in factors:
                    message = _unknown(f"factor of `{name}` called", factor, factors)
                    raise file.error(str(message), (*keys, key, factor))
        _check_placeholders(file, table.command, ("runtime", "build", *factors), (*keys, "command"))


def _known_workload(file: TomlFile, name: str, known: Workloads, keys: tuple[Key, ...]) -> KnownWorkload:
    """The workload of that name. Raises CatalogueError for an unknown one."""
    if name not in known:
        raise file.error(str(_unknown("workload", name, known)), keys)
    return known[name]


def _check_placeholders(
    file: TomlFile, command: Iterable[str], known: Collection[str], keys: tuple[Key, ...]
) -> None:
    for name in (name for word in command for name in PLACEHOLDER.findall(word)):
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean `{{{near[0]}}}`? " if near else ""
            raise file.error(
                f"unknown placeholder `{{{name}}}`; {hint}known here: "
                f"{', '.join(f'`{{{other}}}`' for other in known)} (`{{ {name} }}` stays as it is)",
                keys,
            )


# --- experiments and suites ------------------------------------------------------------------------


def read_suite(path: Path) -> Suite | None:
    """A file that names experiments as its `parts`; None for an experiment's."""
    file = tomlfile.read(path)
    if "parts" not in file.data:
        return None
    suite = decode(file, SuiteFile)
    for key, parts in (("parts", suite.parts), ("full", suite.full)):
        if path.stem in parts:
            raise file.error(f"`{path.stem}` is a part of itself", (key,))
        if len(set(parts)) != len(parts):
            raise file.error(f"an experiment is named twice in `{key}`", (key,))
    return Suite(path.stem, suite.title, suite.parts, suite.note, suite.full)


def read_experiment(path: Path) -> Experiment:
    """An experiment's file. Levels are checked against the workload later, by the plan."""
    file = tomlfile.read(path)
    if "parts" in file.data:
        message = "this is a suite, a list of experiments: name one of its `parts`"
        raise file.error(message, ("parts",))
    table = decode(file, ExperimentFile)
    contenders = table.contenders
    if len(set(contenders)) != len(contenders):
        raise file.error("a contender is named twice in `contenders`", ("contenders",))
    baseline = contenders[0] if table.baseline is None else table.baseline
    if baseline not in contenders:
        raise file.error(f"the baseline `{baseline}` is not one of the contenders", ("baseline",))
    until = _read(file, "until", table.until, goal)
    time_s = None if table.time is None else _read(file, "time", table.time, seconds)
    own_margin = DEFAULT_MARGIN if table.margin is None else _read(file, "margin", table.margin, margin)
    return Experiment(
        name=path.stem,
        title=table.title,
        note=table.note,
        workload=table.workload,
        contenders=contenders,
        factors=_levels(file, ("factors",), table.factors),
        baseline=baseline,
        blocks=table.blocks,
        published=table.published,
        limits=Limits(
            wall_s=table.limits.wall_s,
            memory_bytes=table.limits.memory_bytes,
            output_bytes=table.limits.output_bytes,
            processes=table.limits.processes,
        ),
        show=Show(
            metrics=table.show.metrics,
            sweep=table.show.sweep,
            ratios=_ratios(file, table.show.ratios, contenders),
        ),
        at=table.point,
        until=until if isinstance(until, float) else None,
        until_decided=until == "decided",
        time_s=time_s,
        margin=own_margin,
    )


def _read(file: TomlFile, key: str, text: str, read: Callable[[str], T]) -> T:
    try:
        return read(text)
    except ValueError as error:
        raise file.error(f"`{key}`: {error}", (key,)) from None


def _ratios(file: TomlFile, texts: Iterable[str], contenders: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Pairs written as `A/B`."""
    pairs = []
    for text in texts:
        numerator, slash, denominator = text.partition("/")
        if not slash or not {numerator, denominator} <= set(contenders):
            message = f"`{text}` is not of the form A/B with two of the contenders"
            raise file.error(message, ("show", "ratios"))
        pairs.append((numerator, denominator))
    return tuple(pairs)


def _levels(
    file: TomlFile, keys: tuple[Key, ...], factors: Mapping[str, Levels]
) -> dict[str, tuple[Level, ...]]:
    """The levels of each factor; one that stands by itself becomes a tuple."""
    levels = {name: value if isinstance(value, tuple) else (value,) for name, value in factors.items()}
    for name, values in levels.items():
        if len(set(values)) != len(values):
            raise file.error(f"a level of `{name}` is given twice", (*keys, name))
    return levels


# --- published figures -----------------------------------------------------------------------------


def read_published(
    path: Path, known: Workloads | None = None, contenders: Collection[str] | None = None
) -> Published:
    """Figures and claims of one source. `known`: the workloads that there are; `contenders`: the names of
    contenders; without them, names are not checked. Raises CatalogueError, also for a claim that nothing
    tests."""
    file = tomlfile.read(path)
    table = decode(file, PublishedFile)
    if known is not None:
        for index, figure in enumerate(table.figure):
            _check_figure(file, figure, known, contenders, ("figure", index))
        for index, claim in enumerate(table.claim):
            keys = ("claim", index)
            tests = _known_workload(file, claim.workload, known, (*keys, "workload")).claims
            if (name := f"{path.stem}/{claim.id}") not in tests:
                message = f"`{claim.workload}` has no test of the claim `{name}`; it has: {_names(tests)}"
                raise file.error(message, (*keys, "id"))
    return Published(
        name=path.stem,
        title=table.source.title,
        date=table.source.date,
        hardware=table.source.hardware,
        software=table.source.software,
        metric_note=table.source.metric_note,
        figures=tuple(figure for entry in table.figure for figure in _figures(entry)),
        claims=tuple(Claim(claim.text, claim.id, claim.workload) for claim in table.claim),
    )


def _check_figure(
    file: TomlFile,
    table: FigureTable,
    known: Workloads,
    contenders: Collection[str] | None,
    keys: tuple[Key, ...],
) -> None:
    """Workload, factors, contender, metric and unit must be known."""
    workload = _known_workload(file, table.workload, known, (*keys, "workload"))
    for factor in table.point:
        if factor not in workload.factors:
            unknown = _unknown(f"factor of `{table.workload}` called", factor, workload.factors)
            raise file.error(str(unknown), (*keys, "point", factor))
    name = table.contender.split("@")[0]
    if contenders is not None and not any(each == name or each.startswith(f"{name}-") for each in contenders):
        raise file.error(str(_unknown("contender", name, contenders)), (*keys, "contender"))
    for figure in _figures(table):
        if figure.metric not in workload.metrics:
            unknown = _unknown(f"metric of `{table.workload}` called", figure.metric, workload.metrics)
            raise file.error(str(unknown), (*keys, "metric"))
        own = workload.metrics[figure.metric]
        if table.unit is not None and table.unit != own:
            message = f"`{figure.metric}` is measured in {own or 'plain numbers'}, not in {table.unit}"
            raise file.error(f"{message}: convert the value", (*keys, "unit"))


def _names(known: Iterable[str]) -> str:
    return ", ".join(sorted(known)) or "none"


def _figures(table: FigureTable) -> list[Figure]:
    """One entry's figures: a value by itself, or one for each name (`{ p50 = 611, p90 = 790 }`), which
    then belongs to the metric's name (`latency_ms.p50`)."""
    values = (
        {f"{table.metric}.{name}": value for name, value in table.value.items()}
        if isinstance(table.value, dict)
        else {table.metric: table.value}
    )
    return [
        Figure(
            workload=table.workload,
            point=table.point,
            contender=table.contender,
            metric=metric,
            value=value,
            as_published=table.as_published,
        )
        for metric, value in values.items()
    ]
