"""Experiments, suites, questions, and the figures and claims that sources published."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TypeVar

from ringside.catalogue.contenders import check_levels, check_part, find_workload, values
from ringside.catalogue.decode import Key, TomlFile, decode, read_toml
from ringside.errors import CatalogueError, UsageError
from ringside.model import catalogue, design
from ringside.model.claims import ClaimRow, Quantity
from ringside.units import margin, seconds

T = TypeVar("T")

# The key of a `[[point]]` that is no factor.
NAME = "name"
# Keys whose values are taken over as they are: of a source, of an experiment.
_OF_SOURCE = ("title", "date", "hardware", "software", "metric_note")
_SAME = ("title", "note", "workload", "contenders", "blocks", "published", "limits")
# Longer trials are long enough by themselves.
_MOST_LEAST_S = 10.0


def read_suite(path: Path, experiments: Collection[str] | None = None) -> design.Suite | None:
    """A file with `parts`, or None for an experiment's. `experiments`: the known names, if to be checked."""
    file = read_toml(path)
    if "parts" not in file.data:
        return None
    suite = decode(file, design.Suite)
    for key, parts in (("parts", suite.experiments), ("full", suite.full)):
        for index, part in enumerate(parts):
            if part == path.stem:
                raise file.error(f"`{part}` is a part of itself", key)
            if experiments is not None:
                file.check_known("experiment", part, experiments, key, index)
    return suite


def read_experiment(
    path: Path,
    contender: Callable[[str], catalogue.Contender] | None = None,
    published: Callable[[], Collection[str]] = lambda: (),
) -> design.Experiment:
    """An experiment's file. `contender` finds one or raises UsageError, CatalogueError; `published`: the
    known sources. Without them, names are not checked."""
    file = read_toml(path)
    if "parts" in file.data:
        raise file.error("this is a suite, a list of experiments: name one of its `parts`", "parts")
    table = decode(file, design.ExperimentFile)
    at = [{factor: level for factor, level in own.items() if factor != NAME} for own in table.at]
    _check_workload(file, table, at)
    if contender:
        _check_contenders(file, table, contender)
        if table.published is not None:
            file.check_known("source of published figures", table.published, published(), "published")
    least_s = _read(file, "least", table.least, seconds, design.LEAST_S)
    if not 0 < least_s <= _MOST_LEAST_S:
        raise file.error(f"`least` is out of range: above 0, up to {_MOST_LEAST_S:g} s", "least")
    ratios = tuple((over, under) for over, _, under in (each.partition("/") for each in table.show.ratios))
    return design.Experiment(
        **{key: getattr(table, key) for key in _SAME},
        name=path.stem,
        factors={factor: design.as_tuple(levels) for factor, levels in table.factors.items()},
        baseline=table.baseline or table.contenders[0],
        show=design.Show(table.show.metrics, table.show.sweep, ratios),
        at=tuple(at),
        names=tuple(str(own.get(NAME, "")) for own in table.at if any(NAME in each for each in table.at)),
        until_decided=table.until == "decided",
        time_s=_read(file, "time", table.time, seconds, None),
        margin=_read(file, "margin", table.margin, margin, design.DEFAULT_MARGIN),
        least_s=least_s,
    )


def _read(file: TomlFile, key: str, text: str | None, read: Callable[[str], float], default: T) -> float | T:
    """The value that a text stands for; the default where the key is left out."""
    try:
        return default if text is None else read(text)
    except ValueError as error:
        raise file.error(f"`{key}`: {error}", key) from None


def _check_workload(file: TomlFile, table: design.ExperimentFile, at: list[dict[str, design.Level]]) -> None:
    """Workload, factors, levels and metrics must exist."""
    workload = find_workload(file, table.workload, "workload")
    check_levels(file, workload, table.factors, "factors")
    for index, levels in enumerate(at):
        check_levels(file, workload, levels, "point", index)
    for metric in table.show.metrics:
        check_part(file, workload, "metric", metric, "show", "metrics")
    if table.show.sweep is not None:
        check_part(file, workload, "factor", table.show.sweep, "show", "sweep")


def _check_contenders(
    file: TomlFile, table: design.ExperimentFile, find: Callable[[str], catalogue.Contender]
) -> None:
    for index, name in enumerate(table.contenders):
        try:
            takes_part = table.workload in find(name).workloads
        except CatalogueError:
            continue  # A broken manifest is an error of its own, and disables its contender alone.
        except UsageError as error:
            raise file.error(error, "contenders", index) from None
        if not takes_part:
            message = f"contender `{name}` takes no part in the workload `{table.workload}`"
            raise file.error(message, "contenders", index)


def read_question(
    path: Path, experiments: Collection[str], experiment_of: Callable[[str], design.Experiment | None]
) -> catalogue.Question:
    """A question; `experiment_of` finds an experiment, None for a suite. Raises CatalogueError."""
    file = read_toml(path)
    table = decode(file, catalogue.QuestionFile)
    for index, figure in enumerate(table.figures):
        keys, name, metric = ("figure", index), figure.experiment, figure.metric
        file.check_known("experiment", name, experiments, *keys, "experiment")
        experiment = experiment_of(name)
        if experiment is None:
            raise file.error(f"`{name}` is a suite: name one of its parts", *keys, "experiment")
        workload = find_workload(file, experiment.workload, *keys)
        check_part(file, workload, "metric", metric, *keys, "metric")
        if experiment.show.metrics and metric not in experiment.show.metrics:
            message = f"`{name}` does not compare `{metric}`: add it to its `show.metrics`"
            raise file.error(message, *keys, "metric")
        check_levels(file, workload, figure.at, *keys, "at")
        check_levels(file, workload, figure.over, *keys, "over")
    return catalogue.Question(name=path.stem, **values(catalogue.QuestionFile, table))


def read_published(path: Path, contenders: Collection[str] | None = None) -> catalogue.Published:
    """Figures and claims of one source, with known `contenders` if given. Raises CatalogueError."""
    file = read_toml(path)
    table = decode(file, catalogue.PublishedFile)
    for index, entry in enumerate(table.figure):
        _check_figure(file, entry, contenders, "figure", index)
    for index, claim in enumerate(table.claim):
        find_workload(file, claim.workload, "claim", index, "workload")
        _check_test(file, claim.test, claim.workload, "claim", index, "test")
    return catalogue.Published(
        name=path.stem,
        **{key: getattr(table.source, key) for key in _OF_SOURCE},
        figures=tuple(figure for entry in table.figure for figure in _figures(entry)),
        claims=table.claim,
    )


def _figures(table: catalogue.FigureTable) -> list[catalogue.Figure]:
    """An entry's figures: one value, or one per name (`{ p50 = 611 }`), which ends the metric's name."""
    shared = values(catalogue.FigureKeys, table)
    if isinstance(table.value, float):
        return [catalogue.Figure(**shared, value=table.value)]
    return [
        catalogue.Figure(**shared | {"metric": f"{table.metric}.{name}"}, value=value)
        for name, value in table.value.items()
    ]


def _check_figure(
    file: TomlFile, table: catalogue.FigureTable, contenders: Collection[str] | None, *keys: Key
) -> None:
    """Workload, factors, contender, metric and unit must be known."""
    workload = find_workload(file, table.workload, *keys, "workload")
    for factor in table.point:
        check_part(file, workload, "factor", factor, *keys, "point", factor)
    name = table.contender.split("@")[0]
    if contenders is not None and not any(f"{each}-".startswith(f"{name}-") for each in contenders):
        file.check_known("contender", name, contenders, *keys, "contender")
    for figure in _figures(table):
        check_part(file, workload, "metric", figure.metric, *keys, "metric")
        own = workload.metric(figure.metric).unit
        if table.unit not in (None, own):
            measured = f"`{figure.metric}` is measured in {own or 'plain numbers'}"
            raise file.error(f"{measured}, not in {table.unit}: convert the value", *keys, "unit")


def _check_test(file: TomlFile, row: ClaimRow, name: str, *keys: Key) -> None:
    """Metrics and factors of all quantities must be known."""
    sides = (side if isinstance(side, tuple) else (side,) for side in (row.over, row.under))
    quantities = [Quantity("", metric=row.metric, at=row.at | row.own)]
    quantities += [term for side in sides for term in side if isinstance(term, Quantity)]
    quantities += [Quantity("", at=place.at) for place in (*row.apart, *row.between)]
    for quantity in quantities:
        workload = find_workload(file, quantity.workload or name, *keys)
        if quantity.metric:
            check_part(file, workload, "metric", quantity.metric, *keys)
        for factor in (each for factors in quantity.at for each in factors.split("*")):
            check_part(file, workload, "factor", factor, *keys)
