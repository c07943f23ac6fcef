"""Trials of loads at servers, with probes that print what they are told."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from ringside.errors import ProbeError
from ringside.load.versus import LOAD, POINT, TargetTrials, load_message
from ringside.measure.runs.events import Listener
from ringside.measure.runs.loop import BlockLoop
from ringside.measure.runs.stopping import StoppingRule
from ringside.model.design import Cell, Experiment
from ringside.model.results import Outcome, Trial
from ringside.probe.process import Probe
from ringside.probe.protocol import (
    EngineMessage,
    LatencySummary,
    LoadOutcome,
    LoadPlan,
    LoadRequest,
    PoissonRate,
    Started,
)
from ringside.store import Store
from ringside.workloads.target import STEP, TARGET
from tests.support import probes
from tests.support.probes import printing, script

STARTED = '{"type":"started","version":1,"io":"epoll","missing":["x: no"]}'
OUTCOME = (
    '{"type":"outcome","outcome":"ok","requests":7,"achieved_rate_per_s":3.5,'
    '"histograms":{"latency":{"count":7,"p50_ns":2,"p99_ns":9}}}'
)


class Observer(Listener):
    """A load observer that remembers."""

    def __init__(self) -> None:
        self.loads: list[tuple[int, str, LoadPlan]] = []
        self.messages: list[EngineMessage] = []

    def on_load(self, block: int, target: str, plan: LoadPlan) -> None:
        self.loads.append((block, target, plan))

    def on_message(self, message: EngineMessage) -> None:
        self.messages.append(message)


def plan_of(name: str, block: int) -> LoadPlan:
    return LoadPlan("http", (name,), pacing=PoissonRate(5, seed=block), duration_s=0.1)


def targets(probe: Probe, observer: Observer | None = None) -> TargetTrials:
    plans = {name: lambda block, name=name: plan_of(name, block) for name in "AB"}
    return TargetTrials(plans, probe, observer or Observer())


def one_load(probe: Probe, observer: Observer | None = None, name: str = "A") -> Trial:
    """The trial of block 3, in position 1."""
    return targets(probe, observer).trial(3, 1, Cell(name, POINT), first=True, tick=lambda: None)


def test_a_load_is_a_trial(tmp_path: Path) -> None:
    observer = Observer()
    trial = one_load(printing(tmp_path, STARTED, OUTCOME), observer, "B")
    assert (trial.block, trial.position, trial.cell, trial.outcome) == (3, 1, Cell("B", POINT), Outcome.OK)
    assert trial.missing == ("x: no",)
    assert trial.started_at
    load = trial.load(STEP, LOAD)
    assert load
    assert (load.requests, load.achieved_rate_per_s, load.io) == (7, 3.5, "epoll")
    assert load.histograms == {"latency": LatencySummary(count=7, p50_ns=2, p99_ns=9)}
    assert TARGET.figures(trial) == {"rate": 3.5, "latency_p50": 2.0, "latency_p99": 9.0}
    assert observer.loads == [(3, "B", plan_of("B", 3))]
    assert [type(message) for message in observer.messages] == [Started, LoadOutcome]


def test_the_request_is_the_plan_of_its_block(tmp_path: Path) -> None:
    (tmp_path / "outcome").write_text(OUTCOME)
    probe = Probe(script(tmp_path, "printf '%s' \"$request\" > got; cat outcome"))
    one_load(probe)
    assert (tmp_path / "got").read_bytes() == LoadRequest(plan_of("A", 3)).encode()


def test_every_target_is_warmed_up_and_whoever_waits_sees_it(tmp_path: Path) -> None:
    cells: list[Cell] = []

    class Waiting(Listener):
        def on_warm_up(self, cell: Cell) -> None:
            cells.append(cell)

    observer = Observer()
    targets(printing(tmp_path, OUTCOME), observer).warm_up(Waiting())
    assert [(block, name) for block, name, _ in observer.loads] == [(0, "A"), (0, "B")]
    assert cells == [Cell("A", POINT), Cell("B", POINT)]


def test_an_unknown_outcome_is_an_error_of_the_probe(tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="unknown outcome: splendid"):
        one_load(printing(tmp_path, '{"type":"outcome","outcome":"splendid"}'))


def test_a_load_whose_requests_fail_says_nothing_of_its_target(tmp_path: Path) -> None:
    def outcome_of(**counts: object) -> tuple[Outcome, str]:
        figures = {"type": "outcome", "outcome": "ok", "requests": 990, **counts}
        trial = one_load(printing(tmp_path, json.dumps(figures)))
        return trial.outcome, trial.detail

    assert outcome_of(errors={"status": 10})[0] is Outcome.OK
    failed = (Outcome.LOAD_FAILED, "11 of 1,001 requests failed: 7 × status, 4 × unfinished")
    assert outcome_of(errors={"status": 7}, unfinished=4) == failed


def test_all_figures_of_a_load_come_into_the_message() -> None:
    outcome = LoadOutcome("ok", "fine", requests=3, errors={"reset": 1}, late_requests=5)
    message = load_message(outcome, Started(1, io="uring"))
    assert (message.step, message.name, message.io) == (STEP, LOAD, "uring")
    for name in ("outcome", "detail", "requests", "errors", "late_requests"):
        assert getattr(message, name) == getattr(outcome, name)
    assert load_message(outcome, None).io == ""
    assert load_message(outcome, None).started_within_ns is None
    assert load_message(outcome, None, 0.25).started_within_ns == 250_000_000


def test_an_interrupted_load_is_kept_without_figures(tmp_path: Path) -> None:
    """The engine itself reports `ok` for what it did until then."""
    (tmp_path / "outcome").write_text(OUTCOME)
    body = """
echo >> count
[ "$(wc -l < count)" -le 2 ] && exec cat outcome
trap 'cat outcome; exit 0' INT
: > ready
while :; do sleep 0.1; done
"""
    probe = Probe(script(tmp_path, body))
    store = Store(tmp_path / "s.sqlite")
    run = store.begin_run("load", 1, {}, {}, {})
    experiment = Experiment("load", "", TARGET.name, ("A", "B"), {}, "A", 3)
    benchmark = BlockLoop(
        run,
        experiment,
        TARGET,
        (POINT,),
        StoppingRule(3),
        targets(probe),
        store,
        Listener(),
    )
    sender = probes.when((tmp_path / "ready").exists, signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        benchmark.conduct()
    sender.join()
    (trial,) = store.trials(run)
    assert (trial.outcome, trial.loads) == (Outcome.INTERRUPTED, ())
    assert trial.started_at


def test_an_interrupted_warm_up_ends_all(tmp_path: Path) -> None:
    observer = Observer()
    with pytest.raises(KeyboardInterrupt):
        targets(printing(tmp_path, probes.INTERRUPTED), observer).warm_up(Listener())
    assert [name for _, name, _ in observer.loads] == ["A"]


@pytest.mark.parametrize(
    ("reported", "outcome", "detail"),
    [("interrupted", Outcome.INTERRUPTED, "SIGTERM"), ("load-failed", Outcome.LOAD_FAILED, "nobody listens")],
)
def test_a_load_that_does_not_end_well_has_its_reason(
    tmp_path: Path, reported: str, outcome: Outcome, detail: str
) -> None:
    message = {"type": "outcome", "outcome": reported, "detail": detail, "requests": 7}
    trial = one_load(printing(tmp_path, STARTED, json.dumps(message)))
    assert (trial.block, trial.position, trial.cell) == (3, 1, Cell("A", POINT))
    assert (trial.outcome, trial.detail) == (outcome, detail)
    assert trial.started_at
    assert outcome is not Outcome.INTERRUPTED or trial.loads == ()
