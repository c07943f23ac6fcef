"""Families: nothing is said of one that holds for one of its members only."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringside.analysis.answers import Influence
from ringside.analysis.families import FamilyStanding, answer, by_family
from ringside.analysis.run import RunAnalysis
from ringside.model.catalogue import ContenderClass, Question, QuestionFigure
from ringside.model.design import Cell
from ringside.model.results import Obstacle
from ringside.render.html.pictures import standing_picture
from ringside.render.text import families
from ringside.render.text.tables import first_table
from ringside.store.plans import PlannedContender, RunPlan
from tests.support.analyses import HOP, MEMORY, Repeated, analysis, medians, point, scaled, with_figures
from tests.support.cases import cases

HERE, THERE = point(cores=2), point(cores=1)
FAMILY = {
    "a1": "actors",
    "a2": "actors",
    "t1": "tasks",
    "t2": "tasks",
    "e1": "event-loop",
    "old": "",
    "b1": "tasks",
}
KINDS: dict[str, ContenderClass] = {"limit": "floor", "copy": "floor", "b1": "bare"}


def planned(names: Sequence[str]) -> dict[str, PlannedContender]:
    return {
        name: PlannedContender(title=name, kind=KINDS.get(name, "idiomatic"), family=FAMILY.get(name, ""))
        for name in names
    }


def run(values: Mapping[str, float], *, ended: bool = True, name: str = "example") -> RunAnalysis:
    """A run of seven blocks with these medians, each with its noise in another order."""
    cells = {
        (one, HERE): {"hop_ns": scaled(value)[shift:] + scaled(value)[:shift]}
        for shift, (one, value) in enumerate(values.items())
    }
    return analysis(cells, contenders=planned(list(values)), ended=ended, name=name)


def standing(values: Mapping[str, float], *, ended: bool = True) -> FamilyStanding:
    found = by_family(run(values, ended=ended), HOP, HERE)
    assert found is not None
    return found


def texts(of: FamilyStanding) -> str:
    return ". ".join(sentence.text for sentence in families.sentences(of))


@pytest.mark.parametrize(("values", "ended", "ahead", "text"), cases(__file__, "ahead_with_all_members"))
def test_a_family_is_ahead_with_all_of_its_members(
    values: Mapping[str, float], ended: bool, ahead: Sequence[tuple[str, str]], text: str
) -> None:
    of = standing(values, ended=ended)
    assert of.ahead == {*ahead}
    assert text in texts(of)


def test_what_else_may_have_decided_it_is_said() -> None:
    of = standing({"e1": 10, "t1": 100})
    assert not of.caveats
    noisy = Influence(("noisy-neighbour",))
    ranks = tuple(dataclasses.replace(it, influences=(noisy,)) for it in of.analysis.conclusion.standings)
    conclusion = dataclasses.replace(of.analysis.conclusion, standings=ranks)
    of = dataclasses.replace(of, analysis=with_figures(of.analysis, conclusion=conclusion))
    assert of.caveats
    assert texts(of) == (
        "e1 (event loops) has the best figure: 10.0 ns (9.7–10.4); not certain, since the machine was busy"
    )


def test_no_family_is_first_where_the_floor_is_worse() -> None:
    """In the metric that is shown, whether it is the headline or not."""
    of = standing({"e1": 10, "t1": 100, "limit": 50})
    assert of.caveats
    reserve = "; not certain, since the reference program is no better"
    assert texts(of) == f"e1 (event loops) has the best figure: 10.0 ns (9.7–10.4){reserve}"
    for floor, reason in ((5.0e6, reserve), (1.0e6, reserve), (0.5e6, "")):
        values = {
            (name, HERE): {"hop_ns": scaled(hop), "memory_bytes": scaled(memory)}
            for name, hop, memory in (("e1", 10, 1e6), ("t1", 100, 2e6), ("limit", 5, floor))
        }
        shown = analysis(
            values, contenders=planned(["e1", "t1", "limit"]), metrics=["hop_ns", "memory_bytes"]
        )
        found = by_family(shown, MEMORY, HERE)
        assert found is not None
        assert reason in texts(found)
        assert ("is first" in texts(found)) == (reason == "")
        headline = by_family(shown, HOP, HERE)
        assert headline is not None
        assert "e1 (event loops) is first" in texts(headline)


def test_who_reaches_no_steady_state_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    even = standing({"a1": 100, "a2": 100.1, "t1": 100.2, "t2": 99.9})
    assert not even.unsteady

    def obstacle(metric: str, cell: Cell) -> Obstacle | None:
        return Obstacle.NO_STEADY_STATE if (metric, cell) == ("hop_ns", Cell("a2", HERE)) else None

    monkeypatch.setattr(even.analysis.examination.observations, "obstacle", obstacle)
    assert even.unsteady == ("a2",)
    assert "; no verdict is possible about a2, whose repeats reach no steady state" in texts(even)


def test_the_floor_bare_programs_and_unknown_families_stand_apart() -> None:
    of = standing({"limit": 1, "copy": 1.1, "a1": 10, "old": 5, "t1": 100, "b1": 2})
    assert len(first_table(run({"a1": 10, "limit": 1}), HERE).rows) == 2
    notes = "; ".join(families.table(of).notes)
    assert "the runtime's own sockets (bare), so not ranked with the others: b1 2.00 ns" in notes
    assert (of.best, of.unknown) == ("a1", ("old",))
    assert by_family(run({"old": 5}), HOP, HERE) is None


def test_a_gain_is_a_ratio_of_pairs_without_an_order(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = medians(THERE, a1=100, t1=100) | medians(HERE, a1=50, t1=100)
    of = analysis(cells, contenders=planned(["a1", "t1"]), measurement=Repeated())
    gain = by_family(of, HOP, HERE, THERE)
    assert gain is not None
    assert (gain.values["a1"].estimate, gain.ahead) == (2.0, frozenset())
    assert texts(gain) == "1 to 2 times better than at cores=1; which program gains most is not tested"
    assert standing_picture(gain)["better"] == "right"
    # What is cold at one of the points is marked, and its gain is not quoted.
    assert not gain.cold
    monkeypatch.setattr(RunPlan, "repeats_of", lambda _, cell: 9 if cell == Cell("a1", THERE) else 10)
    assert (gain.cold, texts(gain)) == (("a1",), "1 times better than at cores=1")
    assert [*families.table(gain).notes] == ["Still warming up, or too few repeats to tell: a1"]


def test_programs_are_grouped_by_how_they_share_state_as_by_families() -> None:
    shared = {"a1": "lock", "t1": "lock", "a2": "owner", "e1": None}
    contenders = {name: replace(each, sharing=shared[name]) for name, each in planned(list(shared)).items()}
    values = medians(HERE, a1=10, t1=20, a2=100, e1=5)
    found = by_family(analysis(values, contenders=contenders), HOP, HERE, by="sharing")
    assert found is not None
    assert found.families == {"lock": ("a1", "t1"), "owner": ("a2",)}
    assert (found.best, found.unknown) == ("a1", ("e1",))
    rows = families.table(found).rows
    assert [str(row[0].text) for row in rows] == ["locks", "an owner"]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(1, 1000), min_size=5, max_size=5))
def test_no_order_of_families_contradicts_a_pair(medians: list[float]) -> None:
    of = standing(dict(zip(("a1", "a2", "t1", "t2", "e1"), medians, strict=True)))
    for one, other in of.ahead:
        assert min(len(of.families[one]), len(of.families[other])) > 1
        assert max(of.values[name].estimate for name in of.families[one]) < min(
            of.values[name].estimate for name in of.families[other]
        )
    picture = standing_picture(of)
    places = [row["place"] for row in picture["rows"]]
    assert all(0 <= place <= 1 for place in places)


def test_answers_come_from_the_last_run_of_an_experiment() -> None:
    figure = QuestionFigure(experiment="ring", metric="hop_ns", words="a message", at={"cores": 2})
    question = Question(name="message", text="What does a message cost?", figures=(figure,))
    older, newer = run({"a1": 10, "t1": 100}, name="ring"), run({"a1": 100, "t1": 10}, name="ring")
    (answered,) = answer([question], [older, newer])
    (part,) = answered.parts
    assert part.standing.best == "t1"
    others = [
        msgspec.structs.replace(figure, experiment="other"),
        msgspec.structs.replace(figure, metric="late_s"),
        msgspec.structs.replace(figure, at={"cores": 3}),
        msgspec.structs.replace(figure, over={"cores": 1}),
    ]
    (unanswered,) = answer([msgspec.structs.replace(question, figures=tuple(others))], [newer])
    assert not unanswered.is_measured


def test_an_axis_of_figures_that_are_nothing() -> None:
    of = standing({"a1": 10, "t1": 100})
    nothing = dataclasses.replace(
        of, values={**of.values, "a1": dataclasses.replace(of.values["a1"], estimate=0.0)}
    )
    assert [row["place"] for row in standing_picture(nothing)["rows"]] == [0.037, 0.9274]
