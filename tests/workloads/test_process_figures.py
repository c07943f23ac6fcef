from __future__ import annotations

import msgspec
import pytest

from ringside.probe.protocol import CpuUse, TrialOutcome
from ringside.workloads.process import core_figures, process_figures
from tests.support.points import REPORT


def test_what_was_not_observed_is_left_out() -> None:
    assert process_figures(None) == {}
    assert process_figures(TrialOutcome("ok", cpu_user_ns=5, voluntary_switches=3)) == {}
    # 0: the process ended before the first sample; no time in the run queue is a figure.
    ended_early = TrialOutcome("ok", peak_pss_bytes=0, peak_threads=0, run_queue_ns=0)
    assert process_figures(ended_early) == {"run_queue_s": 0.0}


def test_shares_of_cores() -> None:
    # 3 s of CPU in 5 s on two cores; the core that reported nothing is left out.
    assert core_figures(REPORT, 2) == {"busy_share": 0.3, "busiest_core": 0.9, "idlest_core": 0.25}
    assert core_figures(REPORT, 3)["busy_share"] == pytest.approx(0.2)
    assert core_figures(None, 2) == {}
    silent = msgspec.structs.replace(REPORT, wall_ns=0, cpus=(CpuUse(0, 0, 0, 0),))
    assert core_figures(silent, 2) == {}
