"""What the post of 2011 concluded from ten thousand connections to Go, as tests of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ringside import units
from ringside.model.design import Point
from ringside.model.results import Answer, Finding
from ringside.stats.interval import median_interval
from ringside.stats.paired import differences
from ringside.workloads.claims import (
    LESS,
    MORE,
    AnalysedRun,
    Band,
    ClaimTest,
    Part,
    about,
    at_least,
    decided_by,
    elsewhere,
    find,
    judge,
    judge_values,
    logs,
    not_tested,
    ratio_claim,
    value_claim,
)

_EXPERIMENT = "feed-c10k"
_POSTS_CONNECTIONS, _POSTS_CPU_S = 10_000, 5400.0
# Fewer connections say little of what one costs.
_FEWEST = 1000
_LONG_AFTER = at_least(1.5, "the post has a plot only; half as long again is long after")
_FAR_MORE = at_least(2, "the post has no figure of Erlang's; twice is far more")
# The post's Erlang server, mochiconntest_web, did not hibernate between chunks.
_AWAKE, _HIBERNATING = "erlang-mochiweb", "erlang-mochiweb@tuned"
_CONDITION = "beside MochiWeb's processes as they are by default, which do not hibernate, as in the post"
_NO_COUNTERPART = (
    "the post's Erlang server did not hibernate: only beside "
    f"{_HIBERNATING}, which does, is {_AWAKE} known not to"
)


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
        [Part("go", differences(memory, cpu))],
        _LONG_AFTER,
        lambda name, interval: (
            f"memory of {name} takes {units.ratio(interval)} times as long to settle as its CPU, in "
            f"{units.duration(int(point['seconds']))}"
        ),
    )


def go_computes_far_more_than_erlang(runs: Sequence[AnalysedRun]) -> Finding:
    """CPU time for a thousand chunks: Go over Erlang's MochiWeb."""
    return _go_over_mochiweb(runs, "cpu_per_kchunk_s", _FAR_MORE)


def _go_over_mochiweb(runs: Sequence[AnalysedRun], metric: str, band: Band) -> Finding:
    """Go over MochiWeb without hibernation, which is the post's; where only the one that hibernates ran, what
    it gives is of another program."""

    def over(denominator: str, among: Sequence[AnalysedRun]) -> Finding:
        return ratio_claim(
            among,
            _EXPERIMENT,
            "feed",
            metric,
            "go",
            denominator,
            band,
            applies=_as_in_the_post,
            where="with ten thousand connections",
        )

    # In runs of earlier versions the plain name hibernated.
    awake = over(_AWAKE, [run for run in runs if _HIBERNATING in run.names])
    if awake.answer is Answer.NOT_TESTED:
        return elsewhere(over(_AWAKE, runs), _NO_COUNTERPART)
    return decided_by(_CONDITION, awake, over(_HIBERNATING, runs))


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
    return _go_over_mochiweb(runs, "bytes_per_connection", LESS)


def ticker_keeps_threads_few(runs: Sequence[AnalysedRun]) -> Finding:
    """Kernel threads of Go whose goroutines sleep, over those of Go with a ticker."""
    return ratio_claim(
        runs,
        "feed-threads",
        "feed",
        "peak_threads",
        "go@sleep",
        "go@ticker",
        at_least(1.5, "the post has no figure; half as many again are more than a few"),
        applies=_many,
        where="with a thousand connections or more",
    )


def flush_is_needed(runs: Sequence[AnalysedRun]) -> Finding:
    """A feed whose lines wait in a buffer of 4 KiB keeps no contract: no trial of it has figures."""
    del runs
    return not_tested("a server that does not flush breaks the contract of the feed: it has no figures")


def hour_and_a_half_of_cpu(runs: Sequence[AnalysedRun]) -> Finding:
    """What Go's CPU time for a chunk is today, and for how long ten thousand feeds could be served with the
    post's 1.5 hours: the post does not say how long its test was."""
    matching = find(runs, _EXPERIMENT, "feed", ("go",), _as_in_the_post)
    if matching is None:
        return not_tested("no run has go with ten thousand connections", _EXPERIMENT)
    run, points = matching
    values = run.values("cpu_per_kchunk_s", "go", points[-1])
    if not values:
        return not_tested("go has no figures with ten thousand connections", _EXPERIMENT)
    cost = median_interval(list(values.values()))
    hours = _POSTS_CPU_S / cost.estimate * 1000 / _POSTS_CONNECTIONS / 3600
    return Finding(
        Answer.UNTESTABLE,
        f"the post does not say how long its test was: go takes {units.with_interval(cost, 's')} of CPU time "
        f"for a thousand chunks, so 1.5 h would serve ten thousand connections for "
        f"{units.significant(hours)} h",
        run.experiment.name,
        (run.run.id,),
        cost,
        "s",
    )


CLAIMS: Mapping[str, ClaimTest] = {
    "2011-go-c10k/more-threads-than-cores": more_threads_than_cores,
    "2011-go-c10k/memory-settles-after-cpu": memory_settles_after_cpu,
    "2011-go-c10k/go-computes-far-more-than-erlang": go_computes_far_more_than_erlang,
    "2011-go-c10k/ticker-keeps-threads-few": ticker_keeps_threads_few,
    "2011-go-c10k/flush-is-needed": flush_is_needed,
    "2011-go-c10k/hour-and-a-half-of-cpu": hour_and_a_half_of_cpu,
    "2011-go-c10k/go-takes-32-kb": go_takes_32_kb,
    "2011-go-c10k/go-takes-less-memory-than-erlang": go_takes_less_memory_than_erlang,
}
