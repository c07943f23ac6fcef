import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, stdev

import pytest
from scipy.stats import sem, t

from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import (
    OverviewCell,
    analyse_suite,
    judge_claims,
    over_sessions,
    overview,
    sessions_of,
)
from ringside.cli import context
from ringside.model.results import Diagnostic, Interval, Obstacle, Outcome
from tests.support.analyses import analysis, medians, near, point, scaled, whole, with_figures

SMALL, LARGE = point(nodes=10), point(nodes=400)
# Best first at the large point: limit, go, erlang; python failed there.
RING = analysis(
    medians(SMALL, erlang=20.0, go=30.0, limit=1.0, python=500.0)
    | medians(LARGE, erlang=60.0, limit=2.0)
    | {("go", LARGE): {"hop_ns": tuple(reversed(scaled(30.0)))}},
    failed=[("python", LARGE)],
    name="ring-short",
)
# More is better.
SERVICE = analysis(medians(SMALL, metric="rate", go=900.0, tornado=300.0), metrics=("rate",), name="service")


def test_claims_are_examined_in_the_order_of_their_sources() -> None:
    first, second = (context.catalogue().published(name) for name in ("2011-go-c10k", "2007-ring-showdown"))
    found = judge_claims([first, second], [])
    assert [each.source for each in found] == [first] * len(first.claims) + [second] * len(second.claims)
    assert [each.claim for each in found] == [*first.claims, *second.claims]
    assert all(each.command.startswith("ringside run ") for each in found if each.finding.experiment)


def test_the_last_point_of_each_run_and_every_contender_once() -> None:
    found = overview([RING, SERVICE])
    assert [column.point for column in found.columns] == [LARGE, SMALL]
    assert found.names == (*RING.names, "tornado")
    assert len(set(found.names)) == len(found.names)


def test_a_point_that_some_contender_cannot_be_at_stands_back() -> None:
    values = medians(SMALL, LARGE, a=2.0, b=2.0)
    values.pop(("b", LARGE))
    limited = analysis(values, unavailable=[("b", LARGE)])
    assert [column.point for column in overview([limited]).columns] == [SMALL]


def test_experiments_have_their_own_names_where_two_have_one_problem() -> None:
    assert [column.label for column in overview([RING]).columns] == [RING.measurement.name]
    assert [column.label for column in overview([RING, SERVICE]).columns] == ["ring-short", "service"]


def test_the_cells_of_a_column() -> None:
    """Only those of the baseline's class have ranks; the best of it is 1, whoever is ahead in another."""
    run = analysis(
        medians(LARGE, erlang=60.0, go=30.0, thin=10.0, limit=2.0),
        failed=[("python", LARGE)],
        kinds={"thin": "bare"},
        floor="limit",
    )
    (column,) = overview([run]).columns
    assert {name: column.cell(name) for name in run.names} == {
        "erlang": OverviewCell(near(2.0), (2, 2), "", None),
        "go": OverviewCell(1.0, (1, 1), "", None),
        "thin": OverviewCell(near(1 / 3), None, "bare", None),
        "limit": OverviewCell(near(1 / 15), None, "floor", None),
        "python": OverviewCell(None, None, "", Outcome.CRASHED),
    }
    assert column.cell("tornado") is None


def test_where_all_have_failed_none_is_ahead() -> None:
    run = analysis({("go", SMALL): {"hop_ns": scaled(5.0)}}, failed=[("go", LARGE)])
    (column,) = overview([run]).columns
    assert column.point == LARGE
    assert column.cell("go") == OverviewCell(None, None, "", Outcome.CRASHED)


def test_what_concerns_the_machine_is_said_once() -> None:
    """As the first run that has it says it."""
    shared = [Diagnostic("cores-shared", values={"run": number}) for number in range(2)]
    bimodal, drift = Diagnostic("bimodal", ("go",)), Diagnostic("drift")
    runs = [
        with_figures(RING, diagnostics=diagnostics)
        for diagnostics in ((bimodal, shared[0], drift), (shared[1],), (bimodal,))
    ]
    assert [run.own_diagnostics for run in runs] == [(bimodal, drift), (), (bimodal,)]
    assert analyse_suite(runs).machine_diagnostics == (shared[0],)


def sessions(*ratios: float | None, planned: int = 3, **more: float) -> list[RunAnalysis]:
    """Sessions in which b takes so many times as long as a; None: b has no figure there."""
    runs = []
    for ratio in ratios:
        hops = {"a": 10.0, "b": ratio and 10.0 * ratio, **{name: 10.0 * each for name, each in more.items()}}
        values = {(name, SMALL): {"hop_ns": scaled(hop)} for name, hop in hops.items() if hop}
        run = analysis(values, failed=[] if ratio else [("b", SMALL)])
        suite = {"id": "s", "name": "example", "sessions": planned}
        runs.append(with_figures(run, run=replace(run.run, plan={**run.run.plan, "suite": suite})))
    return runs


def test_sessions_have_students_interval() -> None:
    ratios = (1.10, 1.06, 1.15)
    ((_, over, shown, deviation),) = over_sessions(sessions(*ratios))
    assert shown == near(list(ratios))
    assert deviation == near(math.expm1(stdev(map(math.log, ratios))))
    logs = [math.log(ratio) for ratio in ratios]
    low, high = t.interval(0.95, 2, fmean(logs), sem(logs))
    assert over.ratio == Interval(near(math.exp(fmean(logs))), near(math.exp(low)), near(math.exp(high)), 3)
    # Two pairs hold together with 95 %.
    (_, wider, *_), _ = over_sessions(sessions(*ratios, c=1.0))
    assert whole(wider.ratio).low < whole(over.ratio).low


@pytest.mark.parametrize(
    ("ratios", "verdict", "obstacle"),
    [
        ((1.10, 1.11, 1.09), "slower", None),
        ((1.0, 1.01, 0.99), "equivalent", None),
        ((1.02, 1.10, 1.20), "inconclusive", None),
        ((1.1, 1.1), "inconclusive", Obstacle.SAME_VALUES),
        ((1.1, 1.11, None), "inconclusive", Obstacle.FAILED_BLOCKS),
    ],
)
def test_what_sessions_show(ratios: Sequence[float | None], verdict: str, obstacle: Obstacle | None) -> None:
    ((_, over, *_),) = over_sessions(sessions(*ratios))
    assert (over.verdict, over.obstacle) == (verdict, obstacle)


def test_sessions_are_those_that_were_asked_for_and_have_ended() -> None:
    runs = sessions(1.1, 1.2, 1.3)
    assert sessions_of([RING, *runs, SERVICE]) == [runs]
    cut_off = with_figures(runs[0], run=replace(runs[0].run, ended_at=None))
    assert sessions_of([cut_off, *runs[1:]]) == [runs[1:]]
    assert sessions_of(runs[:1]) == sessions_of(sessions(1.1, 1.2, planned=1)) == []
