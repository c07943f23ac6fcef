"""`ringside doctor`: what is here, what is missing, how to get it."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ringside.catalogue.releases import age
from ringside.cli import EXIT_FAILED
from ringside.cli.listing import left_out
from ringside.errors import CatalogueError, ProbeError
from ringside.measure import host

if TYPE_CHECKING:
    from ringside.measure.toolchain.builds import Toolchain
    from ringside.model.catalogue import Contender, Runtime
    from ringside.render.text.cells import TableCell, TableData

# How long the machine is watched for its noise.
_WATCH_S = 1.0


@click.command()
def doctor() -> int:
    """Show what is installed, what is missing, and how quiet the machine is.

    Exit status 1 where a contender cannot run.
    """
    from ringside.cli import context
    from ringside.render.text import terminal
    from ringside.render.text.cells import TableData

    console, toolchain = context.stdout_console(), context.toolchain()
    contenders, errors = context.catalogue().contenders()
    table = _contenders(contenders, errors, toolchain)
    terminal.render(table, console)
    console.print()
    terminal.render(_toolchains(contenders, toolchain), console)
    console.print()
    terminal.render(TableData("Machine", ("fact", "value"), tuple(_machine())), console)
    return EXIT_FAILED if errors or any(row[1].kind == "failed" for row in table.rows) else 0


def _contenders(
    contenders: Sequence[Contender], errors: Mapping[str, CatalogueError], toolchain: Toolchain
) -> TableData:
    """What each contender runs on, and a line for each manifest that cannot be read."""
    from ringside.measure.toolchain.receipts import remedy as remedy_for
    from ringside.model.catalogue import Receipt
    from ringside.render.text.cells import TableCell, TableData

    rows = []
    for contender in contenders:
        receipt = toolchain.receipt(contender.runtime)
        if isinstance(receipt, Receipt):
            # A program that is started as it stands has nothing to build.
            is_ready = not contender.builds or toolchain.is_built(contender, receipt)
            installed = toolchain.installed(contender, receipt)
            version = installed.version if installed else "comes with its build"
            state, remedy = TableCell(f"{version}{'' if is_ready else ', not built yet'}", "text"), ""
        elif contender.runtime.optional:
            continue
        else:
            state, remedy = TableCell(receipt, "failed"), remedy_for(contender.runtime)
        rows.append((TableCell(contender.name, "text"), state, TableCell(remedy, "text")))
    columns = ("contender", "runtime", "get it with")
    return TableData("Contenders", columns, tuple(rows), notes=left_out(errors))


def _toolchains(contenders: Sequence[Contender], toolchain: Toolchain) -> TableData:
    """The oldest versions that are new enough, and those that are here."""
    from ringside.measure.toolchain.receipts import remedy as remedy_for
    from ringside.model.catalogue import Receipt
    from ringside.render.text.cells import TableCell, TableData

    rust = probe_compiler(host.SOURCE_FOLDER)
    uses: list[tuple[str, Runtime, str]] = [("Rust", rust, "the probe's build")] if rust else []
    for contender in contenders:
        runtime = contender.runtime
        if runtime.optional:
            continue
        title = runtime.executable[0] if runtime.brings else runtime.title or contender.language
        uses.append((title or runtime.name, runtime, contender.name))
    users: dict[tuple[TableCell, ...], list[str]] = {}
    for title, runtime, user in uses:
        receipt = toolchain.receipt(runtime)
        floor = f"{runtime.minimum} or newer" if runtime.minimum else "any"
        if isinstance(receipt, Receipt):
            released = age(title, receipt.version)
            here, remedy = TableCell(receipt.version + (f" ({released})" if released else ""), "text"), ""
        else:
            here, remedy = TableCell(receipt, "failed"), remedy_for(runtime)
        row = (TableCell(title, "text"), TableCell(floor, "text"), here, TableCell(remedy, "text"))
        users.setdefault(row, []).append(user)
    rows = (
        (*row, TableCell(", ".join(names[:2]) + f" and {len(names) - 2} more" * (len(names) > 2), "text"))
        for row, names in users.items()
    )
    return TableData("Toolchains", ("toolchain", "needed", "here", "get it with", "for"), tuple(rows))


def probe_compiler(checkout: Path) -> Runtime | None:
    """The compiler that builds the probe, as its Cargo.toml wants it; None where there is no checkout."""
    from ringside.model.catalogue import Runtime

    try:
        manifest = tomllib.loads((checkout / "probe" / "Cargo.toml").read_text(encoding="utf-8"))
        minimum = str(manifest["workspace"]["package"]["rust-version"])
    except (OSError, ValueError, KeyError):
        return None
    # Debian's cargo brings rustc.
    install: dict[str, tuple[str, ...]] = {
        "debian": ("cargo",),
        "debian-12": ("cargo-web",),
        "ubuntu": ("cargo",),
    }
    return Runtime(
        name="rust",
        executable=("rustc",),
        version=("{runtime}", "--version"),
        minimum=minimum,
        install=install,
    )


def _machine() -> list[tuple[TableCell, ...]]:
    from ringside.measure.host.executor import Executor
    from ringside.render.text.cells import TableCell
    from ringside.render.text.heading import machine
    from ringside.units import quantity

    facts = host.facts()
    try:
        probe = Executor().probe.path
    except ProbeError as error:
        probe = str(error)
    stalls, longest = watch(_WATCH_S)
    rows = {
        "machine": machine(facts),
        "governor": facts["governor"] or "unknown",
        "load average": ", ".join(f"{load:.2f}" for load in facts["load_average"]),
        "quiet": (
            f"{stalls:.1%} of {_WATCH_S:g} s went to others, longest stall {longest * 1e3:.1f} ms"
            + ("" if stalls < 0.01 else "; trust only paired ratios")
        ),
        "memory available": quantity(float(facts["memory_available_bytes"] or 0), "B"),
        "probe": probe,
    }
    return [(TableCell(name, "text"), TableCell(str(value), "text")) for name, value in rows.items()]


def watch(seconds: float) -> tuple[float, float]:
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
