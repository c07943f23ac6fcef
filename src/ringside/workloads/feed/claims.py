"""What the post of 2011 concluded from ten thousand connections to Go, as tests of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ringside import units
from ringside.model.design import Point
from ringside.model.results import Finding
from ringside.workloads.claims import (
    LESS,
    MORE,
    AnalysedRun,
    ClaimTest,
    Part,
    about,
    at_least,
    find,
    judge,
    judge_values,
    log_ratio,
    logs,
    not_tested,
    ratio_claim,
    value_claim,
)

_EXPERIMENT = "feed-c10k"
_POSTS_CONNECTIONS = 10_000
# Fewer connections say little of what one costs.
_FEWEST = 1000
# How much later is "long after".
_LONG_AFTER = 1.5
# How much more is "rather high" beside "practically nothing".
_FAR_MORE = 2.0


def _plain(point: Point) -> bool:
    return not point["slow"] and not point["vanish"]


def _many(point: Point) -> bool:
    return _plain(point) and int(point["connections"]) >= _FEWEST


def _as_in_the_post(point: Point) -> bool:
    return _plain(point) and int(point["connections"]) >= _POSTS_CONNECTIONS and point["interval_ms"] == 1000


def more_threads_than_cores(runs: Sequence[AnalysedRun]) -> Finding:
    """Kernel threads of Go over the cores that it was given."""
    experiment = "feed-threads"
    matching = find(runs, experiment, "feed", ("go",), _many)
    if matching is None:
        return not_tested("no run has go with a thousand connections", experiment)
    run, points = matching
    point = max(points, key=lambda point: (int(point["cores"]), int(point["connections"])))
    cores = int(point["cores"])
    values = {block: threads / cores for block, threads in run.values("peak_threads", "go", point).items()}
    return judge_values(
        run,
        values,
        MORE,
        lambda interval: (
            f"go has {units.ratio(interval)} threads for each of {units.count(cores, 'core')} with "
            f"{int(point['connections']):,} connections"
        ),
    )


def memory_settles_after_cpu(runs: Sequence[AnalysedRun]) -> Finding:
    """The time until Go's memory stays at its final value, over that until its rate of CPU does."""
    matching = find(runs, _EXPERIMENT, "feed", ("go",), _as_in_the_post)
    if matching is None:
        return not_tested("no run has go with ten thousand connections", _EXPERIMENT)
    run, points = matching
    point = max(points, key=lambda point: int(point["seconds"]))
    memory, cpu = (logs(run, f"{what}_settled_s", "go", [point]) for what in ("memory", "cpu"))
    return judge(
        run,
        [Part("go", log_ratio(memory, cpu))],
        at_least(_LONG_AFTER),
        lambda name, interval: (
            f"memory of {name} takes {units.ratio(interval)} times as long to settle as its CPU, in "
            f"{units.duration(int(point['seconds']))}"
        ),
    )


def go_computes_far_more_than_erlang(runs: Sequence[AnalysedRun]) -> Finding:
    """CPU time for a thousand chunks: Go over Erlang's MochiWeb."""
    return ratio_claim(
        runs,
        _EXPERIMENT,
        "feed",
        "cpu_per_kchunk_s",
        "go",
        "erlang-mochiweb",
        at_least(_FAR_MORE),
        applies=_as_in_the_post,
        where="with ten thousand connections",
        beside=("erlang", "limit"),
    )


def go_takes_32_kb(runs: Sequence[AnalysedRun]) -> Finding:
    """Memory of Go for each connection."""
    return value_claim(
        runs,
        _EXPERIMENT,
        "feed",
        "bytes_per_connection",
        "go",
        about(32_000, "B"),
        applies=_as_in_the_post,
        where="with ten thousand connections",
    )


def go_takes_less_memory_than_erlang(runs: Sequence[AnalysedRun]) -> Finding:
    """Memory for each connection: Go over Erlang's MochiWeb."""
    return ratio_claim(
        runs,
        _EXPERIMENT,
        "feed",
        "bytes_per_connection",
        "go",
        "erlang-mochiweb",
        LESS,
        applies=_as_in_the_post,
        where="with ten thousand connections",
        beside=("erlang",),
    )


CLAIMS: Mapping[str, ClaimTest] = {
    "2011-go-c10k/more-threads-than-cores": more_threads_than_cores,
    "2011-go-c10k/memory-settles-after-cpu": memory_settles_after_cpu,
    "2011-go-c10k/go-computes-far-more-than-erlang": go_computes_far_more_than_erlang,
    "2011-go-c10k/go-takes-32-kb": go_takes_32_kb,
    "2011-go-c10k/go-takes-less-memory-than-erlang": go_takes_less_memory_than_erlang,
}
