"""`ringside doctor`: what is here, what is missing, how to get it."""

from __future__ import annotations

import time
from pathlib import Path

from ringside import units as numbers
from ringside.cli import context
from ringside.errors import ProbeError
from ringside.measure import host
from ringside.measure.toolchain import remedy
from ringside.model.catalogue import Receipt
from ringside.probe.local import LocalExecutor
from ringside.render import terminal
from ringside.render.table import Entry, TableData

# How long the machine is watched for its noise.
_WATCH_S = 1.0


def doctor() -> int:
    """Print what is here; exit status 1 where a contender cannot run."""
    console, toolchain = context.out(), context.toolchain()
    contenders = context.contenders(())
    rows = []
    for one in contenders:
        found = toolchain.receipt(one.runtime)
        if isinstance(found, Receipt):
            built = "built" if toolchain.is_built(one, found) else "not built yet"
            rows.append(
                (Entry(one.name, "text"), Entry(f"{found.version}, {built}", "text"), Entry("", "text"))
            )
        else:
            mend = Entry(remedy(one.runtime), "text")
            rows.append((Entry(one.name, "text"), Entry(found, "failed"), mend))
    terminal.render(TableData("Contenders", ("contender", "runtime", "get it with"), tuple(rows)), console)
    console.print()
    terminal.render(TableData("Machine", ("fact", "value"), tuple(_machine())), console)
    missing = any(row[1].kind == "failed" for row in rows)
    return 1 if missing else 0


def _machine() -> list[tuple[Entry, ...]]:
    facts = host.facts(Path.cwd())
    try:
        probe = LocalExecutor().probe
    except ProbeError as error:
        probe = str(error)
    stalls, longest = watch(_WATCH_S)
    rows = {
        "machine": terminal.machine(facts),
        "governor": facts["governor"] or "not told",
        "load average": ", ".join(f"{load:.2f}" for load in facts["load_average"]),
        "quiet": (
            f"{stalls:.1%} of {_WATCH_S:g} s went to others, {longest * 1e3:.1f} ms at a time at the most; "
            + ("few" if stalls < 0.01 else "many: only paired figures can be trusted")
        ),
        "memory available": numbers.quantity(float(facts["memory_available_bytes"] or 0), "B"),
        "probe": probe,
    }
    return [(Entry(name, "text"), Entry(str(value), "text")) for name, value in rows.items()]


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
