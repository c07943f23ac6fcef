"""The search for the highest rate at which a condition holds: `load --find-rate`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

from msgspec.structs import replace

from ringside.load.result import LoadResult, is_kept
from ringside.load.thresholds import Threshold, check
from ringside.probe import protocol as ipc

# A rate that fails is tried once more: the machine may have been busy. Each try is a load.
_MAX_TRIES = 24
_CLOSE = 1.05
_MAX_RATE = 10_000_000


def find_rate(
    limit: Threshold, plan: ipc.LoadPlan, carry_out: Callable[[ipc.LoadPlan], LoadResult]
) -> tuple[ipc.LoadPlan, LoadResult, float | None]:
    """Double or halve the rate of the plan until it was kept without crossing the limit and then was not;
    then close in to 5 %. The load at the highest rate that was kept, with a step for each try, and that rate;
    the last load, and None, where none was."""
    pacing = plan.pacing
    assert isinstance(pacing, ipc.ConstantRate | ipc.PoissonRate)
    steps: list[tuple[ipc.StaircaseStep, ipc.SlotOfLoad]] = []
    best, low, high, rate = None, 0.0, math.inf, pacing.rate_per_s
    while len(steps) < _MAX_TRIES:
        plan = replace(plan, pacing=replace(pacing, rate_per_s=rate))
        result = carry_out(plan)
        is_again = bool(steps) and steps[-1][0].rate_per_s == rate
        steps.append(_step(rate, result))
        if result.figures.outcome == "interrupted" or not result.is_answered:
            break
        if is_kept(steps[-1][1]) and not check(limit, result).is_crossed:
            best, low = (plan, result), rate
        elif is_again:
            high = rate
        else:
            continue
        rate = 2 * low if high == math.inf else math.sqrt(low * high) if low else high / 2
        rate = float(f"{rate:.3g}")
        if high <= low * _CLOSE or rate > _MAX_RATE or not (low or rate >= 1):
            break
    plan, result = best or (plan, result)
    rows = tuple(sorted(steps, key=lambda step: step[0].rate_per_s))
    return plan, dataclasses.replace(result, steps=rows), low or None


def _step(rate: float, result: LoadResult) -> tuple[ipc.StaircaseStep, ipc.SlotOfLoad]:
    """The row of a try: what was answered in time, by the rate that the engine saw."""
    figures, latency = result.figures, result.figures.latency("latency") or ipc.LatencySummary()
    seconds = figures.duration_ns / 1e9
    answered = min(figures.intended or 0, round(figures.achieved_rate_per_s * seconds))
    times = (latency.p50_ns, latency.p99_ns, latency.max_ns)
    return ipc.StaircaseStep(rate, seconds), ipc.SlotOfLoad(figures.intended or 0, answered, *times)
