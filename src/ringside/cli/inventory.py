"""The tables of `ringside list` and `ringside doctor`: the catalogue, the store and this machine."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ringside.catalogue.loader import Catalogue
from ringside.catalogue.releases import age
from ringside.cli import context
from ringside.errors import CatalogueError, ProbeError
from ringside.measure import host
from ringside.measure.host import Executor
from ringside.measure.toolchain.builds import Toolchain
from ringside.measure.toolchain.receipts import remedy
from ringside.model.catalogue import Contender, Receipt, Runtime
from ringside.render.text import terminal, words
from ringside.render.text.cells import TableCell, TableData, plain_table
from ringside.store import Store
from ringside.text import one_line
from ringside.units import quantity
from ringside.workloads import WORKLOADS

Row = tuple[str | TableCell, ...]

# One long text would leave no room for the other columns.
_TITLE, _WORDS = 36, 20
_PROFILE = 1000
# How long the machine is watched for its noise.
_WATCH_S = 1.0


def show(tables: Iterable[TableData]) -> None:
    """Print tables, an empty line between."""
    console = context.stdout_console()
    for index, table in enumerate(tables):
        if index:
            console.print()
        terminal.render(table, console)


def _left_out(errors: Mapping[str, object]) -> list[str]:
    """A note for each file of the catalogue that cannot be read."""
    return [f"{name} is left out: {error}" for name, error in errors.items()]


def runs(storage: Store) -> TableData:
    """The runs of a store."""
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
            levels = f"{factor.least} … {factor.most:,}" if factor.most else "1 … all"
            if factor.choices:
                levels = " | ".join(map(str, factor.choices))
            name = "" if index else workload.name
            rows.append((name, factor.name, str(factor.default), levels, factor.explanation))
    rows += [
        (workload.name, capability.name, "", "offered or not", capability.explanation)
        for workload in WORKLOADS.values()
        for capability in workload.capabilities
    ]
    columns = ("workload", "factor, capability", "default", "levels", "meaning")
    return plain_table("workloads", columns, rows)


def contenders(catalogue: Catalogue) -> TableData:
    """What each contender is."""
    listed, errors = catalogue.contenders()
    rows = [
        (
            *(each.name, one_line(each.title, _TITLE), each.kind, each.family),
            *(one_line(each.queue, _WORDS), one_line(each.scheduler, _WORDS), " ".join(each.workloads)),
        )
        for each in listed
    ]
    columns = ("contender", "title", "class", "family", "queue", "scheduler", "workloads")
    return plain_table("contenders", columns, rows, notes=_left_out(errors))


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
            versions[f"{title} {_dated(title, version)}"] = None
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
    return "\n".join([head, *(f"  {what:<9} {one_line(text, _PROFILE)}" for what, text in lines.items())])


def _dated(title: str, version: str) -> str:
    """A version, with its age where that is known."""
    return f"{version} ({released})" if (released := age(title, version)) else version


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
    return plain_table("experiments", columns, rows, notes=_left_out(errors))


def toolchains(
    contenders: Sequence[Contender], errors: Mapping[str, object], toolchain: Toolchain
) -> TableData:
    """The oldest versions that are new enough, and those that are here; what is missing comes first."""
    rust = _probe_compiler(host.SOURCE_FOLDER)
    uses: list[tuple[str, Runtime, str]] = [("Rust", rust, "the probe's build")] if rust else []
    for contender in contenders:
        runtime = contender.runtime
        title = runtime.executable[0] if runtime.brings else runtime.title or contender.language
        if not runtime.optional:
            uses.append((title or runtime.name, runtime, contender.name))
    users: dict[Row, list[str]] = {}
    for title, runtime, user in uses:
        receipt = toolchain.receipt(runtime)
        row: Row = (title, f"{runtime.minimum} or newer" if runtime.minimum else "any")
        if isinstance(receipt, Receipt):
            row = (*row, _dated(title, receipt.version), "")
        else:
            row = (*row, TableCell(receipt, "failed"), remedy(runtime))
        users.setdefault(row, []).append(user)
    rows = [
        (*row, ", ".join(names[:2]) + f" and {len(names) - 2} more" * (len(names) > 2))
        for row, names in sorted(users.items(), key=lambda each: isinstance(each[0][2], str))
    ]
    columns = ("toolchain", "needed", "here", "get it with", "for")
    return plain_table("Toolchains", columns, rows, notes=_left_out(errors))


def _probe_compiler(checkout: Path) -> Runtime | None:
    """The compiler that builds the probe, as its Cargo.toml wants it; None where there is no checkout."""
    try:
        manifest = tomllib.loads((checkout / "probe" / "Cargo.toml").read_text(encoding="utf-8"))
        minimum = str(manifest["workspace"]["package"]["rust-version"])
    except (OSError, ValueError, KeyError):
        return None
    return Runtime(
        name="rust",
        executable=("rustc",),
        version=("{runtime}", "--version"),
        minimum=minimum,
        # Debian's cargo brings rustc.
        install={"debian": ("cargo",), "debian-12": ("cargo-web",), "ubuntu": ("cargo",)},
    )


def machine() -> TableData:
    """Facts about this machine, and how quiet it is."""
    facts = host.facts()
    try:
        probe = Executor().probe.path
    except ProbeError as error:
        probe = str(error)
    stalls, longest = _watch(_WATCH_S)
    quiet = f"{stalls:.1%} of {_WATCH_S:g} s went to others, longest stall {longest * 1e3:.1f} ms"
    rows = {
        "machine": words.machine(facts),
        "governor": facts["governor"] or "unknown",
        "load average": ", ".join(f"{load:.2f}" for load in facts["load_average"]),
        "quiet": quiet if stalls < 0.01 else f"{quiet}; ratios hold for a machine as busy as this",
        "memory available": quantity(float(facts["memory_available_bytes"] or 0), "B"),
        "probe": probe,
    }
    return plain_table("Machine", ("fact", "value"), rows.items())


def _watch(seconds: float) -> tuple[float, float]:
    """Spin for some seconds: the share of them in which this process did not run, though it wanted to,
    and the longest such gap in seconds. Gaps below 50 µs are the clock's own."""
    lost = longest = 0.0
    begun = last = time.perf_counter()
    while last - begun < seconds:
        now = time.perf_counter()
        gap = now - last
        if gap > 50e-6:
            lost += gap
            longest = max(longest, gap)
        last = now
    return lost / seconds, longest
