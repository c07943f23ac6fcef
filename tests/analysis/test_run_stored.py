"""The analysis of runs of the bundled workloads, from a store."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pytest

from ringside.analysis.run import analyse, analysis_of
from ringside.errors import StoreError, UsageError
from ringside.model.design import Point
from ringside.store import Store
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
    with pytest.raises(StoreError, match="Expected `object`, got `int`"):
        analyse(dataclasses.replace(run, plan={**run.plan, "experiment": 99}), [])
