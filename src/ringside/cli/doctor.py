"""`ringside doctor`: what is here, what is missing, how to get it."""

import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

from ringside.catalogue.releases import dated
from ringside.cli import EXIT_FAILED, context, streams
from ringside.errors import ProbeError
from ringside.measure import host
from ringside.measure.toolchain.builds import Toolchain
from ringside.measure.toolchain.receipts import remedy
from ringside.model.catalogue import Contender, Receipt, Runtime
from ringside.render.text import words
from ringside.render.text.cells import TableCell, TableData, plain_table
from ringside.units import quantity

Row = tuple[str | TableCell, ...]

# How long the machine is watched for its noise.
_WATCH_S = 1.0


def doctor(machine: bool) -> int:
    """Show all toolchains and the machine, or the `machine` alone."""
    if machine:
        context.show_tables([machine_facts()])
        return 0
    contenders, errors = context.catalogue().contenders()
    table = toolchains(contenders, context.left_out(errors), context.toolchain())
    context.show_tables([table, machine_facts()])
    if missing := ", ".join(dict.fromkeys(row[0].text for row in table.rows if row[2].kind == "failed")):
        streams.say(f"without {missing} some contenders cannot run: `ringside setup` installs them")
    return EXIT_FAILED if missing or errors else 0


def toolchains(contenders: Sequence[Contender], notes: Sequence[str], toolchain: Toolchain) -> TableData:
    """The oldest versions that are new enough, and those that are here; what is missing comes first."""
    rust = _probe_compiler(host.SOURCE_FOLDER)
    uses: list[tuple[str, Runtime, str]] = [("Rust", rust, "the probe's build")] if rust else []
    for contender in contenders:
        runtime = contender.runtime
        # The last is the plainest name, as python3 after python3.13.
        title = runtime.executable[-1] if runtime.brings else runtime.title or contender.language
        if not runtime.optional:
            uses.append((title or runtime.name, runtime, contender.name))
    users: dict[Row, list[str]] = {}
    for title, runtime, user in uses:
        receipt = toolchain.receipt(runtime)
        row: Row = (title, f"{runtime.minimum} or newer" if runtime.minimum else "any")
        if isinstance(receipt, Receipt):
            row = (*row, dated(title, receipt.version), "")
        else:
            row = (*row, TableCell(receipt, "failed"), remedy(runtime))
        users.setdefault(row, []).append(user)
    rows = [
        (*row, ", ".join(names[:2]) + f" and {len(names) - 2} more" * (len(names) > 2))
        for row, names in sorted(users.items(), key=lambda each: isinstance(each[0][2], str))
    ]
    columns = ("toolchain", "needed", "here", "get it with", "for")
    return plain_table("Toolchains", columns, rows, notes=notes)


def _probe_compiler(checkout: Path) -> Runtime | None:
    """The compiler that builds the probe, as its Cargo.toml wants it; None if there is no checkout."""
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


def machine_facts() -> TableData:
    """Facts about this machine, and how quiet it is."""
    facts = host.facts()
    try:
        probe = host.Executor().probe.path
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
    """Spin for `seconds`: the share in which this process did not run, and the longest gap in seconds. Gaps
    below 50 µs are the clock's own."""
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
