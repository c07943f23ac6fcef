"""The figures of a run: trials that count, comparisons, ranks, what is swept."""

import dataclasses
import random
from collections.abc import Mapping, Sequence

import pytest

from ringside.analysis.examination import Ranking
from ringside.analysis.run import RunAnalysis
from ringside.model.catalogue import ContenderClass
from ringside.model.design import Level, Point, Show
from ringside.model.results import Outcome, counted
from ringside.stats.paired import log_ratios, paired_ratio
from ringside.stats.sequential import SEQUENTIAL_CONFIDENCE
from ringside.workloads.base import ScalingLaw
from tests.support import analyses
from tests.support.p_values import adjusted_p_values

P, Q = analyses.point(nodes=10, mode="x"), analyses.point(nodes=20, mode="x")
HERE = Point(())


def test_contenders_are_ranked_inside_their_class() -> None:
    """The baseline's class stands first, and has the best; of a class of one there is nothing to rank."""
    values = analyses.medians(P, thin=10.0, plain=100.0, limit=1.0, thinner=5.0, other=200.0)
    bare: dict[str, ContenderClass] = {"thin": "bare", "thinner": "bare"}

    idiomatic = analyses.analysis(values, baseline="plain", floor="limit", kinds=bare)
    ranks = {"plain": (1, 1), "other": (2, 2), "thinner": (1, 1), "thin": (2, 2)}
    order = ("plain", "other", "thinner", "thin", "limit")
    assert idiomatic.rankings["hop_ns", P] == Ranking(order, ranks)
    assert idiomatic.times_worse("thinner", P) == analyses.near(0.05)

    by_thin = analyses.analysis(values, baseline="thin", floor="limit", kinds=bare)
    assert by_thin.rankings["hop_ns", P].order == ("thinner", "thin", "plain", "other", "limit")
    assert by_thin.times_worse("thin", P) == analyses.near(2.0)


def test_an_experiment_may_name_metrics_and_pairs() -> None:
    values = {
        (name, P): {"hop_ns": analyses.scaled(5), "memory_bytes": analyses.scaled(2)}
        for name in ("a", "b", "c")
    }
    chosen = analyses.analysis(values, metrics=["memory_bytes", "hop_ns"], ratios=[("c", "b")], baseline="b")
    assert chosen.metrics == (analyses.MEMORY, analyses.HOP)
    assert chosen.pairs == (("c", "b"),)
    assert [each.contender for each in chosen.shown_comparisons()] == ["c", "c"]
    assert chosen.comparison(analyses.HOP, "a", "b", P)
    assert chosen.comparison(analyses.HOP, "a", "c", P) is None


def noisy(metrics: Mapping[str, float], seed: str) -> dict[str, tuple[float, ...]]:
    """Seven blocks of each metric, with noise of its own of 20 %."""
    dice = random.Random(seed)
    return {name: tuple(x * dice.uniform(0.8, 1.2) for _ in analyses.NOISE) for name, x in metrics.items()}


@pytest.mark.parametrize(
    ("measurement", "confirmatory"), [(analyses.Compared(), 1), (analyses.OneFamily(), 2)]
)
def test_the_headline_at_all_points_is_one_family(measurement: analyses.Exact, confirmatory: int) -> None:
    """With all pairs inside a class, whether they are shown or not."""
    values = {
        (name, place): noisy({"hop_ns": 100.0, "rate": 50.0}, f"{name} {place}")
        for name in ("a", "b", "c")
        for place in (P, Q)
    }
    result = analyses.analysis(values, measurement=measurement)
    assert len(result.examination.confirmatory) == confirmatory
    logs = {
        (metric, place, one, other): log_ratios(
            *(result.cell(name, place).by_block[metric] for name in (one, other))
        )
        for metric in ("hop_ns", "rate")
        for place in (P, Q)
        for one, other in (("b", "a"), ("c", "a"), ("c", "b"))
    }
    for metrics in (("hop_ns", "rate"),) if confirmatory == 2 else (("hop_ns",), ("rate",)):
        family = {key: each for key, each in logs.items() if key[0] in metrics}
        adjusted = adjusted_p_values(family, range(1, 8))
        for (metric, place, one, other), p in adjusted.items():
            comparison = result.examination.comparison(result.measurement.metric(metric), place, one, other)
            assert comparison
            assert comparison.p == p


def test_a_run_that_may_end_early_widens_all_intervals() -> None:
    """Speed-ups, too."""
    blocks = 10
    ones = [100.0] * blocks
    spread = [110.0 + number for number in range(blocks)]
    places = {cores: analyses.point(cores=cores) for cores in (1, 2)}

    class Scaling(analyses.Exact):
        scaling_laws = (ScalingLaw("cores", analyses.HOP.name, kind="cores"),)

    def made(decided: bool) -> RunAnalysis:
        values = {
            ("base", places[1]): {"hop_ns": spread},
            ("base", places[2]): {"hop_ns": ones},
            ("limit", places[1]): {"hop_ns": ones},
            ("limit", places[2]): {"hop_ns": ones},
        }
        return analyses.analysis(values, measurement=Scaling(), until_decided=decided, floor="limit")

    numbered = [dict(enumerate(each)) for each in (spread, ones)]
    expected = paired_ratio(numbered[0], numbered[1], SEQUENTIAL_CONFIDENCE)
    assert expected
    plain, sequential = made(False), made(True)
    for run, same in ((plain, False), (sequential, True)):
        ratios = [run.cores_scaling[0].rows[0].speed_ups[2], run.floor_ratios["hop_ns", places[1]]["base"]]
        for ratio in ratios:
            assert (ratio.low == analyses.near(expected.low)) is same
    first = sequential.comparison(analyses.HOP, "limit", "base", places[1])
    assert first.p == 1 / 64
    assert first.ratio.high == analyses.near(1 / (expected.low or 0))


# --- trials ----------------------------------------------------------------------------------------


def test_of_trials_that_were_carried_out_again_the_last_counts() -> None:
    run = analyses.planned(["go", "erlang"], [P])
    trials = [
        dataclasses.replace(analyses.ok(1, "go", P), outcome=Outcome.PROBE_FAILED, detail="no probe"),
        analyses.ok(1, "erlang", P, hop_ns=20),
        analyses.ok(1, "go", P, hop_ns=10),
        dataclasses.replace(analyses.ok(2, "go", P), outcome=Outcome.INTERRUPTED),
        dataclasses.replace(analyses.ok(2, "go", P), outcome=Outcome.INTERRUPTED),
        analyses.ok(2, "go", P, hop_ns=30),
        dataclasses.replace(analyses.ok(2, "erlang", P), outcome=Outcome.CRASHED, detail="exit status 1"),
    ]
    result = analyses.analyse(run, trials, analyses.Exact())
    assert result.trials == (trials[1], trials[2], trials[5], trials[6])
    assert result.trials == tuple(counted(trials))
    go, erlang = result.cell("go", P), result.cell("erlang", P)
    assert (go.outcomes, go.by_block["hop_ns"], go.reason) == ({Outcome.OK: 2}, {1: 10.0, 2: 30.0}, "")
    assert erlang.outcomes == {Outcome.OK: 1, Outcome.CRASHED: 1}
    assert (result.trial_count, result.blocks_done) == (4, 2)


def test_an_interruption_does_not_take_the_place_of_a_trial_that_counts() -> None:
    """As a Ctrl-C at the wrong moment once left it: the resume does not carry it out again."""
    whole = analyses.ok(1, "go", P, hop_ns=10)
    assert counted([whole, dataclasses.replace(whole, outcome=Outcome.INTERRUPTED)]) == [whole]


@pytest.mark.parametrize(
    ("cores", "cases", "sweep", "swept"),
    [
        ((1, 2), (100, 200), None, None),
        ((1, 2, 4), (100, 200), None, "cores"),
        ((1, 2, 4), (100, 200, 300, 400), None, "cases"),
        ((1, 2, 4), (100, 200), "cases", "cases"),
        # It cannot be swept where it has but one level.
        ((1, 2, 4), (100,), "cases", "cores"),
        ((1,), (100, 200), "cases", "cases"),
        ((1,), (100,), None, None),
        # Texts are not swept.
        (("x", "y", "z"), (100,), None, None),
        ((1, 2, "cores"), (100,), None, None),
    ],
)
def test_the_factor_that_is_swept(
    cores: Sequence[Level], cases: Sequence[int], sweep: str | None, swept: str | None
) -> None:
    places = [analyses.point(cores=some, cases=many) for some in cores for many in cases]
    run = analyses.planned(["go"], places, show=Show(sweep=sweep))
    assert analyses.analyse(run, [], analyses.Exact()).swept == swept
