"""The analysis of runs of the bundled workloads, from a store."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pytest

from ringside.analysis.run import analyse, analysis_of
from ringside.errors import StoreError, UsageError
from ringside.model.design import Point
from ringside.model.results import (
    Diagnostic,
    Obstacle,
    Outcome,
    Verdict,
)
from ringside.store import Store
from tests.support import runs
from tests.support.analyses import (
    near,
    planned,
    point,
)
from tests.support.runs import experiment, make_run

P, Q = point(nodes=10, mode="x"), point(nodes=20, mode="x")
HERE = Point(())


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "s.sqlite")


def test_a_ring(store: Store) -> None:
    result = analysis_of(store, make_run(store, experiment()))
    hop = result.measurement.metric("hop_ns")
    assert result.metrics[0] == hop
    for place in result.points:
        go = result.comparison(hop, "go", "erlang", place)
        limit = result.comparison(hop, "limit", "erlang", place)
        assert go
        assert limit
        assert go.verdict is Verdict.SLOWER
        assert go.ratio.estimate == near(155 / 95, rel=0.2)
        assert limit.verdict is Verdict.FASTER
    assert result.is_complete
    assert result.diagnostics == ()
    assert result.floor == "limit"


def test_memory_per_unit_is_a_slope(store: Store) -> None:
    changed = experiment("ring-fixed-messages", contenders=("go", "limit"), baseline="go", blocks=3)
    result = analysis_of(store, make_run(store, changed))
    (go,) = (each for each in result.slopes if each.contender == "go")
    assert go.value.estimate == near(2750, rel=0.1)


def test_a_contender_with_failures_keeps_the_figures_of_its_other_blocks(store: Store) -> None:
    result = analysis_of(store, make_run(store, experiment(blocks=7), crashed={"go": 3}))
    cell = result.cell("go", result.points[0])
    assert cell.outcomes == {Outcome.CRASHED: 3, Outcome.OK: 4}
    assert cell.metrics["hop_ns"].n == 4
    assert cell.metrics["hop_ns"].low is None
    assert cell.reason == "crashed: exit status 1"
    assert cell.stderr == "Traceback:\nValueError: no\n"
    comparison = result.comparison(result.headline, "go", "erlang", result.points[0])
    assert comparison
    assert comparison.ratio.n == 4
    assert (comparison.verdict, comparison.obstacle) == (Verdict.INCONCLUSIVE, Obstacle.FAILED_BLOCKS)
    assert result.is_complete


def test_cells_without_figures_have_reasons(store: Store) -> None:
    result = analysis_of(
        store, make_run(store, experiment(blocks=7), crashed={"go": 7}, unavailable=("erlang",))
    )
    assert not result.is_complete
    assert result.cell("go", result.points[0]).outcomes == {Outcome.CRASHED: 7}
    erlang = result.cell("erlang", result.points[0])
    assert erlang.outcomes == {Outcome.UNAVAILABLE: 1}
    assert erlang.reason == "unavailable: erl: not found; apt-get install erlang"
    assert result.comparison(result.headline, "go", "erlang", result.points[0]) is None
    assert result.blocks_done == 7
    assert result.trial_count == 7 * 4 * 7


def test_too_few_blocks_and_a_run_that_was_cut_off(store: Store) -> None:
    run = make_run(store, experiment(), blocks=2, ended=False)
    result = analysis_of(store, run)
    assert result.diagnostics == (
        Diagnostic("too-few-blocks", values={"blocks": 2, "needed": 7}),
        Diagnostic("unfinished", values={"run": run.id}),
    )
    assert {each.obstacle for each in result.shown_comparisons()} == {Obstacle.TOO_FEW_BLOCKS}


def test_where_the_time_of_a_batch_went(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(runs.HOST, "cpus", 8)
    changed = experiment("batch-cores", factors={"cases": 5_000_000, "cores": (1, 8)}, blocks=2)
    rows = analysis_of(store, make_run(store, changed, noise=0.01)).breakdown
    assert len(rows) == 9
    assert {row.cell.point["cores"] for row in rows} == {8}
    (processes,) = (row for row in rows if row.cell.contender == "python-processes")
    assert processes.diagnosis
    assert processes.diagnosis.startswith(
        "python-processes: reading by one unit takes 85% of the wall time, writing 2%; its 8 cores are busy"
    )
    assert processes.figures["read_share"].estimate == near(0.85)


def test_growth_of_a_batch_has_a_power_for_each_factor(store: Store) -> None:
    result = analysis_of(store, make_run(store, experiment("batch-growth", blocks=7), noise=0.01))
    cases, size = result.growth
    assert (cases.law.over, size.law.over) == ("cases", "size")
    # 0.02 s of start-up beside 0.1 s and more of work.
    erlang = [power.estimate for (name, _), power in cases.exponents.items() if name == "erlang"]
    assert erlang
    assert all(0.8 < power <= 1.02 for power in erlang)
    # The size of cases does not matter in the made-up trials.
    assert all(abs(power.estimate) < 0.1 for power in size.exponents.values())


def test_spans_of_traced_jobs(store: Store) -> None:
    factors = {"jobs": 6, "kind": "cpu", "workers": "cores", "cores": (1, 2), "trace": 1}
    result = analysis_of(store, make_run(store, experiment("jobs-cpu", factors=factors, blocks=2)))
    spans = {cell.point["cores"]: spans for cell, spans in result.spans.items()}
    assert {cores: len({span.unit for span in each}) for cores, each in spans.items()} == {1: 1, 2: 2}
    assert all(len(each) == 6 for each in spans.values())


def test_warm_ups_of_a_ring(store: Store) -> None:
    factors = {"nodes": 100, "messages": 100, "repeats": 20}
    run = make_run(
        store, experiment(contenders=("erlang", "go"), baseline="erlang", factors=factors, blocks=2)
    )
    assert analysis_of(store, run).warm_ups == ()
    rng = random.Random(6)
    trials = [
        dataclasses.replace(
            trial, phases={"relay": tuple(round(1e6 * rng.uniform(0.99, 1.01)) for _ in range(20))}
        )
        for trial in store.trials(run)
    ]
    warm_ups = analyse(run, trials).warm_ups
    assert {each.cell.contender for each in warm_ups} == {"erlang", "go"}
    assert all(len(each.series) == 2 and each.steady == near(100, rel=0.01) for each in warm_ups)


def test_time_lines_need_samples(store: Store) -> None:
    feed = make_run(store, experiment("feed-quick", blocks=3))
    result = analysis_of(store, feed)
    assert set(result.timelines) == set(result.cells)
    assert analyse(feed, store.trials(feed)).timelines == {}


def test_a_run_that_cannot_be_read() -> None:
    with pytest.raises(UsageError, match="no workload `exact`"):
        analyse(planned(["go"], [P]), [])
    run = planned(["go"], [P])
    with pytest.raises(StoreError, match="version 99"):
        analyse(dataclasses.replace(run, plan={**run.plan, "version": 99}), [])
