"""A run in sentences."""

from __future__ import annotations

import pytest

from ringside.analysis.run import RunAnalysis
from ringside.model.catalogue import ContenderClass
from ringside.model.design import Point
from ringside.render.sentences import answers, leaders
from tests.support.analyses import Exact, analyse, analysis, planned, point, scaled

P, Q, R = point(nodes=10), point(nodes=20), point(nodes=30)


def run(
    values: dict[str, float], *others: dict[str, float], metric: str = "hop_ns", floor: str | None = None
) -> RunAnalysis:
    """A run at as many points as there are figures of contenders."""
    figures = {
        (name, place): {metric: scaled(value)}
        for place, at in zip((P, Q, R), (values, *others), strict=False)
        for name, value in at.items()
    }
    return analysis(figures, measurement=Exact(), metrics=[metric], floor=floor)


def text(of: RunAnalysis) -> str:
    return ". ".join(sentence.text for sentence in answers(of))


def test_the_first_the_next_and_the_last() -> None:
    found = run({"erlang": 100.0, "go": 150.0, "pony": 800.0})
    assert text(found) == (
        "erlang is first: time per hop 100 ns (97–104). "
        "go takes 1.50 times (1.50–1.50) as long as erlang; "
        "pony takes 8.00 times (8.00–8.00) as long, the last of 3"
    )
    assert [sentence.kind for sentence in answers(found)] == ["faster", "quiet"]


@pytest.mark.parametrize(
    ("points", "answer"),
    [
        ([{"go": 100.0}], "go: time per hop 100 ns (97–104)"),
        # The floor is not first, and may be the baseline.
        (
            [{"erlang": 100.0, "go": 150.0, "limit": 8.0}],
            "erlang is first: time per hop 100 ns (97–104). "
            "go takes 1.50 times (1.50–1.50) as long as erlang",
        ),
        ([{"limit": 8.0, "erlang": 100.0}], "erlang: time per hop 100 ns (97–104)"),
        # The floor alone, everywhere, here, and elsewhere.
        (
            [{"limit": 8.0}, {"limit": 32.0}],
            "limit at nodes=20: time per hop 32.0 ns (31.0–33.3). "
            "Over both points: from 8.00 ns at nodes=10 to 32.0 ns at nodes=20",
        ),
        (
            [{"limit": 8.0, "go": 100.0}, {"limit": 8.0}],
            "limit at nodes=20: time per hop 8.00 ns (7.76–8.32). "
            "At 1 point of 2 another leads: at nodes=10 go",
        ),
        (
            [{"limit": 8.0}, {"limit": 8.0, "go": 100.0}],
            "go at nodes=20: time per hop 100 ns (97–104). It has no figure at the other point",
        ),
        # One contender at several points has the range of its figures.
        (
            [{"go": 300.0}, {"go": 100.0}, {"go": 200.0}],
            "go at nodes=30: time per hop 200 ns (194–208). "
            "Over all 3 points: from 100 ns at nodes=20 to 300 ns at nodes=10",
        ),
    ],
)
def test_answers_of_few_contenders(points: list[dict[str, float]], answer: str) -> None:
    assert text(run(*points, floor="limit")) == answer


def test_more_is_better() -> None:
    found = run({"erlang": 100.0, "go": 50.0}, metric="rate")
    assert "That is 2.00 times (2.00–2.00) go's" in text(found)


def test_a_place_that_is_shared() -> None:
    values: dict[tuple[str, Point], dict[str, list[float]]] = {
        ("erlang", P): {"hop_ns": list(scaled(100.0))},
        ("go", P): {"hop_ns": [value * change for value, change in zip(scaled(100.0), SWINGS, strict=True)]},
    }
    found = analysis(values, measurement=Exact())
    assert set(leaders(found, P)) == {"erlang", "go"}
    assert "erlang and go share the first place" in text(found) or "go and erlang share" in text(found)


SWINGS = (1.3, 0.7, 1.2, 0.8, 1.1, 0.9, 1.0)


def test_whether_the_same_leads_at_other_points() -> None:
    same = run({"erlang": 100.0, "go": 150.0}, {"erlang": 100.0, "go": 190.0})
    assert text(same).endswith("The same holds at both points")
    other = run({"erlang": 300.0, "go": 150.0}, {"erlang": 100.0, "go": 190.0})
    assert text(other).endswith("At 1 point of 2 another leads: at nodes=10 go")


def test_less_than_the_margin_is_said() -> None:
    assert "go takes 1.01 times (1.01–1.01) as long as erlang, less than the margin of 5 %" in text(
        run({"erlang": 100.0, "go": 101.0})
    )


@pytest.mark.parametrize("blocks", [1, 3])
def test_too_few_blocks_have_no_order(blocks: int) -> None:
    values = {(name, P): {"hop_ns": [value] * blocks} for name, value in (("erlang", 1.0), ("go", 2.0))}
    found = text(analysis(values, measurement=Exact()))
    assert "share the first place" in found or "no order is certain" in found


def test_nobody_has_figures() -> None:
    nothing: dict[str, list[float | None]] = {"hop_ns": [None] * 7}
    found = analysis({("erlang", P): nothing}, failed=[("go", P)], measurement=Exact())
    [sentence] = answers(found)
    assert (sentence.text, sentence.kind) == (
        "No contender has a figure (time per hop): the table of failures says why",
        "failed",
    )


def test_ratios_stay_inside_the_class_of_the_baseline() -> None:
    values = {
        (name, P): {"hop_ns": scaled(value)}
        for name, value in (("go", 100.0), ("rust", 150.0), ("erlang", 2.0), ("python", 300.0))
    }
    kinds: dict[str, ContenderClass] = {"erlang": "bare", "python": "bare"}
    found = analysis(values, measurement=Exact(), baseline="go", kinds=kinds)
    assert text(found) == (
        "go is first: time per hop 100 ns (97–104). rust takes 1.50 times (1.50–1.50) as long as go"
    )


def test_a_run_without_a_trial_has_no_failures_either() -> None:
    begun = analyse(planned(["go"], [P], ended=False), [], Exact())
    assert text(begun) == "No trial of this run has ended yet"
