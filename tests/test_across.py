from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ringside.analysis import across
from ringside.analysis.summary import Summary, summarise
from ringside.catalogue.loader import read_experiment
from ringside.cli import compare
from ringside.errors import UsageError
from ringside.model.results import Verdict
from ringside.store import Store
from tests.runs import ROOT, experiment, make_run

SMALL = {
    "contenders": ("erlang", "go"),
    "baseline": "erlang",
    "factors": {"nodes": 100, "messages": (100, 1000)},
}


def summary(
    folder: Path,
    name: str,
    *,
    seed: int,
    times: float = 1.0,
    reference_ns: int | None = 10_000_000,
    **changes: object,
) -> Summary:
    """A made-up run of the ring, all of its figures `times` as large."""
    store = Store(folder / f"{name}.sqlite")
    run = make_run(store, experiment(**{**SMALL, **changes}), seed=seed, noise=0.01)
    trials = [
        dataclasses.replace(
            trial,
            phases={phase: round(ns * times) for phase, ns in trial.phases.items()},
            outcome_line={**trial.outcome_line, "reference_ns": reference_ns},
        )
        for trial in store.trials(run)
    ]
    return summarise(dataclasses.replace(run, id=name), trials)


def test_what_became_slower_is_told_and_the_gate_closes(tmp_path: Path) -> None:
    one, other = summary(tmp_path, "one", seed=1), summary(tmp_path, "other", seed=2, times=1.2)
    found = across.across(one, other, "hop_ns")
    assert {moved.verdict for moved in found.moved} == {Verdict.SLOWER}
    assert all(moved.ratio.estimate == pytest.approx(1.2, rel=0.03) for moved in found.moved)
    assert len(across.beyond(found, 0.03)) == 4
    assert across.beyond(found, 0.5) == []
    back = across.across(other, one, "hop_ns")
    assert {moved.verdict for moved in back.moved} == {Verdict.FASTER}
    assert across.beyond(back, 0.0) == []


def test_the_same_twice_is_indistinguishable(tmp_path: Path) -> None:
    found = across.across(summary(tmp_path, "one", seed=1), summary(tmp_path, "other", seed=2))
    assert {moved.verdict for moved in found.moved} == {Verdict.INDISTINGUISHABLE}


def test_a_machine_that_moved_takes_the_verdict_away(tmp_path: Path) -> None:
    one = summary(tmp_path, "one", seed=1)
    other = summary(tmp_path, "other", seed=2, times=1.2, reference_ns=12_500_000)
    found = across.across(one, other, "hop_ns")
    assert found.drift == pytest.approx(0.223, rel=0.01)
    assert {moved.verdict for moved in found.moved} == {Verdict.INDISTINGUISHABLE}
    assert "1.25 times as long" in across.table(found).notes[0]


def test_without_reference_there_is_no_verdict(tmp_path: Path) -> None:
    one = summary(tmp_path, "one", seed=1, reference_ns=None)
    found = across.across(one, summary(tmp_path, "other", seed=2, times=9.0), "hop_ns")
    assert {moved.verdict for moved in found.moved} == {Verdict.TOO_FEW_BLOCKS}
    assert [warned.code for warned in found.warnings] == ["no-reference"]
    assert json.loads(json.dumps(across.document(found), allow_nan=False))["drift"] is None


def test_what_cannot_be_compared_is_said(tmp_path: Path) -> None:
    one = summary(tmp_path, "one", seed=1)
    apart = summary(tmp_path, "other", seed=2, factors={"nodes": 50, "messages": 7})
    with pytest.raises(UsageError, match="share no cell"):
        across.across(one, apart)
    with pytest.raises(UsageError, match="no metric `x`"):
        across.across(one, one, "x")
    store = Store(tmp_path / "fib.sqlite")
    fib = make_run(store, dataclasses.replace(read_experiment(ROOT / "experiments/fib-sync.toml"), blocks=2))
    with pytest.raises(UsageError, match="workload"):
        across.across(one, summarise(fib, store.trials(fib)))


def test_other_machines_versions_and_contenders_are_named(tmp_path: Path) -> None:
    one, other = summary(tmp_path, "one", seed=1), summary(tmp_path, "other", seed=2, contenders=("erlang",))
    moved = dataclasses.replace(
        other,
        run=dataclasses.replace(other.run, host={**other.run.host, "cpu_model": "Another"}),
        contenders={"erlang": {**other.contenders["erlang"], "version": "27", "files": {}}},
    )
    found = across.across(one, moved)
    assert [warned.code for warned in found.warnings] == ["other-machine", "one-sided"]
    assert any("27 after" in text for text in found.changed)
    assert any("sources have changed" in text for text in found.changed)


@pytest.fixture
def two_runs(tmp_path: Path) -> Callable[..., tuple[str, str, str]]:
    def make(times: float) -> tuple[str, str, str]:
        where = str(tmp_path / "both.sqlite")
        store = Store(where)
        names = []
        for seed, scale in ((1, 1.0), (2, times)):
            run = make_run(store, experiment(**SMALL, blocks=7), seed=seed, noise=0.01)
            again = store.begin_run("again", seed, run.plan, run.host, {})
            for trial in store.trials(run):
                line = {**trial.outcome_line, "reference_ns": 10_000_000}
                phases = {phase: round(ns * scale) for phase, ns in trial.phases.items()}
                store.add_trial(again, dataclasses.replace(trial, outcome_line=line, phases=phases))
            store.end_run(again)
            names.append(again.id)
        store.close()
        return where, names[0], names[1]

    return make


def test_the_verb_and_its_gate(
    two_runs: Callable[..., tuple[str, str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    where, one, other = two_runs(1.3)
    assert compare.compare(one, other, store=where, metric="hop_ns", gate="slower:3%") == 1
    said = capsys.readouterr()
    assert "slower" in said.out
    assert said.err.count("% worse, which is past slower:3%") == 4
    assert compare.compare(other, one, store=where, metric="hop_ns", gate="slower:3%") == 0
    assert compare.compare(one, other, store=where, metric="hop_ns", gate="slower:50%") == 0
    assert compare.compare(one, other, store=where, form="markdown") == 0
    capsys.readouterr()
    assert compare.compare(one, other, store=where, form="json") == 0
    assert json.loads(capsys.readouterr().out)["format"] == 1
    for wrong in ("slower", "slower:x", "faster:3%", "slower:-1%"):
        with pytest.raises(UsageError, match="--fail-if"):
            compare.compare(one, other, store=where, gate=wrong)
