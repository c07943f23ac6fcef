"""`ringside compare` and its gate."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringside.cli import compare
from ringside.errors import UsageError
from ringside.store import Store
from tests.support.runs import experiment, make_run

# The ids of two runs, and the store that holds them.
Runs = tuple[str, str, str]


@pytest.fixture
def two_runs(tmp_path: Path) -> Callable[..., Runs]:
    """Makes two runs of the ring, the second of which takes so many times as long in each of four cells, and
    whose memory-bound reference computation takes so many times as long."""

    def make(
        times: float,
        reference_ns: int | None = 10_000_000,
        memory_times: float | None = 1.0,
        blocks: int = 7,
    ) -> Runs:
        where = str(tmp_path / "both.sqlite")
        store = Store(where)
        factors = {"nodes": 100, "messages": (100, 1000)}
        made = experiment(contenders=("erlang", "go"), baseline="erlang", factors=factors, blocks=blocks)
        names = []
        for seed, scale, moved in ((1, 1.0, 1.0), (2, times, memory_times)):
            run = make_run(store, made, seed=seed, noise=0.01)
            again = store.begin_run("again", seed, run.plan, run.host, {})
            for trial in store.trials(run):
                assert trial.report
                report = msgspec.structs.replace(
                    trial.report,
                    reference_ns=reference_ns,
                    memory_reference_ns=round(7_000_000 * moved) if moved else None,
                )
                phases = {
                    phase: tuple(round(ns * scale) for ns in each) for phase, each in trial.phases.items()
                }
                store.add_trial(again, dataclasses.replace(trial, report=report, phases=phases))
            store.end_run(again)
            names.append(again.id)
        store.close()
        return where, names[0], names[1]

    return make


def run(where: str, *arguments: str) -> object:
    return compare.compare.main([*arguments, "--store", where], standalone_mode=False)


def document(capsys: pytest.CaptureFixture[str], where: str, *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run(where, *arguments, "--json") == 0
    values: dict[str, Any] = json.loads(capsys.readouterr().out)
    return values


HOPS = ("--metric", "hop_ns")


def test_the_command_and_its_gate(two_runs: Callable[..., Runs], capsys: pytest.CaptureFixture[str]) -> None:
    where, first, second = two_runs(1.3)
    assert run(where, first, second, *HOPS, "--fail-if", "slower:3%") == 1
    printed = capsys.readouterr()
    assert "slower" in printed.out
    lines = printed.err.splitlines()
    assert len(lines) == 4
    for line in lines:
        assert re.fullmatch(
            r"ringside: (erlang|go) at nodes=100 .*: Per hop is slower \(\+[23]\d\.\d%\); --fail-if allows "
            r"3 %",
            line,
        )
    assert run(where, second, first, *HOPS, "--fail-if", "slower:3%") == 0
    assert run(where, first, second, *HOPS, "--fail-if", "slower:50%") == 0
    assert run(where, first, second, "--markdown") == 0


def test_gates_for_other_verdicts(two_runs: Callable[..., Runs], capsys: pytest.CaptureFixture[str]) -> None:
    where, first, second = two_runs(1.3)
    # Worse and better suit any metric.
    for gate, status in (("worse", 1), ("better", 0), ("faster:1%", 0), ("inconclusive", 0)):
        assert run(where, first, second, *HOPS, "--fail-if", gate) == status, gate
    capsys.readouterr()
    assert run(where, second, first, *HOPS, "--fail-if", "faster") == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    # Without a size, nothing is allowed.
    assert all(re.search(r": Per hop is faster \(-2\d\.\d%\)$", line) for line in lines)
    # One of several is enough.
    assert run(where, first, second, *HOPS, "--fail-if", "faster", "--fail-if", "slower:3%") == 1


def test_what_is_not_clear_can_fail(
    two_runs: Callable[..., Runs], capsys: pytest.CaptureFixture[str]
) -> None:
    """The memory-bound reference took half as long again, so a difference of a third may be the machine's."""
    where, first, second = two_runs(1.3, memory_times=1.5)
    values = document(capsys, where, first, second, *HOPS)
    assert {(row["verdict"], row["obstacle"]) for row in values["comparisons"]} == {("inconclusive", None)}
    assert values["machine"]["memory"]["ratio"] == pytest.approx(1.5)
    assert values["machine"]["computing"]["ratio"] == pytest.approx(1.0)
    assert run(where, first, second, *HOPS, "--fail-if", "slower") == 0
    assert run(where, first, second, *HOPS, "--fail-if", "inconclusive:10%") == 1
    assert run(where, first, second, *HOPS, "--fail-if", "inconclusive:50%") == 0


def test_a_run_without_the_memory_bound_reference_is_warned_of(
    two_runs: Callable[..., Runs], capsys: pytest.CaptureFixture[str]
) -> None:
    where, first, second = two_runs(1.3, memory_times=None)
    values = document(capsys, where, first, second, *HOPS)
    assert values["machine"].keys() == {"computing"}
    assert {row["verdict"] for row in values["comparisons"]} == {"slower"}
    assert [warning["code"] for warning in values["warnings"]] == ["single-runs", "no-memory-reference"]


def test_several_runs_a_side(two_runs: Callable[..., Runs], capsys: pytest.CaptureFixture[str]) -> None:
    where, first, second = two_runs(1.3)
    _, third, fourth = two_runs(1.3)
    values = document(capsys, where, f"{first},{third}", f"{second}, {fourth}", *HOPS)
    assert (values["one"], values["other"]) == (f"{first},{third}", f"{second},{fourth}")
    assert {row["n"] for row in values["comparisons"]} == {4}
    assert values["warnings"] == []
    with pytest.raises(UsageError, match=r"`x,,y`: write several runs as A1,A2,A3"):
        run(where, "x,,y", second)


def test_margins(two_runs: Callable[..., Runs], capsys: pytest.CaptureFixture[str]) -> None:
    where, first, second = two_runs(1.0)
    verdicts = {}
    for margin in ("0", "50%"):
        values = document(capsys, where, first, second, *HOPS, "--margin", margin)
        verdicts[values["margin"]] = {row["verdict"] for row in values["comparisons"]}
    assert "equivalent" not in verdicts[0.0]
    assert verdicts[0.5] == {"equivalent"}
    # Without the option it is the experiment's.
    values = document(capsys, where, first, second, *HOPS)
    assert (values["format"], values["margin"]) == (2, 0.05)


@pytest.mark.parametrize("gate", ["slower:3%", "inconclusive"])
def test_without_verdicts_the_gate_stays_closed(
    two_runs: Callable[..., Runs], capsys: pytest.CaptureFixture[str], gate: str
) -> None:
    """Neither run has a reference computation."""
    where, first, second = two_runs(1.3, reference_ns=None, memory_times=None)
    assert run(where, first, second, "--fail-if", gate) == 1
    assert capsys.readouterr().err.count("there are no verdicts") == 1
    assert run(where, first, second) == 0


def test_with_too_few_blocks_the_gate_stays_closed(
    two_runs: Callable[..., Runs], capsys: pytest.CaptureFixture[str]
) -> None:
    where, first, second = two_runs(1.3, blocks=2)
    values = document(capsys, where, first, second)
    assert {row["obstacle"] for row in values["comparisons"]} == {"too-few-blocks"}
    assert run(where, first, second, "--fail-if", "slower") == 1
    assert "there are no verdicts" in capsys.readouterr().err
