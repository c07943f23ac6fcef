"""Contenders that end by themselves, through the probe or directly: for tests of their conformance."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from ringside.measure import trials
from ringside.measure.executor import LocalExecutor
from ringside.measure.toolchain import expand
from ringside.model.catalogue import Ready
from ringside.model.design import Cell, Input, Level, Limits, Point
from ringside.model.results import Outcome, Trial
from ringside.workloads import workload as find_workload
from tests.support.servers import PATIENCE_S


def point(workload: str, **levels: Level) -> Point:
    """The defaults of a workload with other levels for some."""
    factors = find_workload(workload).factors
    return Point(tuple(({factor.name: factor.default for factor in factors} | levels).items()))


def carry_out(
    workload: str, one: Ready, executor: LocalExecutor, at: Point, input: Input | None = None, seed: int = 1
) -> Trial:
    """One trial by the real probe."""
    cell = Cell(one.contender.name, at)
    cpus, probe_cpus = executor.cpus(int(at["cores"]))
    request = trials.request(
        one,
        cell,
        find_workload(workload),
        limits=Limits(wall_s=240),
        cpus=cpus,
        probe_cpus=probe_cpus,
        environment=trials.environment(os.environ, one.build, 1, 2, 3),
        seed=seed,
        memory_available_bytes=8 << 30,
        input=input,
    )
    blank = Trial(1, 0, cell, Outcome.INTERRUPTED, "", input_bytes=input.size_bytes if input else None)
    trial = trials.with_messages(blank, executor.trial(request))
    return trials.examined(trial, find_workload(workload), seed)


def command(workload: str, one: Ready, *arguments: str) -> list[str]:
    names = {"runtime": one.receipt.executable, "build": one.build, "cores": 1}
    return [*expand(one.contender.workloads[workload].command, names), *arguments]


def directly(workload: str, one: Ready, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run to its end, without a probe."""
    return subprocess.run(
        command(workload, one, *arguments),
        cwd=one.contender.folder,
        env=trials.environment(os.environ, one.build, 1, 2, 3),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=240,
        check=False,
    )


def descendants(pid: int) -> list[int]:
    """All processes below one, as far as the kernel lists them."""
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [int(child), *descendants(int(child))]
    return found


def kill_a_worker(process: subprocess.Popen[bytes]) -> list[int]:
    """Wait until the program has workers that have computed for a while, kill one of them, and give all."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        workers = [pid for pid in descendants(process.pid) if cpu_ticks(pid) > 20]
        if workers:
            everyone = descendants(process.pid)
            os.kill(workers[-1], signal.SIGKILL)
            return everyone
        time.sleep(0.05)
    raise AssertionError("no worker ever computed")


def cpu_ticks(pid: int) -> int:
    with suppress(OSError, IndexError, ValueError):
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])
    return 0


def alive(pids: list[int]) -> list[int]:
    """Those that still run."""
    found = []
    for pid in pids:
        with suppress(OSError, IndexError):
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX":
                found.append(pid)
    return found
