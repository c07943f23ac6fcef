"""The bundled servers beside programs written after the posts' descriptions (benchmarks/bare), closed loop,
through the same probe: answers per second and the server's CPU per answer, taking turns.

Target: each contender at least as fast. `servers_bare.py [ROUNDS]`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ringside import trial
from ringside.catalogue import Catalogue
from ringside.executor.local import LocalExecutor
from ringside.model import Cell, Level, Limits, Outcome, Point, Ready, Trial, Unavailable
from ringside.toolchain import Toolchain, expand
from ringside.workloads import workload

from pairs import take_turns, tell  # isort: skip

ROOT = Path(__file__).resolve().parents[1]
BARE = Path(__file__).resolve().parent / "bare"
OUT = ROOT / ".ringside" / "bare"
ROUNDS = 7
FIB: dict[str, Level] = {"load": "hammer", "n": 1, "seconds": 2}
IO: dict[str, Level] = {"kind": "io", "requests": 100, "concurrency": 20}
CPU: dict[str, Level] = {"kind": "cpu", "requests": 100, "concurrency": 20}
# Contender, workload, levels, and how the bare program is called: {runtime} and {build} are the contender's.
PAIRS: list[tuple[str, str, dict[str, Level], list[str]]] = [
    ("python-sync", "fib", FIB | {"clients": 1}, ["{runtime}", "fib_sync.py"]),
    ("go-sync", "fib", FIB | {"clients": 1}, ["{out}/fib", "sync"]),
    ("go", "fib", FIB | {"clients": 3}, ["{out}/fib", "concurrent"]),
    ("python-coroutines", "fib", FIB | {"clients": 3}, ["{runtime}", "fib_coroutines.py"]),
    ("go", "fanout", IO, ["{out}/fanout"]),
    ("tornado", "fanout", IO, ["{build}/venv/bin/python", "fanout_tornado.py"]),
    ("go", "fanout", CPU, ["{out}/fanout"]),
    ("tornado", "fanout", CPU, ["{build}/venv/bin/python", "fanout_tornado.py"]),
]


def main() -> int:
    rounds = int(sys.argv[1]) if sys.argv[1:] else ROUNDS
    catalogue, toolchain = Catalogue([ROOT]), Toolchain(ROOT / ".ringside" / "builds")
    OUT.mkdir(parents=True, exist_ok=True)
    for name, workload_name, levels, words in PAIRS:
        ready = toolchain.prepare(catalogue.contender(name))
        if isinstance(ready, Unavailable):
            print(f"{name}: {ready.reason}; {ready.remedy}")
            continue
        if words[0].startswith("{out}"):
            build = [ready.receipt.executable, "build", "-o", str(OUT / workload_name), f"{workload_name}.go"]
            subprocess.run(build, cwd=BARE, check=True)
        told = ", ".join(f"{key}={level}" for key, level in levels.items())
        print(f"{workload_name} ({told}), {rounds} rounds")
        requests = {
            name: request(ready, workload_name, levels, None),
            "bare": request(ready, workload_name, levels, words),
        }
        cpu_us: dict[str, list[float]] = {side: [] for side in requests}
        sides = {
            side: answers_per_s(workload_name, levels, one, cpu_us[side]) for side, one in requests.items()
        }
        tell(take_turns(sides, rounds), "/s", "bare")
        # The first of each is the warm-up of `take_turns`.
        tell({side: dict(enumerate(found[1:])) for side, found in cpu_us.items()}, "us CPU", "bare")
    return 0


def request(ready: Ready, name: str, levels: dict[str, Level], bare: list[str] | None) -> dict[str, Any]:
    """The trial's request; for a bare program the same but for what is started."""
    found = workload(name)
    base: dict[str, Level] = {factor.name: factor.default for factor in found.factors}
    cell = Cell(ready.contender.name, Point(tuple((base | levels).items())))
    cpus, probe_cpus = LocalExecutor().cpus(1)
    made = trial.request(
        ready,
        cell,
        found,
        limits=Limits(wall_s=300),
        cpus=cpus,
        probe_cpus=probe_cpus,
        environment=trial.environment(os.environ, ready.build, 1, 1, 1),
        seed=1,
        memory_available_bytes=8 << 30,
    )
    if bare:
        names = {"runtime": ready.receipt.executable, "build": ready.build, "out": OUT}
        arguments = [word for word in made["argv"] if "=" in word]
        made |= {"argv": expand(bare, names) + arguments, "cwd": str(BARE)}
    return made


def answers_per_s(
    name: str, levels: dict[str, Level], made: dict[str, Any], cpu_us: list[float]
) -> Callable[[], float]:
    def call() -> float:
        point = Point(tuple(levels.items()))
        blank = Trial(1, 0, Cell("", point), Outcome.INTERRUPTED, "")
        done = trial.parse(LocalExecutor().run(made), blank)
        assert done.outcome is Outcome.OK, f"{made['argv']}: {done.detail} {done.outcome_line}"
        found = workload(name).figures(done)
        cpu_us.append(1e6 * found["cpu_per_request_s"])
        (load,) = (one for one in done.outcome_line["loads"] if one["step"] == "measured")
        return float(load["achieved_rate_per_s"])

    return call


if __name__ == "__main__":
    sys.exit(main())
