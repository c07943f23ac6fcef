"""The bundled servers beside programs written after the posts' descriptions (benchmarks/bare), closed loop,
through the same probe: answers per second and the server's CPU per answer, taking turns.

Target: each contender at least as fast. `servers_bare.py [ROUNDS]`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from ringside.catalogue.loader import Catalogue
from ringside.measure import plan
from ringside.measure import trials as trial
from ringside.measure.executor import LocalExecutor
from ringside.measure.toolchain import Toolchain, expand
from ringside.model.catalogue import Ready, Unavailable
from ringside.model.design import Cell, Experiment, Level, Limits
from ringside.model.results import Outcome, Trial
from ringside.probe.protocol import TrialRequest
from ringside.workloads import workload
from ringside.workloads.serving import CPU, RATE, server_figures

from pairs import take_turns, tell  # isort: skip

ROOT = Path(__file__).resolve().parents[1]
BARE = Path(__file__).resolve().parent / "bare"
OUT = ROOT / ".ringside" / "bare"
ROUNDS = 7
FIB: dict[str, Level] = {"load": "hammer", "n": 1, "seconds": 2}
IO: dict[str, Level] = {"kind": "io", "requests": 100, "concurrency": 20}
SUM: dict[str, Level] = {"kind": "cpu", "requests": 100, "concurrency": 20}
# Contender, workload, levels, and how the bare program is called: {runtime} and {build} are the contender's.
PAIRS: list[tuple[str, str, dict[str, Level], list[str]]] = [
    ("python-sync", "fib", FIB | {"clients": 1}, ["{runtime}", "fib_sync.py"]),
    ("go-sync", "fib", FIB | {"clients": 1}, ["{out}/fib", "sync"]),
    ("go", "fib", FIB | {"clients": 3}, ["{out}/fib", "concurrent"]),
    ("python-coroutines", "fib", FIB | {"clients": 3}, ["{runtime}", "fib_coroutines.py"]),
    ("go", "fanout", IO, ["{out}/fanout"]),
    ("tornado", "fanout", IO, ["{build}/venv/bin/python", "fanout_tornado.py"]),
    ("go", "fanout", SUM, ["{out}/fanout"]),
    ("tornado", "fanout", SUM, ["{build}/venv/bin/python", "fanout_tornado.py"]),
]


def main() -> int:
    rounds = int(sys.argv[1]) if sys.argv[1:] else ROUNDS
    catalogue, toolchain = Catalogue([ROOT]), Toolchain(ROOT / ".ringside" / "builds")
    executor = LocalExecutor()
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
        cell, ours = request(executor, ready, workload_name, levels)
        requests = {name: ours, "bare": bare(ours, words, ready)}
        cpu_us: dict[str, list[float]] = {side: [] for side in requests}
        sides = {side: answers_per_s(executor, cell, one, cpu_us[side]) for side, one in requests.items()}
        tell(take_turns(sides, rounds), "/s", "bare")
        # The first of each is the warm-up of `take_turns`.
        tell({side: dict(enumerate(found[1:])) for side, found in cpu_us.items()}, "us CPU", "bare")
    return 0


def request(
    executor: LocalExecutor, ready: Ready, name: str, levels: Mapping[str, Level]
) -> tuple[Cell, TrialRequest]:
    """A contender's cell, and the request of its trial."""
    found = workload(name)
    given = {factor: (level,) for factor, level in levels.items()}
    experiment = Experiment("bare", "bare", name, (), given, "", 1)
    (point,) = plan.points(experiment, found, executor.available_cpus())
    cell = Cell(ready.contender.name, point)
    cpus, probe_cpus = executor.cpus(1)
    return cell, trial.request(
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


def bare(ours: TrialRequest, words: Sequence[str], ready: Ready) -> TrialRequest:
    """The same request but for what is started."""
    names = {"runtime": ready.receipt.executable, "build": ready.build, "out": OUT}
    arguments = [word for word in ours.argv if "=" in word]
    return replace(ours, argv=(*expand(words, names), *arguments), cwd=str(BARE))


def answers_per_s(
    executor: LocalExecutor, cell: Cell, request: TrialRequest, cpu_us: list[float]
) -> Callable[[], float]:
    def call() -> float:
        blank = Trial(1, 0, cell, Outcome.INTERRUPTED, "")
        done = trial.with_messages(blank, executor.trial(request))
        assert done.outcome is Outcome.OK, f"{request.argv}: {done.detail} {done.report}"
        found = server_figures(done, "measured")
        cpu_us.append(1e6 * found[CPU.name])
        return found[RATE.name]

    return call


if __name__ == "__main__":
    sys.exit(main())
