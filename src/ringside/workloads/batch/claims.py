"""What the post of 2011 on Go concluded from its batch, as tests of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

from ringside import units
from ringside.model.design import Level, Point
from ringside.model.results import Answer, Finding, Interval
from ringside.stats.paired import differences
from ringside.workloads.claims import (
    AnalysedRun,
    Band,
    ClaimTest,
    Part,
    at_least,
    at_most,
    find,
    judge,
    logs,
    not_tested,
)

# Beyond so many of its cores the post saw no gain.
_POSTS_PEAK = 8
# A gain of less is none.
_GAIN = at_most(1.05, "a gain below the margin of verdicts is none")
# The largest part of the time.
_MAJORITY = at_least(0.5, "the larger part of the time")
# The places of the queue of the contender `go`.
_OWN_QUEUE = 100
# A queue that changes the time by less has no big effect.
_BIG = 1.2
_WHY_BIG = "the post has no figure; a fifth is big"
_NO_BIG_EFFECT = Band(1 / _BIG, _BIG, "from 0.83 to 1.2", _WHY_BIG)


def eight_cores_are_enough(runs: Sequence[AnalysedRun]) -> Finding:
    """Wall time on eight cores over that on the most cores of the run."""
    experiment = "batch-cores"
    matching = find(runs, experiment, "batch", ("go",), lambda point: int(point["cores"]) >= _POSTS_PEAK)
    cores = sorted({int(point["cores"]) for point in matching[1]}) if matching else []
    if matching is None or len(cores) < 2 or cores[0] != _POSTS_PEAK:
        most = max(
            (int(point["cores"]) for run in runs for point in run.points if _has_cores(point)), default=0
        )
        here = f"; these runs have {units.count(most, 'core')} at most" if most else ""
        return not_tested(f"it needs go on {_POSTS_PEAK} cores and on more{here}", experiment)
    run, points = matching
    few, many = ([point for point in points if point["cores"] == number] for number in (cores[0], cores[-1]))
    gain = Part("go", differences(logs(run, "wall_s", "go", few), logs(run, "wall_s", "go", many)))
    return judge(
        run,
        [gain],
        _GAIN,
        lambda name, interval: (
            f"{name} is {units.ratio(interval)} times as fast on {cores[-1]} cores as on 8"
        ),
    )


def _has_cores(point: Point) -> bool:
    return "cores" in point.as_dict()


def queue_has_no_big_effect(runs: Sequence[AnalysedRun]) -> Finding:
    """Wall time with each size of the queue of answers over that with the smallest, over all cores."""
    experiment = "batch-capacity"
    matching = find(runs, experiment, "batch", ("go",), lambda point: point["capacity"] != "own")
    levels = {point["capacity"] for point in matching[1]} if matching else set()
    # The word `unbounded` stands behind all numbers.
    sizes: list[Level] = sorted(levels, key=lambda level: (isinstance(level, str), level))
    if matching is None or len(sizes) < 2:
        return not_tested("no run has go with several sizes of its queue", experiment)
    run, points = matching

    def time(size: Level) -> dict[int, float]:
        return logs(run, "wall_s", "go", [point for point in points if point["capacity"] == size])

    parts = [Part(f"capacity={size}", differences(time(size), time(sizes[0]))) for size in sizes[1:]]
    return judge(
        run,
        parts,
        _NO_BIG_EFFECT,
        lambda name, interval: (
            f"with {name}, go takes {units.ratio(interval)} times as long as with capacity={sizes[0]}"
            f" ({len(sizes)} sizes compared)"
        ),
    )


def reading_dominates(runs: Sequence[AnalysedRun]) -> Finding:
    """The time for which the reader is busy on fewest cores, over wall time on most, with most cases.

    The reader's clock goes on while it waits for a core, so it is no less than the CPU time of reading, and
    more cores do not make reading less: a bound from above. It can refute the claim, and not confirm it."""
    experiment = "batch-cores"
    matching = find(runs, experiment, "batch", ("go",), lambda point: point["capacity"] == "own")
    if matching is None:
        return not_tested("no run has go", experiment)
    run, points = matching
    cases = max(int(point["cases"]) for point in points)
    walk = sorted((point for point in points if point["cases"] == cases), key=lambda point: point["cores"])
    busy, wall = logs(run, "read_s", "go", walk[:1]), logs(run, "wall_s", "go", walk[-1:])
    finding = judge(
        run,
        [Part("go", differences(busy, wall))],
        _MAJORITY,
        lambda name, bound: (
            f"reading takes at most {units.ratio(bound)} of {name}'s wall time on "
            f"{units.count(int(walk[-1]['cores']), 'core')} at cases={cases}, by the clock of its reader on "
            f"{units.count(int(walk[0]['cores']), 'core')}"
        ),
    )
    if finding.answer is not Answer.CONFIRMED:
        return finding
    why = "; that clock counts waiting for a core too, so a bound this high decides nothing"
    return replace(finding, answer=Answer.INCONCLUSIVE, sentence=finding.sentence + why)


def queue_is_full(runs: Sequence[AnalysedRun]) -> Finding:
    """Wall time with go's own queue, or the smallest where a run lacks it, over that with one that is never
    full, on most cores: waiting for a place explains the time only where it is shorter without."""
    experiment = "batch-capacity"
    matching = find(runs, experiment, "batch", ("go",), lambda point: point["capacity"] != "own")
    points = matching[1] if matching else ()
    sizes = [size for size in {point["capacity"] for point in points} if isinstance(size, int)]
    if matching is None or not sizes or all(point["capacity"] != "unbounded" for point in points):
        return not_tested("no run has go with a bounded queue beside an unbounded one", experiment)
    run = matching[0]
    cores = max(int(point["cores"]) for point in points)
    bound = _OWN_QUEUE if _OWN_QUEUE in sizes else min(sizes)

    def time(size: Level) -> dict[int, float]:
        places = [point for point in points if point["capacity"] == size and point["cores"] == cores]
        return logs(run, "wall_s", "go", places)

    return judge(
        run,
        [Part("go", differences(time(bound), time("unbounded")))],
        at_least(_BIG, _WHY_BIG),
        lambda name, interval: (
            f"with capacity={bound} {name} takes {units.ratio(interval)} times as long as with a queue "
            f"that is never full, on {units.count(cores, 'core')}"
        ),
    )


def one_core_by_default(runs: Sequence[AnalysedRun]) -> Finding:
    """Wall time of Go with the runtime's own GOMAXPROCS over that with one for each core, on most cores."""
    experiment = "batch-cores"
    names = ("go@unset", "go")
    matching = find(runs, experiment, "batch", names, lambda point: int(point["cores"]) > 1)
    if matching is None:
        return not_tested("no run has go@unset beside go on two cores or more", experiment)
    run, points = matching
    cores = max(int(point["cores"]) for point in points)
    places = [point for point in points if point["cores"] == cores]
    untold, told = (logs(run, "wall_s", name, places) for name in names)
    return judge(
        run,
        [Part("go", differences(untold, told))],
        at_least(_BIG, _WHY_BIG),
        lambda name, interval: (
            f"with the runtime's own choice {name} takes {units.ratio(interval)} times as long as with "
            f"GOMAXPROCS={cores}, on {units.count(cores, 'core')}"
        ),
    )


# Contenders whose programs a compiler makes, beside Go.
_COMPILED = ("rust-tokio", "java-virtual-threads", "haskell", "ocaml", "erlang", "cpp-coroutines", "limit")


def go_compiles_fast(runs: Sequence[AnalysedRun]) -> Finding:
    """How long the builds of Go's programs and of others took, and the median of the latter over the first. A
    program is built once in a run's life, so there is no interval: nothing is decided."""
    experiment = "batch-cores"
    times = {name: seconds for run in runs for name in run.names if (seconds := run.build_s(name))}
    others = {name: times[name] for name in _COMPILED if name in times}
    if "go" not in times or not others:
        return not_tested("no run has how long the builds of Go and of another compiler took", experiment)
    ratio = median(others.values()) / times["go"]
    each = ", ".join(f"{name}'s in {units.quantity(seconds, 's')}" for name, seconds in others.items())
    return Finding(
        Answer.INCONCLUSIVE,
        f"Go's programs were built in {units.quantity(times['go'], 's')}, {each}: with their "
        "libraries, as far as these were not built before; one build of each, two at a time, has no interval",
        experiment,
        tuple(dict.fromkeys(run.run.id for run in runs if "go" in run.names)),
        Interval(ratio, None, None, 1),
    )


CLAIMS: Mapping[str, ClaimTest] = {
    "2011-go-code-jam/eight-cores-are-enough": eight_cores_are_enough,
    "2011-go-code-jam/queue-has-no-big-effect": queue_has_no_big_effect,
    "2011-go-code-jam/reading-dominates": reading_dominates,
    "2011-go-code-jam/queue-is-full": queue_is_full,
    "2011-go-code-jam/one-core-by-default": one_core_by_default,
    "2011-go-code-jam/go-compiles-fast": go_compiles_fast,
}
