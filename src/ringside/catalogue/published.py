"""Figures and claims of a source, read into the model's types."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from ringside.catalogue import tomlfile
from ringside.catalogue.decode import decode
from ringside.catalogue.names import Workloads, check_factor, known_workload, unknown
from ringside.catalogue.schema import FigureTable, PublishedFile
from ringside.catalogue.tomlfile import Key, TomlFile
from ringside.model.catalogue import Claim, Figure, Published


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
            tests = known_workload(file, claim.workload, known, (*keys, "workload")).claims
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
