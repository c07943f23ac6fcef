"""The bundled servers beside programs written after the posts' descriptions (benchmarks/bare), through the
same probe, taking turns: answers per second and the server's CPU per answer; of the feed the CPU per thousand
chunks beside a loop that only sends.

Targets: each contender within 5 % of its bare program; the feed's CPU at most 1.1 times the loop's.
`servers_bare.py [ROUNDS] [WORKLOAD …]`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from ringside.catalogue.loader import Catalogue
from ringside.measure.host import Executor
from ringside.measure.runs import plan
from ringside.measure.runs import trials as trial
from ringside.measure.toolchain.builds import Toolchain
from ringside.measure.toolchain.receipts import expand
from ringside.model.catalogue import Ready, Unavailable
from ringside.model.design import Cell, Experiment, ExperimentLimits, Level
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
OPEN: dict[str, Level] = {"connections": 10000, "ramp": 2000, "seconds": 10}
# Contender, workload, levels, and the command of the bare program: {runtime} and {build} are the contender's.
PAIRS: list[tuple[str, str, dict[str, Level], list[str]]] = [
    ("python-sync", "fib", FIB | {"clients": 1}, ["{runtime}", "fib_sync.py"]),
    ("go-sync", "fib", FIB | {"clients": 1}, ["{out}/fib", "sync"]),
    ("go", "fib", FIB | {"clients": 3}, ["{out}/fib", "concurrent"]),
    ("python-coroutines", "fib", FIB | {"clients": 3}, ["{runtime}", "fib_coroutines.py"]),
    ("go", "fanout", IO, ["{out}/fanout"]),
    ("tornado", "fanout", IO, ["{build}/venv/bin/python", "fanout_tornado.py"]),
    ("go", "fanout", SUM, ["{out}/fanout"]),
    ("tornado", "fanout", SUM, ["{build}/venv/bin/python", "fanout_tornado.py"]),
    # Standard Rust cannot raise its own limit of open files.
    ("limit", "feed", OPEN, ["sh", "-c", 'ulimit -n $(ulimit -Hn); exec "$0"', "{out}/feed"]),
]
# The comparison of each workload: the metric, its unit here, and how many of these units are one of the
# metric's.
METRICS = {
    "fib": [(RATE.name, "/s", 1.0), (CPU.name, "us CPU", 1e6)],
    "fanout": [(RATE.name, "/s", 1.0), (CPU.name, "us CPU", 1e6)],
    "feed": [("cpu_per_kchunk_s", "ms CPU per 1,000 chunks", 1e3)],
}
BUILDS = {
    "feed": ["rustc", "--edition=2021", "-C", "opt-level=3", "-o", str(OUT / "feed"), "feed.rs"],
}


def main() -> int:
    arguments = sys.argv[1:]
    rounds = int(arguments.pop(0)) if arguments and arguments[0].isdigit() else ROUNDS
    catalogue, toolchain = Catalogue([ROOT]), Toolchain(ROOT / ".ringside" / "builds")
    executor = Executor()
    OUT.mkdir(parents=True, exist_ok=True)
    for name, workload_name, levels, words in PAIRS:
        if arguments and workload_name not in arguments:
            continue
        ready = toolchain.prepare(catalogue.contender(name))
        if isinstance(ready, Unavailable):
            print(f"{name}: {ready.reason}; {ready.remedy}")
            continue
        if any(word.startswith("{out}") for word in words):
            usual = [ready.receipt.executable, "build", "-o", str(OUT / workload_name), f"{workload_name}.go"]
            subprocess.run(BUILDS.get(workload_name, usual), cwd=BARE, check=True)
        told = ", ".join(f"{key}={level}" for key, level in levels.items())
        print(f"{workload_name} ({told}), {rounds} rounds")
        cell, ours = request(executor, ready, workload_name, levels)
        requests = {name: ours, "bare": bare(ours, words, ready)}
        seen: dict[str, list[dict[str, float]]] = {side: [] for side in requests}
        metrics = METRICS[workload_name]
        sides = {
            side: figure(executor, cell, one, workload_name, metrics[0][0], seen[side])
            for side, one in requests.items()
        }
        take_turns(sides, rounds)
        for metric, unit, scale in metrics:
            # The first of each is the warm-up of `take_turns`.
            values = {
                side: {n: scale * each[metric] for n, each in enumerate(found[1:])}
                for side, found in seen.items()
            }
            tell(values, unit, "bare")
    return 0


def request(
    executor: Executor, ready: Ready, name: str, levels: Mapping[str, Level]
) -> tuple[Cell, TrialRequest]:
    """A contender's cell, and the request of its trial."""
    found = workload(name)
    given = {factor: (level,) for factor, level in levels.items()}
    experiment = Experiment("bare", "bare", name, (), given, "", 1)
    (point,) = plan.points(experiment, found, executor.capacity().cpus)
    cell = Cell(ready.contender.name, point)
    return cell, trial.request(
        ready,
        cell,
        found,
        limits=ExperimentLimits(wall_s=300),
        cpus=executor.cpus(1),
        environment=trial.environment(os.environ, ready, 1, 1, 1),
        seed=1,
        memory_available_bytes=8 << 30,
    )


def bare(ours: TrialRequest, words: Sequence[str], ready: Ready) -> TrialRequest:
    """The same request, but it starts the bare program."""
    names = {"runtime": ready.receipt.executable, "build": ready.build, "out": OUT}
    arguments = [word for word in ours.argv if "=" in word]
    return replace(ours, argv=(*expand(words, names), *arguments), cwd=str(BARE))


def figure(
    executor: Executor,
    cell: Cell,
    request: TrialRequest,
    workload_name: str,
    metric: str,
    seen: list[dict[str, float]],
) -> Callable[[], float]:
    """A call makes one trial and returns its figure. All figures are added to `seen`."""

    def call() -> float:
        blank = Trial(1, 0, cell, Outcome.INTERRUPTED, "")
        done = trial.trial_from_messages(blank, executor.trial(request))
        assert done.outcome is Outcome.OK, f"{request.argv}: {done.detail} {done.report}"
        found = workload(workload_name)
        figures = found.figures(done) if workload_name == "feed" else server_figures(done, "measured")
        seen.append(figures)
        return figures[metric]

    return call


if __name__ == "__main__":
    sys.exit(main())
