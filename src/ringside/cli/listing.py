"""`ringside list`: the catalogue and the store."""

from collections.abc import Sequence

from ringside.catalogue.loader import Catalogue
from ringside.catalogue.releases import dated
from ringside.cli import context, streams
from ringside.errors import CatalogueError, NoStoreError, UsageError
from ringside.model.catalogue import Receipt
from ringside.render.text.cells import TableData, plain_table
from ringside.store import Store
from ringside.text import one_line
from ringside.workloads import WORKLOADS

# One long text would leave no room for the other columns.
_TITLE, _WORDS = 36, 20
_PROFILE = 1000


def listing(
    names: Sequence[str], outside: Sequence[str], kind: str | None = None, store: str | None = None
) -> int:
    """List everything of that kind, or the catalogue; for contenders with these names, their properties."""
    if names and kind != "contenders":
        raise UsageError(f"only contenders have names here: ringside list contenders {names[0]}")
    catalogue = context.catalogue(outside)
    if names:
        print("\n\n".join(profile(catalogue, name) for name in names))
        return 0
    tables = []
    if kind in (None, "workloads"):
        tables.append(workloads())
    if kind in (None, "contenders"):
        tables.append(contenders(catalogue))
    if kind in (None, "experiments"):
        tables.append(experiments(catalogue))
    if kind == "runs":
        try:
            tables.append(runs(context.open_store(store, create=False)))
        except NoStoreError as error:
            streams.say(str(error))
    context.show_tables(tables)
    return 0


def runs(storage: Store) -> TableData:
    rows = []
    for run in storage.summaries():
        title, state = one_line(run.title, 32), storage.state(run.id, run.ended_at)
        rows.append((run.id, run.experiment, title, str(state), run.suite))
    columns = ("run", "experiment", "title", "state", "suite")
    shown = 5 if any(run[4] for run in rows) else 4
    return plain_table("runs", columns[:shown], [run[:shown] for run in rows])


def workloads() -> TableData:
    """Workloads with their factors, then what programs may offer."""
    rows = []
    for workload in WORKLOADS.values():
        for index, factor in enumerate(workload.factors):
            levels = factor.choices or (f"{factor.least} … {factor.most:,}", *factor.words)
            texts = (str(factor.default), " | ".join(map(str, levels)), factor.explanation)
            rows.append(("" if index else workload.name, factor.name, *texts))
    rows += [
        (workload.name, capability.name, "", "offered or not", capability.explanation)
        for workload in WORKLOADS.values()
        for capability in workload.capabilities
    ]
    columns = ("workload", "factor, capability", "default", "levels", "meaning")
    return plain_table("workloads", columns, rows)


def contenders(catalogue: Catalogue) -> TableData:
    """One row for each contender with its properties."""
    listed, errors = catalogue.contenders()
    rows = [
        (
            *(each.name, one_line(each.title, _TITLE), each.kind, each.family),
            *(one_line(each.queue, _WORDS), one_line(each.scheduler, _WORDS), " ".join(each.workloads)),
        )
        for each in listed
    ]
    columns = ("contender", "title", "class", "family", "queue", "scheduler", "workloads")
    return plain_table("contenders", columns, rows, notes=context.left_out(errors))


def profile(catalogue: Catalogue, name: str) -> str:
    """A heading and five lines; of a folder, the versions of all its runtimes that are here."""
    contender, toolchain = catalogue.contender(name), context.toolchain()
    versions: dict[str, None] = {}
    for each in [contender] if "@" in name else catalogue.runtimes(name):
        receipt = toolchain.receipt(each.runtime)
        title = each.runtime.title or each.language
        if isinstance(receipt, Receipt):
            installed = toolchain.installed(each, receipt)
            version = installed.version if installed else "comes with its build"
            versions[f"{title} {dated(title, version)}"] = None
        elif not each.runtime.optional:
            versions[f"{title}: {receipt}"] = None
    variants = [each.name for each in catalogue.runtimes(name.partition("@")[0]) if each.name != name]
    classes = dict.fromkeys(map(contender.kind_in, contender.workloads))
    lines = {
        "family": f"{contender.family}: {contender.model}",
        "idiom": f"{contender.idiom or 'its own'} ({', '.join(classes)})",
        "versions": ", ".join(versions),
        "tuning": "; ".join(contender.tuning) or "none",
        "unequal": "; ".join(contender.unequal) or "nothing is known",
    }
    also = f"; also {', '.join(variants)}" if variants else ""
    head = f"{contender.name}: {contender.title} ({' '.join(contender.workloads)}){also}"
    return "\n".join([head, *(f"  {what:<9} {one_line(text, _PROFILE)}" for what, text in lines.items())])


def experiments(catalogue: Catalogue) -> TableData:
    """Experiments and suites."""
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
    columns = ("experiment", "workload", "blocks", "title")
    return plain_table("experiments", columns, rows, notes=context.left_out(errors))
