"""Percentile curves of requests, from the histograms of trials."""

from __future__ import annotations

import dataclasses

import pytest

from ringside.analysis.distributions import PercentileCurve
from ringside.model.results import Outcome, Trial
from ringside.probe.protocol import LatencySummary, LoadMessage
from ringside.workloads.base import Distribution
from tests.support import served
from tests.support.analyses import Exact, analyse, ok, planned, point

P = point(clients=1)


class Service(Exact):
    distributions = (
        Distribution("Latency", "how long requests took", "Latency", "measured"),
        Distribution("Alone", "how long they took alone", "Latency", "alone", "short"),
        Distribution("Lateness", "how late messages came", "Lateness", "measured", histogram="lateness"),
    )


def load(
    counts: str, *, step: str = "measured", name: str = "all", histogram: str = "latency"
) -> LoadMessage:
    numbers = list(map(int, counts.split()))
    return LoadMessage(
        step=step,
        name=name,
        histograms={histogram: LatencySummary(count=sum(numbers[1::2]))},
        counts={histogram: counts},
    )


def trial(block: int, *loads: LoadMessage, outcome: Outcome = Outcome.OK) -> Trial:
    return dataclasses.replace(ok(block, "go", P, hop_ns=1.0), loads=loads, outcome=outcome)


def curves(*trials: Trial) -> tuple[PercentileCurve, ...]:
    return analyse(planned(["go"], [P]), list(trials), Service()).percentiles


def by_level(curve: PercentileCurve) -> dict[float, tuple[float, float | None, float | None]]:
    return {each.level: (each.value_ns, each.low_ns, each.high_ns) for each in curve.percentiles}


def test_requests_of_all_trials_together() -> None:
    (curve,) = curves(
        trial(1, load("100 90 200 10")),
        trial(2, load("150 95 900 5")),
        trial(3, load("5 100000"), outcome=Outcome.WRONG_EVIDENCE),
    )
    assert (curve.distribution.title, curve.cell.contender) == ("Latency", "go")
    assert (curve.requests, curve.is_merged) == (200, True)
    levels = by_level(curve)
    assert levels[0.0] == (100, 100, 150)
    # 90 are up to 100, 185 up to 150: the 100th is 150.
    assert levels[0.5] == (150, 100, 150)
    assert levels[0.9] == (150, 100, 150)
    # Of 200 requests ten are beyond 95 %, of the 100 of a trial only five.
    assert levels[0.95] == (200, None, None)
    assert max(levels) == pytest.approx(0.95)


def test_steps_loads_and_histograms_are_those_of_the_distribution() -> None:
    alone = load("7 40", step="alone", name="short")
    other = load("9 40", step="alone", name="long")
    late = load("3 40", histogram="lateness")
    titles = {
        curve.distribution.title: by_level(curve)[0.5][0] for curve in curves(trial(1, other, alone, late))
    }
    assert titles == {"Alone": 7, "Lateness": 3}


def test_stores_without_histograms_have_the_percentiles_of_summaries() -> None:
    """Each is the median of the trials' own, where every trial supports it."""
    summaries = [
        dataclasses.replace(
            trial(block),
            loads=(
                LoadMessage(step="measured", name="all", histograms={"latency": served.summary(median_s)}),
            ),
        )
        for block, median_s in enumerate((1e-6, 2e-6, 6e-6), 1)
    ]
    (curve,) = curves(*summaries)
    assert (curve.requests, curve.is_merged) == (3000, False)
    assert by_level(curve) == {
        0.5: (2000, 1000, 6000),
        0.9: (3200, 1600, 9600),
        0.95: (4000, 2000, 12000),
        # A thousand requests have ten beyond their p99, and one beyond their p99.9.
        0.99: (8000, 4000, 24000),
    }


@pytest.mark.parametrize("counts", ["", "100 19", "100 0 200 0"])
def test_too_few_requests_make_no_curve(counts: str) -> None:
    assert curves(trial(1, load(counts))) == ()


def test_an_analysis_for_no_plots_has_no_curves() -> None:
    trials = [trial(1, load("100 90 200 10"))]
    run = planned(["go"], [P])
    assert analyse(run, trials, Service(), for_plots=False).percentiles == ()
    assert len(analyse(run, trials, Service()).percentiles) == 1
