"""The cost of the sleepers' contract: contenders beside bare programs of the same idiom, which know
nothing of Ringside (benchmarks/bare), CPU time and peak memory of whole processes, taking turns on one CPU.

Target: within 5 %. `sleepers_bare.py [ROUNDS] [CONTENDER …]`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from ringside.catalogue.loader import Catalogue
from ringside.measure.host import Executor
from ringside.measure.runs import trials as trial
from ringside.measure.toolchain.builds import Toolchain
from ringside.measure.toolchain.receipts import expand
from ringside.model.catalogue import Unavailable

from pairs import take_turns, tell  # isort: skip

ROOT = Path(__file__).resolve().parents[1]
BARE = Path(__file__).resolve().parent / "bare"
OUT = ROOT / ".ringside" / "bare"
ROUNDS = 7
# Tasks and seconds of each contender, and how its bare peer is built and run: {runtime} is the contender's.
PEERS: dict[str, tuple[int, int, list[str], list[str]]] = {
    "go": (
        100_000,
        3,
        ["{runtime}", "build", "-o", "{out}/sleepers-go", "sleepers.go"],
        ["{out}/sleepers-go"],
    ),
    "c-pthreads": (
        *(10_000, 3),
        ["cc", "-O2", "-pthread", "-o", "{out}/sleepers-c", "sleepers.c"],
        ["{out}/sleepers-c"],
    ),
    "python-asyncio": (20_000, 3, [], ["{runtime}", "sleepers_asyncio.py"]),
}
MEASURES = {"cpu": "ms CPU", "memory": "MiB at most"}


def main() -> int:
    arguments = sys.argv[1:]
    rounds = int(arguments.pop(0)) if arguments and arguments[0].isdigit() else ROUNDS
    catalogue, toolchain = Catalogue([ROOT]), Toolchain(ROOT / ".ringside" / "builds")
    (cpu,), _ = Executor().cpus(1)
    os.sched_setaffinity(0, {cpu})
    OUT.mkdir(parents=True, exist_ok=True)
    for name in arguments or PEERS:
        tasks, seconds, build, words = PEERS[name]
        ready = toolchain.prepare(catalogue.contender(name))
        if isinstance(ready, Unavailable):
            print(f"{name}: {ready.reason}; {ready.remedy}")
            continue
        names = {"runtime": ready.receipt.executable, "build": ready.build, "out": OUT, "cores": 1}
        if build:
            subprocess.run(expand(build, names), cwd=BARE, check=True)
        ours = [
            *expand(ready.contender.workloads["sleepers"].command, names),
            *(f"tasks={tasks}", f"seconds={seconds}", "cores=1"),
        ]
        environment = trial.environment(os.environ, ready, 1, 1, 1)
        sides = {name: (ours, ready.contender.folder)}
        sides["bare"] = ([*expand(words, names), str(tasks), str(seconds)], BARE)
        used: dict[str, list[dict[str, float]]] = {side: [] for side in sides}

        def turn(side: str) -> Callable[[], float]:
            command, folder = sides[side]  # noqa: B023 (called in this turn)

            def once() -> float:
                used[side].append(run(command, folder, environment))  # noqa: B023
                return used[side][-1]["cpu"]  # noqa: B023

            return once

        print(f"{name}, {tasks} tasks, {seconds} s, {rounds} rounds")
        take_turns({side: turn(side) for side in sides}, rounds)
        for measure, unit in MEASURES.items():
            # The first of each is the warm-up of `take_turns`.
            values = {
                side: {number: each[measure] for number, each in enumerate(found[1:])}
                for side, found in used.items()
            }
            tell(values, unit, "bare")
    return 0


def run(command: list[str], folder: Path, environment: dict[str, str]) -> dict[str, float]:
    """The resources that a program used, including all of its threads."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command[0]} ended with status {process.returncode}")
    return {"cpu": (usage.ru_utime + usage.ru_stime) * 1e3, "memory": usage.ru_maxrss / 1024}


if __name__ == "__main__":
    sys.exit(main())
