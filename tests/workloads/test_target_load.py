"""The figures and the diagnostics of `ringside load --vs`."""

import pytest
from msgspec.structs import replace

from ringside.model.design import Cell, Point
from ringside.model.results import Outcome, Trial
from ringside.probe.protocol import EngineWarning, LoadMessage
from ringside.workloads.target import TARGET
from tests.support import served

LOAD = LoadMessage(
    step="measured",
    name="all",
    requests=20,
    achieved_rate_per_s=17.0,
    histograms={"latency": served.summary(0.002), "lateness": served.summary(0.003)},
)


def run(
    load: LoadMessage | None, target: str = "A", outcome: Outcome = Outcome.OK, detail: str = ""
) -> Trial:
    return Trial(1, 0, Cell(target, Point(())), outcome, detail, loads=(load,) if load else ())


@pytest.mark.parametrize("answered", ["requests", "late_requests", "messages"])
def test_runs_without_any_answer_have_no_figures(answered: str) -> None:
    silent = replace(LOAD, requests=0)
    assert TARGET.figures(run(silent)) == {}
    assert TARGET.figures(run(replace(silent, **{answered: 1})))["rate"] == 17
    assert TARGET.figures(run(None)) == {}


def test_figures_of_zero_are_left_out() -> None:
    empty = replace(LOAD, achieved_rate_per_s=0, histograms={"latency": replace(served.summary(1), p50_ns=0)})
    assert TARGET.figures(run(empty)) == {"latency_p99": 4_000_000_000}


def warned(*codes: str, text: str = "the engine was busy") -> LoadMessage:
    return replace(LOAD, warnings=tuple(EngineWarning(code, text, "give it a CPU") for code in codes))


def test_warnings_once_per_target_with_the_number_of_runs() -> None:
    trials = [
        run(warned("generator-bound", "short-run")),
        run(warned("closed-loop-stalls"), "B"),
        run(warned("generator-bound", text="busier")),
        run(LOAD),
        run(warned("generator-bound", text="another text"), "B"),
    ]
    first, short, stalls, second = TARGET.diagnostics(trials)
    assert (first.code, first.subjects, first.values) == ("generator-bound", ("A",), {"runs": 2})
    assert first.text == "A, in 2 runs: the engine was busy"
    assert first.remedy == "give it a CPU"
    assert [(each.code, each.subjects) for each in (short, stalls)] == [
        ("short-run", ("A",)),
        ("closed-loop-stalls", ("B",)),
    ]
    assert second.text == "B, in 1 run: another text"
    (both,) = TARGET.diagnostics([run(warned("short-run")), run(warned("short-run"), "B")])
    assert (both.subjects, both.text) == (("A", "B"), "A and B, in 1 run each: the engine was busy")
    # The same warnings are not reported once more as those of a workload's load.
    assert list(TARGET.decisive_loads(trials[0])) == []


def test_errors_are_those_of_all_runs() -> None:
    warning = EngineWarning("errors", "errors: 1; latencies include few", "check their kinds")
    unfinished = EngineWarning("unfinished", "1 of them had no answer", "use a lower rate")
    loads = [
        replace(LOAD, errors=errors, unfinished=count, warnings=(warning, unfinished))
        for errors, count in (({"status": 1}, 1), ({"status": 40_000, "reset": 159}, 2_000))
    ]
    errors, without_answer = TARGET.diagnostics([run(load, "B") for load in loads])
    assert errors.text == (
        "B, in 2 runs: errors: 40,160; latencies include those that timed out, and leave out the others"
    )
    assert without_answer.text == "B, in 2 runs: 2,001 of the intended requests had no answer at the end"


def test_runs_that_failed() -> None:
    trials = [
        run(None, "B", Outcome.LOAD_FAILED, "connection refused"),
        run(replace(LOAD, outcome="load-failed", detail="reset"), "B"),
        run(LOAD, "A"),
    ]
    (diagnostic,) = TARGET.diagnostics(trials)
    assert (diagnostic.code, diagnostic.subjects, diagnostic.values) == ("load-failed", ("B",), {"runs": 2})
    assert diagnostic.text == "B failed in 2 runs; first error: connection refused"
    (silent,) = TARGET.diagnostics([run(None, "B", Outcome.LOAD_FAILED)])
    assert silent.text == "B failed in 1 run; first error: the load failed"
