"""`ringside list`: the catalogue and the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ringside.cli import params, streams
from ringside.cli.options import takes
from ringside.errors import CatalogueError, NoStoreError, UsageError
from ringside.text import one_line

if TYPE_CHECKING:
    from ringside.catalogue.loader import Catalogue
    from ringside.render.text.cells import TableData

# One long text would leave no room for the other columns.
_TITLE, _WORDS = 36, 20
_PROFILE = 1000


@click.command("list")
@click.argument("kind", required=False, type=click.Choice(("workloads", "contenders", "experiments", "runs")))
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

    if names and kind != "contenders":
        raise UsageError(f"only contenders have names here: ringside list contenders {names[0]}")
    catalogue = context.catalogue(outside)
    if names:
        print("\n\n".join("\n".join(_profile(catalogue, name)) for name in names))
        return 0
    tables = []
    if kind in (None, "workloads"):
        tables.append(_workloads())
    if kind in (None, "contenders"):
        tables.append(_contenders(catalogue))
    if kind in (None, "experiments"):
        tables.append(_experiments(catalogue))
    if kind == "runs":
        try:
            tables.append(_runs(store))
        except NoStoreError as error:
            streams.say(str(error))
    console = context.stdout_console()
    for index, table in enumerate(tables):
        if index:
            console.print()
        terminal.render(table, console)
    return 0


def _runs(store: str | None) -> TableData:
    from ringside.cli import context

    storage = context.open_store(store, create=False)
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
    return context.table("runs", columns[:shown], [run[:shown] for run in rows])


def _workloads() -> TableData:
    from ringside.cli import context
    from ringside.workloads import WORKLOADS

    rows = []
    for workload in WORKLOADS.values():
        for index, factor in enumerate(workload.factors):
            levels = f"{factor.least} … {factor.most:,}" if factor.most else "1 … all"
            if factor.choices:
                levels = " | ".join(map(str, factor.choices))
            name = "" if index else workload.name
            rows.append((name, factor.name, str(factor.default), levels, factor.explanation))
    rows += [
        (workload.name, capability.name, "", "capability", capability.explanation)
        for workload in WORKLOADS.values()
        for capability in workload.capabilities
    ]
    return context.table("workloads", ("workload", "factor", "default", "levels", "meaning"), rows)


def _contenders(catalogue: Catalogue) -> TableData:
    from ringside.cli import context

    contenders, errors = catalogue.contenders()
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
    return context.table("contenders", columns, rows, errors)


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


def _experiments(catalogue: Catalogue) -> TableData:
    from ringside.cli import context

    rows: list[tuple[str, ...]] = []
    errors: dict[str, CatalogueError] = {}
    for name in catalogue.experiment_names():
        try:
            if suite := catalogue.suite(name):
                rows.append((name, "", "", f"{suite.title} ({', '.join(suite.experiments)})"))
            else:
                experiment = catalogue.experiment(name)
                rows.append((name, experiment.workload, str(experiment.blocks), experiment.title))
        except CatalogueError as error:
            errors[name] = error
    return context.table("experiments", ("experiment", "workload", "blocks", "title"), rows, errors)
