"""Two targets under the same load in turn: the run that `load --vs` makes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ringside.analysis.run import RunAnalysis, analyse
from ringside.errors import UsageError
from ringside.load import options, versus
from ringside.measure.target_trials import POINT, load_message
from ringside.model.design import Cell
from ringside.model.results import Outcome, Trial, Verdict
from ringside.probe.protocol import LoadOutcome, LoadPlan, StreamMessages, engine_message
from ringside.render import paired
from ringside.store import Store
from tests.loads import HTTP, MS, STREAM, histogram, http_plan, open_plan, outcome

TARGETS = {"A": HTTP, "B": HTTP}


def run_of(
    folder: Path, ratios: Sequence[float], plan: LoadPlan | None = None, **changed: Any
) -> RunAnalysis:
    """A block for each ratio of the rates of B and A. `changed`: the outcome of B's loads."""
    store = Store(folder / "s.sqlite")
    run = versus.begin(TARGETS, plan or http_plan(), len(ratios), 5, store)
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
    return analyse(store.run(run.id), store.trials(run))


def test_what_is_compared_depends_on_the_load(tmp_path: Path) -> None:
    closed = run_of(tmp_path / "closed", [1.07, 1.05, 1.09, 1.06, 1.08, 1.10])
    verdicts = {comparison.metric: comparison.verdict for comparison in closed.shown_comparisons()}
    assert verdicts == dict.fromkeys(("rate", "latency_p50", "latency_p99"), Verdict.FASTER)
    open_loop = run_of(tmp_path / "open", [1.0], open_plan(rate_per_s=5))
    assert [metric.name for metric in open_loop.metrics] == ["latency_p50", "latency_p99"]


def test_slower_even_and_too_few(tmp_path: Path) -> None:
    for name, ratios, verdict in (
        ("slower", [0.5, 0.51, 0.52, 0.53, 0.49, 0.48], Verdict.SLOWER),
        ("even", [0.9, 1.1, 0.95, 1.05, 1.0, 1.02], Verdict.INDISTINGUISHABLE),
        ("few", [1.07] * 5, Verdict.TOO_FEW_BLOCKS),
    ):
        analysis = run_of(tmp_path / name, ratios)
        assert next(analysis.shown_comparisons()).verdict is verdict


def test_the_documents_of_a_run(tmp_path: Path) -> None:
    analysis = run_of(tmp_path, [1.07] * 6)
    loads = versus.documents(analysis, TARGETS, http_plan(duration_s=6))
    assert [(load["block"], load["name"]) for load in loads[:3]] == [(0, "A"), (0, "B"), (1, "A")]
    assert loads[1]["achieved_rate"] == pytest.approx(1070)
    whole = paired.load_document(analysis, {"blocks": 7, "seed": 5}, loads)
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
    }
    assert len(whole["runs"]) == 12
    json.dumps(whole)


def test_targets_that_cannot_be_compared() -> None:
    versus.check(TARGETS, http_plan())
    with pytest.raises(UsageError, match="like with like"):
        versus.check({"A": HTTP, "B": STREAM}, http_plan())
    with pytest.raises(UsageError, match="--rate instead of --staircase"):
        versus.check(TARGETS, open_plan(steps=((1, 1),)))
    streams = {"A": STREAM, "B": STREAM}
    with pytest.raises(UsageError, match="--interval or --due-field"):
        versus.check(streams, options.load_plan(STREAM))
    for stream in (StreamMessages(interval_s=1), StreamMessages(due_field="at ")):
        versus.check(streams, options.load_plan(STREAM, stream=stream))


def test_each_block_has_its_share_of_the_load() -> None:
    part = versus.part(http_plan(duration_s=6, requests=100), 4, 2)
    assert (part.duration_s, part.requests) == (1.5, 25)
    assert versus.part(http_plan(duration_s=1), 10, 1).duration_s == 0.5
