"""What the post of 2011 on background jobs concluded, as a test of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ringside.model.claims import Finding
from ringside.workloads.claims import AnalysedRun, Band, ClaimTest, ratio_claim

_AS_FAST = Band(1 / 1.1, 1.1, "from 0.91 to 1.1")


def multiprocessing_does_as_well(runs: Sequence[AnalysedRun]) -> Finding:
    """The makespan of jobs that sleep, by multiprocessing's pool over Parallel Python."""
    return ratio_claim(
        runs,
        "jobs-background",
        "jobs",
        "makespan_s",
        "python-pool",
        "parallel-python",
        _AS_FAST,
        applies=lambda point: point["kind"] == "sleep" and point["jobs"] == 2,
        where="with two jobs that sleep",
        beside=("python-processes",),
    )


CLAIMS: Mapping[str, ClaimTest] = {
    "2011-background-jobs/multiprocessing-does-as-well": multiprocessing_does_as_well,
}
