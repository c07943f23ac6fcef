"""Makes the table of docs/CLUSTER.md that says what many connections need, from measured figures of one.

.venv/bin/python scripts/capacity.py            write it
.venv/bin/python scripts/capacity.py --check    exit status 1 if docs/CLUSTER.md has another
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ringside import units

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from scripts import blocks  # noqa: E402

PATH = ROOT / "docs" / "CLUSTER.md"
CONNECTIONS = (10_000, 100_000, 1_000_000, 10_000_000)
# benchmarks/engine.py (docs/ENGINE.md): the peak of the engine with 100 and with 10,000 held streams.
ENGINE_PEAKS_MIB = (6.7, 10.8)
ENGINE_BYTES_PER_CONNECTION = (ENGINE_PEAKS_MIB[1] - ENGINE_PEAKS_MIB[0]) * 2**20 / (10_000 - 100)
ENGINE_BYTES = ENGINE_PEAKS_MIB[0] * 2**20
# From `posts-feed` (records/), 10,000 connections to `limit`: the kernel's memory for both ends of a
# connection, half of which counts for one end; and the server's own memory.
KERNEL_BYTES_PER_END = 8.14 * 1024 / 2
SERVER_BYTES_PER_CONNECTION = {"limit": 72.5, "go": 26.7 * 1024}
MEASURED = 10_000
# net.ipv4.ip_local_port_range: Linux's default, and all ports that need no privilege (the kernel's
# ip-sysctl.rst).
DEFAULT_PORTS = 60_999 - 32_768 + 1
ALL_PORTS = 65_535 - 1_024 + 1
# Linux's fs.nr_open. No process can have a higher limit unless somebody changes it.
DESCRIPTORS = 1_048_576
# The descriptors that an engine with one thread needs besides its connections
# (probe/engine/src/load/engine.rs).
ENGINE_DESCRIPTORS = 68


@dataclass(frozen=True, slots=True)
class Need:
    """The needs of a load with this many connections, on machines with one address each and engines with one
    thread each. Engines: the smallest number that has enough ports towards one address of the server. The
    figures of an engine assume that it uses all ports. `server_bytes`: by contender."""

    connections: int
    engines_default_ports: int
    engines_all_ports: int
    descriptors_per_engine: int
    engine_bytes: float
    kernel_bytes_per_engine: float
    server_bytes: dict[str, float]
    server_kernel_bytes: float


def need(connections: int) -> Need:
    """Computes the needs for held streams that are nearly idle: their buffers are empty."""
    engines = math.ceil(connections / ALL_PORTS)
    each = math.ceil(connections / engines)
    return Need(
        connections=connections,
        engines_default_ports=math.ceil(connections / DEFAULT_PORTS),
        engines_all_ports=engines,
        descriptors_per_engine=each + ENGINE_DESCRIPTORS,
        engine_bytes=ENGINE_BYTES + each * ENGINE_BYTES_PER_CONNECTION,
        kernel_bytes_per_engine=each * KERNEL_BYTES_PER_END,
        server_bytes={name: connections * size for name, size in SERVER_BYTES_PER_CONNECTION.items()},
        server_kernel_bytes=connections * KERNEL_BYTES_PER_END,
    )


def table(needs: Sequence[Need]) -> str:
    """A column for each number of connections."""

    def row(title: str, cells: Sequence[str]) -> str:
        return f"| {' | '.join((title, *cells))} |"

    def size(value: float) -> str:
        return units.quantity(value, "B")

    lines = [
        row("connections", [f"{one.connections:,}" for one in needs]),
        f"|---|{'---:|' * len(needs)}",
        row("status", ["measured" if one.connections <= MEASURED else "computed" for one in needs]),
        row("engines, default ports (28,232)", [f"{one.engines_default_ports:,}" for one in needs]),
        row("engines, all ports (64,512)", [f"{one.engines_all_ports:,}" for one in needs]),
        row("descriptors of each engine", [f"{one.descriptors_per_engine:,}" for one in needs]),
        row("memory of each engine", [size(one.engine_bytes) for one in needs]),
        row("kernel memory at each engine", [size(one.kernel_bytes_per_engine) for one in needs]),
        row("kernel memory at the server", [size(one.server_kernel_bytes) for one in needs]),
    ]
    for name in SERVER_BYTES_PER_CONNECTION:
        lines.append(row(f"memory of `{name}`", [size(one.server_bytes[name]) for one in needs]))
    above = [one.connections for one in needs if one.connections > DESCRIPTORS]
    lines += [
        "",
        f"A process has at most {DESCRIPTORS:,} descriptors unless fs.nr_open is raised, which a server of "
        f"{' and '.join(f'{number:,}' for number in above)} connections needs.",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    page = PATH.read_text(encoding="utf-8")
    made = blocks.replaced(page, "capacity.py", table([need(connections) for connections in CONNECTIONS]))
    if "--check" in arguments:
        if made != page:
            print("docs/CLUSTER.md has another table: run scripts/capacity.py", file=sys.stderr)
        return int(made != page)
    PATH.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
