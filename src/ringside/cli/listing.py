"""`ringside list`: the catalogue and the store."""

from __future__ import annotations

from ringside.catalogue.loader import Catalogue
from ringside.cli import context
from ringside.render import terminal
from ringside.render.table import Entry, TableData
from ringside.workloads import WORKLOADS

KINDS = ("workloads", "contenders", "experiments", "runs")


def listing(kind: str | None, *, store: str | None = None) -> int:
    """Print one kind of thing, or all but the runs."""
    console = context.out()
    for index, one in enumerate([kind] if kind else KINDS[:3]):
        if index:
            console.print()
        terminal.render(_table(one, store), console)
    return 0


def _table(kind: str, store: str | None) -> TableData:
    catalogue = Catalogue()
    if kind == "workloads":
        columns: tuple[str, ...] = ("workload", "factor", "default", "levels", "meaning")
        rows: list[tuple[str, ...]] = [
            (
                workload.name if index == 0 else "",
                factor.name,
                str(factor.default),
                _levels(factor.choices, factor.least, factor.most),
                factor.explanation,
            )
            for workload in WORKLOADS.values()
            for index, factor in enumerate(workload.factors)
        ]
    elif kind == "contenders":
        columns = ("contender", "title", "queue", "scheduler", "workloads")
        rows = [
            (one.name, one.title, one.queue, one.scheduler, " ".join(one.workloads))
            for name in catalogue.contender_names()
            for one in catalogue.runtimes(name)
        ]
    elif kind == "experiments":
        columns = ("experiment", "workload", "blocks", "title")
        rows = [_experiment(catalogue, name) for name in catalogue.experiment_names()]
    else:
        columns = ("run", "experiment", "started", "state")
        rows = [
            (
                run.id,
                run.experiment,
                run.started_at[:19].replace("T", " "),
                "done" if run.ended_at else "cut off",
            )
            for run in context.open_store(store).runs()
        ]
    entries = tuple(tuple(Entry(text, "text") for text in row) for row in rows)
    return TableData(kind, columns, entries)


def _experiment(catalogue: Catalogue, name: str) -> tuple[str, ...]:
    if suite := catalogue.suite(name):
        return (name, "", "", f"{suite.title} ({', '.join(suite.parts)})")
    one = catalogue.experiment(name)
    return (name, one.workload, str(one.blocks), one.title)


def _levels(choices: tuple[object, ...], least: int, most: int) -> str:
    if choices:
        return " | ".join(map(str, choices))
    return f"{least} … {most:,}" if most else "1 … all"
