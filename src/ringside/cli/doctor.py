"""`ringside doctor`: what is here, what is missing, how to get it."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ringside.cli import EXIT_FAILED

if TYPE_CHECKING:
    from ringside.measure.toolchain.builds import Toolchain
    from ringside.model.catalogue import Contender, Runtime
    from ringside.render.text.cells import TableCell

    Row = tuple[str | TableCell, ...]

# How long the machine is watched for its noise.
_WATCH_S = 1.0


@click.command()
def doctor() -> int:
    """Show what is installed, what is missing, and how quiet the machine is.

    Exit status 1 where a contender cannot run.
    """
    from ringside.cli import context
    from ringside.render.text import terminal

    console, toolchain = context.stdout_console(), context.toolchain()
    contenders, errors = context.catalogue().contenders()
    rows = _contenders(contenders, toolchain)
    terminal.render(
        context.table("Contenders", ("contender", "runtime", "get it with"), rows, errors), console
    )
    console.print()
    columns = ("toolchain", "needed", "here", "get it with", "for")
    terminal.render(context.table("Toolchains", columns, _toolchains(contenders, toolchain)), console)
    console.print()
    terminal.render(context.table("Machine", ("fact", "value"), _machine().items()), console)
    return EXIT_FAILED if errors or not all(isinstance(row[1], str) for row in rows) else 0


def _contenders(contenders: Sequence[Contender], toolchain: Toolchain) -> list[Row]:
    """What each contender runs on; what is missing is a cell of its own kind."""
    from ringside.measure.toolchain.receipts import remedy
    from ringside.model.catalogue import Receipt
    from ringside.render.text.cells import TableCell

    rows: list[Row] = []
    for contender in contenders:
        receipt = toolchain.receipt(contender.runtime)
        if isinstance(receipt, Receipt):
            # A program that is started as it stands has nothing to build.
            is_built = not contender.builds or toolchain.is_built(contender, receipt)
            installed = toolchain.installed(contender, receipt)
            version = installed.version if installed else "comes with its build"
            rows.append((contender.name, version if is_built else f"{version}, not built yet", ""))
        elif not contender.runtime.optional:
            rows.append((contender.name, TableCell(receipt, "failed"), remedy(contender.runtime)))
    return rows


def _toolchains(contenders: Sequence[Contender], toolchain: Toolchain) -> list[Row]:
    """The oldest versions that are new enough, and those that are here."""
    from ringside.catalogue.releases import age
    from ringside.measure import host
    from ringside.measure.toolchain.receipts import remedy
    from ringside.model.catalogue import Receipt
    from ringside.render.text.cells import TableCell

    rust = probe_compiler(host.SOURCE_FOLDER)
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
            released = age(title, receipt.version)
            row = (*row, receipt.version + (f" ({released})" if released else ""), "")
        else:
            row = (*row, TableCell(receipt, "failed"), remedy(runtime))
        users.setdefault(row, []).append(user)
    return [
        (*row, ", ".join(names[:2]) + f" and {len(names) - 2} more" * (len(names) > 2))
        for row, names in users.items()
    ]


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


def _machine() -> dict[str, str]:
    from ringside.errors import ProbeError
    from ringside.measure import host
    from ringside.measure.host.executor import Executor
    from ringside.render.text.words import machine
    from ringside.units import quantity

    facts = host.facts()
    try:
        probe = Executor().probe.path
    except ProbeError as error:
        probe = str(error)
    stalls, longest = watch(_WATCH_S)
    quiet = f"{stalls:.1%} of {_WATCH_S:g} s went to others, longest stall {longest * 1e3:.1f} ms"
    return {
        "machine": machine(facts),
        "governor": facts["governor"] or "unknown",
        "load average": ", ".join(f"{load:.2f}" for load in facts["load_average"]),
        "quiet": quiet if stalls < 0.01 else f"{quiet}; trust only paired ratios",
        "memory available": quantity(float(facts["memory_available_bytes"] or 0), "B"),
        "probe": probe,
    }


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
