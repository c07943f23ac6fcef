"""The analysis of runs of commands and of targets of loads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ringside.analysis.comparisons import Ranking
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Cell
from ringside.model.results import (
    Diagnostic,
    Outcome,
    Trial,
    Verdict,
)
from ringside.probe.protocol import EngineWarning, LatencySummary, LoadMessage
from ringside.workloads.target import TARGET
from tests.support.analyses import near
from tests.support.executions import HERE, commands, compared

SEVEN = [0.100, 0.101, 0.103, 0.099, 0.102, 0.098, 0.105]


def verdicts(result: RunAnalysis) -> dict[tuple[str, str], Verdict]:
    return {(each.contender, each.metric): each.verdict for each in result.shown_comparisons()}


def test_commands_are_compared_by_time_and_memory() -> None:

    def both(of_a: Sequence[float], of_b: Sequence[float]) -> RunAnalysis:
        return commands({("A", HERE): of_a, ("B", HERE): of_b})

    result = both(SEVEN, [value / 1.07 for value in SEVEN])
    assert verdicts(result) == {
        ("B", "wall_s"): Verdict.FASTER,
        ("B", "cpu_s"): Verdict.FASTER,
        ("B", "peak_memory_bytes"): Verdict.INCONCLUSIVE,
    }
    comparison = result.comparison(result.headline, "B", "A", HERE)
    assert comparison
    assert comparison.ratio.estimate == near(1 / 1.07)
    cell = result.cell("A", HERE)
    assert {name: each.estimate for name, each in cell.metrics.items()} == near(
        {"wall_s": 0.101, "cpu_s": 0.0909, "user_s": 0.0808, "system_s": 0.0101, "peak_memory_bytes": 2**20}
    )
    assert result.diagnostics == (Diagnostic("same-values", ("B / A",)),)
    assert verdicts(both(SEVEN, [value * 2 for value in SEVEN]))["B", "wall_s"] is Verdict.SLOWER
    assert verdicts(both(SEVEN, SEVEN[::-1]))["B", "wall_s"] is Verdict.EQUIVALENT


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
    return compared(TARGET, trials, **show)


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
