"""`ringside --help` (target: 100 ms), a report of 1,000 trials (target: 3 s), and the first verdict on two
commands of some 20 ms that differ by half (target: 3 s), beside a bare Python."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.runs import experiment, make_run

from ringside.store import Store

from pairs import take_turns, tell  # isort: skip

RINGSIDE = str(Path(sys.executable).parent / "ringside")


def timed(*command: str) -> float:
    """Wall time of a command in ms."""
    begun = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (time.perf_counter() - begun) * 1e3


def main() -> int:
    bare = [sys.executable, "-c", "pass"]
    print("`ringside --help`, whole process")
    sides = {"ringside --help": lambda: timed(RINGSIDE, "--help"), "python -c pass": lambda: timed(*bare)}
    tell(take_turns(sides, 15), "ms", "python -c pass")
    with tempfile.TemporaryDirectory() as folder:
        where = str(Path(folder) / "s.sqlite")
        store = Store(where)
        levels = {"nodes": tuple(range(100, 1000, 50)), "messages": (100,)}
        run = make_run(store, experiment("ring-showdown", factors=levels, blocks=14))
        count = len(store.trials(run))
        store.close()
        page = str(Path(folder) / "page.html")
        print(f"`ringside report` of {count} trials, whole process")
        command = (RINGSIDE, "report", "--store", where, "-o", page)
        sides = {"ringside report": lambda: timed(*command), "python -c pass": lambda: timed(*bare)}
        tell(take_turns(sides, 7), "ms", "python -c pass")
        print("`ringside vs 'sleep 0.02' 'sleep 0.03'` up to its verdict, whole process")
        verdict = (RINGSIDE, "vs", "--store", str(Path(folder) / "vs.sqlite"), "sleep 0.02", "sleep 0.03")
        sides = {"ringside vs": lambda: timed(*verdict), "python -c pass": lambda: timed(*bare)}
        tell(take_turns(sides, 5), "ms", "python -c pass")
    return 0


if __name__ == "__main__":
    sys.exit(main())
