"""What the posts of 2007 and 2009 concluded from the ring, as tests of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ringside import units
from ringside.model.design import Point
from ringside.model.results import Finding, Interval
from ringside.stats.paired import differences
from ringside.workloads.claims import (
    LESS,
    MORE,
    AnalysedRun,
    Band,
    ClaimTest,
    Logs,
    Part,
    about,
    agreeing,
    at_least,
    between,
    find,
    judge,
    judge_part,
    logs,
    not_tested,
    ratio_claim,
    stand_in,
)

# What is left of Stackless: its module in PyPy, and greenlet, which grew out of it, on CPython.
_STACKLESS, _GREENLET = "stackless-pypy", "stackless-greenlet"
_NO_STACKLESS = "the Stackless of 2007 cannot be had; PyPy's module and greenlet stand in"
_REWRITE = "multitask is a rewrite here, which does less for each operation than the package of 2007 did"
# From here on the post's ratios no longer are those of starting up.
_MANY_DELIVERIES = 1_000_000
# The gap over a network is a small part of the gap in the ring.
_SMALL_PART = at_least(2, "the post has no figure; at most half of it is left")
# The post of 2009: of each sweep the experiment, the factor that stays at a hundred, and the one that grows.
_POST_2009 = "2009-erlang-vs-stackless"
_SWEEPS = (("ring-fixed-nodes", "nodes", "messages"), ("ring-fixed-messages", "messages", "nodes"))
_HUNDRED, _SWEPT_FROM = 100, 10_000
_CLOSE = between(1, 2, "the post has plots only; close is less than twice")


def _many_deliveries(point: Point) -> bool:
    """A point of the table of 2007 with so many deliveries that starting up hardly counts."""
    many = int(point["nodes"]) * int(point["messages"]) >= _MANY_DELIVERIES
    return many and point["mode"] == "pipelined" and point["trace"] == 0


def _ratio_of_2007(
    runs: Sequence[AnalysedRun], numerator: str, denominator: str, band: Band, beside: Sequence[str] = ()
) -> Finding:
    return ratio_claim(
        runs,
        "ring-showdown",
        "ring",
        "cpu_s",
        numerator,
        denominator,
        band,
        applies=_many_deliveries,
        where="at a million deliveries or more",
        beside=beside,
    )


def stackless_12_times(runs: Sequence[AnalysedRun]) -> Finding:
    """2007: CPU time of Stackless over Erlang, at a million deliveries or more."""
    return stand_in(_ratio_of_2007(runs, _STACKLESS, "erlang", about(12), (_GREENLET,)), _NO_STACKLESS)


def multitask_40_times(runs: Sequence[AnalysedRun]) -> Finding:
    """2007: CPU time of multitask over Stackless, at a million deliveries or more."""
    finding = _ratio_of_2007(runs, "multitask", _STACKLESS, between(40, 60))
    return stand_in(finding, f"{_NO_STACKLESS}, and {_REWRITE}")


def network_narrows_the_gap(runs: Sequence[AnalysedRun]) -> Finding:
    """2007, left open there: multitask over Erlang in the ring, over the same for answers per second of a
    network service with three clients."""
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
    cpu = differences(logs(of_ring, "cpu_s", "multitask", at), logs(of_ring, "cpu_s", "erlang", at))
    rate = "requests_per_s"
    answers = differences(logs(of_fib, rate, "erlang", places), logs(of_fib, rate, "multitask", places))
    messages, network = (Part("", each).interval(of_fib.confidence) for each in (cpu, answers))
    each_way = (
        f"in the ring multitask takes {units.ratio(messages)} times the CPU time of erlang; as a network "
        f"service it gives 1/{units.ratio(network)} of its answers; "
        if messages and network
        else ""
    )
    # Block by block: that of the ring and that of the service with the same number are a pair of two that
    # know nothing of each other, and as many blocks as either has decide.
    finding = judge(
        of_fib,
        [Part("", differences(cpu, answers))],
        _SMALL_PART,
        lambda _, drop: f"{each_way}the gap is {units.ratio(drop)} times smaller; {_REWRITE}",
    )
    return replace(finding, runs=(of_ring.run.id, of_fib.run.id))


def _sweeps(
    runs: Sequence[AnalysedRun], name: str, traces: Sequence[int]
) -> list[tuple[AnalysedRun, list[tuple[Point, ...]], str]]:
    """Of each sweep of 2009 the run that has a contender beside Erlang at its points with each of `traces`,
    these points by trace, and the sweep in words."""
    sweeps = []
    for experiment, fixed, growing in _SWEEPS:

        def applies(point: Point, trace: int, fixed: str = fixed, growing: str = growing) -> bool:
            is_swept = point[fixed] == _HUNDRED and int(point[growing]) >= _SWEPT_FROM
            return is_swept and point["mode"] == "pipelined" and point["trace"] == trace

        def at(
            candidates: Sequence[AnalysedRun], trace: int, experiment: str = experiment
        ) -> tuple[AnalysedRun, tuple[Point, ...]] | None:
            accepts = partial(applies, trace=trace)
            return find(candidates, experiment, "ring", ("erlang", name), accepts, _POST_2009)

        # All that is compared comes from one run.
        whole = [run for run in runs if all(at([run], trace) for trace in traces)]
        matching = [at(whole, trace) for trace in traces]
        points = [each[1] for each in matching if each]
        if matching and matching[0] and len(points) == len(traces):
            sweeps.append((matching[0][0], points, f"with a hundred {fixed}"))
    return sweeps


def _of_2009(
    runs: Sequence[AnalysedRun],
    traces: Sequence[int],
    band: Band,
    logs_of: Callable[[AnalysedRun, str, list[tuple[Point, ...]]], Logs],
    words: str,
) -> Finding:
    """A claim of a direction, judged for either sweep and each of the stand-ins: they all have to agree."""

    def sentence(sweep: str, name: str, interval: Interval) -> str:
        return f"{name} {units.ratio(interval)} times {sweep}"

    findings = [
        judge_part(run, [Part(name, logs_of(run, name, points))], band, partial(sentence, sweep))
        for name in (_STACKLESS, _GREENLET)
        for run, points, sweep in _sweeps(runs, name, traces)
    ]
    if not findings:
        output = " and ".join("with output" if trace else "without output" for trace in traces)
        return not_tested(
            f"no run has the post's points {output}, Stackless beside erlang", "ring-fixed-nodes"
        )
    finding = agreeing(findings, band)
    return replace(finding, sentence=f"{words}: {finding.sentence}; {_NO_STACKLESS}")


def _over_erlang(run: AnalysedRun, name: str, points: list[tuple[Point, ...]]) -> Logs:
    return differences(*(logs(run, "wall_s", each, points[0]) for each in (name, "erlang")))


def stackless_ahead_with_output(runs: Sequence[AnalysedRun]) -> Finding:
    """2009, first round: wall time of Stackless over Erlang with a line for each message."""
    words = "wall time over that of erlang, with a line for each message"
    return _of_2009(runs, (1,), LESS, _over_erlang, words)


def erlang_ahead_without_output(runs: Sequence[AnalysedRun]) -> Finding:
    """2009, second round: without output Erlang is ahead, Stackless close on its heels."""
    words = "wall time over that of erlang, without output"
    return _of_2009(runs, (0,), _CLOSE, _over_erlang, words)


def erlang_output_is_slow(runs: Sequence[AnalysedRun]) -> Finding:
    """2009: what printing adds to Erlang's wall time is more than what it adds to Stackless's."""

    def slowdown(run: AnalysedRun, name: str, points: list[tuple[Point, ...]]) -> Logs:
        printing, silent = (logs(run, "wall_s", name, each) for each in points)
        return differences(printing, silent)

    def relative(run: AnalysedRun, name: str, points: list[tuple[Point, ...]]) -> Logs:
        return differences(slowdown(run, "erlang", points), slowdown(run, name, points))

    words = "slowdown by printing, that of erlang over that of Stackless"
    return _of_2009(runs, (1, 0), MORE, relative, words)


def several_hosts(runs: Sequence[AnalysedRun]) -> Finding:
    """2009, the author's change of heart: Erlang is built for several hosts as well."""
    del runs
    return not_tested("no workload spreads units over several hosts")


CLAIMS: Mapping[str, ClaimTest] = {
    "2007-ring-showdown/stackless-12-times": stackless_12_times,
    "2007-ring-showdown/multitask-40-times": multitask_40_times,
    "2007-ring-showdown/network-narrows-the-gap": network_narrows_the_gap,
    "2009-erlang-vs-stackless/stackless-ahead-with-output": stackless_ahead_with_output,
    "2009-erlang-vs-stackless/erlang-ahead-without-output": erlang_ahead_without_output,
    "2009-erlang-vs-stackless/erlang-output-is-slow": erlang_output_is_slow,
    "2009-erlang-vs-stackless/several-hosts": several_hosts,
}
