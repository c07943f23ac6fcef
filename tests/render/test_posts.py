"""The posts in prose: sentences follow from figures that are planted, each way."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest

from ringside.analysis.posts import PostData
from ringside.analysis.run import RunAnalysis
from ringside.cli import context
from ringside.model.catalogue import Published
from ringside.model.results import Answer, Finding
from ringside.render import posts
from ringside.render.posts import words
from ringside.render.posts.page import Bar, Picture, Prose
from ringside.render.posts.picture import specification
from tests.support.analyses import interval
from tests.support.planted import Levels, Row, run_of

RING_2007, RING_2009, JOBS, BATCH, FEED, FIB, FANOUT = (
    *("2007-ring-showdown", "2009-erlang-vs-stackless", "2011-background-jobs", "2011-go-code-jam"),
    *("2011-go-c10k", "2015-python-vs-go", "2016-go-fanout"),
)
MILLION: Levels = {"nodes": 1000, "messages": 1000}
PYPY, GREENLET, ERLANG, MULTITASK = "stackless-pypy", "stackless-greenlet", "erlang", "multitask"


def source(name: str) -> Published:
    return context.catalogue().published(name)


def prose(name: str, runs: Sequence[RunAnalysis]) -> Prose:
    return posts.WRITERS[name](PostData.of(source(name), runs))


def text(name: str, runs: Sequence[RunAnalysis]) -> str:
    """All paragraphs of a post, each of whole sentences."""
    of = prose(name, runs)
    for paragraph in filter(None, [of.then, of.did, *of.now, *of.why, *of.unknown]):
        assert paragraph.endswith((".", ")")), paragraph
    return " ".join([of.then, of.did, *of.now, *of.why, *of.unknown])


def planted(name: str, workload: str, *rows: Row) -> RunAnalysis:
    """A run of a post's own experiment; figures have some per cent of noise but those of the first row."""
    return run_of(workload, "mine", rows[1:], rows[:1], source=name)


def test_the_larger_of_two_is_named_first() -> None:
    more, less = interval(3.9, 4.0, 4.1), interval(0.24, 0.25, 0.26)
    assert words.versus("A", "B", more, "takes", "as long") == "A takes 4.00 times (3.90–4.10) as long as B"
    assert words.versus("A", "B", less, "takes", "as long") == "B takes 4.0 times (3.8–4.2) as long as A"
    unclear = words.versus("A", "B", interval(0.8, 1.0, 1.3), "gives", "as many answers")
    assert unclear == "A and B are not shown to differ in answers (ratio 1.00, 0.80–1.30)"
    same = words.versus("A", "B", interval(0.97, 1.0, 1.02), "takes", "as long")
    assert same == "A and B do not differ by more than five per cent in time (ratio 1.00, 0.97–1.02)"
    assert "not been measured" in words.versus("A", "B", None, "takes", "as long")
    several = words.against("C", [("A", more), ("B", less), ("D", None)], "takes", "as long")
    first, second = several.split("; ")
    assert first == words.versus("A", "C", more, "takes", "as long")
    assert second == words.versus("B", "C", less, "takes", "as long")


@pytest.mark.parametrize("name", posts.WRITERS)
def test_without_runs_a_post_says_that_nothing_has_been_measured(name: str) -> None:
    said = text(name, [])
    assert re.search(r"not (been|in this record)|[Nn]othing|is not decided|has not|have not", said)
    assert not re.search(r"\d times \(", said)
    picture = prose(name, []).picture
    assert picture is not None
    assert not picture.is_measured


def ring(erlang: float, start: float, pypy: float, multitask: float, hop: float = 10.0) -> list[RunAnalysis]:
    """CPU seconds at a million deliveries; `start`: Erlang's at a tenth of them."""
    rows: list[Row] = [
        (ERLANG, MILLION, "cpu_s", erlang),
        (ERLANG, {"nodes": 100, "messages": 1000}, "cpu_s", start),
        (ERLANG, MILLION, "hop_ns", 100.0),
        *((name, MILLION, "hop_ns", 100.0 * hop) for name in (PYPY, GREENLET)),
        *((name, MILLION, "cpu_s", pypy) for name in (PYPY, GREENLET)),
        (MULTITASK, MILLION, "cpu_s", multitask),
    ]
    return [planted(RING_2007, "ring", *rows)]


def test_2007_names_who_takes_more_and_whether_the_start_is_why() -> None:
    said = text(RING_2007, ring(erlang=0.2, start=0.15, pypy=0.8, multitask=0.6))
    assert re.search(r"module takes 4\.\d+ times \(.* as much CPU time as Erlang", said)
    assert "Erlang's start weighs more today: of the 200 ms" in said
    assert "there the post's 12 is still to be seen" in said
    assert "the program is another one" in said
    said = text(RING_2007, ring(erlang=0.2, start=0.02, pypy=0.1, multitask=160, hop=3))
    assert re.search(r"Erlang takes [12]\.\d+ times \([^)]*\) as much CPU time as PyPy's", said)
    assert "Start-up is not the reason" in said
    assert "still to be seen" not in said
    assert "the program is another one" not in said
    assert "With 10,000,000 deliveries" not in said


def test_2007_says_who_takes_more_at_its_largest_sizes() -> None:
    many: Levels = {"nodes": 10_000, "messages": 1000}
    few: Levels = {"nodes": 1000, "messages": 10_000}
    rows: list[Row] = [
        *((ERLANG, at, "cpu_s", 1.0) for at in (MILLION, few, many)),
        (PYPY, MILLION, "cpu_s", 4.0),
        (PYPY, few, "cpu_s", 9.0),
        (PYPY, many, "cpu_s", 20.0),
    ]
    said = text(RING_2007, [planted(RING_2007, "ring", *rows)])
    assert "three of the nine sizes, up to 10,000,000 deliveries" in said
    assert re.search(
        r"With 10,000,000 deliveries, among 1,000 processes .*takes (9|8)\.\d.*; "
        r"among 10,000 processes .*takes (20|19)",
        said,
    )


def rounds(printing: dict[str, float], silent: dict[str, float]) -> list[RunAnalysis]:
    """Seconds of each contender with output and without, at a point of the post's first sweep."""
    at: Levels = {"nodes": 100, "messages": 20_000}
    rows: list[Row] = [
        (name, {**at, "trace": trace}, "wall_s", seconds)
        for trace, times in ((0, silent), (1, printing))
        for name, seconds in times.items()
    ]
    return [planted(RING_2009, "ring", *rows)]


def test_2009_names_printing_as_the_cause_only_where_it_is() -> None:
    silent = {ERLANG: 1.0, PYPY: 1.5, GREENLET: 1.6}
    said = text(RING_2009, rounds({ERLANG: 80.0, PYPY: 3.0, GREENLET: 3.2}, silent))
    assert "The first round still goes to Stackless." in said
    assert "The second round is as it was" in said
    assert "the author's suspicion was right" in said
    assert "one of the post's 18 sizes" in said
    said = text(RING_2009, rounds({ERLANG: 2.0, PYPY: 30.0, GREENLET: 32.0}, silent))
    assert "The first round goes to Erlang today." in said
    assert "suspicion was right" not in said
    assert "explains a part of the first round, and not all" in said
    said = text(RING_2009, rounds(silent, {ERLANG: 1.0, PYPY: 9.0, GREENLET: 9.0}))
    assert "Stackless is not close behind Erlang" in said
    assert "printing is not what decides the first round" in said


def jobs(pool: float, parallel: float, handing: float) -> list[RunAnalysis]:
    sleep: Levels = {"jobs": 2, "kind": "sleep", "duration_ms": 5000}
    noop: Levels = {"jobs": 10_000, "kind": "noop"}
    rows: list[Row] = [
        ("python-pool", sleep, "makespan_s", pool),
        ("parallel-python", sleep, "makespan_s", parallel),
        ("python-pool", noop, "makespan_s", 1.0),
        ("parallel-python", noop, "makespan_s", handing),
    ]
    return [run_of("jobs", "mine", [], rows, source=JOBS)]


def test_jobs_are_told_beyond_the_sleep() -> None:
    said = text(JOBS, jobs(5.02, 5.1, 4.0))
    assert "beyond the sleep of five seconds, multiprocessing's pool takes 20.0 ms and Parallel" in said
    assert "Parallel Python takes 4.0" in said
    assert "sends the source" in said
    said = text(JOBS, jobs(8.0, 5.1, 0.5))
    assert "They do not do it equally well" in said
    assert "the pool takes 2.0" in said
    assert "sends the source" not in said


def batch(two: float, unbounded: float, read: float) -> list[RunAnalysis]:
    at: Levels = {"cases": 20_000, "capacity": "own"}
    rows: list[Row] = [
        ("go", {**at, "cores": 1}, "wall_s", 1.0),
        ("go", {**at, "cores": 2}, "wall_s", two),
        ("go", {**at, "cores": 1}, "read_s", read),
    ]
    queue: list[Row] = [
        ("go", {"capacity": 100, "cores": 2, "cases": 20_000}, "wall_s", 1.0),
        ("go", {"capacity": "unbounded", "cores": 2, "cases": 20_000}, "wall_s", unbounded),
    ]
    return [run_of("batch", "a", [], rows, source=BATCH), run_of("batch", "b", [], queue, source=BATCH)]


def test_the_batch_says_what_takes_the_time() -> None:
    said = text(BATCH, batch(two=0.5, unbounded=1.0, read=0.1))
    assert "20,000 calculations, of the post's 200,000, on 1 and 2 cores" in said
    assert re.search(r"Go is 2(\.0+)? times \([^)]*\) as fast on two cores as on one", said)
    assert "Reading does not take most of the time here: it is at most 20 % of it." in said
    assert "Nor is the channel what goroutines wait for" in said
    assert "this machine has two" in said
    said = text(BATCH, batch(two=1.0, unbounded=0.5, read=0.9))
    assert "not shown to be faster on two cores" in said
    assert "The channel is what goroutines wait for" in said
    assert "with the channel as it is and with room for none" in said
    assert "How much of the time reading takes these runs do not decide." in said


def test_the_batch_at_the_posts_own_size_is_told_apart_from_its_queue() -> None:
    at: Levels = {"cases": 200_000, "capacity": "own"}
    large: list[Row] = [("go", {**at, "cores": cores}, "wall_s", 8.0 / cores) for cores in (1, 2)]
    runs = [*batch(two=1.0, unbounded=1.0, read=0.1), run_of("batch", "c", [], large, source=BATCH)]
    said = text(BATCH, runs)
    assert "We run the post's own 200,000 calculations, half a gigabyte, on 1 and 2 cores" in said
    assert "as it is, and 20,000 of them with room for none" in said
    assert re.search(r"Go is 2(\.0+)? times \([^)]*\) as fast on two cores as on one", said)


def feed(plain: float, hibernating: float | None, cpu: float = 0.03) -> list[RunAnalysis]:
    at: Levels = {"connections": 10_000, "seconds": 60}
    rows: list[Row] = [
        ("go", at, "bytes_per_connection", 27_000.0),
        ("erlang-mochiweb", at, "bytes_per_connection", plain),
        ("go", at, "cpu_per_kchunk_s", cpu),
        ("erlang-mochiweb", at, "cpu_per_kchunk_s", cpu),
    ]
    if hibernating is not None:
        rows.append(("erlang-mochiweb@tuned", at, "bytes_per_connection", hibernating))
        rows.append(("erlang-mochiweb@tuned", at, "cpu_per_kchunk_s", cpu / 2))
    return [planted(FEED, "feed", *rows)]


def test_c10k_says_which_setting_decides_who_takes_more_memory() -> None:
    said = text(FEED, feed(plain=45_000, hibernating=10_000))
    assert (
        "The order depends on one setting: where MochiWeb's processes hibernate between two lines, Go" in said
    )
    assert "which is about what it was (31.2 KiB)" in said
    (memory,) = [
        each for each in prose(FEED, feed(plain=20_000, hibernating=10_000)).now if "MochiWeb" in each
    ]
    assert re.search(r"Go takes 1\.\d+ times .*; where MochiWeb's processes hibernate", memory)
    # What was called MochiWeb in earlier records hibernated.
    said = text(FEED, feed(plain=10_000, hibernating=None))
    assert "without hibernation, has not been measured (memory)" in said


def fib(go: float, pool: float, without: float, pypy: float, go_sync: float) -> list[RunAnalysis]:
    one, three = ({"load": "hammer", "n": 1, "clients": clients} for clients in (1, 3))
    sync: list[Row] = [
        ("python-sync", one, "requests_per_s", 15_000.0),
        ("python-sync@pypy", one, "requests_per_s", pypy),
        ("go-sync", one, "requests_per_s", go_sync),
    ]
    rows: list[Row] = [
        ("python-coroutines", three, "requests_per_s", pool),
        ("go", three, "requests_per_s", go),
        (MULTITASK, three, "requests_per_s", without),
    ]
    return [run_of("fib", "a", [], sync, source=FIB), planted(FIB, "fib", *rows)]


def test_2015_names_the_pool_only_where_it_is_the_cause() -> None:
    said = text(FIB, fib(go=60_000, pool=4_000, without=40_000, pypy=22_000, go_sync=20_000))
    assert "PyPy is still ahead of Go, by 10 %." in said
    assert "The gap with three clients is the pool's, not Python's" in said
    said = text(FIB, fib(go=60_000, pool=4_000, without=6_000, pypy=20_000, go_sync=22_000))
    assert "Today Go is ahead of PyPy, by 10 %." in said
    assert "A part of the gap with three clients is the pool's" in said
    said = text(FIB, fib(go=60_000, pool=4_000, without=3_000, pypy=20_000, go_sync=20_000))
    assert "PyPy and Go are level." in said
    assert "The pool is not what makes the gap" in said


def test_2015_says_what_the_number_of_processes_and_the_interpreter_do() -> None:
    three: Levels = {"load": "hammer", "n": 1, "clients": 3}
    alone: Levels = {"load": "single", "n": 30}
    rows: list[Row] = [
        ("python-coroutines@four", three, "requests_per_s", 4_000.0),
        ("python-coroutines", three, "requests_per_s", 2_000.0),
        ("python-coroutines", alone, "latency_s", 0.060),
        ("python-coroutines@pypy", alone, "latency_s", 0.010),
    ]
    said = text(FIB, [run_of("fib", "mine", [], rows, source=FIB)])
    assert "a pool of four processes gives 2" in said
    assert "CPython takes 6" in said
    slower = [("python-coroutines@four", three, "requests_per_s", 1_000.0), *rows[1:]]
    assert "one with a process for each core gives 2" in text(
        FIB, [run_of("fib", "mine", [], slower, source=FIB)]
    )


def test_2009_says_who_recovers_first_where_units_fail() -> None:
    at: Levels = {"units": 10, "messages": 5000, "every": 100}
    for gevent, expected in ((0.004, "gevent, which runs on greenlet, takes 4"), (0.0005, "Erlang takes 2")):
        rows: list[Row] = [("gevent", at, "recovery_s.p50", gevent), (ERLANG, at, "recovery_s.p50", 0.001)]
        said = text(RING_2009, [run_of("restarts", "mine", [], rows, source=RING_2009)])
        assert f"from a failure to the first answer {expected}" in said


def fanout(default: float, tuned: float | None) -> list[RunAnalysis]:
    at: Levels = {"kind": "io", "requests": 100, "concurrency": 20}
    rows: list[Row] = [("go", at, "latency_ms.p50", 100.0), ("tornado", at, "latency_ms.p50", 100 * default)]
    if tuned is not None:
        rows.append(("tornado@tuned", at, "latency_ms.p50", 100 * tuned))
    return [planted(FANOUT, "fanout", *rows)]


def test_2016_ends_as_a_sentence_about_ten_connections() -> None:
    said = text(FANOUT, fanout(4.6, 1.2))
    assert re.search(
        r"Go is 4\.\d+ times \([^)]*\) as fast as Tornado because Tornado's client makes ten calls.*"
        r"with the limit raised to 4,096, Go is 1\.\d+ times \([^)]*\) as fast",
        said,
    )
    assert "which is a part of the reason" in text(FANOUT, fanout(4.6, 3.0))
    not_it = text(FANOUT, fanout(4.6, 4.6))
    assert "which is not the reason" in not_it
    assert "because" not in not_it
    assert "make no difference that is shown here" in text(FANOUT, fanout(1.0, 1.0))
    # What was called Tornado in earlier records made as many calls as it liked.
    earlier = text(FANOUT, fanout(1.2, None))
    assert "Tornado as it comes has not been measured beside Go" in earlier
    assert "With a client that makes 4,096 calls at a time Tornado takes 1.2" in earlier


def computing(few: float, many: float) -> list[RunAnalysis]:
    """Tornado over Go where it computes, by how far the loops count."""
    at: Levels = {"kind": "cpu", "requests": 100, "concurrency": 20}
    rows: list[Row] = []
    for work, ratio in ((10_000, few), (1_000_000, many)):
        rows.append(("go", {**at, "work": work}, "latency_ms.p50", 10.0))
        rows.append(("tornado", {**at, "work": work}, "latency_ms.p50", 10 * ratio))
    return [run_of("fanout", "mine", rows, [], source=FANOUT)]


def test_2016_says_whether_the_length_of_loops_decides() -> None:
    assert "the factor depends on how far the loops count: 5" in text(FANOUT, computing(5, 40))
    assert "is not shown to depend on how far the loops count" in text(FANOUT, computing(40, 40))


def test_the_page_says_which_conclusions_turn_on_versions() -> None:
    silent, printed = {ERLANG: 1.0, PYPY: 9.0, GREENLET: 9.0}, {ERLANG: 80.0, PYPY: 10.0, GREENLET: 10.0}
    as_then, otherwise = rounds(printed, silent), rounds({**printed, ERLANG: 2.0}, silent)
    for older, expected in (
        (as_then, r"With Erlang [^,]*.* the \w+ conclusions that both decide come out the same\."),
        (otherwise, r"one of \w+ conclusions that both decide comes out otherwise: [^;]+\."),
    ):
        page = posts.document([source(RING_2009)], as_then, "Made by a test.", older)
        (paragraph,) = re.findall(r"^\*\*With older runtimes\.\*\* (.*)$", page, re.MULTILINE)
        assert re.search(expected, paragraph), paragraph
    assert "older runtimes" not in posts.document([source(RING_2009)], as_then, "Made by a test.")


def test_the_page_has_each_post_with_its_command_and_no_bounds_or_ids() -> None:
    runs = [*fanout(4.6, 1.2), *ring(0.2, 0.15, 0.8, 0.6)]
    sources = [source(name) for name in context.catalogue().published_names()]
    page = posts.document(sources, runs, "Made by a test.")
    titles = re.findall(r"^## (.+)$", page, re.MULTILINE)
    assert len(titles) == len(posts.WRITERS)
    assert page.count("**Asked and found then.**") == page.count("**To repeat it.**") == len(titles)
    assert page.count("`ringside run mine`") == 2
    for each in sources:
        for claim in each.claims:
            assert claim.id not in page
    assert "claim holds" not in page
    assert "our band" not in page
    assert page.count("](images/post-") == len(posts.pictures(sources, runs)) == 2
    assert "**Why it differs.** \n" not in page


def test_a_picture_has_then_in_grey_and_texts_of_all_bars() -> None:
    bars = (Bar("Go", "2016", 611.0), Bar("Go", "now", 148.0, 140.0, 155.0), Bar("Tornado", "now", 680.0))
    spec = json.loads(specification(Picture("Median", "time", "ms", bars)))
    rows = spec["datasets"]["rows"]
    assert [(row["contender"], row["series"], row["shown"]) for row in rows] == [
        ("Go", "2016", "611 ms"),
        ("Go", "now", "148 ms"),
        ("Tornado", "now", "680 ms"),
    ]
    colours = spec["layer"][1]["encoding"]["color"]["scale"]["range"]
    assert len(set(colours)) == 2
    assert "var(" not in json.dumps(spec)


@pytest.mark.parametrize(
    ("count", "said"),
    [(1, "Of 1 conclusion one holds."), (3, "Of 3 conclusions three hold.")],
)
def test_verbs_agree_with_their_counts(count: int, said: str) -> None:
    finding = Finding(Answer.CONFIRMED, "")
    data = PostData(source(RING_2007), [], {str(number): finding for number in range(count)})
    assert posts._summary([data]) == said
