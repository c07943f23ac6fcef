"""`ringside list`: the catalogue and the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from ringside.cli import params, streams
from ringside.cli.options import takes
from ringside.errors import CatalogueError, NoStoreError, UsageError
from ringside.text import one_line

if TYPE_CHECKING:
    from rich.console import Console

    from ringside.catalogue.loader import Catalogue
    from ringside.render.text.cells import TableData

# One long text would leave no room for the other columns.
_TITLE, _WORDS = 36, 20
_PROFILE = 1000
KINDS = ("workloads", "contenders", "experiments", "runs")


@click.command("list")
@click.argument("kind", required=False, type=click.Choice(KINDS))
@click.argument("names", nargs=-1, metavar="[CONTENDER]...")
@takes()
def listing(
    kind: str | None,
    names: Sequence[str] = (),
    *,
    outside: Sequence[str] = params.OUTSIDE,
    store: str | None = params.STORE,
) -> int:
    """List workloads, contenders and experiments of the catalogue, or runs of the store.

    `list contenders NAME` says of a contender what it is: its family, where its idiom comes from, the
    versions that are here, its tuning, and what is unequal.
    """
    from ringside.cli import context
    from ringside.render.text import terminal

    if names:
        if kind != "contenders":
            raise UsageError(f"only contenders have names here: ringside list contenders {names[0]}")
        for index, name in enumerate(names):
            print(("\n" if index else "") + "\n".join(_profile(context.catalogue(outside), name)))
        return 0
    console = context.stdout_console()
    if kind == "runs":
        return _runs(store, console)
    tables: dict[str, Callable[[], TableData]] = {
        "workloads": _workloads,
        "contenders": partial(_contenders, outside),
        "experiments": _experiments,
    }
    for index, name in enumerate([kind] if kind else tables):
        if index:
            console.print()
        terminal.render(tables[name](), console)
    return 0


def _runs(store: str | None, console: Console) -> int:
    from ringside.cli import context
    from ringside.render.text import terminal

    try:
        storage = context.open_store(store, create=False)
    except NoStoreError as error:
        streams.say(str(error))
        return 0
    rows = [
        (
            run.id,
            run.experiment,
            run.started_at[:19].replace("T", " "),
            str(storage.state(run.id, run.ended_at)),
            run.suite,
        )
        for run in storage.summaries()
    ]
    columns = ("run", "experiment", "started", "state", "suite")
    shown = 5 if any(run[4] for run in rows) else 4
    terminal.render(_table("runs", columns[:shown], [run[:shown] for run in rows]), console)
    return 0


def _workloads() -> TableData:
    from ringside.workloads import WORKLOADS

    rows = [
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
    rows += [
        (workload.name, capability.name, "", "capability", capability.explanation)
        for workload in WORKLOADS.values()
        for capability in workload.capabilities
    ]
    return _table("workloads", ("workload", "factor", "default", "levels", "meaning"), rows)


def _contenders(outside: Sequence[str]) -> TableData:
    from ringside.cli import context

    contenders, errors = context.catalogue(outside).contenders()
    rows = [
        (
            contender.name,
            one_line(contender.title, _TITLE),
            contender.kind,
            contender.family,
            one_line(contender.queue, _WORDS),
            one_line(contender.scheduler, _WORDS),
            " ".join(contender.workloads),
        )
        for contender in contenders
    ]
    columns = ("contender", "title", "class", "family", "queue", "scheduler", "workloads")
    return _table("contenders", columns, rows, errors)


def _profile(catalogue: Catalogue, name: str) -> list[str]:
    """A heading and five lines; of a folder, the versions of all its runtimes that are here."""
    from ringside.catalogue.releases import age
    from ringside.cli import context
    from ringside.model.catalogue import Receipt

    contender, toolchain = catalogue.contender(name), context.toolchain()
    versions: dict[str, None] = {}
    for each in [contender] if "@" in name else catalogue.runtimes(name):
        receipt = toolchain.receipt(each.runtime)
        title = each.runtime.title or each.language
        if isinstance(receipt, Receipt):
            installed = toolchain.installed(each, receipt)
            version = installed.version if installed else "comes with its build"
            year = age(title, version)
            versions[f"{title} {version}" + (f" ({year})" if year else "")] = None
        elif not each.runtime.optional:
            versions[f"{title}: {receipt}"] = None
    variants = [each.name for each in catalogue.runtimes(name.partition("@")[0]) if each.name != name]
    classes = dict.fromkeys(entry.kind for entry in contender.workloads.values())
    lines = {
        "family": f"{contender.family}: {contender.model}",
        "idiom": f"{contender.idiom or 'its own'} ({', '.join(classes)})",
        "versions": ", ".join(versions),
        "tuning": "; ".join(contender.tuning) or "none",
        "unequal": "; ".join(contender.unequal) or "nothing is known",
    }
    also = f"; also {', '.join(variants)}" if variants else ""
    head = f"{contender.name}: {contender.title} ({' '.join(contender.workloads)}){also}"
    return [head, *(f"  {what:<9} {one_line(text, _PROFILE)}" for what, text in lines.items())]


def _experiments() -> TableData:
    from ringside.cli import context

    catalogue = context.catalogue()
    rows: list[tuple[str, ...]] = []
    errors: dict[str, CatalogueError] = {}
    for name in catalogue.experiment_names():
        try:
            rows.append(_experiment(catalogue, name))
        except CatalogueError as error:
            errors[name] = error
    return _table("experiments", ("experiment", "workload", "blocks", "title"), rows, errors)


def _experiment(catalogue: Catalogue, name: str) -> tuple[str, ...]:
    if suite := catalogue.suite(name):
        return (name, "", "", f"{suite.title} ({', '.join(suite.experiments)})")
    experiment = catalogue.experiment(name)
    return (name, experiment.workload, str(experiment.blocks), experiment.title)


def _table(
    title: str,
    columns: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    errors: Mapping[str, CatalogueError] = MappingProxyType({}),
) -> TableData:
    """The rows, and below them a line for each file that cannot be read."""
    from ringside.render.text.cells import TableCell, TableData

    entries = tuple(tuple(TableCell(text, "text") for text in row) for row in rows)
    return TableData(title, columns, entries, notes=left_out(errors))


def left_out(errors: Mapping[str, CatalogueError]) -> tuple[str, ...]:
    """A line for each file that cannot be read: what it disables, and why."""
    return tuple(f"{name} is left out: {error}" for name, error in errors.items())


def _levels(choices: tuple[object, ...], least: int, most: int) -> str:
    if choices:
        return " | ".join(map(str, choices))
    return f"{least} … {most:,}" if most else "1 … all"
