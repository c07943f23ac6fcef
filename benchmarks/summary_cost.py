"""The analysis of a run of 5,000 trials and thirteen contenders (target: 2 s): medians, comparisons, ranks,
slopes, diagnostics; without reading them from the store."""

from __future__ import annotations

import dataclasses
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.runs import experiment, make_run

from ringside.analysis.run import RunAnalysis
from ringside.store import Store

_TIMES = 5


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "s.sqlite")
        # Nine points. The step-down test of the headline has 702 pairs.
        ring = experiment("ring-showdown", blocks=43)
        more = tuple(f"contender-{number}" for number in range(13 - len(ring.contenders)))
        run = make_run(store, dataclasses.replace(ring, contenders=(*ring.contenders, *more)))
        trials = store.trials(run)
        store.close()
    taken = []
    for _ in range(_TIMES):
        begun = time.perf_counter()
        analysis = RunAnalysis(run, trials)
        taken.append(time.perf_counter() - begun)
    comparisons = len(list(analysis.shown_comparisons()))
    print(
        f"{len(trials):,} trials of {len(analysis.names)} contenders, {comparisons} comparisons, "
        f"{len(analysis.rankings)} rankings: "
        f"median {median(taken):.2f} s, least {min(taken):.2f} s of {_TIMES}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
