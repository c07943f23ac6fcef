"""What the post of 2015 concluded from the fibonacci service, as tests of runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from ringside import units
from ringside.model.design import Point
from ringside.model.results import Answer, Finding, Interval
from ringside.stats.paired import differences
from ringside.workloads.claims import (
    MORE,
    AnalysedRun,
    Band,
    ClaimTest,
    Part,
    about,
    answer,
    at_least,
    at_most,
    elsewhere,
    find,
    judge,
    logs,
    not_tested,
    ratio_claim,
)

_RATE, _GO, _POOL = "requests_per_s", "go", "python-coroutines"
_SYNCHRONOUS = ("python-sync", "python-sync@pypy", "go-sync")
_SAME_ORDER = Band(0.1, 10, "from 0.1 to 10", "an order of magnitude either way")
# The post had GOMAXPROCS=3 and a pool of four processes.
_POSTS_CORES = (3, 4)
_WHERE_IT_WAS = (
    "the post gave Go three cores and Python a pool of four processes, as fib-concurrent with --set cores=4 "
    "does where there are as many"
)
# Of the cores that are added, the share that a server has to gain for using them well.
_EFFICIENCY = 0.8
_WHY_EFFICIENCY = "the post has no figure; good use is 80 % of the cores that are added"


def _hammer(clients: int) -> Mapping[str, object]:
    return {"load": "hammer", "n": 1, "clients": clients}


def _has(point: Point, levels: Mapping[str, object]) -> bool:
    return all(point[factor] == level for factor, level in levels.items())


def synchronous_servers_are_alike(runs: Sequence[AnalysedRun]) -> Finding:
    """Answers per second of each pair of the three synchronous servers, one client."""
    experiment = "fib-sync"
    matching = find(runs, experiment, "fib", _SYNCHRONOUS, lambda point: _has(point, _hammer(1)))
    if matching is None:
        return not_tested("no run has the three synchronous servers with one client", experiment)
    run, points = matching
    rates = {name: logs(run, _RATE, name, points) for name in _SYNCHRONOUS}
    first, *others = _SYNCHRONOUS
    pairs = [(first, others[0]), (first, others[1]), (others[0], others[1])]
    parts = [Part(f"{top} gives", differences(rates[top], rates[below])) for top, below in pairs]
    named = {part.name: below for part, (_, below) in zip(parts, pairs, strict=True)}
    return judge(
        run,
        parts,
        _SAME_ORDER,
        lambda name, interval: f"{name} {units.ratio(interval)} times the answers of {named[name]}",
    )


def pypy_ahead_of_go(runs: Sequence[AnalysedRun]) -> Finding:
    """Answers per second of the synchronous servers, one client: PyPy over Go."""
    return ratio_claim(
        runs,
        "fib-sync",
        "fib",
        _RATE,
        "python-sync@pypy",
        "go-sync",
        MORE,
        applies=lambda point: _has(point, _hammer(1)),
        where="with one client",
    )


def go_45_times(runs: Sequence[AnalysedRun]) -> Finding:
    """Answers per second with three clients: goroutines over generators with a pool of processes."""
    return _on_the_posts_cores(runs, _RATE, _GO, _POOL, about(45), _hammer(3), "with three clients")


def pool_takes_more_memory(runs: Sequence[AnalysedRun]) -> Finding:
    """Resident memory with three clients: generators with a pool of processes over goroutines. That
    of several processes counts what they share once for each of them, as the post did."""
    more = about(188 / 120)
    return _on_the_posts_cores(runs, "rss_bytes", _POOL, _GO, more, _hammer(3), "with three clients")


def fib_30_in_a_46th(runs: Sequence[AnalysedRun]) -> Finding:
    """The time of fib(30): CPython with a pool over Go."""
    single = {"load": "single", "n": 30}
    return _on_the_posts_cores(runs, "latency_s", _POOL, _GO, about(46), single, "for fib(30)")


def _on_the_posts_cores(
    runs: Sequence[AnalysedRun],
    metric: str,
    numerator: str,
    denominator: str,
    band: Band,
    levels: Mapping[str, object],
    where: str,
) -> Finding:
    """A ratio on as many cores as the post had; on others it says nothing of the claim but where it holds."""

    def judged(applies: Callable[[Point], bool], place: str) -> Finding:
        return ratio_claim(
            runs,
            "fib-concurrent",
            "fib",
            metric,
            numerator,
            denominator,
            band,
            applies=applies,
            where=place,
        )

    own = judged(lambda point: _has(point, levels) and point["cores"] in _POSTS_CORES, where)
    if own.answer is not Answer.NOT_TESTED:
        return own
    names = (numerator, denominator)
    matching = find(runs, "fib-concurrent", "fib", names, lambda point: _has(point, levels))
    cores = min((int(point["cores"]) for point in matching[1]), default=1) if matching else 1
    other = judged(
        lambda point: _has(point, levels) and point["cores"] == cores,
        f"{where}, on {units.count(cores, 'core')}",
    )
    return elsewhere(other, _WHERE_IT_WAS)


def go_uses_all_cores(runs: Sequence[AnalysedRun]) -> Finding:
    """Answers per second on all cores over those on one: at least 80 % of the cores that are added."""
    return _speed_up(runs, lambda name: name == _GO, uses_them=True)


def python_uses_no_second_core(runs: Sequence[AnalysedRun]) -> Finding:
    """The same for each server in Python: below 80 % of the cores that are added."""
    return _speed_up(runs, _is_python, uses_them=False)


def _is_python(name: str) -> bool:
    return name.split("@")[0] in {
        *("python-threads", "python-processes", "python-pool", "python-coroutines", "python-asyncio"),
        *("python-asyncio-pool", "tornado", "twisted", "multitask", "stackless-greenlet"),
    }


def _speed_up(runs: Sequence[AnalysedRun], takes_part: Callable[[str], bool], *, uses_them: bool) -> Finding:
    experiment = "fib-cores"
    matching = find(runs, experiment, "fib", (_GO,), lambda point: point["load"] == "hammer")
    cores = sorted({int(point["cores"]) for point in matching[1]}) if matching else []
    if matching is None or len(cores) < 2:
        return not_tested("no run has go on one core and on several", experiment)
    run, points = matching
    one, all_of_them = (
        [point for point in points if point["cores"] == number] for number in (cores[0], cores[-1])
    )
    parts = [
        Part(name, differences(logs(run, _RATE, name, all_of_them), logs(run, _RATE, name, one)))
        for name in run.names
        if takes_part(name)
    ]
    if not parts:
        return not_tested("no run has servers in Python on several cores", experiment)
    gained = cores[0] + _EFFICIENCY * (cores[-1] - cores[0])
    band = (at_least if uses_them else at_most)(gained / cores[0], _WHY_EFFICIENCY)
    among = f" (of {len(parts)} servers)" if len(parts) > 1 else ""
    return judge(
        run,
        parts,
        band,
        lambda name, interval: (
            f"{name}{among} gives {units.ratio(interval)} times the answers on {cores[-1]} cores that it "
            f"gives on {cores[0]}"
        ),
    )


# By language: the program for one client at a time and its concurrent form, as contender and file.
_GO_FORMS = (("go-sync", "fib.go"), ("go", "fib/fib.go"))
_PYTHON_FORMS = (("python-sync", "fib.py"), (_POOL, "fib.py"))
_FEW_LINES, _A_PAGE = 10, 40
_NO_CODE = re.compile(r"(?:#|//|import |from |[\"'()\[\]{}\s,]*$)")


def two_letters_make_it_concurrent(runs: Sequence[AnalysedRun]) -> Finding:
    """Lines of code of Go's concurrent server that the synchronous one lacks."""
    band = at_most(_FEW_LINES, "the post counts two letters; ten lines are few")
    return _further_lines(runs, "Go", _GO_FORMS, band)


def python_takes_a_page(runs: Sequence[AnalysedRun]) -> Finding:
    """The same of generators with a pool in Python."""
    band = at_least(_A_PAGE, "the post shows the program; forty lines are a page")
    return _further_lines(runs, "Python", _PYTHON_FORMS, band)


def _further_lines(
    runs: Sequence[AnalysedRun], language: str, forms: Sequence[tuple[str, str]], band: Band
) -> Finding:
    """Lines that the second form has and the first has not; without comments, imports and brackets alone.
    They are counted, not measured: the interval is the count."""
    experiment, codes, ids = "fib-concurrent", [], []
    for name, path in forms:
        having = [run for run in runs if name in run.names and path in run.program(name)]
        if not having:
            return not_tested(f"no run has the program {path} of {name}", experiment)
        lines = (line.strip() for line in having[-1].program(name)[path].splitlines())
        codes.append(Counter(line for line in lines if not _NO_CODE.match(line)))
        ids.append(having[-1].run.id)
    count = (codes[1] - codes[0]).total()
    interval = Interval(count, count, count, 1)
    (before, _), (after, _) = forms
    sentence = (
        f"{after} has {units.count(count, 'line')} of code that {before} has not; the claim holds "
        f"{band.words} (our band: {band.why})"
    )
    return Finding(answer(interval, band), sentence, experiment, tuple(dict.fromkeys(ids)), interval)


CLAIMS: Mapping[str, ClaimTest] = {
    "2015-python-vs-go/synchronous-servers-are-alike": synchronous_servers_are_alike,
    "2015-python-vs-go/pypy-ahead-of-go": pypy_ahead_of_go,
    "2015-python-vs-go/go-45-times": go_45_times,
    "2015-python-vs-go/pool-takes-more-memory": pool_takes_more_memory,
    "2015-python-vs-go/fib-30-in-a-46th": fib_30_in_a_46th,
    "2015-python-vs-go/two-letters-make-it-concurrent": two_letters_make_it_concurrent,
    "2015-python-vs-go/python-takes-a-page": python_takes_a_page,
    "2015-python-vs-go/go-uses-all-cores": go_uses_all_cores,
    "2015-python-vs-go/python-uses-no-second-core": python_uses_no_second_core,
}
