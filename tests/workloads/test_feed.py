"""The requests of `feed` to the probe, its figures and its time line."""

import dataclasses
import random
from typing import Any

import pytest
from msgspec.structs import replace

from ringside.catalogue.experiments import read_experiment
from ringside.model.design import Level
from ringside.model.results import Timeline, Trial
from ringside.probe.protocol import (
    LatencySummary,
    LoadMessage,
    Sample,
    SecondOfLoad,
    SlowReaders,
    StreamCounts,
    ThreadUse,
    TimedMark,
    TrialOutcome,
    VanishingReaders,
)
from ringside.workloads.base import OTHER_THREADS
from ringside.workloads.feed.workload import FEED
from tests.support import ROOT, served
from tests.support.points import ok_trial, point


def measured(**levels: Level) -> Trial:
    return served.ok(ok_trial(FEED, **levels), FEED, random.Random(1), 0.0, 0.0)


def test_its_requests() -> None:
    first, held = FEED.service(point(FEED, connections=3000, ramp=500, interval_ms=2000, seconds=20), 5).steps
    assert first.loads[0].plan.expect.status == 404
    plan = held.loads[0].plan
    assert (plan.connections, plan.ramp_per_s, plan.duration_s) == (3000, 500, 26.0)
    assert plan.stream.interval_s == 2.0
    # A third of the hold without a chunk at the end; a minute at any time.
    assert plan.stream.silent_s == pytest.approx(20 / 3)
    assert plan.timeout_s == 60.0
    assert held.marks == (TimedMark("ramped", 6.0), TimedMark("held", 25.0))
    assert (plan.stream.slow, plan.stream.vanish) == (None, None)


def test_slow_and_vanishing_readers() -> None:
    levels = {"connections": 1000, "ramp": 500, "interval_ms": 10, "seconds": 30, "slow": 10, "vanish": 20}
    held = FEED.service(point(FEED, **levels), 5).steps[1]
    stream = held.loads[0].plan.stream
    # Long ids fill the kernel's buffers soon.
    assert stream.chunk == "Chunk {k} for 1000000000000{id}"
    assert stream.slow == SlowReaders(percent=10, at_s=12.0, for_s=10.0)
    assert stream.vanish == VanishingReaders(percent=20, at_s=12.0)
    # A sample of all before that, and one at the end.
    assert held.marks == (TimedMark("ramped", 2.0), TimedMark("held", 11.5), TimedMark("after", 31.0))


def test_others_are_held_before_and_meanwhile() -> None:
    feeds = point(FEED, connections=4000, ramp=2000, interval_ms=200, seconds=2, slow=0, vanish=10, warm=5)
    _, held = FEED.service(feeds, 5).steps
    plan, earlier = (load.plan for load in held.loads)
    assert [load.name for load in held.loads] == ["all", "earlier"]
    assert (earlier.connections, earlier.ramp_per_s, earlier.duration_s) == (1000, 2000, 9.6)
    assert (earlier.lead_s, earlier.stream.vanish) == (None, None)
    times_s = {"cold": 0.5, "cold-end": 1.5, "base": 5.5, "ramped": 7.6, "held": 8.2333333, "after": 8.6}
    assert {mark.name: mark.at_s for mark in held.marks} == pytest.approx(times_s)
    alone = FEED.service(feeds.but(warm=0), 5).steps[1].loads[0].plan
    assert plan.stream.vanish.at_s == pytest.approx(7.6 + 2 / 3)
    stream = replace(plan.stream, vanish=alone.stream.vanish)
    assert replace(plan, lead_s=None, stream=stream) == alone
    # A step of as long as the feeds are held.
    assert FEED.work(feeds) - FEED.work(feeds.but(warm=0)) == 11


def test_memory_of_a_connection_is_what_it_adds_to_the_earlier_ones() -> None:
    trial = measured(connections=2000, ramp=2000, seconds=4, warm=6)
    held, base = trial.marks["held"].pss_bytes, replace(trial.marks["base"], pss_bytes=2_000_000)
    assert held
    figures = FEED.figures(dataclasses.replace(trial, marks={**trial.marks, "base": base}))
    assert figures["bytes_per_connection"] == (held - 2_000_000) / 2000


def test_its_descriptors() -> None:
    way_out = "take fewer connections with --set connections=N"
    assert FEED.descriptors(point(FEED, connections=100_000)) == (100_128, way_out)
    assert FEED.descriptors(point(FEED, connections=3000, warm=6)) == (4128, way_out)


LOAD = LoadMessage(
    step="measured",
    name="all",
    begin_ns=2_000_000_000,
    end_ns=13_000_000_000,
    busy_share_most=0.2,
    streams=StreamCounts(fed=997, chunks=5000, behind=3, silent=5),
    histograms={
        "lateness": served.summary(0.001),
        "connect": served.summary(0.002),
        "first_byte": served.summary(0.003),
        "latency": LatencySummary(),
    },
)


def test_when_memory_and_cpu_settle() -> None:
    figures = FEED.figures(measured(connections=2000, seconds=10))
    # All were open after two seconds; samples came twice a second.
    assert (figures["memory_settled_s"], figures["cpu_settled_s"]) == (2.0, 2.0)
    disturbed = FEED.figures(measured(connections=2000, seconds=10, vanish=10))
    assert disturbed["memory_settled_s"] == 2.0
    assert "cpu_settled_s" not in disturbed


def test_time_line_of_a_whole_trial() -> None:
    line = timeline(measured(connections=1000, seconds=10))
    assert (line.block, line.marker_s, line.edges[0], line.edges[1]) == (1, 1.0, 0.0, 0.1)
    assert line.edges[-1] == pytest.approx(11.0)
    # A thousand chunks a second at 60 us each, by two threads of the same name.
    assert list(line.cpu) == ["worker", "worker 2"]
    for share, cores in zip((0.7, 0.3), line.cpu.values(), strict=True):
        assert cores[len(cores) // 2] == pytest.approx(60e-6 * 1000 * share)
    assert line.pss_bytes.values[0] == 1_500_000
    assert (line.kernel_bytes.values[0], line.kernel_bytes.values[-1]) == (0, 2_048_000)
    assert line.latest_s.times == tuple(float(second) for second in range(1, 12))
    assert line.latest_s.values[0] == pytest.approx(5 * 60e-6)


def at(seconds: float, cpu_ms: int, by_thread: dict[int, int] | None, pss: int | None = None) -> Sample:
    threads = None if by_thread is None else tuple((tid, ms * 1_000_000) for tid, ms in by_thread.items())
    return Sample(
        2_000_000_000 + round(seconds * 1e9), cpu_ns=cpu_ms * 1_000_000, cpu_by_thread=threads, pss_bytes=pss
    )


def timeline_trial(threads: list[ThreadUse], samples: list[Sample], **load_changes: Any) -> Trial:
    load = replace(LOAD, **load_changes)
    report = TrialOutcome("ok", threads=tuple(threads))
    return ok_trial(FEED, {"report": report, "loads": (load,), "samples": tuple(samples)}, connections=500)


def timeline(trial: Trial) -> Timeline:
    line = FEED.timeline_of(trial)
    assert line
    return line


def test_cpu_over_time_by_thread() -> None:
    """There are seven threads. The six busiest have names; the first ends in the middle."""
    threads = [ThreadUse(tid, "w", 100) for tid in range(1, 8)]
    samples = [
        at(0.0, 0, dict.fromkeys(range(1, 8), 0)),
        at(5.0, 5000, {tid: 500 * tid for tid in range(1, 8)}),
        at(8.0, 7000, None),
        at(11.0, 9000, {tid: 1000 * tid for tid in range(2, 8)}),
    ]
    line = timeline(timeline_trial(threads, samples))
    assert list(line.cpu) == ["w", "w 2", "w 3", "w 4", "w 5", "w 6", OTHER_THREADS]
    first, last = ({at: cores[n] for at, cores in line.cpu.items()} for n in (0, len(line.edges) - 2))
    assert first == pytest.approx(
        {"w": 0.1, "w 2": 0.2, "w 3": 0.3, "w 4": 0.4, "w 5": 0.5, "w 6": 0.6, OTHER_THREADS: 0.0}
    )
    assert last["w"] == 0.0
    assert last["w 2"] == pytest.approx(1 / 6)
    # The named threads' clocks are ahead of the process' own.
    assert last[OTHER_THREADS] == 0.0


def test_a_thread_that_a_sample_lacks_has_used_nothing_more() -> None:
    samples = [at(0.0, 0, {1: 0}), at(4.0, 2000, {1: 2000}), at(8.0, 2000, {}), at(11.0, 2000, {1: 2000})]
    line = timeline(timeline_trial([ThreadUse(1, "w", 9)], samples))
    assert line.cpu["w"][0] == pytest.approx(0.5)
    assert line.cpu["w"][-1] == 0.0


def test_threads_named_like_the_others_keep_their_own_area() -> None:
    samples = [at(0.0, 0, {1: 0}), at(11.0, 11_000, {1: 5500})]
    threads = [ThreadUse(1, OTHER_THREADS, 9), *(ThreadUse(tid, "", 1) for tid in range(2, 9))]
    line = timeline(timeline_trial(threads, samples))
    assert list(line.cpu) == [f"{OTHER_THREADS} 2", "?", "? 2", "? 3", "? 4", "? 5", OTHER_THREADS]
    assert line.cpu[f"{OTHER_THREADS} 2"][0] == pytest.approx(0.5)
    assert line.cpu[OTHER_THREADS][0] == pytest.approx(0.5)


def test_memory_before_the_load_stands_at_its_beginning() -> None:
    samples = [at(-2.0, 0, None, 5), at(-1.0, 0, None, 7), at(1.0, 0, None), at(2.0, 0, None, 11)]
    later = at(12.0, 0, None, 13)
    line = timeline(timeline_trial([], [*samples, later]))
    assert (line.pss_bytes.times, line.pss_bytes.values) == ((0.0, 2.0), (7.0, 11.0))
    assert line.cpu == {}
    assert line.kernel_bytes.values == ()


def test_latest_chunks_of_each_second() -> None:
    series = (
        SecondOfLoad(0.0, max_ns=5_000_000, open=250),
        SecondOfLoad(1.0, open=500),
        SecondOfLoad(20.0, max_ns=7),
    )
    line = timeline(timeline_trial([], [at(1.0, 0, None)], series=series))
    assert (line.latest_s.times, line.latest_s.values) == ((1.0, 2.0), (0.005, 0.0))
    assert (line.open.times, line.open.values) == ((0.0, 1.0, 2.0), (0.0, 250.0, 500.0))
    assert line.marker_s == 0.5


def test_no_time_line() -> None:
    # Older stores have no samples of threads; a load of an instant has no length.
    assert FEED.timeline_of(timeline_trial([], [])) is None
    assert FEED.timeline_of(timeline_trial([], [at(1.0, 0, None)], end_ns=2_100_000_000)) is None
    assert FEED.timeline_of(ok_trial(FEED, {"samples": (at(1.0, 0, None),)})) is None


@pytest.mark.parametrize("name", ["feed-c10k", "feed-slow", "feed-vanish", "feed-quick", "feed-long"])
def test_feeds_are_rehearsed_in_seconds_and_within_their_ranges(name: str) -> None:
    factors = read_experiment(ROOT / "experiments" / f"{name}.toml").factors
    whole = point(FEED, **{factor: levels[0] for factor, levels in factors.items()})
    short = FEED.rehearsal(whole)
    FEED.check(short)
    for factor, level in short.levels:
        if factor != "cores":
            FEED.factor(factor).check(level)
    held = FEED.service(short, 1).steps[1].loads[0].plan
    assert held.duration_s
    assert held.duration_s <= 4
    assert short["interval_ms"] == whole["interval_ms"]
    assert short.as_dict().keys() == whole.as_dict().keys()
