"""The batch's floor and its neighbour on half a gigabyte of input, and how fast that is made.

Targets: `limit` reads, sorts and answers at least 250 MB/s of input on one core, `go` at least a third of
that; whoever streams stays below 200 MB; the generator writes the half gigabyte within ten seconds.
`batch.py [make] [speed] [memory]`.
"""

from __future__ import annotations

import io
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.programs import carry_out, point

from ringside.catalogue.loader import Catalogue
from ringside.measure.host import Executor
from ringside.measure.runs.inputs import Inputs
from ringside.measure.toolchain.builds import Toolchain
from ringside.model.catalogue import Ready
from ringside.model.design import Input, Point
from ringside.model.results import Outcome
from ringside.workloads.batch.workload import BATCH
from ringside.workloads.process import PEAK, WALL_S

from pairs import take_turns, tell  # isort: skip

ROOT = Path(__file__).resolve().parents[1]
CASES, SIZE, ROUNDS = 200_000, 200, 7
# Some writers would take minutes for all rows, so they get only this many.
SAVETXT_ROWS = 4000
SPEED = ("limit", "go")
MEMORY = (
    "go",
    "go-workers",
    "erlang",
    "python-sync",
    "python-threads",
    "python-processes",
    "parallel-python",
)


def half_gigabyte(cores: int) -> Point:
    """The input is in the page cache; every other factor has its default."""
    return point("batch", cases=CASES, size=SIZE, cores=cores)


def make() -> None:
    """Prints megabytes of text per second: our generator including answers and hashes, and two libraries'
    writers without."""
    sides = {
        "the generator, answers and hashes too": ours,
        "pyarrow.csv, text alone": columnar,
        "numpy.savetxt, text alone": savetxt,
    }
    print(f"making the input: {CASES:,} cases of {SIZE}, 3 rounds, taking turns")
    tell(take_turns(sides, 3), "MB/s", "numpy.savetxt, text alone")


def ours() -> float:
    """The speed of our generator, for a whole new input."""
    with tempfile.TemporaryDirectory(dir=ROOT / ".ringside") as folder:
        begun = time.perf_counter()
        made = Inputs(Path(folder)).get(BATCH.input(half_gigabyte(1)))
        took = time.perf_counter() - begun
    print(f"  {made.size_bytes / 1e6:.0f} MB in {took:.2f} s", flush=True)
    return made.size_bytes / took / 1e6


def numbers(rows: int) -> Any:
    """Rows of whole numbers as in the input."""
    return np.random.default_rng(1).integers(-100_000, 100_001, (rows, SIZE))


def savetxt() -> float:
    """The speed of numpy's `savetxt`, for few rows: it does not change with their number."""
    table, out = numbers(SAVETXT_ROWS), io.BytesIO()
    begun = time.perf_counter()
    np.savetxt(out, table, fmt="%d")
    return out.tell() / (time.perf_counter() - begun) / 1e6


def columnar() -> float:
    """The speed of Arrow's CSV writer, for as many numbers as the input has."""
    table = pa.table(dict(zip(map(str, range(SIZE)), numbers(2 * CASES).T.copy(), strict=True)))
    with tempfile.TemporaryFile(dir=ROOT / ".ringside") as out:
        begun = time.perf_counter()
        csv.write_csv(table, out, csv.WriteOptions(include_header=False, delimiter=" "))
        return out.tell() / (time.perf_counter() - begun) / 1e6


class Runner:
    """Makes trials of the half gigabyte, each checked as in a run."""

    def __init__(self) -> None:
        self.executor = Executor()
        self.toolchain = Toolchain(ROOT / ".ringside" / "builds")
        self.catalogue = Catalogue([ROOT])
        self.input: Input = Inputs(ROOT / ".ringside" / "inputs").get(BATCH.input(half_gigabyte(1)))

    def ready(self, name: str) -> Ready | None:
        found = self.toolchain.prepare(self.catalogue.contender(name))
        if isinstance(found, Ready):
            return found
        print(f"  {name}: {found.reason}; {found.remedy}")
        return None

    def figures(self, ready: Ready, cores: int) -> dict[str, float]:
        """The figures of one trial."""
        done = carry_out("batch", ready, self.executor, half_gigabyte(cores), self.input)
        assert done.outcome is Outcome.OK, f"{ready.contender.name}: {done.detail} {done.report}"
        return BATCH.figures(done)


def speed(runner: Runner) -> None:
    """Megabytes of input per second of wall time, start-up included, on one core."""
    ready = {name: found for name in SPEED if (found := runner.ready(name))}
    size = runner.input.size_bytes
    print(f"batch, {size / 1e6:.0f} MB from the page cache on one core, {ROUNDS} rounds, taking turns")
    sides = {
        name: lambda one=one: size / runner.figures(one, 1)[WALL_S.name] / 1e6 for name, one in ready.items()
    }
    tell(take_turns(sides, ROUNDS), "MB/s", SPEED[0])


def memory(runner: Runner) -> None:
    """Prints each contender's peak memory on all cores."""
    cores = runner.executor.capacity().cpus
    print(f"batch, the same on {cores} cores: peak memory of the process tree, and wall time")
    for name in (*SPEED[:1], *MEMORY):
        if one := runner.ready(name):
            found = runner.figures(one, cores)
            print(f"  {name:<20} {found[PEAK.name] / 1e6:7.1f} MB {found[WALL_S.name]:8.2f} s", flush=True)


def main() -> int:
    wanted = sys.argv[1:] or ["make", "speed", "memory"]
    (ROOT / ".ringside").mkdir(exist_ok=True)
    if "make" in wanted:
        make()
    if {"speed", "memory"} & set(wanted):
        runner = Runner()
        if "speed" in wanted:
            speed(runner)
        if "memory" in wanted:
            memory(runner)
    return 0


if __name__ == "__main__":
    sys.exit(main())
