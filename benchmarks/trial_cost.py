"""The cost of one trial of the command `true` as `vs` carries it out, including all of its work and the
commit, beside the cost of one run in hyperfine. `--contender`: as a trial of a contender, which has a
launcher, a temporary folder and comparisons of its own.

Target: at most 1.3 times as long as hyperfine. A round is 50 trials here and 50 runs of `hyperfine -N`, in
turn: on a machine that drifts, single figures are a matter of luck, but their ratio is stable. If the target
is missed, a line says by how much, and the exit status is 1."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

from ringside.measure.host import Executor, off_contender_cpus
from ringside.measure.runs.trials import trial_from_messages
from ringside.model.design import Cell, Point
from ringside.model.results import Outcome, Trial
from ringside.probe.protocol import Limits, TrialRequest
from ringside.store import Store

from pairs import take_turns, tell  # isort: skip

TRIALS, ROUNDS = 50, 10
TRUE = shutil.which("true") or "/bin/true"
OURS, PEER = "ringside, a trial", "hyperfine -N, a run"
MAX_MS = 0.9
MAX_RATIO = 1.3


def main() -> int:
    executor = Executor()
    cpus, probe_cpus = executor.cpus(1)
    request = TrialRequest(
        argv=(TRUE,),
        cwd="/",
        env={"PATH": os.environ["PATH"]},
        limits=Limits(wall_s=10, memory_bytes=1 << 30, output_bytes=1 << 20, processes=64),
        cpus=cpus,
        probe_cpus=probe_cpus,
        plain="--contender" not in sys.argv,
        temporary="--contender" in sys.argv,
    )
    with off_contender_cpus(executor), tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "s.sqlite")
        run = store.begin_run("cost", 1, {}, {}, {})
        cell = Cell("true", Point((("cores", 1),)))
        # In a store, each block has one trial of a cell.
        blocks = itertools.count(1)

        def ours() -> float:
            begun = time.perf_counter()
            for _ in range(TRIALS):
                blank = Trial(next(blocks), 0, cell, Outcome.INTERRUPTED, "")
                trial = trial_from_messages(blank, executor.trial(request))
                assert trial.outcome is Outcome.OK, trial
                store.add_trial(run, trial)
            return (time.perf_counter() - begun) / TRIALS * 1e3

        sides = {OURS: ours}
        if hyperfine := shutil.which("hyperfine"):
            sides[PEER] = lambda: hyperfine_ms(hyperfine, Path(folder) / "h.json")
        else:
            print("hyperfine is not here: apt-get install hyperfine", file=sys.stderr)
        print(f"one trial of `true`: {ROUNDS} rounds of {TRIALS}, taking turns")
        values = take_turns(sides, ROUNDS)
        tell(values, "ms", PEER if hyperfine else OURS)
    misses = list(missed(values))
    for line in misses:
        print(f"missed: {line}", file=sys.stderr)
    return 1 if misses else 0


def missed(values: Mapping[str, Mapping[int, float]]) -> Iterator[str]:
    """The targets that were missed, by medians over rounds."""
    if PEER in values:
        ratio = median(values[OURS][number] / peer_ms for number, peer_ms in values[PEER].items())
        if ratio > MAX_RATIO:
            yield f"a trial takes {ratio:.2f} times {PEER}, of {MAX_RATIO:.2f}"
    elif (trial_ms := median(values[OURS].values())) > MAX_MS:
        yield f"a trial takes {trial_ms:.2f} ms, of {MAX_MS} ms"


def hyperfine_ms(program: str, export: Path) -> float:
    """The wall time in ms that hyperfine needs for one run, including its own work."""
    begun = time.perf_counter()
    words = ["-N", "--style", "none", "--warmup", "0", "--runs", str(TRIALS), "--export-json", str(export)]
    subprocess.run([program, *words, TRUE], check=True, capture_output=True)
    took = time.perf_counter() - begun
    assert len(json.loads(export.read_text())["results"][0]["times"]) == TRIALS
    return took / TRIALS * 1e3


if __name__ == "__main__":
    sys.exit(main())
