"""Repeats inside one process, from the trials to the table and the picture."""

from __future__ import annotations

import dataclasses
import math
import random
from pathlib import Path

import pytest

from ringside.analysis import steady
from ringside.analysis.summary import Summary, summarise
from ringside.render.plots.charts import charts
from ringside.store import Store
from tests.runs import experiment, make_run

CONTENDERS = ("erlang", "stackless-pypy")


@pytest.fixture
def warmed(tmp_path: Path) -> Summary:
    """Erlang is steady; the other one takes five times as long for the first three of twenty repeats."""
    store = Store(tmp_path / "s.sqlite")
    factors = {"nodes": 100, "messages": 100, "repeats": 20}
    run = make_run(store, experiment(contenders=CONTENDERS, baseline="erlang", factors=factors))
    dice = random.Random(6)
    trials = []
    for trial in store.trials(run):
        cold = trial.cell.contender == "stackless-pypy"
        each = [
            round(1e6 * (5 if cold and place < 3 else 1) * math.exp(dice.gauss(0, 0.01)))
            for place in range(20)
        ]
        line = {**trial.outcome_line, "repeats": {"relay": each}}
        trials.append(dataclasses.replace(trial, outcome_line=line, phases={"relay": sum(each)}))
    return summarise(run, trials)


def test_first_and_steady_figures_stand_side_by_side(warmed: Summary) -> None:
    pytest.importorskip("ruptures")
    found = steady.table(warmed)
    assert found is not None
    assert found.columns == ("contender", "first", "steady", "first / steady", "steady from", "what it does")
    rows = {row[0].text: [entry.text for entry in row[1:]] for row in found.rows}
    assert rows["erlang"][3:] == ["1", "steady"]
    assert rows["stackless-pypy"][3:] == ["4", "warming up"]
    assert float(rows["stackless-pypy"][2]) == pytest.approx(5, rel=0.05)


def test_without_the_package_first_figures_stay(warmed: Summary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steady, "missing", lambda: True)
    found = steady.table(warmed)
    assert found is not None
    assert "ruptures" in found.notes[0]
    assert [entry.text for entry in found.rows[0]][2:] == ["–", "–", "–", "–"]


def test_the_picture_has_a_line_for_each_block_and_their_median(warmed: Summary) -> None:
    pytest.importorskip("altair")
    (chart,) = (one for one in charts(warmed) if "repeat by repeat" in one.title)
    (panel,) = chart.panels
    data = panel.spec["datasets"]
    assert len(data["blocks"]) == 2 * 7 * 20
    assert len(data["middles"]) == 2 * 20
    assert {row["contender"] for row in data["labels"]} == set(CONTENDERS)


def test_without_repeats_there_is_neither(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.sqlite")
    run = make_run(store, experiment(contenders=CONTENDERS, baseline="erlang", blocks=2))
    found = summarise(run, store.trials(run))
    assert found.repeats == {}
    assert steady.table(found) is None
