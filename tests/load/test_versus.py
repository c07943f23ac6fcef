"""Two targets under the same load in turn: the run that `load --vs` makes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ringside.analysis.run import RunAnalysis
from ringside.errors import UsageError
from ringside.load import versus
from ringside.load.versus import POINT, load_message
from ringside.model.design import DEFAULT_MARGIN, Cell
from ringside.model.results import Obstacle, Outcome, Trial, Verdict
from ringside.probe.protocol import LoadOutcome, LoadPlan, PoissonRate, engine_message
from ringside.render.export import documents
from ringside.store import Store
from tests.support.loads import HTTP, MS, STREAM, histogram, http_plan, load_plan, outcome

TARGETS = {"A": HTTP, "B": HTTP}


def run_of(
    folder: Path,
    ratios: Sequence[float],
    plan: LoadPlan | None = None,
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
            message = engine_message(json.dumps(outcome(**values)).encode())
            assert isinstance(message, LoadOutcome)
            store.add_trial(
                run,
                Trial(
                    block,
                    position,
                    Cell(name, POINT),
                    Outcome(values.get("outcome", "ok")),
                    str(values.get("detail", "")),
                    loads=(load_message(message, None),),
                ),
            )
    store.end_run(run)
    return RunAnalysis(store.run(run.id), store.trials(run))


def test_what_is_compared_depends_on_the_load(tmp_path: Path) -> None:
    closed = run_of(tmp_path / "closed", [1.07, 1.05, 1.09, 1.06, 1.08, 1.10])
    verdicts = {comparison.metric: comparison.verdict for comparison in closed.shown_comparisons()}
    assert verdicts == dict.fromkeys(("rate", "latency_p50", "latency_p99"), Verdict.FASTER)
    open_loop = run_of(tmp_path / "open", [1.0], http_plan(rate_per_s=5))
    assert [metric.name for metric in open_loop.metrics] == ["latency_p50", "latency_p99"]


EVEN = [0.99, 1.01, 0.995, 1.005, 1.0, 1.002, 0.998]


@pytest.mark.parametrize(
    ("ratios", "margin", "verdict", "obstacle"),
    [
        ([0.5, 0.51, 0.52, 0.53, 0.49, 0.48], 0.05, Verdict.SLOWER, None),
        (EVEN, 0.05, Verdict.EQUIVALENT, None),
        (EVEN, 0.001, Verdict.INCONCLUSIVE, None),
        ([0.9, 1.1, 0.95, 1.05, 1.0, 1.02], 0.05, Verdict.INCONCLUSIVE, None),
        ([1.07] * 5, 0.05, Verdict.INCONCLUSIVE, Obstacle.TOO_FEW_BLOCKS),
        ([1.0] * 9, 0.05, Verdict.INCONCLUSIVE, Obstacle.SAME_VALUES),
    ],
)
def test_verdicts(
    tmp_path: Path, ratios: list[float], margin: float, verdict: Verdict, obstacle: Obstacle | None
) -> None:
    analysis = run_of(tmp_path, ratios, margin=margin)
    assert analysis.experiment.margin == margin
    comparison = next(analysis.shown_comparisons())
    assert (comparison.verdict, comparison.obstacle) == (verdict, obstacle)


def test_all_metrics_are_one_family(tmp_path: Path) -> None:
    """One look at the end decides all of them, with one error rate."""
    analysis = run_of(tmp_path, [1.07, 1.05, 1.09, 1.06, 1.08, 1.10])
    assert analysis.confirmatory == len(analysis.metrics) == 3
    assert {comparison.p for comparison in analysis.shown_comparisons()} == {1 / 32}
    assert not analysis.experiment.until_decided


def test_the_documents_of_a_run(tmp_path: Path) -> None:
    analysis = run_of(tmp_path, [1.07] * 6)
    loads = versus.documents(analysis, TARGETS, http_plan(duration_s=6))
    assert [(load["block"], load["name"]) for load in loads[:3]] == [(0, "A"), (0, "B"), (1, "A")]
    assert loads[1]["achieved_rate"] == pytest.approx(1070)
    whole = documents.load_document(analysis, {"blocks": 7, "seed": 5}, loads)
    assert (whole["blocks"], whole["blocks_done"], whole["seed"]) == (7, 6, 5)
    assert whole["comparisons"][0] == {
        "metric": "rate",
        "contender": "B",
        "baseline": "A",
        "ratio": pytest.approx(1.07),
        "low": pytest.approx(1.07),
        "high": pytest.approx(1.07),
        "n": 6,
        "verdict": "faster",
        "word": "higher",
        "obstacle": None,
        "blocks_needed": None,
        "contradicted": None,
        "overstated": False,
        "stalls": None,
        "exploratory": False,
    }
    assert len(whole["runs"]) == 12
    json.dumps(whole)


def test_streams_are_compared_where_it_is_known_when_messages_are_due() -> None:
    streams = {"A": STREAM, "B": STREAM}
    with pytest.raises(UsageError, match="--interval or --due-field"):
        versus.check(streams, load_plan(STREAM))
    versus.check(streams, load_plan(STREAM, interval_s=1))
    versus.check(streams, load_plan(STREAM, due_field="at "))


def test_each_block_has_its_share_of_the_load() -> None:
    whole = http_plan(duration_s=6, requests=100, rate_per_s=5, poisson=True, seed=7)
    part = versus.part(whole, 4, 2)
    assert (part.duration_s, part.requests, part.pacing) == (1.5, 25, PoissonRate(5, 9))
    assert versus.part(http_plan(requests=5), 10, 0).requests == 1
    assert versus.part(http_plan(duration_s=1), 10, 1).duration_s == 0.5
