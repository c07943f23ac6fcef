"""The analysis of a run of 5,000 trials (target: 2 s): medians, comparisons, ranks, slopes, diagnostics;
without reading them from the store."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.runs import experiment, make_run

from ringside.analysis.run import analyse
from ringside.store import Store

_TIMES = 5


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "s.sqlite")
        # Eight contenders at nine points.
        run = make_run(store, experiment("ring-showdown", blocks=140))
        trials = store.trials(run)
        store.close()
    taken = []
    for _ in range(_TIMES):
        begun = time.perf_counter()
        analysis = analyse(run, trials)
        taken.append(time.perf_counter() - begun)
    comparisons = len(list(analysis.shown_comparisons()))
    print(
        f"{len(trials):,} trials, {comparisons} comparisons, {len(analysis.rankings)} rankings: "
        f"median {median(taken):.2f} s, least {min(taken):.2f} s of {_TIMES}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
