"""Other possible causes of an order than the programs: each condition by planted figures, on both of its
sides. The sentences are in tests/render/text/test_answers.py."""

import dataclasses
from collections.abc import Mapping, Sequence
from operator import mul
from typing import Any

import pytest

from ringside.analysis.answers import FirstPlace
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Input, Point
from ringside.model.results import Obstacle, Trial, Verdict
from ringside.probe.protocol import CpuUse, EngineWarning, Evidence, LoadMessage, Pressure, TrialOutcome
from ringside.render.text.answers import answers, point_answer
from ringside.render.text.diagnostics import words
from ringside.render.text.tables import first_table, point_table
from ringside.workloads.base import Measurement, Workload
from tests.support.analyses import Exact, Repeated, analyse, analysis, planned, point, scaled
from tests.support.cases import cases

P, Q = point(nodes=10), point(nodes=20)


def run(*points: Mapping[str, float], measurement: Measurement | None = None, **options: Any) -> RunAnalysis:
    values = {
        (name, place): {"hop_ns": scaled(value)}
        for place, at in zip((P, Q), points, strict=False)
        for name, value in at.items()
    }
    return analysis(values, measurement=measurement or Exact(), **options)


def check(of: RunAnalysis, code: str, reason: str, *, is_excluded: bool = False) -> None:
    """Whether `erlang` is first, or only has the best figure, for that reason: the answer has a
    cause for it, and a warning says it."""
    here, opening = of.conclusion.here, answers(of)[0].text
    assert (here.first_place, here.first) == (FirstPlace.FIRST, ("erlang",))
    assert [each.codes for each in here.influences] == ([] if is_excluded else [(code,)])
    warnings = {each.code: words(each)[0] for each in of.diagnostics}
    reserve = opening.partition("; not certain, since ")[2]
    assert opening.startswith("erlang is fastest: ")
    assert bool(reserve) != is_excluded
    assert is_excluded or any(reason in warnings[code] for each in here.influences for code in each.codes)


class Served(Exact):
    """One whose load engine was the bottleneck with `bound`."""

    def __init__(self, *bound: str) -> None:
        self.bound = bound

    def decisive_loads(self, trial: Trial) -> Sequence[LoadMessage]:
        warnings = (EngineWarning("generator-bound", "busy", "more threads"),)
        return [LoadMessage(step="measured", name="all", warnings=warnings)] * (
            trial.cell.contender in self.bound
        )


@pytest.mark.parametrize(("bound", "reason"), [("erlang", "erlang"), ("go", "go"), ("ruby", "")])
def test_the_load_engine_at_its_limit(bound: str, reason: str) -> None:
    """With the first or the next behind; with those further behind it decides nothing of the first place."""
    reports = {name: TrialOutcome("ok") for name in ("erlang", "go", "ruby")}
    of = run({"erlang": 100.0, "go": 150.0, "ruby": 900.0}, measurement=Served(bound), reports=reports)
    check(
        of,
        "generator-bound",
        f"the load engine was at its limit, so the server may be faster: {reason}",
        is_excluded=not reason,
    )


WAITING = TrialOutcome("ok", wall_ns=10**10, pressure=Pressure(io_ns=3 * 10**9))
STOLEN = TrialOutcome("ok", wall_ns=10**10, cpus=(CpuUse(0, 7 * 10**9, 0, 3 * 10**9),), cpu_user_ns=7 * 10**9)
SHARED = TrialOutcome("ok", wall_ns=10**10, cpus=(CpuUse(0, 10**10, 0, 0),), cpu_user_ns=7 * 10**9)


@pytest.mark.parametrize(
    ("report", "reason"), [(WAITING, "I/O pressure (PSI): 30 %"), (STOLEN, "30 %"), (SHARED, "30 %")]
)
@pytest.mark.parametrize(("times", "is_excluded"), [(1.4, False), (1.45, True)])
def test_the_host(report: TrialOutcome, reason: str, times: float, *, is_excluded: bool) -> None:
    """Without three tenths of its time the next would be 0.98 or 1.015 times as slow."""
    of = run({"erlang": 100.0, "go": 100 * times}, reports=dict.fromkeys(("erlang", "go"), report))
    check(of, "noisy-neighbour", reason, is_excluded=is_excluded)


def repeating(levels: Sequence[int]) -> RunAnalysis:
    """Two whose trials repeat their work, `go` with these times."""
    trials = []
    for each in run({"erlang": 100.0, "go": 900.0}).trials:
        relay = tuple(levels) if each.cell.contender == "go" else (100,) * 12
        trials.append(dataclasses.replace(each, phases={**each.phases, "relay": relay}))
    return analyse(planned(["erlang", "go"], [P]), trials, Repeated())


def test_repeats_that_show_no_steady_state() -> None:
    """If too few get faster, as if they continued so. If many show none, there is no verdict at all."""
    check(repeating([90_000, 1800, 900]), "not-warm", "may not be warm: go")
    check(repeating([900] * 3), "not-warm", "may not be warm", is_excluded=True)
    check(repeating([900] * 12), "not-warm", "may not be warm", is_excluded=True)


def falling(**first: float) -> RunAnalysis:
    """Programs whose repeats begin with these times in ns; those above 1000 get a tenth faster with each."""
    trials = []
    for each in run(first).trials:
        name = each.cell.contender
        relay = tuple(round(1000 * first[name] * 0.9 ** (at * (first[name] > 1000))) for at in range(12))
        trials.append(dataclasses.replace(each, phases={**each.phases, "relay": relay}))
    return analyse(planned(list(first), [P]), trials, Repeated())


def test_who_still_warms_up_is_marked_and_not_ranked() -> None:
    """Behind those in a steady state; one that is ahead of them in spite of it is shown to be ahead."""
    of = falling(erlang=100.0, go=150.0, zio=9000.0)
    assert [each.text for each in answers(of)] == [
        "erlang is fastest: time per hop 100 µs (100–100)",
        "go takes 1.50 times as long as erlang (1.50–1.50)",
        "Still warming up, and not ranked: zio",
    ]
    below = "erlang is fastest: go takes 1.50 times as long (1.50–1.50)"
    assert point_answer(of, of.conclusion.here, below_table=True)[0].text == below
    comparison = of.comparison(of.headline, "zio", "erlang", P)
    assert (comparison.verdict, comparison.obstacle) == (Verdict.INCONCLUSIVE, Obstacle.WARMING_UP)
    marks = {row[0].text: [cell.text for cell in row] for row in point_table(of, P).rows}
    assert marks["zio"].count("warming up") == 1
    assert "Still warming up, so slower here than they would be: zio." in point_table(of, P).notes
    ahead = falling(erlang=900.0, go=950.0, zio=1001.0)
    comparison = ahead.comparison(ahead.headline, "zio", "erlang", P)
    assert comparison.verdict is Verdict.FASTER
    assert "Still warming up, and not ranked: zio" in [each.text for each in answers(ahead)]
    distances = {row[0].text: row[-1].text for row in first_table(ahead, P).rows}
    assert ["at least" in distances[name] for name in ("zio", "go")] == [True, False]


def test_where_all_others_still_warm_up_none_is_first() -> None:
    alone = answers(falling(erlang=100.0, zio=9000.0))
    assert alone[0].text.startswith("erlang is the only program in a steady state: ")
    both = falling(pekko=8000.0, zio=9000.0)
    assert both.conclusion.here.first_place is FirstPlace.BARRED
    assert both.conclusion.here.cold == ()


class Sized(Exact, Workload):
    """A workload whose work grows with `nodes`."""

    factors = ()

    def work(self, point: Point) -> int:
        return int(point["nodes"])

    def arguments(self, point: Point) -> dict[str, str]:
        raise NotImplementedError

    def evidence(self, point: Point, seed: int, input: Input | None) -> Evidence:
        raise NotImplementedError

    def output_bytes(self, point: Point) -> int:
        raise NotImplementedError


@pytest.mark.parametrize(("more", "is_excluded"), cases(__file__, "less_time_where_there_is_more"))
def test_a_unit_of_work_that_takes_less_time_where_there_is_more(more: float, *, is_excluded: bool) -> None:
    of = run({"erlang": 100.0, "go": 199.0}, {"erlang": 100.0, "go": more}, measurement=Sized())
    here = next(each for each in of.conclusion.standings if each.point == P)
    assert [each.codes for each in here.influences] == ([] if is_excluded else [("not-warm",)])


def test_a_figure_that_no_honest_program_can_have() -> None:
    check(run({"erlang": 0.1, "go": 150.0}), "below-a-cycle", "below one cycle")
    check(run({"erlang": 1.0, "go": 150.0}), "below-a-cycle", "below one cycle", is_excluded=True)


class Half(Exact):
    def __init__(self, own: float) -> None:
        self.own = own

    def program_share(self, headline: str, point: Point, figures: Mapping[str, float]) -> tuple[float, str]:
        assert (headline, set(figures)) == ("hop_ns", {"hop_ns"})
        return self.own, "the rest is waiting"


@pytest.mark.parametrize(("times", "is_excluded"), [(1.9, False), (2.1, True)])
def test_what_is_not_the_programs_matters_where_it_could_decide(times: float, *, is_excluded: bool) -> None:
    of = run({"erlang": 100.0, "go": 100 * times}, measurement=Half(0.5))
    reason = "much of a figure is not the program's: go: the rest is waiting"
    check(of, "waiting", reason, is_excluded=is_excluded)


@pytest.mark.parametrize(("own", "codes"), [(0.49, [("waiting",)]), (0.5, [])])
def test_half_of_an_equivalent_figure_is_to_be_the_programs(own: float, codes: list[tuple[str]]) -> None:
    alike = (1.01, 0.99, 1.005, 0.995, 1.01, 0.99, 1.0)
    values = {
        ("erlang", P): {"hop_ns": scaled(1.0)},
        ("go", P): {"hop_ns": tuple(map(mul, scaled(1.0), alike))},
    }
    here = analysis(values, measurement=Half(own)).conclusion.here
    assert here.first_place is FirstPlace.SHARED
    assert [each.codes for each in here.influences] == codes
