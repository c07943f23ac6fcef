"""The posts of 2007 and 2009 on the ring, in prose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ringside import units
from ringside.analysis.posts import Direction, Place, PostData
from ringside.model.results import Answer, Interval
from ringside.render.posts import words
from ringside.render.posts.page import Bar, Picture, Prose
from ringside.text import capitalised

_RING = Place("ring", {"mode": "pipelined", "trace": 0})
_PYPY, _GREENLET, _ERLANG, _MULTITASK = "stackless-pypy", "stackless-greenlet", "erlang", "multitask"
_NAMES = {_PYPY: "PyPy's Stackless module", _GREENLET: "greenlet on CPython", _MULTITASK: "multitask"}
_AS_MUCH = "as much CPU time"
# The table of 2007: its smallest size, the one whose ratio everybody quotes, and the one with most units.
_SMALL, _MILLION = _RING.at(nodes=100, messages=1000), _RING.at(nodes=1000, messages=1000)
_MANY_UNITS = _RING.at(nodes=10_000, messages=100)
_MILLION_DELIVERIES = 1_000_000
_SIZES_OF_2007, _POINTS_OF_2009 = 9, 18
_SIZES_OF_2009 = range(10_000, 90_001, 10_000)
# What Stackless took of Erlang's CPU time in 2007.
_STACKLESS = 12
# From this share on, start-up is most of a time.
_MOST = 0.5


def showdown_of_2007(data: PostData) -> Prose:
    """Erlang, Stackless and multitask: CPU time."""
    sizes = _sizes(data)
    largest = _deliveries(sizes)
    did = (
        f"We run {words.number(len(sizes))} of the nine sizes, up to {largest:,} deliveries, and count the "
        "CPU time of each program with its start, as the post did."
        if len(sizes) < _SIZES_OF_2007
        else "We run all nine sizes, and count the CPU time of each program with its start, as the post did."
    )
    return Prose(
        then="A book on Erlang sets an exercise: connect N processes in a ring, send M messages round it, do "
        "the same in another language, and publish what comes of it. The author compared Erlang, Stackless "
        "Python and multitask, a package of his own made of Python's generators. At all but the smallest "
        "sizes Stackless took about 12 times the CPU time of Erlang, and multitask took 40 to 60 times that "
        "of Stackless. Over a network, the author expected, most of that gap would go away.",
        did=did,
        now=[_ratios_of_2007(data), _many_units(data), *_more_deliveries(data), _network(data)],
        why=list(_why_of_2007(data)),
        unknown=[
            "Whether the table would come out the same today. The Stackless of 2007 and the original "
            "multitask run on no current system: PyPy's module and greenlet stand in for the first, and our "
            "multitask is written from scratch and does less for each operation than the package did."
        ],
        picture=_picture_of_2007(data),
    )


def _sizes(data: PostData) -> set[tuple[int, int]]:
    """Nodes and messages of what the source's own runs measured."""
    return {(int(point["nodes"]), int(point["messages"])) for point in data.points("ring")}


def _deliveries(sizes: Iterable[tuple[int, int]]) -> int:
    """Those of the largest size."""
    return max((nodes * messages for nodes, messages in sizes), default=0)


def _ratios_of_2007(data: PostData) -> str:
    """With a million deliveries: each over Erlang, and multitask over Stackless."""
    over = {name: data.ratio("cpu_s", name, _ERLANG, _MILLION) for name in _NAMES}
    if not any(over.values()):
        return "The ring of a thousand processes and a thousand messages has not been measured."
    all_ = words.against("Erlang", ((_NAMES[name], ratio) for name, ratio in over.items()), "takes", _AS_MUCH)
    text = f"With a million deliveries (a thousand processes, a thousand messages) {all_}."
    pair = data.ratio("cpu_s", _MULTITASK, _PYPY, _MILLION)
    if pair is None:
        return text
    between = words.versus("multitask", _NAMES[_PYPY], pair, "takes", _AS_MUCH)
    return f"{text} {capitalised(between)}, where the post had 64 times between the two originals."


def _many_units(data: PostData) -> str:
    """PyPy's module grows slower with many units than with many messages."""
    many, few = (data.ratio("cpu_s", _PYPY, _ERLANG, place) for place in (_MANY_UNITS, _MILLION))
    if not many or not few or many.estimate < 2 * few.estimate:
        return ""
    other = data.ratio("cpu_s", _GREENLET, _ERLANG, _MANY_UNITS)
    beside = f"; greenlet's is {words.size(other)}" if other else ""
    return (
        "The same number of deliveries among ten thousand processes is another matter: the ratio of PyPy's "
        f"module to Erlang rises to {words.size(many)}{beside}."
    )


def _more_deliveries(data: PostData) -> Iterator[str]:
    """The largest sizes, where starting up no longer counts."""
    sizes, texts = _sizes(data), []
    most = _deliveries(sizes)
    for nodes, messages in sorted(sizes):
        if nodes * messages == most > _MILLION_DELIVERIES:
            place = _RING.at(nodes=nodes, messages=messages)
            over = [(_NAMES[name], data.ratio("cpu_s", name, _ERLANG, place)) for name in _NAMES]
            if all_ := words.against("Erlang", over, "takes", _AS_MUCH):
                texts.append(f"among {nodes:,} processes {all_}")
    if texts:
        yield f"With {most:,} deliveries, {'; '.join(texts)}."


def _network(data: PostData) -> str:
    """The author's guess, from the finding of its claim."""
    finding = data.finding("network-narrows-the-gap")
    answers = data.ratio(
        "requests_per_s", _ERLANG, _MULTITASK, Place("fib", {"load": "hammer", "clients": 3, "n": 1})
    )
    if finding.figure is None or answers is None:
        return "The guess about the network has not been tested with these runs."
    service = words.versus("Erlang", "multitask", answers, "gives", "as many answers")
    judgement = {
        Answer.CONFIRMED: f"The guess about the network was right: the gap is {words.size(finding.figure)} "
        "smaller",
        Answer.REFUTED: "The guess about the network does not hold here: little of the gap goes away",
    }.get(finding.answer, "Of the guess about the network these runs decide nothing")
    return f"{judgement}. As a service with three clients, {service}."


def _why_of_2007(data: PostData) -> Iterator[str]:
    """Start-up, what a delivery takes without it, and programs that are not those of 2007."""
    start, whole = (data.value("cpu_s", _ERLANG, place) for place in (_SMALL, _MILLION))
    then = data.then("cpu_s", _ERLANG, nodes=1000, messages=1000)
    if start and whole and then:
        share = start.estimate / whole.estimate
        if share >= _MOST:
            yield (
                f"Erlang's start weighs more today: of the {words.amount(whole, 's')} of CPU time that it "
                f"takes at that size, {words.amount(start, 's')} are there at a tenth of the deliveries "
                f"already; in 2007 all of it was {units.quantity(then, 's')}."
            )
        else:
            yield (
                "Start-up is not the reason: a tenth of the deliveries takes Erlang "
                f"{words.amount(start, 's')} of CPU time, all of them {words.amount(whole, 's')}."
            )
    hops = [(_NAMES[name], data.ratio("hop_ns", name, _ERLANG, _MILLION)) for name in (_PYPY, _GREENLET)]
    if each := words.against("Erlang", hops, "takes", "as long"):
        is_post = all(ratio and _STACKLESS / 1.5 < ratio.estimate < _STACKLESS * 1.5 for _, ratio in hops)
        like_post = ": there the post's 12 is still to be seen" if is_post else ""
        yield f"For one delivery, without starting up, {each}{like_post}."
    ratio = data.ratio("cpu_s", _MULTITASK, _ERLANG, _MILLION)
    if ratio and ratio.estimate < 771 / 2:
        yield (
            "The gap between multitask and the others is gone for another reason: the program is another "
            "one. The old one made an object for each operation and looked at its sockets and timers in each "
            "round; ours does neither, and CPython's generators are faster than those of 2.5."
        )


def _picture_of_2007(data: PostData) -> Picture:
    bars = []
    for group, now, then in (
        ("Stackless: PyPy's module", _PYPY, "stackless"),
        ("Stackless: greenlet", _GREENLET, "stackless"),
        ("multitask", _MULTITASK, _MULTITASK),
    ):
        ratio = data.ratio("cpu_s", now, _ERLANG, _MILLION)
        above, below = (data.then("cpu_s", name, nodes=1000, messages=1000) for name in (then, _ERLANG))
        if above and below and ratio:
            bars += [
                Bar(group, "2007", above / below),
                Bar(group, "now", ratio.estimate, ratio.low, ratio.high),
            ]
    return Picture("CPU time with a million deliveries, over that of Erlang", "times Erlang", "", tuple(bars))


def rounds_of_2009(data: PostData) -> Prose:
    """Erlang and Stackless, with and without a line for each message: wall time."""
    points = {sizes for sizes in _sizes(data) if 100 in sizes and max(sizes) in _SIZES_OF_2009}
    did = (
        f"We run {words.number(len(points))} of the post's {_POINTS_OF_2009} sizes, each with output and "
        "without."
        if len(points) < _POINTS_OF_2009
        else "We run all nine sizes of both sweeps, each with output and without."
    )
    return Prose(
        then="Does Erlang pass messages faster than Stackless Python? The author let a chain of processes "
        "hand on messages, in two sweeps: a hundred processes with 10,000 to 90,000 messages, and a hundred "
        "messages with 10,000 to 90,000 processes. Each process printed a line for each message, and "
        "Stackless won. The author suspected Erlang's output, took all printing out, and then Erlang was "
        "ahead with Stackless close on its heels. Later the author took the conclusion back: what Erlang is "
        "built for, failures and several hosts, the benchmark does not touch.",
        did=did,
        now=[*_rounds(data), _change_of_heart(data)],
        why=list(_printing(data)),
        unknown=[
            "How the Stackless of 2007 compares with today's Erlang: PyPy's module and greenlet stand in for "
            "it. The post shows its times as plots only. Nothing here runs on several hosts."
        ],
        picture=_picture_of_2009(data),
    )


_SWEEPS = {
    "with a hundred processes": _RING.at(nodes=100),
    "with a hundred messages": _RING.at(messages=100),
}


def _rounds(data: PostData) -> Iterator[str]:
    """Each round: the stand-ins over Erlang at the largest size of either sweep."""
    for trace, round_, claim in (
        (1, "With a line for each message", "stackless-ahead-with-output"),
        (0, "Without output", "erlang-ahead-without-output"),
    ):
        parts = []
        for sweep, place in _SWEEPS.items():
            at = place.at(trace=trace)
            ratios = [(_NAMES[name], data.ratio("wall_s", name, _ERLANG, at)) for name in (_PYPY, _GREENLET)]
            if text := words.against("Erlang", ratios, "takes", "as long"):
                parts.append(f"{sweep} ({_size(data, at)}) {text}")
        if not parts:
            yield f"{round_} nothing has been measured."
            continue
        yield f"{_JUDGEMENTS[claim][_key(data, claim)]} {round_}, {'; '.join(parts)}."


_JUDGEMENTS = {
    "stackless-ahead-with-output": {
        "yes": "The first round still goes to Stackless.",
        "no": "The first round goes to Erlang today.",
        "": "The first round has no clear winner.",
    },
    "erlang-ahead-without-output": {
        "yes": "The second round is as it was: Erlang ahead, Stackless close behind.",
        "no": "The second round is not as it was: Stackless is not close behind Erlang.",
        "": "In the second round the order is not clear.",
    },
}


def _key(data: PostData, claim: str) -> str:
    answers = {Answer.CONFIRMED: "yes", Answer.OTHER_CONDITIONS: "yes", Answer.REFUTED: "no"}
    return answers.get(data.finding(claim).answer, "")


def _size(data: PostData, place: Place) -> str:
    """`20,000 messages` of a sweep's largest point."""
    run = data.run((_ERLANG,), place)
    point = place.point(run) if run else None
    if point is None:
        return ""
    growing = "messages" if "nodes" in place.levels else "nodes"
    return f"{int(point[growing]):,} {'messages' if growing == 'messages' else 'processes'}"


def _change_of_heart(data: PostData) -> str:
    ratio = data.ratio("recovery_s.p50", "gevent", _ERLANG, Place("restarts", {"units": 10}))
    if ratio is None:
        return "How they do where units fail has not been measured (`ringside run posts-restarts`)."
    recovery = words.versus("gevent, which runs on greenlet,", "Erlang", ratio, "takes", "as long")
    return f"Where units fail and are replaced, from a failure to the first answer {recovery}."


def _printing(data: PostData) -> Iterator[str]:
    """What printing alone costs each of them: the cause of the first round."""
    place = _SWEEPS["with a hundred processes"]
    slower = {
        name: data.ratio("wall_s", name, name, place.at(trace=1), _same_size(data, name, place))
        for name in (_ERLANG, _PYPY, _GREENLET)
    }
    erlang, others = slower[_ERLANG], {name: slower[name] for name in (_PYPY, _GREENLET) if slower[name]}
    if not erlang or not others:
        yield "No run has both rounds, so what printing costs is not known."
        return
    texts = [f"{_NAMES[name]} {words.size(ratio)}" for name, ratio in others.items() if ratio]
    yield f"Printing makes Erlang {words.size(erlang)} as slow, {words.listed(texts)}."
    if Direction.of(erlang) is not Direction.MORE:
        yield "So printing is not what decides the first round here."
    elif all(ratio and erlang.estimate > 2 * ratio.estimate for ratio in others.values()):
        yield (
            "So the author's suspicion was right: the first round compares how two runtimes print. In Erlang "
            "each line is a message to a process that does the output, and the sender waits for its answer; "
            "Python puts lines into a buffer and writes them in large pieces."
        )
    else:
        yield "So printing explains a part of the first round, and not all of it."


def _same_size(data: PostData, name: str, place: Place) -> Place:
    """The largest size that was run with output, without it."""
    run = data.run((name,), place.at(trace=1))
    point = place.at(trace=1).point(run) if run else None
    return place.at(trace=0, messages=point["messages"]) if point else place


def _picture_of_2009(data: PostData) -> Picture:
    place = _SWEEPS["with a hundred processes"]
    bars = []
    for name, label in ((_ERLANG, "Erlang"), (_PYPY, "PyPy's module"), (_GREENLET, "greenlet")):
        silent = _same_size(data, name, place)
        for series, at in (("a line for each message", place.at(trace=1)), ("no output", silent)):
            value: Interval | None = data.value("wall_s", name, at)
            if value:
                bars.append(Bar(label, series, value.estimate, value.low, value.high))
    size = _size(data, place.at(trace=1))
    return Picture(f"A hundred processes, {size}: time with output and without", "time", "s", tuple(bars))
