"""The requests of `fib` to the probe, and its figures."""

import random

import pytest
from msgspec.structs import replace

from ringside.catalogue.experiments import read_experiment
from ringside.model.design import Level
from ringside.model.results import Trial
from ringside.probe import protocol
from ringside.workloads.fib.workload import FIB, RATES, fibonacci
from tests.support import ROOT, served
from tests.support.cases import cases
from tests.support.points import REPORT, ok_trial, point
from tests.workloads.test_serving import MARKS


def plans(**levels: Level) -> dict[str, list[protocol.LoadPlan]]:
    """The loads of each step."""
    service = FIB.service(point(FIB, **levels), 5)
    return {step.name: [load.plan for load in step.loads] for step in service.steps}


def measured(**levels: Level) -> Trial:
    return served.ok(ok_trial(FIB, **levels), FIB, random.Random(1), 0.0, 0.0)


def load(step: str, name: str, median_s: float) -> protocol.LoadMessage:
    return protocol.LoadMessage(
        step=step,
        name=name,
        requests=100,
        intended=100,
        achieved_rate_per_s=50.0,
        busy_share_most=0.2,
        histograms={"latency": served.summary(median_s)},
    )


def test_fibonacci_as_the_recursion_has_it() -> None:
    def naive(n: int) -> int:
        return 1 if n <= 2 else naive(n - 1) + naive(n - 2)

    assert [fibonacci(n) for n in range(1, 20)] == [naive(n) for n in range(1, 20)]
    assert fibonacci(90) == 2880067194370816120


WARM_UP = ["warm-up", *(f"warm-up-{number}" for number in range(2, 17))]


def test_every_answer_is_checked() -> None:
    for shape, clients in (("hammer", 3), ("single", 1), ("mixed", 2), ("rate", 64)):
        for loads in plans(load=shape, clients=clients, n=20).values():
            for plan in loads:
                assert plan.expect == protocol.ExpectedReply(equals=str(fibonacci(int(plan.line or 0))))


def test_its_loads() -> None:
    hammer = plans(load="hammer", clients=3, seconds=7)
    assert list(hammer) == ["first", *WARM_UP, "measured"]
    for seconds, window_s in ((1, 0.25), (7, 0.25)):
        windows = plans(load="hammer", clients=3, seconds=seconds)
        assert {windows[name][0].duration_s for name in WARM_UP} == {window_s}
    assert hammer["first"][0].requests == 1
    (hammering,) = hammer["measured"]
    assert (hammering.connections, hammering.duration_s, hammering.pacing) == (3, 7.0, protocol.ClosedLoop())
    short, long = plans(load="mixed", clients=4, n=30, seconds=7)["measured"]
    assert (short.line, short.pacing, short.connections) == ("1", protocol.ConstantRate(200), 4)
    assert (long.line, long.pacing, long.connections) == ("30", protocol.ClosedLoop(), 1)
    assert plans(load="mixed", clients=4, n=30, seconds=7)["alone"] == [short]
    # All connections are open and were answered once before anything is measured.
    assert short.lead_s == long.lead_s == pytest.approx(0.25, abs=0.01)
    assert all((plan.lead_s or 0) > 5 for plan in plans(load="mixed", clients=10_000, n=30)["measured"])
    for seconds, warm_up_s in ((2, 1.0), (7, 3.5), (8, 4.0), (30, 4.0)):
        warming = replace(short, duration_s=warm_up_s, counts=False)
        assert plans(load="mixed", clients=4, n=30, seconds=seconds)["warm-up"] == [warming]
    # Whole histograms are kept of what is measured.
    assert hammering.counts
    assert short.counts
    rising = list(plans(load="rate", clients=64).values())[2:]
    assert [loads[0].pacing for loads in rising] == [protocol.ConstantRate(rate) for rate in RATES]
    assert plans(load="single", n=30)["measured"][0].requests == 10


def test_rising_rates_end_where_the_server_is_overloaded() -> None:
    steps = FIB.service(point(FIB, load="rate", clients=64), 5).steps
    assert [step.last_above_p99_s for step in steps] == [None, None, *[0.1] * len(RATES)]


def test_the_highest_rate_that_is_sustained() -> None:
    trial = measured(load="rate", clients=64)
    figures = FIB.figures(trial)
    best = int(figures["sustained_per_s"])
    assert best in RATES[1:-1]
    above = RATES[RATES.index(best) + 1]
    assert figures[f"p99_s_at_{best}"] < 0.010 <= figures[f"p99_s_at_{above}"]
    assert "cpu_per_request_s" not in figures


@pytest.mark.parametrize(("rates_per_s", "warned"), [((5.0, 10.0), True), ((5.0, 20.0), False)])
def test_servers_that_are_idle(rates_per_s: tuple[float, float], warned: bool) -> None:
    """Each request takes 40 ms of CPU time."""
    trials = [
        ok_trial(
            FIB,
            {
                "report": REPORT,
                "marks": MARKS,
                "loads": (replace(load("measured", "all", 0.002), achieved_rate_per_s=rate),),
            },
            clients=clients,
        )
        for clients, rate in enumerate(rates_per_s, 1)
    ]
    found = [(each.code, "40 % of one core" in each.text) for each in FIB.diagnostics(trials)]
    assert found == ([("idle-servers", True)] if warned else [])
    assert FIB.diagnostics([]) == []


@pytest.mark.parametrize(("seconds", "said"), cases(__file__, "servers_that_still_got_faster"))
def test_servers_that_still_got_faster(seconds: list[int], said: str) -> None:
    """In the median of three trials; a load at a rate is as fast as asked."""
    series = tuple(protocol.SecondOfLoad(float(t), requests) for t, requests in enumerate(seconds))
    one = replace(load("measured", "all", 0.002), series=series, duration_ns=len(seconds[:3]) * 10**9 + 5)
    two = replace(one, series=tuple(replace(each, requests=7) for each in series))
    trials = [ok_trial(FIB, {"loads": (each,)}, load="hammer") for each in (one, two, one)]
    [*texts] = [each.text for each in FIB.diagnostics(trials) if each.code == "still-faster"]
    assert [said in text for text in texts] == ([True] if said else [])
    mixed = [ok_trial(FIB, {"loads": (one,)}, load="mixed", clients=2)]
    assert FIB.diagnostics(mixed) == []


def test_a_p99_that_leads_is_of_a_thousand_requests() -> None:
    mixed = read_experiment(ROOT / "experiments" / "fib-mixed.toml")
    (seconds,) = mixed.factors.get("seconds", (FIB.factor("seconds").default,))
    for plan in plans(load="mixed", clients=2, seconds=seconds)["measured"][:1]:
        assert isinstance(plan.pacing, protocol.ConstantRate)
        assert plan.pacing.rate_per_s * (plan.duration_s or 0) >= 1000


def overloaded(course: list[tuple[int, int, int]]) -> Trial:
    """A trial whose slots had so many requests, so many answers in time, and this median in milliseconds; the
    server can keep 200 requests per second, 50 in a slot."""
    slots = tuple(protocol.SlotOfLoad(due, answered, ms * 1_000_000, 0) for due, answered, ms in course)
    capacity = replace(load("capacity", "all", 1.0), achieved_rate_per_s=200.0)
    loads = (capacity, replace(load("measured", "all", 0.002), course=slots))
    marks = {
        "calm": protocol.Sample(1, "calm", pss_bytes=100),
        "overloaded": protocol.Sample(2, "overloaded", pss_bytes=170),
    }
    return ok_trial(FIB, {"loads": loads, "marks": marks}, load="overload", clients=9, seconds=1)


CALM, FULL, LOST = (25, 25, 2), (100, 50, 300), (25, 0, 0)


def test_an_overload() -> None:
    steps = FIB.service(point(FIB, load="overload", clients=9, n=20, seconds=4), 5).steps
    assert [step.name for step in steps] == ["first", *WARM_UP, "capacity", "measured"]
    ((capacity,), (overload,)) = ([each.plan for each in step.loads] for step in steps[-2:])
    assert (capacity.pacing, capacity.patience_s) == (protocol.ClosedLoop(), None)
    rates = tuple(protocol.StaircaseStep(rate, s) for rate, s in ((0.5, 4.0), (2.0, 4.0), (0.5, 12.0)))
    assert overload.pacing == protocol.Staircase(rates, of="capacity")
    assert (overload.patience_s, overload.course_s, overload.expect) == (0.5, 1.0, capacity.expect)
    figures = FIB.figures(overloaded([CALM] * 4 + [FULL] * 4 + [LOST] * 3 + [CALM] * 9))
    named = ("requests_per_s", "goodput_percent", "lost_percent", "overload_bytes", "recovered_s")
    assert [figures[name] for name in named] == pytest.approx([200, 100, 50, 70, 0.75])
    assert figures["timely_percent_at_0"] == pytest.approx(50)
    more = FIB.figures(overloaded([CALM] * 4 + [(100, 90, 300)] * 4 + [CALM] * 12))
    assert more["goodput_percent"] == 100
    assert figures["timely_p50_s_at_4"] == pytest.approx(0.3)
    assert "timely_p50_s_at_8" not in figures


@pytest.mark.parametrize(
    ("after", "seconds"),
    [
        ([CALM] * 12, 0.0),
        ([LOST, CALM, LOST, *[CALM] * 9], 0.75),
        ([(25, 25, 5), *[CALM] * 11], 0.25),
        ([LOST] * 12, 3.0),
        ([*[LOST] * 11, CALM], 2.75),
    ],
)
def test_when_an_overload_is_over(after: list[tuple[int, int, int]], seconds: float) -> None:
    figures = FIB.figures(overloaded([CALM] * 4 + [FULL] * 4 + after))
    assert figures["recovered_s"] == pytest.approx(seconds)


def test_an_overload_that_is_none_is_named() -> None:
    for answered in (95, 100):
        (found,) = FIB.diagnostics([overloaded([CALM] * 4 + [(100, answered, 5)] * 4 + [CALM] * 12)])
        assert (found.code, found.text[:4]) == ("not-overloaded", "go: ")
    assert FIB.diagnostics([overloaded([CALM] * 4 + [FULL] * 4 + [CALM] * 12)]) == []
    # Without a time line there are no figures.
    blank = ok_trial(FIB, {"loads": (load("measured", "all", 0.1),)}, load="overload", clients=9)
    assert "goodput_percent" not in FIB.figures(blank)
