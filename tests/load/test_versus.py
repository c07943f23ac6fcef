"""Two targets under the same load in turn: the run that `load --vs` makes."""

import json
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ringside.analysis.run import RunAnalysis
from ringside.errors import ProbeError
from ringside.load import versus
from ringside.load.versus import LOAD, POINT, TargetTrials, load_message
from ringside.measure.runs.loop import BlockLoop, Listener, StoppingRule
from ringside.model.design import DEFAULT_MARGIN, Cell, Experiment
from ringside.model.results import Outcome, Trial, Verdict
from ringside.probe import protocol as ipc
from ringside.probe.process import Probe
from ringside.store import Store
from ringside.store.plans import PlannedContender, RunPlan
from ringside.workloads.target import STEP, TARGET
from tests.support import probes
from tests.support.loads import HTTP, MS, histogram, http_plan, outcome
from tests.support.probes import printing, script

TARGETS = {"A": HTTP, "B": HTTP}


def run_of(
    folder: Path,
    ratios: Sequence[float],
    plan: ipc.LoadPlan | None = None,
    margin: float = DEFAULT_MARGIN,
    **changed: Any,
) -> RunAnalysis:
    """A block for each ratio of the rates of B and A. `changed`: the outcome of B's loads."""
    store = Store(folder / "s.sqlite")
    run = versus.begin(TARGETS, plan or http_plan(), len(ratios), margin, 5, store)
    for block, ratio in enumerate(ratios, 1):
        latency = {"latency": histogram(int(MS / ratio))}
        b = {"achieved_rate_per_s": 1000.0 * ratio, "histograms": latency} | changed
        a: dict[str, Any] = {"achieved_rate_per_s": 1000.0}
        for position, (name, values) in enumerate((("A", a), ("B", b))):
            message = ipc.engine_message(json.dumps(outcome(**values)).encode())
            assert isinstance(message, ipc.LoadOutcome)
            store.add_trial(
                run,
                Trial(
                    block,
                    position,
                    Cell(name, POINT),
                    Outcome(values.get("outcome", "ok")),
                    str(values.get("detail", "")),
                    loads=(load_message(message),),
                ),
            )
    store.end_run(run)
    return RunAnalysis(store.run(run.id), store.trials(run))


def test_what_is_compared_depends_on_the_load_and_is_one_family(tmp_path: Path) -> None:
    """One look at the end decides all of them, with one error rate."""
    closed = run_of(tmp_path / "closed", [1.07, 1.05, 1.09, 1.06, 1.08, 1.10], margin=0.03)
    assert closed.experiment.margin == 0.03
    verdicts = {comparison.metric: comparison.verdict for comparison in closed.shown_comparisons()}
    assert verdicts == dict.fromkeys(("rate", "latency_p50", "latency_p99"), Verdict.FASTER)
    assert len(closed.examination.confirmatory) == len(closed.metrics) == 3
    assert {comparison.p for comparison in closed.shown_comparisons()} == {1 / 32}
    assert not closed.experiment.until_decided
    open_loop = run_of(tmp_path / "open", [1.0], http_plan(rate_per_s=5))
    assert [metric.name for metric in open_loop.metrics] == ["latency_p50", "latency_p99"]


def test_each_block_has_its_share_of_the_load() -> None:
    whole = http_plan(duration_s=6, requests=100, rate_per_s=5, poisson=True, seed=7)
    part = versus.part(whole, 4, 2)
    assert (part.duration_s, part.requests, part.pacing) == (1.5, 25, ipc.PoissonRate(5, 9))
    assert versus.part(http_plan(requests=5), 10, 0).requests == 1
    assert versus.part(http_plan(duration_s=1), 10, 1).duration_s == 0.5


STARTED = '{"type":"started","version":1,"missing":["x: no"]}'
OUTCOME = (
    '{"type":"outcome","outcome":"ok","requests":7,"achieved_rate_per_s":3.5,'
    '"histograms":{"latency":{"count":7,"p50_ns":2,"p99_ns":9}}}'
)


class Observer(Listener):
    """A load observer that remembers."""

    def __init__(self) -> None:
        self.loads: list[tuple[int, str, ipc.LoadPlan]] = []
        self.messages: list[ipc.EngineMessage] = []
        self.cells: list[Cell] = []

    def on_warm_up(self, cell: Cell) -> None:
        self.cells.append(cell)

    def on_load(self, block: int, target: str, plan: ipc.LoadPlan) -> None:
        self.loads.append((block, target, plan))

    def on_message(self, message: ipc.EngineMessage) -> None:
        self.messages.append(message)


def plan_of(name: str, block: int) -> ipc.LoadPlan:
    return ipc.LoadPlan("http", (name,), pacing=ipc.PoissonRate(5, seed=block), duration_s=0.1)


def targets(probe: Probe, observer: Observer | None = None) -> TargetTrials:
    plans = {name: lambda block, name=name: plan_of(name, block) for name in "AB"}
    return TargetTrials(plans, probe, observer or Observer())


def one_load(probe: Probe, observer: Observer | None = None, name: str = "A") -> Trial:
    """The trial of block 3, in position 1."""
    return targets(probe, observer).trial(3, 1, Cell(name, POINT), first=True)


def test_a_load_is_a_trial(tmp_path: Path) -> None:
    observer = Observer()
    trial = one_load(printing(tmp_path, STARTED, OUTCOME), observer, "B")
    assert (trial.block, trial.position, trial.cell, trial.outcome) == (3, 1, Cell("B", POINT), Outcome.OK)
    assert trial.missing == ("x: no",)
    assert trial.started_at
    load = trial.load(STEP, LOAD)
    assert (load.requests, load.achieved_rate_per_s) == (7, 3.5)
    assert load.histograms == {"latency": ipc.LatencySummary(count=7, p50_ns=2, p99_ns=9)}
    assert TARGET.figures(trial) == {"rate": 3.5, "latency_p50": 2.0, "latency_p99": 9.0}
    assert observer.loads == [(3, "B", plan_of("B", 3))]
    assert [type(message) for message in observer.messages] == [ipc.Started, ipc.LoadOutcome]


def test_the_request_is_the_plan_of_its_block(tmp_path: Path) -> None:
    (tmp_path / "outcome").write_text(OUTCOME)
    probe = Probe(script(tmp_path, "printf '%s' \"$request\" > got; cat outcome"))
    one_load(probe)
    assert (tmp_path / "got").read_bytes() == ipc.LoadRequest(plan_of("A", 3)).encode()


def test_every_target_is_warmed_up_and_whoever_waits_sees_it(tmp_path: Path) -> None:
    observer, waiting = Observer(), Observer()
    targets(printing(tmp_path, OUTCOME), observer).warm_up(waiting)
    assert [(block, name) for block, name, _ in observer.loads] == [(0, "A"), (0, "B")]
    assert waiting.cells == [Cell("A", POINT), Cell("B", POINT)]


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
    outcome = ipc.LoadOutcome("ok", "fine", requests=3, errors={"reset": 1}, late_requests=5)
    message = load_message(outcome)
    assert (message.step, message.name) == (STEP, LOAD)
    for name in ("outcome", "detail", "requests", "errors", "late_requests"):
        assert getattr(message, name) == getattr(outcome, name)
    assert load_message(outcome).started_within_ns is None
    assert load_message(outcome, 0.25).started_within_ns == 250_000_000


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
    experiment = Experiment("load", "", TARGET.name, ("A", "B"), {}, "A", 3)
    contenders = {name: PlannedContender(name) for name in "AB"}
    run = store.begin_run("load", 1, RunPlan(experiment, (POINT,), contenders).values(), {}, {})
    sender = probes.when((tmp_path / "ready").exists, signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        BlockLoop(run, StoppingRule(3), store, Listener(), maker=targets(probe)).conduct()
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
def test_a_failed_load_has_its_reason(tmp_path: Path, reported: str, outcome: Outcome, detail: str) -> None:
    message = {"type": "outcome", "outcome": reported, "detail": detail, "requests": 7}
    trial = one_load(printing(tmp_path, STARTED, json.dumps(message)))
    assert (trial.block, trial.position, trial.cell) == (3, 1, Cell("A", POINT))
    assert (trial.outcome, trial.detail) == (outcome, detail)
    assert trial.started_at
    assert outcome is not Outcome.INTERRUPTED or trial.loads == ()
