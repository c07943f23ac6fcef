"""All statistics of a run of 5,000 trials (target: 2 s): medians, comparisons, ranks, slopes, warnings; the
reading from the store apart."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.runs import experiment, make_run

from ringside.analysis.summary import summarise
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
        found = summarise(run, trials)
        compared = found.comparisons()
        ranks = [found.ranks(metric, point) for metric in found.metrics() for point in found.points]
        taken.append(time.perf_counter() - begun)
    print(
        f"{len(trials):,} trials, {len(compared)} comparisons, {len(ranks)} rankings: "
        f"median {median(taken):.2f} s, least {min(taken):.2f} s of {_TIMES}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
