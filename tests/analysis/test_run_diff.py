"""Two runs at different times."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from ringside.analysis.history import MACHINE
from ringside.analysis.run import RunAnalysis
from ringside.analysis.run_diff import CellChange, RunDiff, diff
from ringside.errors import UsageError
from ringside.model.design import Cell, Point
from ringside.model.results import Diagnostic, Interval, Obstacle, Verdict
from ringside.probe.protocol import TrialOutcome
from tests.support.analyses import (
    HOP,
    HOST,
    RATE,
    Compared,
    Exact,
    analysis,
    exactly,
    near,
    point,
    scaled,
    with_figures,
)
from tests.support.errors import error_of

P, Q = point(nodes=10), point(nodes=20)
Values = Mapping[tuple[str, Point], Mapping[str, Sequence[float | None]]]


def run(
    name: str,
    hops: Mapping[tuple[str, Point], float],
    *,
    times: float = 1.0,
    rate: float = 500.0,
    reference_ns: int | None = 10_000_000,
    memory_reference_ns: int | None = 30_000_000,
    **options: Any,
) -> RunAnalysis:
    """A run with these hops, `times` as long, and one rate."""
    report = TrialOutcome("ok", reference_ns=reference_ns, memory_reference_ns=memory_reference_ns)
    names = {contender for contender, _ in hops}
    result = analysis(
        {cell: {"hop_ns": scaled(hop * times), "rate": scaled(rate)} for cell, hop in hops.items()},
        measurement=Compared(),
        reports=dict.fromkeys(names, report),
        **options,
    )
    return with_figures(result, run=dataclasses.replace(result.run, id=name))


# Said of one run a side, whose differences cannot be seen.
UNSEEN = Diagnostic("single-runs", values={"share": 0.01, "claimed": near(0.0281, rel=1e-2)})
HOPS = {("erlang", P): 100.0, ("erlang", Q): 200.0, ("go", P): 300.0, ("go", Q): 400.0}


def only(changed: RunDiff, contender: str, place: Point) -> CellChange:
    cell = Cell(contender, place)
    (change,) = (each for each in changed.changes if (each.cell, each.metric) == (cell, HOP))
    return change


def test_each_cell_has_its_medians_and_ratio() -> None:
    # One cell is slower by a fifth, another takes half the time; the first of the two runs comes first.
    second = {**HOPS, ("erlang", Q): 240.0, ("go", P): 150.0}
    changed = diff(run("a", HOPS), run("b", second), "hop_ns", 0.2)
    assert [(each.cell, each.metric) for each in changed.changes] == [
        (Cell(name, place), HOP) for place in (P, Q) for name in ("erlang", "go")
    ]
    slower = only(changed, "erlang", Q)
    assert (slower.before.estimate, slower.after.estimate) == (200.0, 240.0)
    assert slower.ratio.estimate == near(1.2)
    assert slower.ratio.n == 7
    assert slower.verdict is Verdict.SLOWER
    faster = only(changed, "go", P)
    assert (faster.before.estimate, faster.after.estimate) == (300.0, 150.0)
    assert (faster.verdict, faster.ratio.estimate) == (Verdict.FASTER, near(0.5))
    same = only(changed, "erlang", P)
    assert (same.verdict, same.obstacle) == (Verdict.EQUIVALENT, None)
    assert same.ratio.estimate == near(1.0)
    assert changed.machine == {name: Interval(1.0, 1.0, 1.0, 7) for name in ("computing", "memory")}
    assert changed.names == ("a", "b")
    assert changed.diagnostics == (UNSEEN,)


def test_without_a_metric_all_compared_ones_are_shown() -> None:
    changed = diff(run("a", HOPS), run("b", HOPS, rate=400.0), margin=0.06)
    assert [(each.metric, each.verdict) for each in changed.changes] == [
        *[(HOP, Verdict.EQUIVALENT)] * 4,
        *[(RATE, Verdict.SLOWER)] * 4,
    ]
    assert changed.changes[-1].ratio.estimate == near(0.8)
    assert {each.metric for each in diff(run("a", HOPS), run("b", HOPS), "rate").changes} == {RATE}


@pytest.mark.parametrize(
    ("margin", "verdict"),
    [(None, Verdict.INCONCLUSIVE), (0.053, Verdict.INCONCLUSIVE), (0.055, Verdict.EQUIVALENT)],
)
def test_the_same_twice_is_equivalent_beyond_the_intervals(margin: float | None, verdict: Verdict) -> None:
    """Those are 0.948 to 1.0547: 1.04 by their blocks, and 1.036 that runs may be apart. The margin is the
    second run's unless there is another."""
    first = run("a", HOPS, margin=0.001)
    changed = diff(first, run("b", HOPS), "hop_ns", margin)
    assert {each.verdict for each in changed.changes} == {verdict}
    assert {each.obstacle for each in changed.changes} == {None}
    assert changed.margin == (margin or 0.05)
    own = diff(first, run("b", HOPS, margin=margin or 0.05), "hop_ns")
    assert (own.changes, own.margin) == (changed.changes, changed.margin)


def test_intervals_of_all_cells_hold_together() -> None:
    """Four cells at 95 % together are wider than one by itself."""
    one = {("erlang", P): 100.0}
    alone = only(diff(run("a", one), run("b", one), "hop_ns"), "erlang", P)
    among = only(diff(run("a", HOPS), run("b", HOPS), "hop_ns"), "erlang", P)
    assert alone.ratio.low is not None
    assert among.ratio.low is not None
    assert among.ratio.low < alone.ratio.low < 1
    # Cells of only one run are not of the family.
    more = {**one, ("go", P): 300.0}
    again = only(diff(run("a", one), run("b", more), "hop_ns"), "erlang", P)
    assert again.ratio == alone.ratio


@pytest.mark.parametrize("reference", ["reference_ns", "memory_reference_ns"])
def test_a_change_of_the_machine_widens_intervals(reference: str) -> None:
    """One of the references took 1.25 times as long, the work 1.2 times: the program may be as fast as it
    was, or slower by all of it; but not slower than it is."""
    first, still = run("a", HOPS), diff(run("a", HOPS), run("b", HOPS, times=1.2), "hop_ns")
    before = {"reference_ns": 10_000_000, "memory_reference_ns": 30_000_000}[reference]
    changes: dict[str, Any] = {reference: before * 5 // 4}
    changed = diff(first, run("b", HOPS, times=1.2, **changes), "hop_ns")
    slower, other = ("computing", "memory") if reference == "reference_ns" else ("memory", "computing")
    assert changed.machine == {slower: exactly(1.25), other: Interval(1.0, 1.0, 1.0, 7)}
    assert {each.verdict for each in changed.changes} == {Verdict.INCONCLUSIVE}
    wide, narrow = only(changed, "go", Q).ratio, only(still, "go", Q).ratio
    assert wide.estimate == narrow.estimate == near(1.2)
    assert narrow.low is not None
    assert wide.low == near(narrow.low / 1.25)
    assert wide.high == near(narrow.high)
    # A machine that became faster hides no improvement but a loss.
    faster: dict[str, Any] = {reference: before * 4 // 5}
    back = only(diff(first, run("b", HOPS, times=1.2, **faster), "hop_ns"), "go", Q)
    assert (back.ratio.low, back.verdict) == (near(narrow.low), Verdict.SLOWER)
    assert narrow.high is not None
    assert back.ratio.high == near(narrow.high * 1.25)


@pytest.mark.parametrize("without", [0, 1])
@pytest.mark.parametrize(
    ("lacking", "code", "obstacle"),
    [
        (("reference_ns", "memory_reference_ns"), "no-reference", Obstacle.NO_REFERENCE),
        (("memory_reference_ns",), "no-memory-reference", None),
    ],
)
def test_no_reference(without: int, lacking: tuple[str, ...], code: str, obstacle: Obstacle | None) -> None:
    """Without that of memory there are verdicts, and a word about it."""
    facts: list[dict[str, Any]] = [{}, {}]
    facts[without] = dict.fromkeys(lacking)
    changed = diff(run("a", HOPS, **facts[0]), run("b", HOPS, times=9.0, **facts[1]), "hop_ns")
    assert changed.machine == ({} if obstacle else {"computing": Interval(1.0, 1.0, 1.0, 7)})
    assert changed.diagnostics == (UNSEEN, Diagnostic(code))
    for change in changed.changes:
        assert change.obstacle is obstacle
        assert change.verdict is (Verdict.INCONCLUSIVE if obstacle else Verdict.SLOWER)
        assert change.ratio.estimate == near(9.0)
        assert change.ratio.low
        assert change.ratio.low < 9.0


def few(hops: Sequence[float | None], **rates: Sequence[float]) -> RunAnalysis:
    report = TrialOutcome("ok", reference_ns=10_000_000, memory_reference_ns=30_000_000)
    values: Values = {("erlang", P): {"hop_ns": hops, **rates}}
    return analysis(values, measurement=Compared(), reports={"erlang": report})


SEVEN, SLOW = few(scaled(100.0)), few(scaled(900.0))
SAME = few([5.0] * 7)
# One of seven failed: more than a tenth. In the other metric it did not.
GAP = few((*scaled(900.0)[:6], None), rate=scaled(5))


@pytest.mark.parametrize(
    ("first", "second", "obstacle"),
    [
        (few(scaled(100.0)[:3]), few(scaled(900.0)[:3]), Obstacle.TOO_FEW_BLOCKS),
        (few(scaled(100.0)[:4]), few(scaled(900.0)[:4]), None),
        # The reference of two blocks has no interval either.
        (SEVEN, few(scaled(900.0)[:2]), Obstacle.TOO_FEW_BLOCKS),
        (SAME, SAME, Obstacle.SAME_VALUES),
        (SEVEN, SLOW, None),
        (SEVEN, GAP, Obstacle.FAILED_BLOCKS),
        (GAP, SEVEN, Obstacle.FAILED_BLOCKS),
    ],
)
def test_obstacles_to_a_verdict(first: RunAnalysis, second: RunAnalysis, obstacle: Obstacle | None) -> None:
    second = with_figures(second, run=dataclasses.replace(second.run, id="other"))
    (change,) = diff(first, second, "hop_ns").changes
    assert change.obstacle is obstacle
    assert (change.verdict is Verdict.INCONCLUSIVE) == (obstacle is not None)


def test_cells_without_a_figure_in_either_run_are_left_out() -> None:
    failed = run("b", {("erlang", P): 100.0, ("go", Q): 400.0}, failed=[("erlang", Q), ("go", P)])
    changed = diff(run("a", HOPS), failed, "hop_ns")
    assert [each.cell for each in changed.changes] == [Cell("erlang", P), Cell("go", Q)]
    # A cell with figures, but not of this metric.
    values: Values = {("erlang", P): {"hop_ns": scaled(100)}, ("go", P): {"rate": scaled(5)}}
    report = TrialOutcome("ok", reference_ns=10_000_000)
    some = analysis(values, measurement=Compared(), reports={"erlang": report})
    assert [each.cell for each in diff(some, run("b", HOPS), "hop_ns").changes] == [Cell("erlang", P)]
    assert [each.cell for each in diff(run("b", HOPS), some, "hop_ns").changes] == [Cell("erlang", P)]


def test_a_figure_of_0_has_no_ratio() -> None:
    zero = run("b", {**HOPS, ("go", P): 0.0})
    cells = [each.cell for each in diff(run("a", HOPS), zero, "hop_ns").changes]
    assert cells == [Cell("erlang", P), Cell("erlang", Q), Cell("go", Q)]


def shares(*percents: float) -> list[RunAnalysis]:
    """Runs of which each cell takes so many percent longer."""
    return [run(f"r{each}", HOPS, times=1 + each / 100) for each in percents]


def test_of_several_runs_a_side_the_run_is_the_unit() -> None:
    """Runs that differ by 1 % show no change of 1 %, whatever their blocks; one of 10 % they do."""
    one = shares(0, 1, 2)
    same = diff(one, shares(1.1, 2.1, 3.1), "hop_ns", 0.02)
    assert {each.verdict for each in same.changes} == {Verdict.INCONCLUSIVE}
    slower = diff(one, shares(10, 11, 12), "hop_ns")
    assert {each.verdict for each in slower.changes} == {Verdict.SLOWER}
    change = only(slower, "erlang", P)
    assert (change.before.estimate, change.after.estimate) == (near(101), near(111))
    assert (change.ratio.n, change.ratio.estimate) == (6, near(1.11 / 1.01, rel=1e-4))
    # Student's t of four degrees of freedom, for four cells together, times the root of 2/3 of the variance.
    assert change.ratio.low == near(1.0990 * math.exp(-4.3147 * 0.00947 * math.sqrt(2 / 3)), rel=1e-3)
    assert slower.names == ("r0,r1,r2", "r10,r11,r12")
    assert slower.diagnostics == ()


def test_one_run_is_set_against_several() -> None:
    usual = shares(0, 1, 2, 0.5, 1.5)
    assert {each.verdict for each in diff(usual, shares(20), "hop_ns").changes} == {Verdict.SLOWER}
    assert {each.verdict for each in diff(usual, shares(3), "hop_ns").changes} == {Verdict.INCONCLUSIVE}


def test_a_change_of_the_machine_widens_intervals_of_several_runs() -> None:
    slow = [run(f"s{n}", HOPS, times=1.2 + n / 1000, reference_ns=12_500_000) for n in range(3)]
    changed = diff(shares(0, 0.1, 0.2), slow, "hop_ns")
    assert changed.machine["computing"].estimate == near(1.25)
    assert {each.verdict for each in changed.changes} == {Verdict.INCONCLUSIVE}
    none = run("none", HOPS, reference_ns=None, memory_reference_ns=None)
    without = diff([*shares(0, 0.1), none], slow, "hop_ns")
    assert {each.obstacle for each in without.changes} == {Obstacle.NO_REFERENCE}


def test_a_run_counts_once() -> None:
    with pytest.raises(UsageError, match="run r1 is named twice: compare it with another one"):
        diff(shares(0, 1), shares(1, 2))


def test_what_cannot_be_compared() -> None:
    first = run("a", HOPS)
    with pytest.raises(UsageError, match="a and b share no cell with figures"):
        diff(first, run("b", {("erlang", point(nodes=50)): 1.0}))
    with pytest.raises(UsageError, match="a and b share no cell with figures: `ringside show` names what"):
        diff(first, run("b", {("limit", P): 1.0}, failed=[("erlang", P)]))
    assert "no metric `x`" in error_of(UsageError, diff, first, run("b", HOPS), "x")

    class Other(Exact):
        name = "other"

    other = analysis({("erlang", P): {"hop_ns": scaled(1)}}, measurement=Other())
    message = "a is of the workload `exact`, run-1 of `other`: they cannot be compared"
    assert error_of(UsageError, diff, first, other) == message


@pytest.mark.parametrize("fact", MACHINE)
def test_another_machine(fact: str) -> None:
    other = run("b", HOPS, host={**HOST, fact: "another", "load_average": [9]})
    changed = diff(run("a", HOPS), other)
    assert changed.diagnostics == (UNSEEN, Diagnostic("other-machine", values={"facts": (fact,)}))


def test_contenders_of_only_one_run_are_named() -> None:
    first = run("a", {("erlang", P): 100.0, ("go", P): 200.0})
    second = run("b", {("erlang", P): 100.0, ("limit", P): 5.0}, reference_ns=None, memory_reference_ns=None)
    assert diff(first, second).diagnostics == (
        UNSEEN,
        Diagnostic("no-reference"),
        Diagnostic("one-sided", ("go", "limit")),
    )


def test_the_place_of_the_load_must_be_the_same() -> None:
    alone = run("a", HOPS)
    one, two = (
        with_figures(run(name, HOPS), experiment=dataclasses.replace(alone.experiment, engines=engines))
        for name, engines in (("b", 1), ("c", 2))
    )
    for first, place in (
        (alone, "a came from its own machine"),
        (two, "c came from 2 engines on other machines"),
    ):
        assert error_of(UsageError, diff, first, one) == (
            f"the load of {place} and that of b came from 1 engine on other machines: runs that are loaded "
            "from different places cannot be compared"
        )
