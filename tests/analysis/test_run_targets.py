"""The analysis of runs of commands and of targets of loads."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from ringside.analysis.comparisons import Ranking
from ringside.analysis.run import RunAnalysis
from ringside.analysis.run import analyse as analyse_run
from ringside.model.design import Cell, Point, Show
from ringside.model.results import (
    Diagnostic,
    Obstacle,
    Outcome,
    Trial,
    Verdict,
)
from ringside.probe.protocol import EngineWarning, LatencySummary, LoadMessage, ProgramOutput, TrialOutcome
from ringside.workloads.command import COMMAND
from ringside.workloads.target import TARGET
from tests.support.analyses import (
    near,
    planned,
    point,
)

P, Q = point(nodes=10, mode="x"), point(nodes=20, mode="x")
HERE = Point(())
SEVEN = [0.100, 0.101, 0.103, 0.099, 0.102, 0.098, 0.105]


def execution(
    block: int, name: str, wall_s: float, outcome: Outcome = Outcome.OK, detail: str = "", **report: Any
) -> Trial:
    """A command whose CPU time is nine tenths of its wall time."""
    facts = {
        "wall_ns": round(wall_s * 1e9),
        "cpu_user_ns": round(wall_s * 8e8),
        "cpu_system_ns": round(wall_s * 1e8),
        "peak_pss_bytes": 1_000_000,
        "output": ProgramOutput(sha256="x"),
        **report,
    }
    return Trial(block, 0, Cell(name, HERE), outcome, detail, report=TrialOutcome("ok", **facts))


def commands(walls_s: Mapping[str, Sequence[float]], **of_last: Any) -> RunAnalysis:
    """`vs` of commands with these times; `of_last` concerns the last of them."""
    names = tuple(walls_s)
    trials = [
        execution(block, name, wall_s, **(of_last if name == names[-1] else {}))
        for name, each in walls_s.items()
        for block, wall_s in enumerate(each, 1)
    ]
    return analyse_run(planned(names, [HERE], workload=COMMAND.name), trials)


def verdicts(result: RunAnalysis) -> dict[tuple[str, str], Verdict]:
    return {(each.contender, each.metric): each.verdict for each in result.shown_comparisons()}


def test_commands_are_compared_by_time_and_memory() -> None:
    result = commands({"A": SEVEN, "B": [value / 1.07 for value in SEVEN]})
    assert verdicts(result) == {
        ("B", "wall_s"): Verdict.FASTER,
        ("B", "cpu_s"): Verdict.FASTER,
        ("B", "peak_pss_bytes"): Verdict.INCONCLUSIVE,
    }
    comparison = result.comparison(result.headline, "B", "A", HERE)
    assert comparison
    assert comparison.ratio.estimate == near(1 / 1.07)
    cell = result.cell("A", HERE)
    assert {name: each.estimate for name, each in cell.metrics.items()} == near(
        {"wall_s": 0.101, "cpu_s": 0.0909, "user_s": 0.0808, "system_s": 0.0101, "peak_pss_bytes": 1e6}
    )
    assert result.diagnostics == (Diagnostic("same-values", ("B / A",)),)
    slower = commands({"A": SEVEN, "B": [value * 2 for value in SEVEN]})
    assert verdicts(slower)["B", "wall_s"] is Verdict.SLOWER
    assert verdicts(commands({"A": SEVEN, "B": SEVEN[::-1]}))["B", "wall_s"] is Verdict.EQUIVALENT


def test_few_executions_have_no_verdict() -> None:
    result = commands({"A": SEVEN[:3], "B": SEVEN[:3]})
    assert {each.obstacle for each in result.shown_comparisons()} == {Obstacle.TOO_FEW_BLOCKS}
    assert result.diagnostics == (Diagnostic("too-few-blocks", values={"blocks": 3, "needed": 7}),)


def test_commands_have_intervals_of_ranks() -> None:
    def ranks(result: RunAnalysis) -> Mapping[str, tuple[int, int]]:
        return result.rankings["wall_s", HERE].ranks

    assert ranks(commands({"A": SEVEN, "B": [value * 2 for value in SEVEN]})) == {"A": (1, 1), "B": (2, 2)}
    assert ranks(commands({"A": SEVEN, "B": SEVEN[::-1]})) == {"A": (1, 2), "B": (1, 2)}
    three = commands({"A": [value * 2 for value in SEVEN], "B": SEVEN, "C": SEVEN[::-1]})
    assert ranks(three) == {"B": (1, 2), "C": (1, 2), "A": (3, 3)}


def test_memory_that_was_not_observed_is_not_compared() -> None:
    result = commands({"A": SEVEN, "B": SEVEN}, peak_pss_bytes=None)
    assert "peak_pss_bytes" not in result.cell("B", HERE).metrics
    assert result.comparison(result.measurement.metric("peak_pss_bytes"), "B", "A", HERE) is None
    assert result.is_complete


def test_weak_points_of_commands() -> None:
    """Both commands are the same, which their comparisons say."""

    def codes(result: RunAnalysis) -> list[tuple[str, tuple[str, ...]]]:
        return [(each.code, each.subjects) for each in result.diagnostics if each.code != "same-values"]

    assert codes(commands({"A": SEVEN, "B": SEVEN}, output=ProgramOutput(sha256="y"))) == [
        ("unequal-output", ("B",))
    ]
    failed = commands({"A": SEVEN, "B": SEVEN}, detail="exit status 1")
    assert codes(failed) == [("failures", ("B",))]
    assert failed.diagnostics[-1].values == {"counts": {"B": 7}}
    short = [value / 100 for value in SEVEN]
    assert codes(commands({"A": short, "B": SEVEN})) == [("short", ("A",))]
    drifting = [execution(block, "A", 0.1, reference_ns=5_000_000 * block) for block in range(1, 7)]
    assert codes(analyse_run(planned(["A"], [HERE], workload=COMMAND.name), drifting)) == [("drift", ())]


def test_commands_on_chosen_cpus_share_no_cores() -> None:
    """`vs --cpus 0`: all of what it may use."""
    run = planned(["A"], [HERE], workload=COMMAND.name)
    run = dataclasses.replace(run, host={**run.host, "cpus_usable": [0]})
    trials = [dataclasses.replace(execution(block, "A", 0.1), cpus=(0,)) for block in range(1, 7)]
    assert analyse_run(run, trials).diagnostics == ()


def load(block: int, name: str, rate: float, p50_ms: int, *codes: str, **load_facts: Any) -> Trial:
    """A load with this rate and median latency; the p99 is three times the median."""
    latency = LatencySummary(count=100, p50_ns=p50_ms * 10**6, p99_ns=3 * p50_ms * 10**6)
    warnings = tuple(EngineWarning(code, f"text of {code}", "remedy") for code in codes)
    message = LoadMessage(
        **{
            "step": "measured",
            "name": "all",
            "requests": 100,
            "achieved_rate_per_s": rate,
            "histograms": {"latency": latency},
            "warnings": warnings,
            **load_facts,
        }
    )
    return Trial(block, 0, Cell(name, HERE), Outcome(message.outcome), message.detail, loads=(message,))


def targets(trials: Sequence[Trial], **show: Any) -> RunAnalysis:
    return analyse_run(planned(["old", "new"], [HERE], workload=TARGET.name, show=Show(**show)), trials)


def test_targets_are_compared_by_rate_and_latency() -> None:
    """The new one answers twice as many requests in twice the time."""
    trials = [
        load(block, name, (500 + block) * factor, (20 + block) * factor)
        for block in range(1, 8)
        for name, factor in (("old", 1), ("new", 2))
    ]
    result = targets(trials)
    assert verdicts(result) == {
        ("new", "rate"): Verdict.FASTER,
        ("new", "latency_p50"): Verdict.SLOWER,
        ("new", "latency_p99"): Verdict.SLOWER,
    }
    assert result.rankings["rate", HERE] == Ranking(("new", "old"), {"new": (1, 1), "old": (2, 2)})
    assert result.rankings["latency_p99", HERE] == Ranking(("old", "new"), {"old": (1, 1), "new": (2, 2)})
    assert {name: each.estimate for name, each in result.cell("old", HERE).metrics.items()} == {
        "rate": 504.0,
        "latency_p50": 24e6,
        "latency_p99": 72e6,
    }
    assert (result.diagnostics, result.blocks_done, result.trial_count) == ((), 7, 14)
    # An open loop has a rate of its own.
    open_loop = targets(trials, metrics=("latency_p50",))
    assert verdicts(open_loop) == {("new", "latency_p50"): Verdict.SLOWER}


def test_weak_points_of_targets() -> None:
    trials = [
        *(load(block, "old", 500, 20, "generator-bound", "short-run") for block in range(1, 7)),
        *(load(block, "new", 500, 20) for block in range(1, 6)),
        load(6, "new", 0, 1, outcome="load-failed", detail="refused", requests=0),
    ]
    held_back, failed, bound, short = targets(trials).diagnostics
    assert (held_back.code, held_back.subjects) == ("failed-blocks", ("new / old",))
    assert (failed.code, failed.subjects, failed.values) == ("load-failed", ("new",), {"runs": 1})
    assert (bound.code, bound.subjects, bound.values) == ("generator-bound", ("old",), {"runs": 6})
    assert (short.code, short.subjects, short.values) == ("short-run", ("old",), {"runs": 6})
    assert targets(trials).cell("new", HERE).outcomes == {Outcome.OK: 5, Outcome.LOAD_FAILED: 1}
