"""`ringside --help` (target: 60 ms), a report of 1,000 trials (target: 3 s), and the first verdict on two
commands of some 20 ms that differ by half (target: 1.2 s), beside a bare Python; and the figures of a command
that needs a shell beside hyperfine's (target: within 0.3 ms). `--only help|report|verdict|shell`."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.runs import experiment, make_run

from ringside.store import Store

from pairs import take_turns, tell  # isort: skip

RINGSIDE = str(Path(sys.executable).parent / "ringside")
BARE = [sys.executable, "-c", "pass"]
# Takes slightly more than 20 ms, and needs a shell.
PIPELINE = "sleep 0.02 | cat"
RUNS, TURNS = "30", 10


def timed(*command: str) -> float:
    """Wall time of a command in ms."""
    begun = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (time.perf_counter() - begun) * 1e3


def starts(_: Path) -> None:
    print("`ringside --help`, whole process")
    sides = {"ringside --help": lambda: timed(RINGSIDE, "--help"), "python -c pass": lambda: timed(*BARE)}
    tell(take_turns(sides, 15), "ms", "python -c pass")


def report(folder: Path) -> None:
    where = str(folder / "s.sqlite")
    store = Store(where)
    levels = {"nodes": tuple(range(100, 1000, 50)), "messages": (100,)}
    run = make_run(store, experiment("ring-showdown", factors=levels, blocks=14))
    count = len(store.trials(run))
    store.close()
    print(f"`ringside report` of {count} trials, whole process")
    command = (RINGSIDE, "report", "--store", where, "-o", str(folder / "page.html"))
    sides = {"ringside report": lambda: timed(*command), "python -c pass": lambda: timed(*BARE)}
    tell(take_turns(sides, 7), "ms", "python -c pass")


def verdict(folder: Path) -> None:
    print("`ringside vs 'sleep 0.02' 'sleep 0.03'` up to its verdict, whole process")
    command = (RINGSIDE, "vs", "--store", str(folder / "vs.sqlite"), "sleep 0.02", "sleep 0.03")
    sides = {"ringside vs": lambda: timed(*command), "python -c pass": lambda: timed(*BARE)}
    tell(take_turns(sides, 5), "ms", "python -c pass")


def shell(folder: Path) -> None:
    """Both tools start the shell for each execution, and their times include its start: hyperfine subtracts
    it only if it chooses the shell without an option."""
    if not shutil.which("hyperfine"):
        print("a command that needs a shell: hyperfine is not installed")
        return
    file = folder / "times.json"

    def median_ms(*command: str) -> float:
        timed(*command, "--export-json", str(file))
        return 1e3 * float(json.loads(file.read_text(encoding="utf-8"))["results"][0]["median"])

    own = (RINGSIDE, "vs", "--store", str(folder / "shell.sqlite"), "--runs", RUNS, PIPELINE)
    other = ("hyperfine", "-N", "--style", "none", "--warmup", "1", "--runs", RUNS, f"sh -c '{PIPELINE}'")
    print(f"`{PIPELINE}`, medians of {RUNS} executions")
    sides = {"ringside vs": lambda: median_ms(*own), "hyperfine -N": lambda: median_ms(*other)}
    values = take_turns(sides, TURNS)
    tell(values, "ms", "hyperfine -N")
    ours, theirs = (list(each.values()) for each in values.values())
    differences = [one - another for one, another in zip(ours, theirs, strict=True)]
    print(f"  the difference, from pairs: median {median(differences):+.2f} ms")


PARTS: dict[str, Callable[[Path], None]] = {
    "help": starts,
    "report": report,
    "verdict": verdict,
    "shell": shell,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, help="one part")
    only = parser.parse_args().only
    with tempfile.TemporaryDirectory() as folder:
        for name, part in PARTS.items():
            if only in (None, name):
                part(Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
