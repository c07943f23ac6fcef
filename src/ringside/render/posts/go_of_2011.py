"""The three posts of 2011, in prose: the batch, jobs in the background, ten thousand feeds."""

from __future__ import annotations

from collections.abc import Iterator

from ringside import units
from ringside.analysis.posts import Direction, Place, PostData
from ringside.model.results import Answer, Interval
from ringside.render.posts import words
from ringside.render.posts.page import Bar, Picture, Prose

_GO = "go"
_POSTS_CORES, _POSTS_CASES = 8, 200_000
_BATCH = Place("batch", {"capacity": "own"})


def batch(data: PostData) -> Prose:
    """Go's batch over cores, and its queue of results."""
    cores = sorted(int(level) for level in data.levels("batch", "cores"))
    most, swept = (_most_cases(data, is_own) for is_own in (True, False))
    size = (
        "the post's own 200,000 calculations, half a gigabyte,"
        if most >= _POSTS_CASES
        else f"{most:,} calculations, of the post's 200,000,"
    )
    rooms = "with room for none, one, a hundred, ten thousand results, or all"
    channel = f", and {swept:,} of them {rooms}" if swept != most else f" and {rooms}"
    return Prose(
        then="The author's first program in Go took a problem of a contest: 50, 100 or 200 thousand "
        "independent calculations from one file, a goroutine for each. On a server with 32 cores the time "
        "fell up to eight cores and not beyond. The author suspected that reading half a gigabyte takes most "
        "of the time, and that goroutines wait because the channel of results is full; but other sizes of "
        "the channel changed little. Go, the post notes, compiles fast, and uses one core unless it is told "
        "otherwise.",
        did=f"We run {size} on {words.listed(str(number) for number in cores)} core{'s' * (cores != [1])}, "
        f"with the channel as it is{channel if swept else ''}."
        if cores
        else "Nothing of it has been measured.",
        now=[*_cores(data, cores, most), _queue(data), _parallelism(data), _compiling(data)],
        why=list(_reading(data)),
        unknown=[_beyond_eight(cores)],
        picture=_batch_picture(data, cores),
    )


def _most_cases(data: PostData, is_own: bool) -> int:
    """The calculations of the largest point with the channel as it is, or with other sizes of it."""
    points = [point for point in data.points("batch") if (point["capacity"] == "own") is is_own]
    return max((int(point["cases"]) for point in points), default=0)


def _cores(data: PostData, cores: list[int], cases: int) -> Iterator[str]:
    if len(cores) < 2:
        return
    one, all_ = (_BATCH.at(cores=number, cases=cases) for number in (cores[0], cores[-1]))
    gain = data.ratio("wall_s", _GO, _GO, one, all_)
    if gain is None:
        return
    text = (
        f"Go is {words.size(gain)} as fast on {words.number(cores[-1])} cores as on {words.number(cores[0])}"
        if Direction.of(gain) is Direction.MORE
        else f"Go is not shown to be faster on {words.number(cores[-1])} cores than on "
        f"{words.number(cores[0])} (ratio {words.plain(gain)})"
    )
    yield f"{text}."


def _queue(data: PostData) -> str:
    finding = data.finding("queue-has-no-big-effect")
    return {
        Answer.CONFIRMED: "The size of the channel has no big effect today either.",
        Answer.REFUTED: "The size of the channel does have an effect today.",
        Answer.INCONCLUSIVE: "Whether the size of the channel has a big effect these runs do not decide.",
    }.get(finding.answer, "The sizes of the channel have not been measured.")


def _parallelism(data: PostData) -> str:
    finding = data.finding("one-core-by-default")
    return {
        Answer.CONFIRMED: "Go left to itself uses one core, as then.",
        Answer.REFUTED: "Go left to itself uses all cores today: since version 1.5 of 2015 that is its "
        "default.",
        Answer.INCONCLUSIVE: "How many cores Go uses when left to itself these runs do not decide.",
    }.get(finding.answer, "")


def _compiling(data: PostData) -> str:
    """Builds: one time each, so no order is claimed."""
    finding = data.finding("go-compiles-fast")
    if finding.figure is None:
        return "How long compilers take has not been recorded."
    return f"{finding.sentence}, so no order follows."


def _reading(data: PostData) -> Iterator[str]:
    """Whether reading, or a full channel, is what takes the time."""
    finding = data.finding("reading-dominates")
    if finding.answer is Answer.REFUTED and finding.figure:
        share = units.percent(finding.figure.high or finding.figure.estimate)
        yield f"Reading does not take most of the time here: it is at most {share} of it."
    elif finding.answer is Answer.INCONCLUSIVE:
        yield "How much of the time reading takes these runs do not decide."
    full = data.finding("queue-is-full")
    if full.figure and full.answer is Answer.REFUTED:
        yield (
            "Nor is the channel what goroutines wait for: with one that is never full the program does not "
            f"take a fifth less time (the usual one over that: {words.plain(full.figure)})."
        )
    elif full.figure and full.answer is Answer.CONFIRMED:
        yield (
            "The channel is what goroutines wait for: with the usual one the program takes "
            f"{words.size(full.figure)} as long as with one that is never full."
        )
    elif full.answer is Answer.INCONCLUSIVE:
        yield "Whether goroutines lose time to a full channel these runs do not decide."


def _beyond_eight(cores: list[int]) -> str:
    most = max(cores, default=0)
    if most > _POSTS_CORES:
        return "The Go of 2011 had another scheduler and collector, and the contest's problem is not named."
    return (
        f"Whether eight cores are enough: this machine has {words.number(most)}. The experiment plans every "
        "number of cores that a machine has, so a larger one will answer it. The contest's problem is not "
        "named; ours is one with an input of the same size."
    )


def _batch_picture(data: PostData, cores: list[int]) -> Picture:
    bars = []
    rows = ((_GO, "Go"), ("erlang", "Erlang"), ("python-processes", "Python, several processes"))
    sizes = sorted((int(level) for level in data.levels("batch", "cases")), reverse=True)
    # The largest that all of them have computed, else the largest.
    whole = (size for size in sizes if all(data.run((name,), _BATCH.at(cases=size)) for name, _ in rows))
    cases = next(whole, max(sizes, default=0))
    for number in cores:
        for name, label in rows:
            value = data.value("wall_s", name, _BATCH.at(cores=number, cases=cases))
            if value:
                bars.append(Bar(label, units.count(number, "core"), value.estimate, value.low, value.high))
    return Picture(f"{cases:,} calculations: time over cores", "time", "s", tuple(bars))


_JOBS, _SLEEP_S = Place("jobs", {"jobs": 2, "kind": "sleep", "duration_ms": 5000}), 5.0
_NOTHING = Place("jobs", {"kind": "noop"})
_POOL, _PARALLEL = "python-pool", "parallel-python"


def jobs(data: PostData) -> Prose:
    """Two sleeping jobs, and what handing one over takes."""
    whole = data.ratio("makespan_s", _POOL, _PARALLEL, _JOBS)
    handing = data.ratio("makespan_s", _PARALLEL, _POOL, _NOTHING)
    times = {name: data.value("makespan_s", name, _JOBS) for name in (_POOL, _PARALLEL)}
    now = []
    if whole:
        each = words.listed(
            f"{label} {units.quantity(value.estimate - _SLEEP_S, 's')}"
            for label, value in (
                ("multiprocessing's pool takes", times[_POOL]),
                ("Parallel Python", times[_PARALLEL]),
            )
            if value
        )
        same = data.finding("multiprocessing-does-as-well").answer is Answer.CONFIRMED
        alike = "Both do it as well" if same else "They do not do it equally well"
        now.append(f"{alike}: beyond the sleep of five seconds, {each}.")
    else:
        now.append("The post's own program has not been measured.")
    if handing:
        size = words.versus("Parallel Python", "the pool", handing, "takes", "as long")
        now.append(f"Five seconds of sleep hide what a library costs. With jobs that do nothing, {size}.")
    else:
        now.append("What handing a job over costs has not been measured.")
    return Prose(
        then="Another post had shown Parallel Python, a library for jobs in the background. This one answers "
        "that Python's own multiprocessing does the same: two jobs sleep five seconds in a pool while the "
        "program goes on, and their answers are gathered in order. It gives no figures.",
        did="We run that program with both, two jobs of five seconds, and ten thousand jobs that do nothing.",
        now=now,
        why=_cost_of_parallel_python(handing),
        unknown=["Parallel Python has been carried on under another name (ppft), which is what we run."],
        picture=_jobs_picture(data),
    )


def _cost_of_parallel_python(handing: Interval | None) -> list[str]:
    if handing is None or Direction.of(handing) is not Direction.MORE:
        return []
    return [
        "Nothing contradicts the post, but the choice is not only one of taste: Parallel Python sends the "
        "source of the function with each job over a socket, and the pool a pickled name over a pipe."
    ]


def _jobs_picture(data: PostData) -> Picture:
    rows = (
        (_POOL, "multiprocessing's pool"),
        ("python-processes", "concurrent.futures"),
        (_PARALLEL, "ppft"),
    )
    values = [(label, data.value("makespan_s", name, _NOTHING)) for name, label in rows]
    bars = [Bar(label, "now", each.estimate, each.low, each.high) for label, each in values if each]
    return Picture("Ten thousand jobs that do nothing: time until all are done", "time", "s", tuple(bars))


_FEED = Place("feed", {"connections": 10_000, "interval_ms": 1000, "slow": 0, "vanish": 0})
_MOCHI, _HIBERNATING = "erlang-mochiweb", "erlang-mochiweb@tuned"
# 1.5 hours, for as many lines as the test had.
_CPU_S_OF_2011 = 5400.0
_PER_CONNECTION, _PER_KCHUNK = "bytes_per_connection", "cpu_per_kchunk_s"


def c10k(data: PostData) -> Prose:
    """Ten thousand feeds in Go, beside MochiWeb as it is and hibernating."""
    seconds = max((int(level) for level in data.levels("feed", "seconds")), default=0)
    return Prose(
        then="Can Go hold ten thousand connections open, and write a line to each every second? The author "
        "ported an Erlang server to Go in twenty lines. Its memory came to 321 MB, 32 KB for a connection, "
        "13 KB less than Erlang's. It had four threads at first, more in a later plot; memory settled long "
        "after the CPU. Only the CPU disappointed: 1.5 hours in all, where Erlang's server was said to use "
        "practically nothing. A ticker in place of a sleep keeps the threads few, the author writes, and "
        "each line has to be flushed.",
        did=f"We hold ten thousand connections for {units.duration(seconds)} and check every line on every "
        "one."
        if seconds
        else "Nothing of it has been measured.",
        now=[
            *_memory(data),
            _versus_mochiweb(data, _PER_CONNECTION, "memory"),
            _threads(data),
            _ticker(data),
        ],
        why=list(_why_of_c10k(data)),
        unknown=list(_unknown_of_c10k(data, seconds)),
        picture=_feed_picture(data),
    )


def _memory(data: PostData) -> Iterator[str]:
    own, then = data.value(_PER_CONNECTION, _GO, _FEED), data.then(_PER_CONNECTION, _GO)
    if own and then:
        ratio = own.estimate / then
        alike = "about what it was" if 2 / 3 < ratio < 1.5 else "not what it was"
        yield (
            f"A connection takes Go {words.amount(own, 'B')} of memory today, which is {alike} "
            f"({units.quantity(then, 'B')})."
        )


def _versus_mochiweb(data: PostData, metric: str, noun: str) -> str:
    """Go beside MochiWeb without hibernation, the post's, and with it."""
    # In records of earlier versions the plain name hibernated: only beside the tuned one it is known not to.
    if data.run((_MOCHI, _HIBERNATING), _FEED) is None:
        return f"Erlang's server as the post had it, without hibernation, has not been measured ({noun})."
    plain = data.ratio(metric, _GO, _MOCHI, _FEED)
    tuned = data.ratio(metric, _GO, _HIBERNATING, _FEED)
    much = "as much memory for a connection" if metric == _PER_CONNECTION else "as much CPU time for a line"
    text = words.versus("Go", "MochiWeb as it is", plain, "takes", much)
    if tuned is None or plain is None:
        return f"{text}."
    return (
        f"{text}. The order depends on one setting: where MochiWeb's processes hibernate between two lines, "
        f"{words.versus('Go', 'MochiWeb', tuned, 'takes', much)}."
        if Direction.of(plain) is not Direction.of(tuned)
        else f"{text}; where MochiWeb's processes hibernate between two lines, "
        f"{words.versus('Go', 'MochiWeb', tuned, 'takes', much)}."
    )


def _threads(data: PostData) -> str:
    finding = data.finding("more-threads-than-cores")
    return {
        Answer.CONFIRMED: "Go has more kernel threads than cores, as the later plot showed.",
        Answer.REFUTED: "Go has no more kernel threads than cores.",
    }.get(finding.answer, "How many threads Go has is not decided by these runs.")


def _ticker(data: PostData) -> str:
    """Sleep against ticker, and without the flush."""
    ticker = data.finding("ticker-keeps-threads-few")
    flush = data.finding("flush-is-needed")
    texts = [
        {
            Answer.CONFIRMED: "With a sleep in place of the ticker Go has more threads, as the post said.",
            Answer.REFUTED: "With a sleep in place of the ticker Go has as few threads: today both are the "
            "runtime's own timers.",
            Answer.INCONCLUSIVE: "Whether a sleep in place of the ticker costs threads is not decided.",
        }.get(ticker.answer, ""),
        {
            Answer.CONFIRMED: "The flush is needed still: without it no line arrives in time.",
            Answer.REFUTED: "Lines arrive in time without the flush as well.",
        }.get(flush.answer, ""),
    ]
    return " ".join(filter(None, texts))


def _why_of_c10k(data: PostData) -> Iterator[str]:
    yield _versus_mochiweb(data, _PER_KCHUNK, "CPU time")
    settles = data.finding("memory-settles-after-cpu")
    yield {
        Answer.CONFIRMED: "Memory still settles long after the CPU.",
        Answer.REFUTED: "Memory does not settle long after the CPU any more.",
    }.get(settles.answer, "Whether memory settles after the CPU takes a longer hold to see (`feed-long`).")


def _unknown_of_c10k(data: PostData, seconds: int) -> Iterator[str]:
    cost = data.finding("hour-and-a-half-of-cpu").figure
    if cost and cost.estimate > 0:
        lines = _CPU_S_OF_2011 / cost.estimate * 1000
        hours = lines / 10_000 / 3600
        yield (
            "How long the author's test took, which the 1.5 hours of CPU time belong to. At what a line "
            f"costs today they would pay for ten thousand feeds during {units.significant(hours, 2)} hours."
        )
    yield (
        "Whether lines arrive in time without the flush: a server that keeps them back breaks the contract "
        "that every feed here keeps."
    )
    yield "What the Erlang server used then: the post has it from another author, without a figure."
    if seconds < 1800:
        yield "The post's plot ends after half an hour, which this record does not have."


def _feed_picture(data: PostData) -> Picture:
    bars = []
    for name, label in (
        (_GO, "Go"),
        (_MOCHI, "MochiWeb"),
        (_HIBERNATING, "MochiWeb, hibernating"),
    ):
        then, value = data.then(_PER_CONNECTION, name), data.value(_PER_CONNECTION, name, _FEED)
        if name == _MOCHI and data.run((_MOCHI, _HIBERNATING), _FEED) is None:
            label = "MochiWeb, hibernating"
        if then:
            bars.append(Bar("MochiWeb" if name == _MOCHI else label, "2011", then))
        if value:
            bars.append(Bar(label, "now", value.estimate, value.low, value.high))
    return Picture("Memory for each of ten thousand connections", "memory", "B", tuple(bars))
