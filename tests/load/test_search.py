"""The search for the highest rate that keeps a condition."""

from hypothesis import given
from hypothesis import strategies as st

from ringside.load import thresholds
from ringside.load.result import LoadResult
from ringside.probe.protocol import ConstantRate, LoadPlan
from tests.support.command_line import in_process, parsed
from tests.support.loads import MS, histogram, http_plan, load_result
from tests.support.odd_server import one_at_a_time, serving

LIMIT = thresholds.parse("p99<50ms", "--find-rate")


@given(st.floats(0.1, 1_000_000), st.floats(0.1, 100_000), st.booleans())
def test_the_rate_is_found_to_five_percent(capacity: float, first: float, loses: bool) -> None:
    """A server that is slow above its capacity, or loses what is above it."""
    tried: list[float] = []

    def carry_out(plan: LoadPlan) -> LoadResult:
        assert isinstance(plan.pacing, ConstantRate)
        rate = plan.pacing.rate_per_s
        tried.append(rate)
        latency = histogram() | {"p99_ns": 80 * MS if rate > capacity and not loses else 5 * MS}
        kept = min(capacity, rate) if loses else rate
        counts = {
            "intended": round(2000 * rate),
            "achieved_rate_per_s": kept,
            "duration_ns": 2000 * 1000 * MS,
        }
        return load_result(**counts, histograms={"latency": latency})

    plan, result = thresholds.find_rate(LIMIT, http_plan(rate_per_s=first), carry_out)
    rate = result.highest[LIMIT]
    # One per cent may be lost.
    most = capacity * (1.011 if loses else 1)
    assert len(tried) <= 24
    assert sorted(tried) == [step.rate_per_s for step, _ in result.steps]
    if rate:
        assert rate <= most
        assert plan.pacing == ConstantRate(rate)
        assert len(tried) == 24 or most <= rate * 1.12 + 0.01
    else:
        assert min(tried) > capacity or capacity < 1


def test_a_server_that_keeps_a_hundred_per_second() -> None:
    with serving(one_at_a_time(0.01)) as port:
        words = ("load", f"http://127.0.0.1:{port}/", "--connections", "8", "--duration", "1s")
        found = in_process(*words, "--rate", "60", "--find-rate", "p50<150ms")
        document = parsed(*words, "--rate", "1", "--find-rate", "p50<1us", status=1)
    (line,) = [line for line in found.stdout.splitlines() if "The highest rate that was kept" in line]
    assert 20 <= float(line.split(": ")[-1].removesuffix("/s.").replace(",", "")) <= 125, line
    assert document["highest_rates"] == {"p50<1us": None}
    assert [step["rate_per_s"] for step in document["steps"]] == [1, 1]
