"""The figures that each workload makes of its trials."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from ringside.model.design import Cell, Point
from ringside.model.results import Outcome, Trial
from ringside.probe.protocol import CpuUse, LoadMessage, Sample, TrialOutcome
from ringside.workloads import WORKLOADS, measurement
from ringside.workloads.process import core_figures, process_figures
from tests.support import served
from tests.support.cases import tables
from tests.support.points import PROCESS, REPORT, point
from tests.workloads.test_serving import MARKS

CASES: dict[str, dict[str, Any]] = tables(__file__, "figures.toml")
MEDIANS = ("latency", "lateness", "connect", "first_byte", "overhead", "slowest")


def case(name: str) -> dict[str, Any]:
    own = CASES[name]
    return {**case(own["like"]), **own} if "like" in own else own


def load(row: Mapping[str, Any]) -> LoadMessage:
    """A histogram is named by its median."""

    def summed(fields: Mapping[str, Any]) -> dict[str, Any]:
        return {key: served.summary(fields[key]) for key in MEDIANS if key in fields}

    upstreams = {"upstreams": {**row["upstreams"], **summed(row["upstreams"])}} if "upstreams" in row else {}
    fields = {"type": "load", "name": "all", **row, **upstreams, "histograms": summed(row)}
    return msgspec.convert(msgspec.to_builtins(fields), LoadMessage)


def trial(known: Mapping[str, Any]) -> Trial:
    name, marks, report = known["workload"], known.get("marks", {}), known.get("report")
    at = point(WORKLOADS[name], **known["levels"]) if "levels" in known else Point(())
    changes = {key: None if value is False else value for key, value in (report or {}).items()}
    return Trial(
        1,
        0,
        Cell("go", at),
        Outcome.OK,
        "",
        report=None if report is None else msgspec.structs.replace(REPORT, **changes),
        phases={phase: tuple(ns) for phase, ns in known.get("phases", {}).items()},
        marks=MARKS
        if marks == "server"
        else {mark: Sample(**{"t_ns": 1, **each}) for mark, each in marks.items()},
        loads=tuple(map(load, known.get("loads", ()))),
        input_bytes=known.get("input_bytes"),
    )


@pytest.mark.parametrize("name", CASES)
def test_figures_of_a_trial(name: str) -> None:
    known = case(name)
    measured = measurement(known["workload"])
    figures, is_part = measured.figures(trial(known)), known.get("partly")
    right = known["figures"] | (PROCESS if known.get("process") and not is_part else {})
    assert not figures.keys() & {*known.get("without", ())}
    assert {key: x for key, x in figures.items() if key in right or not is_part} == pytest.approx(right)
    assert measured.repeats_of(trial(known)) == tuple(known.get("repeats", ()))


# --- figures of any process ---


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
