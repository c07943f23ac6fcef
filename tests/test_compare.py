"""`ringside compare` and its gate."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import click
import msgspec
import pytest

from ringside.cli import compare
from ringside.store import Store
from tests.runs import experiment, make_run

# The ids of two runs, and the store that holds them.
Runs = tuple[str, str, str]


@pytest.fixture
def two_runs(tmp_path: Path) -> Callable[..., Runs]:
    """Makes two runs of the ring, the second of which takes so many times as long in each of four cells."""

    def make(times: float, reference_ns: int | None = 10_000_000) -> Runs:
        where = str(tmp_path / "both.sqlite")
        store = Store(where)
        factors = {"nodes": 100, "messages": (100, 1000)}
        made = experiment(contenders=("erlang", "go"), baseline="erlang", factors=factors, blocks=7)
        names = []
        for seed, scale in ((1, 1.0), (2, times)):
            run = make_run(store, made, seed=seed, noise=0.01)
            again = store.begin_run("again", seed, run.plan, run.host, {})
            for trial in store.trials(run):
                assert trial.report
                report = msgspec.structs.replace(trial.report, reference_ns=reference_ns)
                phases = {
                    phase: tuple(round(ns * scale) for ns in each) for phase, each in trial.phases.items()
                }
                store.add_trial(again, dataclasses.replace(trial, report=report, phases=phases))
            store.end_run(again)
            names.append(again.id)
        store.close()
        return where, names[0], names[1]

    return make


def test_the_command_and_its_gate(two_runs: Callable[..., Runs], capsys: pytest.CaptureFixture[str]) -> None:
    where, first, second = two_runs(1.3)

    def run(*arguments: str) -> object:
        return compare.compare.main([*arguments, "--store", where], standalone_mode=False)

    hops = ("--metric", "hop_ns")
    assert run(first, second, *hops, "--fail-if", "slower:3%") == 1
    printed = capsys.readouterr()
    assert "slower" in printed.out
    assert printed.err.count("% worse; --fail-if allows 3.00%") == 4
    assert run(second, first, *hops, "--fail-if", "slower:3%") == 0
    assert run(first, second, *hops, "--fail-if", "slower:50%") == 0
    assert run(first, second, "--markdown") == 0
    capsys.readouterr()
    assert run(first, second, "--json") == 0
    assert json.loads(capsys.readouterr().out)["format"] == 1


@pytest.mark.parametrize("wrong", ["slower", "slower:x", "faster:3%", "slower:-1%"])
def test_gates_that_are_no_gates(wrong: str, two_runs: Callable[..., Runs]) -> None:
    where, first, second = two_runs(1.0)
    with pytest.raises(click.BadParameter, match=r"is not a gate: write it as slower:3%|as a share from 0"):
        compare.compare.main([first, second, "--fail-if", wrong, "--store", where], standalone_mode=False)


def test_without_verdicts_the_gate_stays_closed(
    two_runs: Callable[..., Runs], capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither run has a reference computation."""
    where, first, second = two_runs(1.3, reference_ns=None)
    arguments = [first, second, "--store", where]
    assert compare.compare.main([*arguments, "--fail-if", "slower:3%"], standalone_mode=False) == 1
    assert "there are no verdicts" in capsys.readouterr().err
    assert compare.compare.main(arguments, standalone_mode=False) == 0
