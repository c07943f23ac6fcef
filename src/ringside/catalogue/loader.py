"""Finds contenders, experiments and published figures, and reads them into the model's types.

The catalogue that travels with ringside comes first; folders `contenders/`, `experiments/` and
`published/` of the working directory, and those named in RINGSIDE_CATALOGUE (separated by `:`), add to it.
"""

from __future__ import annotations

import difflib
import math
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ringside.catalogue import tomlfile
from ringside.catalogue.tomlfile import Table
from ringside.errors import CatalogueError, UsageError
from ringside.model.catalogue import Claim, Contender, Entry, Figure, Published, Runtime
from ringside.model.design import Experiment, Level, Limits, Show, Suite

NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


def roots() -> list[Path]:
    """The folders that hold a catalogue, those of ringside itself first."""
    packaged = Path(__file__).resolve().parents[1] / "bundled"
    own = packaged if packaged.is_dir() else Path(__file__).resolve().parents[3]
    named = [Path(part) for part in os.environ.get("RINGSIDE_CATALOGUE", "").split(":") if part]
    for folder in named:
        if not folder.is_dir():
            raise UsageError(f"RINGSIDE_CATALOGUE names {folder}, which is no folder: mend or unset it")
    found: list[Path] = []
    for folder in [own, *named, Path.cwd()]:
        if folder.resolve() not in found:
            found.append(folder.resolve())
    return found


class Catalogue:
    """All that can be run. Files are read when they are asked for, so a broken one hurts only its users."""

    def __init__(self, folders: Iterable[Path] | None = None) -> None:
        self.folders = list(folders) if folders is not None else roots()

    def contender_names(self) -> list[str]:
        """Names of the folders that hold a `contender.toml`, sorted."""
        return sorted(self._files("contenders", "*/contender.toml", lambda file: file.parent.name))

    def experiment_names(self) -> list[str]:
        return sorted(self._files("experiments", "*.toml", lambda file: file.stem))

    def contender(self, name: str) -> Contender:
        """The contender `name` or `name@runtime`. Raises UsageError for an unknown one."""
        folder, _, runtime = name.partition("@")
        files = self._files("contenders", "*/contender.toml", lambda file: file.parent.name)
        if folder not in files:
            raise unknown("contender", folder, files)
        runtimes = read_contender(files[folder])
        if not runtime:
            return next(iter(runtimes.values()))
        if name not in runtimes:
            raise UsageError(
                f"contender `{folder}` has no runtime `{runtime}`; it has: {', '.join(runtimes)}"
            )
        return runtimes[name]

    def runtimes(self, folder: str) -> list[Contender]:
        """The contender of a folder on each of its runtimes, the first runtime's first."""
        files = self._files("contenders", "*/contender.toml", lambda file: file.parent.name)
        return list(read_contender(files[folder]).values())

    def experiment(self, name: str) -> Experiment:
        """The experiment `name`, or the one in the file of that path."""
        if name.endswith(".toml") or "/" in name:
            if not Path(name).is_file():
                raise UsageError(f"there is no experiment file {name}")
            return read_experiment(Path(name))
        files = self._files("experiments", "*.toml", lambda file: file.stem)
        if name not in files:
            raise unknown("experiment", name, files)
        return read_experiment(files[name])

    def suite(self, name: str) -> Suite | None:
        """The suite of that name or path, None where it is an experiment."""
        path = Path(name) if name.endswith(".toml") or "/" in name else None
        file = path or self._files("experiments", "*.toml", lambda file: file.stem).get(name)
        return read_suite(file) if file and file.is_file() else None

    def published(self, name: str) -> Published:
        files = self._files("published", "*.toml", lambda file: file.stem)
        if name not in files:
            raise unknown("source of published figures", name, files)
        return read_published(files[name])

    def _files(self, kind: str, pattern: str, name: Any) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for root in self.folders:
            for file in sorted((root / kind).glob(pattern)):
                found.setdefault(name(file), file)
        return found


def unknown(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """The error for a name that is not known, with the nearest ones."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names) or 'none'}"
    return UsageError(f"there is no {kind} `{name}`; {hint}")


def read_contender(file: Path) -> dict[str, Contender]:
    """A manifest: the contender on each of its runtimes, by name. The first runtime has the bare name."""
    top = tomlfile.read(file)
    folder = file.parent
    if not NAME.fullmatch(folder.name):
        raise CatalogueError(f"{file}: the folder's name may hold a-z, 0-9, `.`, `_` and `-` only")
    title, model, queue = (top.get(key, str) for key in ("title", "model", "queue"))
    language = top.get("language", str, "")
    scheduler = top.get("scheduler", str, "")
    parallel = top.get("parallel", bool, False)
    builds = []
    for table in top.tables("build"):
        builds.append(table.texts("command", required=True))
        table.done()
    workloads = {}
    entries = top.table("workload")
    for name in entries.names():
        entry = entries.table(name)
        most, only = entry.table("most"), entry.table("only")
        workloads[name] = Entry(
            command=entry.texts("command", required=True),
            most={factor: most.get(factor, int) for factor in most.names()},
            only=_factors(only),
        )
        entry.done()
    runtimes = [_runtime(top.table("runtime").table(name), name) for name in top.table("runtime").names()]
    if not runtimes:
        raise top.error(None, "`[runtime.NAME]` is missing: a contender needs one")
    if not workloads:
        raise top.error(None, "`[workload.NAME]` is missing: a contender takes part in one at least")
    top.done()
    contenders = [
        Contender(
            name=folder.name if index == 0 else f"{folder.name}@{runtime.name}",
            folder=folder.resolve(),
            title=title,
            model=model,
            queue=queue,
            language=language,
            scheduler=scheduler,
            parallel=parallel,
            runtime=runtime,
            builds=tuple(builds),
            workloads=workloads,
        )
        for index, runtime in enumerate(runtimes)
    ]
    return {contender.name: contender for contender in contenders}


def _runtime(table: Table, name: str) -> Runtime:
    install = table.table("install")
    runtime = Runtime(
        name=name,
        executable=table.texts("executable", required=True),
        version=table.texts("version", required=True),
        minimum=table.maybe("minimum", str),
        locate=table.texts("locate"),
        install={system: install.texts(system) for system in install.names()},
        title=table.get("title", str, ""),
    )
    table.done()
    return runtime


def read_suite(file: Path) -> Suite | None:
    """A file that names experiments as its `parts`; None for an experiment's."""
    top = tomlfile.read(file)
    if not top.has("parts"):
        return None
    suite = Suite(
        file.stem, top.get("title", str), top.texts("parts", required=True), top.get("note", str, "")
    )
    if file.stem in suite.parts:
        raise top.error("parts", f"`{file.stem}` is a part of itself")
    top.done()
    return suite


def share(text: str) -> float:
    """`2%` or `0.5 %` as 0.02 or 0.005. Raises ValueError with what is wrong."""
    number, percent, rest = text.strip().partition("%")
    try:
        found = float(number) / 100
    except ValueError:
        found = math.nan
    if not percent or rest or not 0 < found <= 1:
        raise ValueError(f"write {text!r} as a share from 0 to 100 %, like 2%")
    return found


def read_experiment(file: Path) -> Experiment:
    """An experiment's file. Levels are checked against the workload later, by the plan."""
    top = tomlfile.read(file)
    if top.has("parts"):
        raise top.error("parts", "this is a suite, a list of experiments: name one of its `parts`")
    contenders = top.texts("contenders", required=True)
    if len(set(contenders)) != len(contenders):
        raise top.error("contenders", "a contender is named twice in `contenders`")
    baseline = top.get("baseline", str, contenders[0])
    if baseline not in contenders:
        raise top.error("baseline", f"the baseline `{baseline}` is not one of the contenders")
    blocks = top.get("blocks", int, 7)
    if not 1 <= blocks <= 10_000:
        raise top.error("blocks", f"`blocks` must be 1 to 10000, not {blocks}")
    until = top.maybe("until", str)
    try:
        narrow = None if until is None else share(until)
    except ValueError as error:
        raise top.error("until", f"`until`: {error}") from None
    limits, show = top.table("limits"), top.table("show")
    experiment = Experiment(
        name=file.stem,
        title=top.get("title", str),
        note=top.get("note", str, ""),
        workload=top.get("workload", str),
        contenders=contenders,
        factors=_factors(top.table("factors")),
        baseline=baseline,
        blocks=blocks,
        published=top.maybe("published", str),
        limits=Limits(
            wall_s=_positive(limits, "wall_s", 300.0),
            memory_bytes=limits.maybe("memory_bytes", int),
            output_bytes=limits.maybe("output_bytes", int),
            processes=int(_positive(limits, "processes", 1024)),
        ),
        show=Show(
            metrics=show.texts("metrics"),
            sweep=show.maybe("sweep", str),
            ratios=_ratios(show, contenders),
        ),
        at=tuple(_at(table) for table in top.tables("point")),
        until=narrow,
    )
    for table in (limits, show, top):
        table.done()
    return experiment


def _ratios(table: Table, contenders: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Pairs written as `A/B`."""
    pairs = []
    for text in table.texts("ratios"):
        numerator, slash, denominator = text.partition("/")
        if not slash or not {numerator, denominator} <= set(contenders):
            raise table.error("ratios", f"`{text}` is not of the form A/B with two of the contenders")
        pairs.append((numerator, denominator))
    return tuple(pairs)


def _positive(table: Table, key: str, default: float) -> float:
    value = table.get(key, float, default)
    if not value > 0:
        raise table.error(key, f"`{key}` must be more than 0, not {value:g}")
    return value


def _factors(table: Table) -> dict[str, tuple[Level, ...]]:
    factors: dict[str, tuple[Level, ...]] = {}
    for factor in table.names():
        raw = table.raw(factor)
        levels = raw if isinstance(raw, list) else [raw]
        if not levels or any(isinstance(level, bool) or not isinstance(level, int | str) for level in levels):
            raise table.error(factor, f"the levels of `{factor}` must be whole numbers or text")
        if len(set(levels)) != len(levels):
            raise table.error(factor, f"a level of `{factor}` is given twice")
        factors[factor] = tuple(levels)
    return factors


def _at(table: Table) -> dict[str, Level]:
    levels = _factors(table)
    for factor, given in levels.items():
        if len(given) != 1:
            raise table.error(factor, f"`{factor}` has one level in a [[point]]; [factors] takes lists")
    return {factor: given[0] for factor, given in levels.items()}


def read_published(file: Path) -> Published:
    """Figures and claims of one source."""
    top = tomlfile.read(file)
    source = top.table("source")
    figures = [figure for table in top.tables("figure") for figure in _figures(table)]
    claims = tuple(Claim(table.get("text", str), table.get("test", str)) for table in top.tables("claim"))
    return Published(
        name=file.stem,
        title=source.get("title", str),
        date=source.get("date", str),
        hardware=source.get("hardware", str, ""),
        software=_texts(source.raw("software")) if source.has("software") else {},
        metric_note=source.get("metric_note", str, ""),
        figures=tuple(figures),
        claims=claims,
    )


def _figures(table: Table) -> list[Figure]:
    """One entry's figures: a value by itself, or one for each name (`{ p50 = 611, p90 = 790 }`), which
    then belongs to the metric's name (`latency_ms.p50`)."""
    value = table.raw("value") if table.has("value") else None
    metric = table.get("metric", str)
    named = {f"{metric}.{key}": item for key, item in value.items()} if isinstance(value, dict) else None
    return [
        Figure(
            workload=table.get("workload", str),
            point=_point(table),
            contender=table.get("contender", str),
            metric=name,
            value=float(item),
            as_published=table.maybe("as_published", str),
        )
        for name, item in (named or {metric: table.get("value", float)}).items()
    ]


def _point(table: Table) -> dict[str, Level]:
    return {str(key): value for key, value in table.get("point", dict, {}).items()}


def _texts(raw: Mapping[str, Any]) -> dict[str, str]:
    return {str(key): str(value) for key, value in raw.items()}
