"""A run on two machines of which one is twice as fast: no ratio shows that, the table of machines does."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from ringside.analysis.run import RunAnalysis, analyse
from ringside.model.results import Outcome, Trial, Verdict
from ringside.render.heading import machine
from ringside.render.tables import tables
from ringside.store import Store
from tests.runs import HOST, experiment, make_run


def analysed(tmp_path: Path, change: dict[str, str], blocks: int = 14) -> RunAnalysis:
    """Blocks alternate between `fast` and `slow`; `change`: contenders that are unavailable on a machine."""
    store = Store(tmp_path / "store.sqlite")
    of = experiment(factors={"nodes": 100, "messages": 100}, blocks=blocks)
    run = make_run(store, of, noise=0.02)

    def moved(trial: Trial) -> Trial:
        where = ("fast", "slow")[trial.block % 2]
        if change.get(trial.cell.contender) == where:
            return Trial(
                trial.block, trial.position, trial.cell, Outcome.UNAVAILABLE, "not found", machine=where
            )
        times = 2 if where == "slow" else 1
        phases = {name: tuple(ns * times for ns in each) for name, each in trial.phases.items()}
        return dataclasses.replace(trial, machine=where, phases=phases)

    for name in ("fast", "slow"):
        run = store.add_machine(run, name, HOST)
    return analyse(store.run(run.id), [moved(trial) for trial in store.trials(run)])


def test_ratios_are_of_one_machine_and_pooled_over_both(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, {})
    assert analysis.machines is not None
    assert analysis.machines.names == ("fast", "slow")
    assert analysis.machines.blocks == {"fast": 7, "slow": 7}
    for row in analysis.machines.rows:
        figures = row.figures
        assert figures["slow"].estimate == pytest.approx(2 * figures["fast"].estimate, rel=0.15)
        if row.cell.contender != analysis.experiment.baseline:
            assert row.ratios["slow"].estimate == pytest.approx(row.ratios["fast"].estimate, rel=0.1)
            assert row.spread is not None
            assert 1 <= row.spread < 1.1
    point = analysis.points[0]
    comparison = analysis.comparison(analysis.headline, "go", "erlang", point)
    assert comparison is not None
    assert comparison.ratio.n == 14
    assert comparison.verdict is Verdict.SLOWER
    assert "bimodal" not in {each.code for each in analysis.diagnostics}
    (table,) = [table for table in tables(analysis) if table.title == "Machines"]
    assert "fast 7 blocks, slow 7 blocks" in table.subtitle
    assert machine(analysis.run.host).startswith("fast, slow: Example CPU 3000")


def test_a_contender_that_one_machine_lacks_has_its_verdict_from_the_other(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, {"go": "slow"}, blocks=28)
    point = analysis.points[0]
    comparison = analysis.comparison(analysis.headline, "go", "erlang", point)
    assert comparison is not None
    assert comparison.ratio.n == 14
    assert comparison.obstacle is None
    assert comparison.verdict is Verdict.SLOWER
    assert analysis.machines is not None
    (row,) = [row for row in analysis.machines.rows if row.cell.contender == "go"]
    assert row.ratios.keys() == {"fast"}
    assert row.spread is None
