"""What the posts of 2007 and 2009 concluded from the ring, as tests of runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from ringside import units
from ringside.model.design import Point
from ringside.model.results import Answer, Finding, Interval
from ringside.workloads.claims import (
    LESS,
    MORE,
    AnalysedRun,
    Band,
    ClaimTest,
    Part,
    about,
    answer,
    at_least,
    between,
    find,
    judge,
    log_ratio,
    logs,
    not_tested,
    ratio_claim,
)

# The one that is still Stackless: its module comes with PyPy. The other is its successor on CPython.
_STACKLESS, _GREENLET = "stackless-pypy", "stackless-greenlet"
# Its ratios are not those of the package of 2007.
_REWRITE = "multitask is a rewrite here, which does less for each operation than the package of 2007 did"
# From here on the post's ratios no longer are those of starting up.
_MANY_DELIVERIES = 1_000_000
# How much smaller a ratio must be to have dropped substantially.
_SUBSTANTIALLY = 10.0


def _traced(trace: int) -> Callable[[Point], bool]:
    """Points of the posts: pipelined, with so many deliveries that starting up hardly counts."""

    def applies(point: Point) -> bool:
        many = int(point["nodes"]) * int(point["messages"]) >= _MANY_DELIVERIES
        return many and point["mode"] == "pipelined" and point["trace"] == trace

    return applies


_many_deliveries = _traced(0)


def _stackless_over_erlang(
    runs: Sequence[AnalysedRun], experiment: str, metric: str, band: Band, trace: int, where: str
) -> Finding:
    return ratio_claim(
        runs,
        experiment,
        "ring",
        metric,
        _STACKLESS,
        "erlang",
        band,
        applies=_traced(trace),
        where=where,
        beside=(_GREENLET,),
    )


def stackless_12_times(runs: Sequence[AnalysedRun]) -> Finding:
    """2007: CPU time of Stackless over Erlang, at a million deliveries or more."""
    where = "at a million deliveries or more"
    return _stackless_over_erlang(runs, "ring-showdown", "cpu_s", about(12), 0, where)


def multitask_40_times(runs: Sequence[AnalysedRun]) -> Finding:
    """2007: CPU time of multitask over Stackless, at all points of the table."""
    return ratio_claim(
        runs,
        "ring-showdown",
        "ring",
        "cpu_s",
        "multitask",
        _STACKLESS,
        between(40, 60),
        applies=_many_deliveries,
        where="at a million deliveries or more",
        note=_REWRITE,
    )


def network_narrows_the_gap(runs: Sequence[AnalysedRun]) -> Finding:
    """2007, left open there: multitask over Erlang in the ring, against the same for answers per second of
    a network service with three clients."""
    ring = find(runs, "ring-showdown", "ring", ("multitask", "erlang"), _many_deliveries)
    service = find(
        runs,
        "fib-concurrent",
        "fib",
        ("multitask", "erlang"),
        lambda point: point["load"] == "hammer" and point["n"] == 1,
    )
    if ring is None or service is None:
        missing = "ring of a million deliveries" if ring is None else "fib with load=hammer"
        return not_tested(f"no run of {missing} has multitask beside erlang", "ring-showdown")
    (of_ring, at), (of_fib, places) = ring, service
    cpu = Part("", log_ratio(logs(of_ring, "cpu_s", "multitask", at), logs(of_ring, "cpu_s", "erlang", at)))
    rate = "requests_per_s"
    answers = Part(
        "", log_ratio(logs(of_fib, rate, "erlang", places), logs(of_fib, rate, "multitask", places))
    )
    # Two runs have no pairs: an interval each, each at half of the error rate.
    confidence = 1 - (1 - of_ring.confidence) / 2
    messages, network = cpu.interval(confidence), answers.interval(confidence)
    if messages is None or network is None or None in (messages.low, network.low):
        sentence = "multitask and erlang have too few blocks in common"
        return Finding(Answer.INCONCLUSIVE, sentence, of_fib.experiment.name, (of_ring.run.id, of_fib.run.id))
    drop = _quotient(messages, network)
    band = at_least(_SUBSTANTIALLY)
    sentence = (
        f"in the ring multitask takes {units.ratio(messages)} times the CPU time of erlang; as a network "
        f"service it gives 1/{units.ratio(network)} of its answers; the claim holds where the gap is "
        f"{units.significant(_SUBSTANTIALLY)} times smaller; {_REWRITE}"
    )
    return Finding(
        answer(drop, band), sentence, of_fib.experiment.name, (of_ring.run.id, of_fib.run.id), drop
    )


def _quotient(numerator: Interval, denominator: Interval) -> Interval:
    """The quotient of two ratios that were estimated apart, with the widest interval that both allow."""
    ends = (numerator.low, numerator.high, denominator.low, denominator.high)
    low, high, below, above = (math.nan if end is None else end for end in ends)
    return Interval(
        numerator.estimate / denominator.estimate, low / above, high / below, min(numerator.n, denominator.n)
    )


def stackless_ahead_with_output(runs: Sequence[AnalysedRun]) -> Finding:
    """2009, first round: wall time of Stackless over Erlang with a line for each message."""
    where = "with a line for each message"
    return _stackless_over_erlang(runs, "ring-fixed-nodes", "wall_s", LESS, 1, where)


def erlang_ahead_without_output(runs: Sequence[AnalysedRun]) -> Finding:
    """2009, second round: without output Erlang is ahead, by less than twice."""
    return _stackless_over_erlang(runs, "ring-fixed-nodes", "wall_s", between(1, 2), 0, "without output")


def erlang_output_is_slow(runs: Sequence[AnalysedRun]) -> Finding:
    """2009: what printing adds to Erlang's wall time is more than what it adds to Stackless's."""
    names = ("erlang", _STACKLESS)
    experiment = "ring-fixed-nodes"
    printing, silent = (find(runs, experiment, "ring", names, _traced(trace)) for trace in (1, 0))
    if printing is None or silent is None or printing[0] is not silent[0]:
        return not_tested("no run has both with and without output", experiment)
    run = printing[0]

    def slowdown(name: str) -> dict[int, float]:
        return log_ratio(*(logs(run, "wall_s", name, points) for _, points in (printing, silent)))

    erlang, stackless = (Part(name, slowdown(name)) for name in names)
    own = [part.interval(run.confidence) for part in (erlang, stackless)]
    each = " and ".join(
        f"{part.name} {units.ratio(interval)} times"
        for part, interval in zip((erlang, stackless), own, strict=True)
        if interval
    )
    return judge(
        run,
        [Part("", log_ratio(erlang.logs, stackless.logs))],
        MORE,
        lambda _, interval: f"printing makes {each} as slow: a ratio of {units.ratio(interval)}",
    )


def failure_and_distribution(runs: Sequence[AnalysedRun]) -> Finding:
    """2009, the author's change of heart: what Erlang is built for is not what the ring measures."""
    del runs
    return not_tested("no workload lets units fail or run on several hosts: this is no question of speed")


CLAIMS: Mapping[str, ClaimTest] = {
    "2007-ring-showdown/stackless-12-times": stackless_12_times,
    "2007-ring-showdown/multitask-40-times": multitask_40_times,
    "2007-ring-showdown/network-narrows-the-gap": network_narrows_the_gap,
    "2009-erlang-vs-stackless/stackless-ahead-with-output": stackless_ahead_with_output,
    "2009-erlang-vs-stackless/erlang-ahead-without-output": erlang_ahead_without_output,
    "2009-erlang-vs-stackless/erlang-output-is-slow": erlang_output_is_slow,
    "2009-erlang-vs-stackless/failure-and-distribution": failure_and_distribution,
}
