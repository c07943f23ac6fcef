"""A trial over time, from its samples and the load of a step: CPU of each thread, memory, lateness."""

from __future__ import annotations

from collections.abc import Sequence

from ringside.arrays import np
from ringside.model.results import Timeline, TimeSeries, Trial, Usage
from ringside.probe.protocol import LoadMessage, Sample, ThreadUse
from ringside.workloads.base import OTHER_THREADS

# Intervals of the logarithmic time axis, and where it begins, in seconds.
_INTERVALS = 48
_FIRST_S = 0.1
# Threads that have their own series.
_NAMED_THREADS = 6


def timeline(trial: Trial, load: LoadMessage, marker_s: float) -> Timeline | None:
    """A trial over time under that load; None without samples. `kernel_bytes`: growth of the
    kernel's memory since the first sample."""
    end_s = (load.end_ns - load.begin_ns) * 1e-9
    samples = [sample for sample in trial.samples if sample.t_ns <= load.end_ns]
    if not samples or end_s <= 2 * _FIRST_S:
        return None
    steps = (_FIRST_S * (end_s / _FIRST_S) ** (number / _INTERVALS) for number in range(_INTERVALS + 1))
    edges = (0.0, *steps)
    times_s = [(sample.t_ns - load.begin_ns) * 1e-9 for sample in samples]
    kernel_s, kernel_bytes = _observed(times_s, [sample.all_kernel_bytes for sample in samples])
    seconds = [second for second in load.series if second.t_s < end_s]
    return Timeline(
        block=trial.block,
        edges=edges,
        cpu=_cpu(samples, times_s, trial.report.threads if trial.report else (), edges),
        pss_bytes=_series(memory_over_time(load, Usage.of(samples))),
        kernel_bytes=_series((kernel_s, np.maximum(kernel_bytes - kernel_bytes[:1], 0.0))),
        latest_s=TimeSeries(
            tuple(second.t_s + 1.0 for second in seconds),
            tuple((second.max_ns or 0) * 1e-9 for second in seconds),
        ),
        marker_s=marker_s,
        open=TimeSeries(
            (0.0, *(second.t_s + 1.0 for second in seconds)),
            (0.0, *(float(second.open) for second in seconds)),
        ),
    )


def memory_over_time(load: LoadMessage, usage: Usage) -> tuple[np.ndarray, np.ndarray]:
    """PSS since the load began, up to its end: the times in seconds, and the bytes."""
    during = usage.t_ns <= load.end_ns
    return _observed((usage.t_ns[during] - load.begin_ns) * 1e-9, usage.pss_bytes[during])


def _observed(
    times_s: Sequence[float] | np.ndarray, values: Sequence[int | None] | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The times and values that were observed. The last before time 0 stands at 0."""
    levels = np.asarray(values, dtype=float)
    known = ~np.isnan(levels)
    times, levels = np.asarray(times_s, dtype=float)[known], levels[known]
    first = max(0, int(np.searchsorted(times, 0.0)) - 1)
    return np.maximum(times[first:], 0.0), levels[first:]


def _series(observed: tuple[np.ndarray, np.ndarray]) -> TimeSeries:
    times, values = observed
    return TimeSeries(tuple(times.tolist()), tuple(values.tolist()))


def _cpu(
    samples: Sequence[Sample], times_s: Sequence[float], threads: Sequence[ThreadUse], edges: Sequence[float]
) -> dict[str, tuple[float, ...]]:
    """Cores used by the busiest threads and by the others in each interval, evenly between samples."""
    sampled = [
        (t, sample.cpu_ns, dict(sample.cpu_by_thread))
        for t, sample in zip(times_s, samples, strict=True)
        if sample.cpu_by_thread is not None
    ]
    if len(sampled) < 2:
        return {}
    times = [t for t, _, _ in sampled]
    names = _names(threads[:_NAMED_THREADS])
    latest_ns = dict.fromkeys(names, 0)
    totals_s: dict[int, list[float]] = {tid: [] for tid in names}
    for _, _, cpu_by_thread in sampled:
        # A thread that has ended keeps its last total.
        latest_ns |= {tid: ns for tid, ns in cpu_by_thread.items() if tid in latest_ns}
        for tid, ns in latest_ns.items():
            totals_s[tid].append(ns * 1e-9)
    cores = {names[tid]: _cores(times, totals, edges) for tid, totals in totals_s.items()}
    if cores and len(threads) == len(names):
        # The rest of the process's time is the resolution of two clocks.
        return cores
    whole = _cores(times, [cpu_ns * 1e-9 for _, cpu_ns, _ in sampled], edges)
    named = [sum(values) for values in zip(*cores.values(), strict=True)] or [0.0] * len(whole)
    others = tuple(max(0.0, total - part) for total, part in zip(whole, named, strict=True))
    return {**cores, OTHER_THREADS: others}


def _cores(times: Sequence[float], totals_s: Sequence[float], edges: Sequence[float]) -> tuple[float, ...]:
    """CPU seconds per second in each interval, from totals at the times."""
    used_s: np.ndarray = np.diff(np.interp(edges, times, totals_s))
    return tuple((np.maximum(used_s, 0.0) / np.diff(edges)).tolist())


def _names(threads: Sequence[ThreadUse]) -> dict[int, str]:
    """Threads' names by their ids, numbered where several have the same."""
    names: dict[int, str] = {}
    for thread in threads:
        name, taken = thread.name or "?", {OTHER_THREADS, *names.values()}
        options = (name, *(f"{name} {number}" for number in range(2, len(threads) + 2)))
        names[thread.tid] = next(option for option in options if option not in taken)
    return names
