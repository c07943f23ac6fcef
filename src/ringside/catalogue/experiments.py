"""Experiments, suites, and the figures and claims that sources published, read into the model's types."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from msgspec.structs import asdict

from ringside.catalogue.contenders import (
    Workloads,
    check_factor,
    check_levels,
    known_workload,
    levels_of,
    unknown,
)
from ringside.catalogue.decode import Key, TomlFile, decode, read_toml
from ringside.catalogue.schema import (
    ExperimentFile,
    FigureTable,
    Levels,
    PublishedFile,
    QuestionFile,
    SuiteFile,
)
from ringside.errors import CatalogueError, UsageError
from ringside.model.catalogue import Claim, Contender, Figure, Published, Question, QuestionFigure
from ringside.model.claims import ClaimRow, Quantity
from ringside.model.design import DEFAULT_MARGIN, LEAST_S, Experiment, ExperimentLimits, Show, Suite
from ringside.text import one_line
from ringside.units import goal, margin, seconds

T = TypeVar("T")
_WORD = re.compile(r"[a-z][a-z-]{0,30}")

# Longer trials are long enough by themselves.
_MOST_LEAST_S = 10.0


@dataclass(frozen=True, slots=True)
class Known:
    """What an experiment may name. `contender`: raises UsageError for an unknown name or runtime,
    CatalogueError where the manifest is broken."""

    workloads: Workloads
    contender: Callable[[str], Contender]
    published: Callable[[], Collection[str]]


def read_suite(path: Path, experiments: Collection[str] | None = None) -> Suite | None:
    """A file that names experiments as its `parts`; None for an experiment's. `experiments`: the names that
    there are; without them they are not checked."""
    file = read_toml(path)
    if "parts" not in file.data:
        return None
    suite = decode(file, SuiteFile)
    for key, parts in (("parts", suite.parts), ("full", suite.full)):
        if path.stem in parts:
            raise file.error(f"`{path.stem}` is a part of itself", (key,))
        if len(set(parts)) != len(parts):
            raise file.error(f"an experiment is named twice in `{key}`", (key,))
        for index, part in enumerate(parts):
            if experiments is not None and part not in experiments:
                raise file.error(str(unknown("experiment", part, experiments)), (key, index))
    return Suite(path.stem, suite.title, suite.parts, suite.note, suite.full)


def read_experiment(path: Path, known: Known | None = None) -> Experiment:
    """An experiment's file. `known`: what it may name; without it names and levels are checked by the plan
    alone."""
    file = read_toml(path)
    if "parts" in file.data:
        message = "this is a suite, a list of experiments: name one of its `parts`"
        raise file.error(message, ("parts",))
    table = decode(file, ExperimentFile)
    contenders = table.contenders
    if known is not None:
        _check_names(file, table, known)
    if len(set(contenders)) != len(contenders):
        raise file.error("a contender is named twice in `contenders`", ("contenders",))
    baseline = contenders[0] if table.baseline is None else table.baseline
    if baseline not in contenders:
        raise file.error(f"the baseline `{baseline}` is not one of the contenders", ("baseline",))
    until = _read(file, "until", table.until, goal)
    time_s = None if table.time is None else _read(file, "time", table.time, seconds)
    least_s = LEAST_S if table.least is None else _read(file, "least", table.least, _least_seconds)
    own_margin = DEFAULT_MARGIN if table.margin is None else _read(file, "margin", table.margin, margin)
    return Experiment(
        name=path.stem,
        title=table.title,
        note=table.note,
        workload=table.workload,
        contenders=contenders,
        factors=levels_of(file, ("factors",), table.factors),
        baseline=baseline,
        blocks=table.blocks,
        published=table.published,
        limits=ExperimentLimits(**asdict(table.limits)),
        show=Show(table.show.metrics, table.show.sweep, _ratios(file, table.show.ratios, contenders)),
        at=table.point,
        until=until if isinstance(until, float) else None,
        until_decided=until == "decided",
        time_s=time_s,
        margin=own_margin,
        least_s=least_s,
    )


def _least_seconds(text: str) -> float:
    value = seconds(text)
    if not 0 < value <= _MOST_LEAST_S:
        raise ValueError(f"{one_line(text, 60)} is out of range: above 0, up to {_MOST_LEAST_S:g} s")
    return value


def _check_names(file: TomlFile, table: ExperimentFile, known: Known) -> None:
    """Workload, contenders, factors, levels, metrics and source must exist."""
    workload = known_workload(file, table.workload, known.workloads, ("workload",))
    for index, name in enumerate(table.contenders):
        _check_contender(file, name, index, table.workload, known)
    places: list[tuple[tuple[Key, ...], Mapping[str, Levels]]] = [
        (("factors",), table.factors),
        *((("point", index), point) for index, point in enumerate(table.point)),
    ]
    for keys, levels_by_factor in places:
        for factor, levels in levels_by_factor.items():
            check_factor(file, factor, table.workload, workload, (*keys, factor))
            check_levels(file, factor, levels, workload, (*keys, factor))
    for index, name in enumerate(table.show.metrics):
        if name not in workload.metrics:
            message = unknown(f"metric of `{table.workload}` called", name, workload.metrics)
            raise file.error(str(message), ("show", "metrics", index))
    if table.show.sweep is not None:
        check_factor(file, table.show.sweep, table.workload, workload, ("show", "sweep"))
    if table.published is not None and table.published not in (sources := known.published()):
        message = unknown("source of published figures", table.published, sources)
        raise file.error(str(message), ("published",))


def _check_contender(file: TomlFile, name: str, index: int, workload: str, known: Known) -> None:
    try:
        contender = known.contender(name)
    except CatalogueError:
        return  # A broken manifest is an error of its own, and disables its contender alone.
    except UsageError as error:
        raise file.error(str(error), ("contenders", index)) from None
    if workload not in contender.workloads:
        message = f"contender `{name}` takes no part in the workload `{workload}`"
        raise file.error(message, ("contenders", index))


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


def read_question(
    path: Path,
    known: Workloads,
    experiments: Collection[str],
    experiment_of: Callable[[str], Experiment | None],
) -> Question:
    """A question. `experiments`: the names that there are; `experiment_of`: the one of that name, None where
    it is a suite. Raises CatalogueError, also for a figure that its experiment does not give."""
    file = read_toml(path)
    table = decode(file, QuestionFile)
    for index, figure in enumerate(table.figure):
        _check_question_figure(file, figure, index, known, experiments, experiment_of)
    for index, word in enumerate(table.concerns):
        if not _WORD.fullmatch(word):
            raise file.error(f"`{word}` is not one word in lower case", ("concerns", index))
    return Question(
        path.stem,
        table.text,
        table.figure,
        table.holds.strip(),
        table.limits.strip(),
        table.concerns,
        table.order,
    )


def _check_question_figure(
    file: TomlFile,
    figure: QuestionFigure,
    index: int,
    known: Workloads,
    experiments: Collection[str],
    experiment_of: Callable[[str], Experiment | None],
) -> None:
    def error(message: object, *keys: Key) -> CatalogueError:
        return file.error(str(message), ("figure", index, *keys))

    if figure.experiment not in experiments:
        raise error(unknown("experiment", figure.experiment, experiments), "experiment")
    experiment = experiment_of(figure.experiment)
    if experiment is None:
        raise error(f"`{figure.experiment}` is a suite: name one of its parts", "experiment")
    name = experiment.workload
    workload = known_workload(file, name, known, ("figure", index, "experiment"))
    if figure.metric not in workload.metrics:
        raise error(unknown(f"metric of `{name}` called", figure.metric, workload.metrics), "metric")
    shown = experiment.show.metrics
    if shown and figure.metric not in shown:
        message = f"`{figure.experiment}` does not compare `{figure.metric}`: add it to its `show.metrics`"
        raise error(message, "metric")
    for key, levels in (("at", figure.at), ("over", figure.over)):
        for factor, level in levels.items():
            check_factor(file, factor, name, workload, ("figure", index, key, factor))
            check_levels(file, factor, level, workload, ("figure", index, key, factor))


def read_published(
    path: Path, known: Workloads | None = None, contenders: Collection[str] | None = None
) -> Published:
    """Figures and claims of one source. `known`: the workloads that there are; `contenders`: the names of
    contenders; without them, names are not checked. Raises CatalogueError, also for a claim that nothing
    tests, and for figures whose source is not named."""
    file = read_toml(path)
    table = decode(file, PublishedFile)
    if not (table.source.url or table.source.seed):
        message = "`source` must name where its figures come from: `url`, or `seed` for a text that was kept"
        raise file.error(message, ("source", "title"))
    if known is not None:
        for index, figure in enumerate(table.figure):
            _check_figure(file, figure, known, contenders, ("figure", index))
        for index, claim in enumerate(table.claim):
            keys = ("claim", index)
            known_workload(file, claim.workload, known, (*keys, "workload"))
            if not claim.test:
                raise file.error(f"the claim `{claim.id}` has no test: add `[claim.test]`", (*keys, "id"))
            _check_test(file, claim.test, claim.workload, known, (*keys, "test"))
    return Published(
        name=path.stem,
        title=table.source.title,
        date=table.source.date,
        hardware=table.source.hardware,
        software=table.source.software,
        metric_note=table.source.metric_note,
        figures=tuple(figure for entry in table.figure for figure in _figures(entry)),
        claims=tuple(Claim(claim.text, claim.id, claim.workload, claim.test) for claim in table.claim),
    )


def _check_figure(
    file: TomlFile,
    table: FigureTable,
    known: Workloads,
    contenders: Collection[str] | None,
    keys: tuple[Key, ...],
) -> None:
    """Workload, factors, contender, metric and unit must be known."""
    workload = known_workload(file, table.workload, known, (*keys, "workload"))
    for factor in table.point:
        check_factor(file, factor, table.workload, workload, (*keys, "point", factor))
    name = table.contender.split("@")[0]
    if contenders is not None and not any(each == name or each.startswith(f"{name}-") for each in contenders):
        raise file.error(str(unknown("contender", name, contenders)), (*keys, "contender"))
    for figure in _figures(table):
        if figure.metric not in workload.metrics:
            error = unknown(f"metric of `{table.workload}` called", figure.metric, workload.metrics)
            raise file.error(str(error), (*keys, "metric"))
        own = workload.metrics[figure.metric]
        if table.unit is not None and table.unit != own:
            message = f"`{figure.metric}` is measured in {own or 'plain numbers'}, not in {table.unit}"
            raise file.error(f"{message}: convert the value", (*keys, "unit"))


def _check_test(file: TomlFile, row: ClaimRow, name: str, known: Workloads, keys: tuple[Key, ...]) -> None:
    """Metrics and factors of all quantities must be known."""
    terms = [
        term for side in (row.over, row.under) for term in (side if isinstance(side, tuple) else (side,))
    ]
    quantities = [term for term in terms if not isinstance(term, str)]
    own = Quantity("", metric=row.metric, at=row.at | row.own)
    for quantity in (own, *quantities, *(Quantity("", at=place.at) for place in (*row.apart, *row.between))):
        of = quantity.workload or name
        workload = known_workload(file, of, known, keys)
        if quantity.metric and quantity.metric not in workload.metrics:
            raise file.error(
                str(unknown(f"metric of `{of}` called", quantity.metric, workload.metrics)), keys
            )
        for factors in quantity.at:
            for factor in factors.split("*"):
                check_factor(file, factor, of, workload, keys)


def _figures(table: FigureTable) -> list[Figure]:
    """One entry's figures: a value by itself, or one for each name (`{ p50 = 611, p90 = 790 }`), which
    then belongs to the metric's name (`latency_s.p50`)."""
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
