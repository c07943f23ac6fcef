"""What a trial looked like over time: CPU of each thread, memory, connections, chunks and their lateness.
Pure: made from the samples and the load of a stored trial."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ringside.model.results import Trial
from ringside.stats.settling import interpolated

# Steps of the picture's logarithmic axis, and where it begins, in seconds.
_STEPS = 48
FIRST_S = 0.1
# Threads that are shown apart; the others together.
_APART = 6
OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Series:
    """Values at times: seconds since the load began."""

    times: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """A trial over time. `edges` are the n + 1 ends of n spans, in seconds since the load began, each longer
    than the last; `cpu` has the cores' worth that a thread, by its name, used in each of the spans."""

    block: int
    ramped_s: float
    edges: tuple[float, ...]
    cpu: Mapping[str, tuple[float, ...]]
    pss_bytes: Series
    kernel_bytes: Series
    tcp_bytes: Series
    open: Series
    chunks_per_s: Series
    latest_s: Series


def timeline(trial: Trial, step: str, ramped_s: float) -> Timeline | None:
    """The time line of a trial's step, from the samples; None where it has no samples or no such load."""
    load = next((one for one in trial.outcome_line.get("loads", ()) if one["step"] == step), None)
    if load is None or not trial.samples:
        return None
    begin_ns, end_ns = load["begin_ns"], load["end_ns"]
    end_s = (end_ns - begin_ns) * 1e-9
    if end_s <= 2 * FIRST_S:
        return None
    edges = (0.0, *_logarithmic(FIRST_S, end_s, _STEPS))
    during = [one for one in trial.samples if one["t_ns"] <= end_ns]

    def series(key: str) -> Series:
        found = [((one["t_ns"] - begin_ns) * 1e-9, one[key]) for one in during if one.get(key) is not None]
        # What was there before is there when it begins.
        before = [(0.0, value) for t, value in found if t < 0][-1:]
        kept = before + [(t, value) for t, value in found if t >= 0]
        return Series(tuple(t for t, _ in kept), tuple(float(value) for _, value in kept))

    seconds = [one for one in load.get("series", ()) if one["t_s"] < end_s]

    def each_second(key: str, unit: float) -> Series:
        return Series(
            tuple(one["t_s"] + 1.0 for one in seconds), tuple(one.get(key, 0) * unit for one in seconds)
        )

    return Timeline(
        block=trial.block,
        ramped_s=ramped_s,
        edges=edges,
        cpu=_cpu(during, trial.outcome_line.get("threads", ()), begin_ns, edges),
        pss_bytes=series("pss_bytes"),
        kernel_bytes=series("kernel_bytes"),
        tcp_bytes=series("tcp_bytes"),
        open=each_second("open", 1.0),
        chunks_per_s=each_second("requests", 1.0),
        latest_s=each_second("max_ns", 1e-9),
    )


def _logarithmic(first: float, last: float, steps: int) -> list[float]:
    return [first * math.exp(math.log(last / first) * number / steps) for number in range(steps + 1)]


def _cpu(
    samples: Iterable[Mapping[str, Any]],
    threads: Sequence[Mapping[str, Any]],
    begin_ns: int,
    edges: Sequence[float],
) -> dict[str, tuple[float, ...]]:
    """Cores used by the busiest threads and by all others, in each span. Between two looks at threads the
    time is spread evenly."""
    looks = [one for one in samples if one.get("cpu_by_thread") is not None]
    if len(looks) < 2:
        return {}
    times = [(one["t_ns"] - begin_ns) * 1e-9 for one in looks]
    names = _names(threads[:_APART])
    had = dict.fromkeys(names, 0)
    rows: dict[int, list[float]] = {tid: [] for tid in names}
    for look in looks:
        had |= {tid: ns for tid, ns in look["cpu_by_thread"] if tid in had}
        for tid, ns in had.items():
            rows[tid].append(ns * 1e-9)
    found = {names[tid]: _per_span(times, row, edges) for tid, row in rows.items()}
    whole = _per_span(times, [one["cpu_ns"] * 1e-9 for one in looks], edges)
    apart = [sum(values) for values in zip(*found.values(), strict=True)] or [0.0] * len(whole)
    rest = tuple(max(0.0, all_of - some) for all_of, some in zip(whole, apart, strict=True))
    # Threads that were seen are told apart; what is left of these is the clocks' grain.
    return {**found, OTHERS: rest} if len(threads) > len(names) or not found else found


def _per_span(times: Sequence[float], totals: Sequence[float], edges: Sequence[float]) -> tuple[float, ...]:
    at = [interpolated(times, totals, edge) for edge in edges]
    spans = zip(itertools.pairwise(edges), itertools.pairwise(at), strict=True)
    return tuple(max(0.0, after - before) / (end - begin) for (begin, end), (before, after) in spans)


def _names(threads: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """Threads' names by their numbers, each with a number behind it where several have the same."""
    found: dict[int, str] = {}
    for thread in threads:
        name, taken = thread["name"] or "?", set(found.values())
        options = (name, *(f"{name} {number}" for number in range(2, len(threads) + 2)))
        found[thread["tid"]] = next(option for option in options if option not in taken)
    return found
