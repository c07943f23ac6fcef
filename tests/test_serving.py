"""The workloads of servers: what they ask the probe for, and what they make of its answers. Pure."""

from __future__ import annotations

import dataclasses
import random
import re
from typing import Any

import pytest

from ringside.errors import UsageError
from ringside.measure import plan
from ringside.model.design import Cell, Experiment, Point
from ringside.model.results import Outcome, Trial
from ringside.workloads.base import Workload
from ringside.workloads.fanout import FANOUT
from ringside.workloads.feed import FEED
from ringside.workloads.fib import FIB, RATES, fibonacci
from ringside.workloads.serving import load_of, times
from tests import served
from tests.runs import experiment


def point(workload: Workload, **levels: int | str) -> Point:
    given = {name: (level,) for name, level in levels.items()}
    (found,) = plan.points(Experiment("x", "x", workload.name, (), given, "", 1), workload, 2)
    return found


def trial(workload: Workload, **levels: int | str) -> Trial:
    blank = Trial(1, 0, Cell("go", point(workload, **levels)), Outcome.OK, "")
    return served.ok(blank, workload, random.Random(1), 0.0, 0.0)


def steps(workload: Workload, **levels: int | str) -> dict[str, list[dict[str, Any]]]:
    service = workload.service(point(workload, **levels), 5)
    assert service
    return {step["name"]: [load["plan"] for load in step["loads"]] for step in service["steps"]}


def test_fibonacci_as_the_recursion_has_it() -> None:
    def naive(n: int) -> int:
        return 1 if n <= 2 else naive(n - 1) + naive(n - 2)

    assert [fibonacci(n) for n in range(1, 20)] == [naive(n) for n in range(1, 20)]
    assert fibonacci(90) == 2880067194370816120


def test_every_answer_of_fib_is_checked() -> None:
    for load, clients in (("hammer", 3), ("single", 1), ("mixed", 2), ("rate", 64)):
        for plans in steps(FIB, load=load, clients=clients, n=20).values():
            for one in plans:
                assert one["expect"] == {"equals": str(fibonacci(int(one["line"])))}


def test_loads_of_fib() -> None:
    hammer = steps(FIB, load="hammer", clients=3, seconds=7)
    assert list(hammer) == ["first", "warm-up", "measured"]
    assert hammer["first"][0]["requests"] == 1
    assert (hammer["measured"][0]["connections"], hammer["measured"][0]["duration_s"]) == (3, 7.0)
    short, long = steps(FIB, load="mixed", clients=4, n=30)["measured"]
    assert (short["line"], short["pacing"]["kind"], long["line"]) == ("1", "constant", "30")
    assert "pacing" not in long
    assert steps(FIB, load="mixed", clients=4, n=30)["alone"] == [short]
    rates = [one[0]["pacing"]["rate_per_s"] for one in list(steps(FIB, load="rate", clients=64).values())[2:]]
    assert rates == list(RATES)
    assert steps(FIB, load="single", n=30)["measured"][0]["requests"] == 10


def test_points_that_make_no_sense_are_refused() -> None:
    with pytest.raises(UsageError, match="load=single has one client"):
        point(FIB, load="single", clients=3)
    with pytest.raises(UsageError, match="load=mixed needs clients=2"):
        point(FIB, load="mixed")


def test_figures_of_fib() -> None:
    made = trial(FIB, load="hammer", clients=3, seconds=2)
    found = FIB.figures(made)
    load = load_of(made, "measured")
    assert load
    assert found["requests_per_s"] == pytest.approx(load["achieved_rate_per_s"])
    assert found["requests_per_s_per_client"] == pytest.approx(found["requests_per_s"] / 3)
    assert found["latency_s"] == pytest.approx(60e-6)
    assert found["p99_s"] == pytest.approx(240e-6)
    # In the trials by chance the server spends a request's whole time on a CPU.
    assert found["cpu_per_request_s"] == pytest.approx(60e-6, rel=0.01)
    assert found["engine_share_percent"] == pytest.approx(20)
    mixed = FIB.figures(trial(FIB, load="mixed", clients=4, n=30))
    assert mixed["short_p99_s"] == pytest.approx(mixed["short_p99_alone_s"])
    assert "cpu_per_request_s" not in mixed


def test_a_rehearsal_is_short() -> None:
    rising = FIB.rehearsal(point(FIB, load="rate", clients=64, seconds=9))
    assert (rising["load"], rising["clients"], rising["seconds"]) == ("hammer", 64, 1)
    mixed = FIB.rehearsal(point(FIB, load="mixed", clients=4, n=30))
    assert (mixed["load"], mixed["clients"], mixed["n"], mixed["seconds"]) == ("mixed", 4, 30, 1)


def test_the_highest_rate_that_is_sustained() -> None:
    made = trial(FIB, load="rate", clients=64)
    found = FIB.figures(made)
    best = int(found["sustained_per_s"])
    assert best in RATES[1:-1]
    above = RATES[RATES.index(best) + 1]
    assert found[f"p99_s_at_{best}"] < 0.010 <= found[f"p99_s_at_{above}"]
    # A rate at which requests were left over is not sustained, however fast the others were answered.
    for load in made.outcome_line["loads"]:
        if load["step"] == f"rate {best}":
            load["intended"] *= 2
    assert FIB.figures(made)["sustained_per_s"] == RATES[RATES.index(best) - 1]
    # Where it broke down, later rates were never tried.
    kept = [load for load in made.outcome_line["loads"] if load["step"] in ("first", "rate 250", "rate 500")]
    made.outcome_line["loads"][:] = kept
    cut = FIB.figures(made)
    assert (cut["sustained_per_s"], "p99_s_at_1000" in cut) == (500, False)


def test_requests_and_evidence_of_fanout() -> None:
    found = steps(FANOUT, requests=500, concurrency=50)
    assert [one[0]["requests"] for one in found.values()] == [1, 50, 500]
    pattern = found["measured"][0]["expect"]["matches"]
    for right in ("200200200", "..200.200200", ".200.200.200"):
        assert re.fullmatch(pattern, right), right
    for wrong in ("200200", "200200200.", "200400200", "200200200200"):
        assert not re.fullmatch(pattern, wrong), wrong
    headers = dict(found["measured"][0]["request"]["headers"])
    assert headers["X-Request-Id"] == "measured-{n}"
    assert FANOUT.arguments(point(FANOUT))["upstreams"] == "{upstreams}"
    assert int(FANOUT.arguments(point(FANOUT))["timeout_ms"]) > 5000
    assert "upstreams" not in FANOUT.arguments(point(FANOUT, kind="cpu"))
    summed = steps(FANOUT, kind="cpu", work=10)["measured"][0]
    assert summed["expect"] == {"status": 200, "equals": "45\n45\n45\n"}
    paced = steps(FANOUT, rate=100, requests=200)["measured"][0]
    assert (paced["pacing"]["rate_per_s"], paced["duration_s"]) == (100, 2.0)


def test_the_upstreams_of_fanout() -> None:
    plain, tailed = FANOUT.service(point(FANOUT), 5), FANOUT.service(point(FANOUT, tail=1), 5)
    assert plain
    assert tailed
    assert plain["stub"]["seed"] == 5
    assert [one["delay"]["kind"] for one in plain["stub"]["upstreams"]] == ["lognormal"] * 3
    assert tailed["stub"]["upstreams"][0]["delay"]["tail_share"] == 0.01
    summing = FANOUT.service(point(FANOUT, kind="cpu"), 5)
    assert summing
    assert "stub" not in summing


def test_figures_of_fanout() -> None:
    made = trial(FANOUT, requests=100, concurrency=20)
    found = FANOUT.figures(made)
    assert found["latency_ms.p50"] == pytest.approx(150.06)
    assert found["overhead_ms.p50"] == pytest.approx(0.06)
    assert found["overlapped_percent"] == 100
    assert found["bytes_in_flight"] == pytest.approx((4e6 - 1.5e6) / 20)
    assert "overhead_ms.p50" not in FANOUT.figures(trial(FANOUT, kind="cpu"))


def test_requests_of_feed() -> None:
    found = FEED.service(point(FEED, connections=3000, ramp=500, interval_ms=2000, seconds=20), 5)
    assert found
    first, held = found["steps"]
    assert first["loads"][0]["plan"]["expect"] == {"status": 404}
    plan = held["loads"][0]["plan"]
    assert (plan["connections"], plan["ramp_per_s"], plan["duration_s"]) == (3000, 500, 26.0)
    assert plan["stream"]["interval_s"] == 2.0
    # A third of the hold without a sign at the end; a minute at any time.
    assert plan["stream"]["silent_s"] == pytest.approx(20 / 3)
    assert plan["timeout_s"] == 60.0
    ramped, last = held["marks"]
    assert (ramped["name"], ramped["at_s"], last["name"]) == ("ramped", 6.0, "held")
    assert last["at_s"] == 25.0
    assert "slow" not in plan["stream"]
    assert "vanish" not in plan["stream"]


def test_slow_and_vanishing_readers_of_feed() -> None:
    levels = {"connections": 1000, "ramp": 500, "interval_ms": 10, "seconds": 30, "slow": 10, "vanish": 20}
    found = FEED.service(point(FEED, **levels), 5)
    assert found
    held = found["steps"][1]
    stream = held["loads"][0]["plan"]["stream"]
    # Long ids, so that the kernel's buffers are full soon.
    assert stream["chunk"] == "Chunk {k} for 1000000000000{id}"
    assert stream["slow"] == {"percent": 10, "at_s": 12.0, "for_s": 10.0}
    assert stream["vanish"] == {"percent": 20, "at_s": 12.0}
    # All are looked at before that, and at the end.
    assert [(mark["name"], mark["at_s"]) for mark in held["marks"]] == [
        ("ramped", 2.0),
        ("held", 11.5),
        ("after", 31.0),
    ]
    figures = FEED.figures(trial(FEED, **levels))
    assert figures["given_back_percent"] == 0.0
    assert "cpu_settled_s" not in figures
    with pytest.raises(UsageError, match="more than 100 percent"):
        point(FEED, slow=60, vanish=50, interval_ms=10, seconds=60)
    with pytest.raises(UsageError, match="would take the 20 chunks of a third of the hold"):
        point(FEED, slow=10, seconds=60)


def test_figures_of_feed() -> None:
    found = FEED.figures(trial(FEED, connections=1000, seconds=10))
    assert found["bytes_per_connection"] == pytest.approx(60e-6 * 1e8)
    assert found["cpu_per_kchunk_s"] == pytest.approx(60e-6 * 1000)
    assert found["late_ms.p50"] == pytest.approx(0.06)
    assert found["late_ms.max"] == pytest.approx(1.2)
    assert found["behind"] == 3
    assert found["held_pss_bytes"] == pytest.approx(1_500_000 + 6_000_000)
    assert found["kernel_bytes_per_connection"] == 2048
    assert found["held_kernel_bytes"] == 50_000_000 + 2_048_000
    # All were open after one second; the looks came twice a second.
    assert found["memory_settled_s"] == 1.0
    assert found["cpu_settled_s"] == 1.0
    assert "requests_per_s" not in found


def test_time_line_of_a_feed() -> None:
    line = FEED.timeline_of(trial(FEED, connections=1000, seconds=10))
    assert line
    assert (line.block, line.ramped_s, line.edges[0], line.edges[1]) == (1, 1.0, 0.0, 0.1)
    assert line.edges[-1] == pytest.approx(11.0)
    # A thousand chunks a second at 60 us each, by two threads of the same name.
    assert list(line.cpu) == ["worker", "worker 2"]
    for share, cores in zip((0.7, 0.3), line.cpu.values(), strict=True):
        middle = cores[len(cores) // 2]
        assert middle == pytest.approx(60e-6 * 1000 * share)
    assert line.pss_bytes.values[0] == 1_500_000
    assert line.open.values[-1] == 1000
    assert line.chunks_per_s.times[0] == 1.0
    assert line.latest_s.values[0] == pytest.approx(5 * 60e-6)
    # What was kept before there were time lines has none.
    bare = dataclasses.replace(trial(FEED), samples=())
    assert FEED.timeline_of(bare) is None
    assert FIB.timeline_of(trial(FIB)) is None


def test_feeds_that_cannot_be_held_are_refused_before_they_start() -> None:
    with pytest.raises(UsageError, match="take a higher ramp"):
        point(FEED, connections=100_000, ramp=1)
    with pytest.raises(
        UsageError, match="needs 100,128 descriptors in one process, and the limit here is 20,000"
    ):
        plan.check_descriptors([point(FEED, connections=100_000)], FEED, 20_000)
    plan.check_descriptors([point(FEED)], FEED, 20_000)
    plan.check_descriptors([point(FIB)], FIB, 20_000)


def test_a_trial_without_loads_has_few_figures() -> None:
    bare = Trial(1, 0, Cell("go", point(FIB)), Outcome.OK, "", outcome_line={"peak_threads": 3})
    assert FIB.figures(bare) == {"peak_threads": 3.0}
    assert times(None) == {}
    assert FANOUT.figures(Trial(1, 0, Cell("go", point(FANOUT)), Outcome.OK, "")) == {}


@pytest.mark.parametrize("name", ["feed-c10k", "feed-slow", "feed-vanish", "feed-quick", "feed-long"])
def test_feeds_are_rehearsed_in_seconds_and_within_their_ranges(name: str) -> None:
    for whole in plan.points(experiment(name), FEED, 2):
        short = FEED.rehearsal(whole)
        FEED.check(short)
        for factor, level in short.levels:
            if factor != "cores":
                FEED.factor(factor).check(level)
        held = FEED.service(short, 1)["steps"][1]["loads"][0]["plan"]
        assert held["duration_s"] <= 4
        assert short["interval_ms"] == whole["interval_ms"]
        assert short.as_dict().keys() == whole.as_dict().keys()
