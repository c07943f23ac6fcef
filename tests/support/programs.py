"""Contenders of the catalogue, through the probe or by themselves; and processes that programs start."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import pytest

from ringside.catalogue.loader import Catalogue
from ringside.conformance.subject import Subject
from ringside.measure.host import Executor
from ringside.measure.runs import trials
from ringside.measure.runs.inputs import Inputs
from ringside.measure.toolchain.builds import Toolchain
from ringside.measure.toolchain.receipts import entry_of_system
from ringside.model.catalogue import Contender, Ready, Unavailable
from ringside.model.design import Cell, ExperimentLimits, Input, Level, Point
from ringside.model.results import Outcome, Trial
from ringside.workloads import workload as find_workload
from tests.support import ROOT
from tests.support.fake_contenders import edit
from tests.support.skips import NO_PACKAGE

# The machine stalls for seconds; nothing that works takes as long.
PATIENCE_S = 30.0
CATALOGUE = Catalogue([ROOT])
# Once for each runtime: to ask for a version takes as long as many a test.
TOOLCHAIN = Toolchain(ROOT / ".ringside" / "builds")


def having(workload: str) -> list[str]:
    """All contenders that have a workload, by each of their runtimes but the optional ones."""
    folders = CATALOGUE.contender_names()
    all_of = (one for folder in folders for one in CATALOGUE.runtimes(folder))
    return [one.name for one in all_of if workload in one.workloads and not one.runtime.optional]


def ready(name: str, catalogue: Catalogue = CATALOGUE, toolchain: Toolchain = TOOLCHAIN) -> Ready:
    """A contender that is built. One that lacks its runtime is skipped."""
    result = toolchain.prepare(catalogue.contender(name))
    if isinstance(result, Unavailable):
        skip(result.contender, f"{name}: {result.reason}; {result.remedy}\n{result.log}")
    return result


def assert_wrong(how: Mapping[str, Any], folder: Path, workload: str, **levels: Level) -> None:
    """A contender of the repository that is changed so breaks the evidence, for the reason that is given."""
    copy = folder / "contenders" / "python-threads"
    shutil.copytree(ROOT / "contenders" / "python-threads", copy)
    for file, old, new in how["changes"]:
        edit(copy / file, (old, new))
    wrong = ready("python-threads", Catalogue([folder]))
    seen = carry_out(workload, wrong, Executor(), point(workload, **levels))
    assert seen.outcome is Outcome.WRONG_EVIDENCE, f"{seen.outcome}: {seen.detail} {seen.report}"
    assert how["reason"] in seen.detail


def skip(contender: Contender, reason: str) -> NoReturn:
    """Skip a test of a contender that is not here. Where the system has a package of its runtime that is new
    enough, CI must have it."""
    instructions = entry_of_system(contender.runtime.instructions)
    pytest.skip(f"{NO_PACKAGE} {contender.name}: {instructions}" if instructions else reason)


def subject(name: str, workload: str, folder: Path) -> Subject:
    """The program of a workload, to be started as `ringside check` does."""
    inputs = Inputs(folder / "inputs")
    return Subject(ready(name), find_workload(workload), Executor(), inputs, folder)


def point(workload: str, **levels: Level) -> Point:
    """The defaults of a workload with other levels for some."""
    factors = find_workload(workload).factors
    return Point(tuple(({factor.name: factor.default for factor in factors} | levels).items()))


def carry_out(
    workload: str,
    one: Ready,
    executor: Executor,
    at: Point,
    input: Input | None = None,
    seed: int = 1,
    host: str | None = None,
    remote: bool = False,
) -> Trial:
    """One trial by the real probe. With a `host` a server gets it, and the load goes there; `remote`: by
    engines that the executor has."""
    cell = Cell(one.contender.name, at)
    request = trials.request(
        one,
        cell,
        find_workload(workload),
        limits=ExperimentLimits(wall_s=240),
        cpus=executor.cpus(int(at["cores"])),
        environment=trials.environment(os.environ, one, 1, 2, 3),
        seed=seed,
        memory_available_bytes=8 << 30,
        input=input,
        host=host,
    )
    if request.service and request.service.remote and not remote:
        here = msgspec.structs.replace(request.service, remote=False)
        request = msgspec.structs.replace(request, service=here)
    blank = Trial(1, 0, cell, Outcome.INTERRUPTED, "", input_bytes=input.size_bytes if input else None)
    trial = trials.trial_from_messages(blank, executor.trial(request))
    return trials.validated(trial, find_workload(workload), seed)


def descendants(pid: int) -> list[int]:
    """All processes below one, as far as the kernel lists them."""
    below: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                below += [int(child), *descendants(int(child))]
    return below


def kill_a_worker(process: subprocess.Popen[bytes]) -> None:
    """Kills a worker of the program, when it has computed for a while."""
    deadline = time.monotonic() + PATIENCE_S
    while not (workers := [pid for pid in descendants(process.pid) if cpu_ticks(pid) > 20]):
        assert time.monotonic() < deadline, "no worker ever computed"
        time.sleep(0.05)
    os.kill(workers[-1], signal.SIGKILL)


def cpu_ticks(pid: int) -> int:
    with suppress(OSError, IndexError, ValueError):
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])
    return 0
