"""The posts of 2015 and 2016 in prose: the fibonacci service, the gateway that calls three others."""

from __future__ import annotations

from collections.abc import Iterator

from ringside import units
from ringside.analysis.posts import Direction, Explained, Place, PostData
from ringside.model.results import Answer, Interval
from ringside.render.posts import words
from ringside.render.posts.page import Bar, Picture, Prose

_GO, _POOL, _NO_POOL = "go", "python-coroutines", "multitask"
_POOL_OF_FOUR, _ON_PYPY = "python-coroutines@four", "python-coroutines@pypy"
_SYNC = {"python-sync": "CPython", "python-sync@pypy": "PyPy", "go-sync": "Go"}
_ONE = Place("fib", {"load": "hammer", "n": 1, "clients": 1})
_THREE = Place("fib", {"load": "hammer", "n": 1, "clients": 3})
_FIB_30 = Place("fib", {"load": "single", "n": 30})
_RATE, _ANSWERS = "requests_per_s", "as many answers"
_POSTS_CORES = 4


def python_and_go(data: PostData) -> Prose:
    """The fibonacci service, one client and three."""
    cores = max((int(level) for level in data.levels("fib", "cores")), default=0)
    return Prose(
        then="A [talk by David Beazley](https://www.youtube.com/watch?v=MCs5OvhV9S4) writes a small network "
        "service in Python, which answers with Fibonacci numbers, and makes it concurrent step by step. The "
        "author did the same in Go. One client at a time, CPython, PyPy and Go were alike, 17,000, 22,000 "
        "and 21,000 answers per second. With three clients Go gave each 12,500 per second, and Python's "
        "generators with a pool of four processes 275; fib(30) took 5 ms and 231 ms. Go takes one word to "
        "get there, the author writes, and Python a page of code that still cannot use all cores.",
        did="We run the same programs: the three that serve one client at a time, goroutines, and generators "
        f"with a pool of processes; on up to {words.number(cores)} core{'s' * (cores != 1)}, the load on the "
        "same machine."
        if cores
        else "Nothing of it has been measured.",
        now=[*_synchronous(data), *_concurrent(data), _cores(data), _lines(data)],
        why=list(_why_of_2015(data)),
        unknown=list(_unknown_of_2015(data, cores)),
        picture=_rates_picture(data),
    )


def _synchronous(data: PostData) -> Iterator[str]:
    rates = {label: data.value(_RATE, name, _ONE) for name, label in _SYNC.items()}
    known = {label: value for label, value in rates.items() if value}
    if len(known) < len(_SYNC):
        yield "The synchronous servers have not been measured."
        return
    each = words.listed(f"{label} {value.estimate:,.0f}" for label, value in known.items())
    yield f"One client at a time, answers per second: {each}."
    pypy = data.ratio(_RATE, "python-sync@pypy", "go-sync", _ONE)
    if pypy is None:
        return
    yield {
        Direction.MORE: f"PyPy is still ahead of Go, by {units.percent(pypy.estimate - 1)}.",
        Direction.LESS: f"Today Go is ahead of PyPy, by {units.percent(1 / pypy.estimate - 1)}.",
        Direction.SAME: "PyPy and Go are level.",
        Direction.UNCLEAR: "Whether PyPy or Go is ahead is not clear.",
    }[Direction.of(pypy)]


def _concurrent(data: PostData) -> Iterator[str]:
    rate = data.ratio(_RATE, _GO, _POOL, _THREE)
    if rate:
        text = words.versus("Go", "the pool", rate, "gives", _ANSWERS)
        yield f"With three clients {text}, where the post had 45 times."
    else:
        yield "Three clients have not been measured."
    time = data.ratio("latency_s", _POOL, _GO, _FIB_30)
    if time:
        text = words.versus("CPython", "Go", time, "takes", "as long")
        yield f"For fib(30) {text}; the post had 46 times."


def _cores(data: PostData) -> str:
    """What a second core brings to each."""
    answers = {claim: data.finding(claim) for claim in ("go-uses-all-cores", "python-uses-no-second-core")}
    texts = [
        {
            Answer.CONFIRMED: "Go makes good use of the cores that it gets.",
            Answer.REFUTED: "Go does not make full use of a further core here.",
            Answer.INCONCLUSIVE: "How well Go uses a further core these runs do not decide.",
        }.get(answers["go-uses-all-cores"].answer, ""),
        {
            Answer.CONFIRMED: "None of the servers in Python does.",
            Answer.REFUTED: "But servers in Python can use further cores too, those with several processes.",
            Answer.INCONCLUSIVE: "Whether some server in Python does is not decided either.",
        }.get(answers["python-uses-no-second-core"].answer, ""),
    ]
    return " ".join(filter(None, texts))


def _lines(data: PostData) -> str:
    """How many lines make each concurrent."""
    go, python = data.finding("two-letters-make-it-concurrent"), data.finding("python-takes-a-page")
    if go.figure is None or python.figure is None:
        return ""
    return (
        "From our server for one client to the concurrent one "
        f"{units.count(round(go.figure.estimate), 'line')} of Go differ, and "
        f"{units.count(round(python.figure.estimate), 'line')} of Python with generators and a pool."
    )


def _why_of_2015(data: PostData) -> Iterator[str]:
    gap = data.ratio(_RATE, _GO, _POOL, _THREE)
    without = data.ratio(_RATE, _NO_POOL, _POOL, _THREE)
    if gap and without and Direction.of(gap) is Direction.MORE:
        yield _pool_or_not(data, gap, without)
    four = data.ratio(_RATE, _POOL_OF_FOUR, _POOL, _THREE)
    if four:
        text = words.versus(
            "a pool of four processes", "one with a process for each core", four, "gives", _ANSWERS
        )
        yield f"The number of processes: {text}."
    pypy = data.ratio("latency_s", _POOL, _ON_PYPY, _FIB_30)
    if pypy:
        text = words.versus("CPython", "PyPy", pypy, "takes", "as long")
        yield f"What fib(30) takes is a matter of the interpreter: for the same program {text}."
    yield from _memory(data)


def _pool_or_not(data: PostData, gap: Interval, without: Interval) -> str:
    """Whether handing each request to a process is what takes the time: generators without a pool tell."""
    left = data.ratio(_RATE, _GO, _NO_POOL, _THREE)
    beside = f"; {words.versus('Go', 'they', left, 'gives', _ANSWERS)}" if left else ""
    return {
        Explained.MOST: "The gap with three clients is the pool's, not Python's: fib(1) is computed in no "
        "time, and each request is handed to another process and back. Generators that compute by themselves "
        f"give {words.size(without)} as many answers as those with the pool{beside}.",
        Explained.SOME: "A part of the gap with three clients is the pool's, which hands each request to "
        "another "
        f"process and back: without it generators give {words.size(without)} as many answers{beside}.",
        Explained.NONE: "The pool is not what makes the gap with three clients: generators without it are "
        f"not shown to give more answers (ratio {words.plain(without)}).",
    }[Explained.of(gap, without)]


def _memory(data: PostData) -> Iterator[str]:
    """RSS as the post, and PSS beside it."""
    rss = {name: data.value("rss_bytes", name, _THREE) for name in (_POOL, _GO)}
    pss = {name: data.value("peak_pss_bytes", name, _THREE) for name in (_POOL, _GO)}
    pool, go = rss[_POOL], rss[_GO]
    if not pool or not go:
        return
    shared = ""
    if pss[_POOL] and pss[_GO]:
        pool_pss, go_pss = pss[_POOL], pss[_GO]
        assert pool_pss
        assert go_pss
        shared = (
            f"; with what processes share counted once, {words.amount(pool_pss, 'B')} and "
            f"{words.amount(go_pss, 'B')}"
        )
    yield (
        f"The post's memory, 188 MB and 120 MB, has shrunk to {words.amount(pool, 'B')} and "
        f"{words.amount(go, 'B')} of resident memory{shared}."
    )


def _unknown_of_2015(data: PostData, cores: int) -> Iterator[str]:
    if cores < 3:
        yield (
            "How the two would compare on the post's three cores and four processes: this machine has "
            f"{words.number(cores)}, and the load takes its share."
        )
    yield "The post does not name its machine, nor how it measured memory."


def _rates_picture(data: PostData) -> Picture:
    bars = []
    rows = (
        *(((f"{label}, one client", name, _ONE, _RATE, 1)) for name, label in _SYNC.items()),
        ("Go, three clients", _GO, _THREE, "requests_per_s_per_client", 3),
        ("pool, three clients", _POOL, _THREE, "requests_per_s_per_client", 3),
        ("generators, no pool", _NO_POOL, _THREE, "requests_per_s_per_client", 3),
    )
    for label, name, place, metric, clients in rows:
        then, value = data.then(metric, name, clients=clients), data.value(metric, name, place)
        if then:
            bars.append(Bar(label, "2015", then))
        if value:
            bars.append(Bar(label, "now", value.estimate, value.low, value.high))
    return Picture("Answers per second for each client", "answers per second", "/s", tuple(bars))


_TORNADO, _TUNED = "tornado", "tornado@tuned"
_MOST_CALLS = "4,096"
_P50 = "latency_ms.p50"
_WAITS = Place("fanout", {"kind": "io", "rate": 0, "tail": 0, "requests": 100, "concurrency": 20})
_LARGER = _WAITS.at(requests=500, concurrency=50)
_COMPUTES = Place("fanout", {"kind": "cpu", "rate": 0, "tail": 0})
_MIXED = Place("fanout", {"kind": "mixed", "rate": 0, "tail": 0})


def gateway(data: PostData) -> Prose:
    """The gateway: where it waits, where it computes, in between."""
    return Prose(
        then="A handler asks three web sites at the same time and reports their answers as they come; a tick "
        "of 50 ms shows that it does not block. The author had written it with Tornado before, and found Go "
        "about seven times as fast: a median of 611 ms for 100 requests at 20 at a time, where Tornado's "
        "best was 4,013 ms. Where the handler computes instead, 112 ms against 1,854. In between the author "
        "expected 20 times.",
        did="We run both gateways, with three upstreams of our own that answer in about 100 ms, as the probe "
        "has them do; the post called public sites. Tornado runs twice: as it comes, and with more calls at "
        "a time.",
        now=[_waiting(data), *_larger_load(data), _computing(data), *_in_between(data)],
        why=[*_pool_of_clients(data), *_why_computing(data)],
        unknown=[
            "How fast the sites answered in 2016, how many requests Tornado had then, how far the loops "
            "counted that computed, and what a handler in between is. Nor do we meet the limit of open "
            "files, which the post had to raise: it is raised for every program here.",
        ],
        picture=_gateway_picture(data),
    )


def _ratio_of_default(data: PostData, place: Place) -> Interval | None:
    """Tornado as it comes over Go. In records of earlier versions the plain name was the tuned one: only
    beside that it is known to be the default."""
    return data.ratio(_P50, _TORNADO, _GO, place) if data.run((_TORNADO, _TUNED, _GO), place) else None


def _waiting(data: PostData) -> str:
    default = _ratio_of_default(data, _WAITS)
    if default is None:
        return "Where the handler waits, Tornado as it comes has not been measured beside Go."
    if Direction.of(default) is Direction.MORE:
        return f"Where the handler waits, Go is {words.size(default)} as fast as Tornado as it comes."
    return f"Where the handler waits, {words.versus('Tornado', 'Go', default, 'takes', 'as long')}."


def _larger_load(data: PostData) -> Iterator[str]:
    larger = _ratio_of_default(data, _LARGER)
    if larger:
        yield f"With 500 requests at 50 at a time it is {words.size(larger)}."


def _computing(data: PostData) -> str:
    ratio = data.ratio(_P50, _TORNADO, _GO, _COMPUTES)
    if ratio is None:
        return "Where the handler computes nothing has been measured."
    if Direction.of(ratio) is Direction.MORE:
        return (
            f"Where it computes, Go is {words.size(ratio)} as fast, compiled code against an interpreter; "
            "the post had 17 times."
        )
    return f"Where it computes, {words.versus('Tornado', 'Go', ratio, 'takes', 'as long')}."


def _in_between(data: PostData) -> Iterator[str]:
    finding = data.finding("go-20-times-in-between")
    if finding.answer in (Answer.CONFIRMED, Answer.OTHER_CONDITIONS):
        yield "Any factor in between, 20 too, can be had by choosing how much the handler computes."
    ratios = [
        (f"{work:,}", words.versus("Tornado", "Go", ratio, "takes", "as long"))
        for work, ratio in _over_work(data, _MIXED)
    ]
    if ratios:
        texts = "; ".join(f"below {work} {text}" for work, text in ratios)
        yield f"With three calls, and a sum of the integers after each: {texts}."


def _over_work(data: PostData, place: Place) -> list[tuple[int, Interval]]:
    """Tornado over Go, by the integers that are summed, ascending."""
    amounts = sorted(int(level) for level in data.levels("fanout", "work"))
    ratios = [(work, data.ratio(_P50, _TORNADO, _GO, place.at(work=work))) for work in amounts]
    return [(work, ratio) for work, ratio in ratios if ratio]


def _why_computing(data: PostData) -> Iterator[str]:
    """How far the loops count, which the post does not say."""
    ratios = _over_work(data, _COMPUTES)
    if len(ratios) < 2:
        return
    (few, least), (many, most) = ratios[0], ratios[-1]
    if least.high is not None and most.low is not None and most.low > least.high:
        yield (
            f"Where it computes, the factor depends on how far the loops count: {words.size(least)} below "
            f"{few:,}, {words.size(most)} below {many:,}; with short loops both mostly handle requests."
        )
    else:
        counts = f"{few:,} or {many:,}"
        yield f"Where it computes, the factor is not shown to depend on how far the loops count, {counts}."


def _pool_of_clients(data: PostData) -> Iterator[str]:
    """Ten calls at a time, which is the default of Tornado's client, on and off."""
    default = _ratio_of_default(data, _WAITS)
    if default is None:
        ratio = data.ratio(_P50, _TORNADO, _GO, _WAITS)
        text = words.versus("Tornado", "Go", ratio, "takes", "as long")
        yield f"With a client that makes {_MOST_CALLS} calls at a time {text}." if ratio else ""
        return
    tuned = data.ratio(_P50, _TUNED, _GO, _WAITS)
    effect = data.ratio(_P50, _TORNADO, _TUNED, _WAITS)
    if tuned is None or effect is None or Direction.of(default) is not Direction.MORE:
        yield "Ten calls at a time, the default of Tornado's client, make no difference that is shown here."
        return
    left = (
        f"Go is {words.size(tuned)} as fast"
        if Direction.of(tuned) is Direction.MORE
        else words.versus("Tornado", "Go", tuned, "takes", "as long")
    )
    yield {
        Explained.MOST: f"Go is {words.size(default)} as fast as Tornado because Tornado's client makes ten "
        "calls at a time, and twenty requests want to make sixty, which Go's client does: with the limit "
        f"raised to {_MOST_CALLS}, {left}. The post's factor of seven is about a default, and not about "
        "goroutines or loops.",
        Explained.SOME: "Tornado's client makes ten calls at a time by default, which is a part of the "
        f"reason: with the limit raised to {_MOST_CALLS}, {left}.",
        Explained.NONE: "Tornado's client makes ten calls at a time by default, which is not the reason: "
        f"with the limit raised to {_MOST_CALLS}, {left}.",
    }[Explained.of(default, effect)]


def _gateway_picture(data: PostData) -> Picture:
    bars = []
    for group, place, kind in (("waits", _WAITS, "io"), ("computes", _COMPUTES, "cpu")):
        for name, label in ((_GO, "Go"), (_TORNADO, "Tornado"), (_TUNED, f"Tornado, {_MOST_CALLS} calls")):
            if name == _TORNADO and place is _WAITS and _ratio_of_default(data, place) is None:
                label = f"Tornado, {_MOST_CALLS} calls"
            then, value = data.then(_P50, name, kind=kind), data.value(_P50, name, place)
            if then:
                bars.append(Bar(f"{'Tornado' if name == _TORNADO else label}, {group}", "2016", then))
            if value:
                bars.append(Bar(f"{label}, {group}", "now", value.estimate, value.low, value.high))
    return Picture("Median time of a request", "time", "ms", tuple(bars))
