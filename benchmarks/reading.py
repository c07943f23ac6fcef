"""Does reading take most of the time, as the post of 2011 on Go suspected? Go's batch of half a gigabyte on
one core and on two, beside a program that reads and divides the input by the same code and computes
nothing. The input is in the page cache, as in all experiments.

`reading.py [ROUNDS]`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.programs import point

from ringside.catalogue.loader import Catalogue
from ringside.measure.host import Executor
from ringside.measure.runs.inputs import Inputs
from ringside.measure.toolchain.builds import Toolchain
from ringside.model.catalogue import Unavailable
from ringside.workloads.batch.workload import BATCH

from pairs import take_turns, tell  # isort: skip

ROOT = Path(__file__).resolve().parents[1]
CASES, SIZE, ROUNDS = 200_000, 200, 7


def wall(*words: str) -> float:
    begun = time.perf_counter()
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def reader(folder: Path, go: str) -> str:
    """Builds the program that only reads: Go needs its files in one folder."""
    for source in (ROOT / "benchmarks/bare/reading.go", ROOT / "contenders/go/batch/input.go"):
        shutil.copy(source, folder)
    subprocess.run([go, "build", "-o", "reading", "reading.go", "input.go"], cwd=folder, check=True)
    return str(folder / "reading")


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    ready = Toolchain(ROOT / ".ringside" / "builds").prepare(
        Catalogue([ROOT]).contender("go"), program="batch"
    )
    if isinstance(ready, Unavailable):
        print(f"go: {ready.reason}; {ready.remedy}", file=sys.stderr)
        return 1
    made = Inputs(ROOT / ".ringside" / "inputs").get(
        BATCH.input(point("batch", cases=CASES, size=SIZE, cores=1))
    )
    path = str(made.path)
    with tempfile.TemporaryDirectory() as folder:
        reading = reader(Path(folder), ready.receipt.executable)
        for cores in (1, 2):
            cpus, _ = Executor().cpus(cores)
            before = os.sched_getaffinity(0)
            os.sched_setaffinity(0, cpus)
            sides: dict[str, Callable[[], float]] = {
                "reading alone": partial(wall, reading, path),
                "all of the work": partial(wall, f"{ready.build}/batch", f"input={path}", f"cores={cores}"),
            }
            print(f"Go's batch, {made.size_bytes / 1e6:.0f} MB, cores={cores}, {rounds} rounds", flush=True)
            tell(take_turns(sides, rounds), "s", "all of the work")
            os.sched_setaffinity(0, before)
    return 0


if __name__ == "__main__":
    sys.exit(main())
