from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest

from ringside.model.design import Metric, Point, Unit
from ringside.model.results import Comparison, Interval, LookVerdict, Obstacle, Verdict
from ringside.render.text.sentences import at_point, comparison_sentence, overall, pair_sentence
from ringside.render.text.words import verdict_word
from tests.support.analyses import CPU, HOP, MEMORY, NOISE, RATE, Values, analysis, point, scaled

P, Q, R = point(nodes=10), point(nodes=20), point(nodes=40)


def comparison(verdict: Verdict, **changes: Any) -> Comparison:
    made = Comparison(P, "hop_ns", "go", "erlang", Interval(1.63, 1.55, 1.74, 7), verdict, 0.01)
    return dataclasses.replace(made, **changes)


def test_an_inconclusive_one_says_why_where_that_is_known() -> None:
    wide = comparison(Verdict.INCONCLUSIVE, ratio=Interval(1.02, 0.9, 1.1, 7))
    assert comparison_sentence(wide, HOP).text.endswith("(0.90–1.10): inconclusive")
    needed = dataclasses.replace(wide, blocks_needed=1234)
    assert comparison_sentence(needed, HOP).text.endswith("inconclusive, about 1,234 blocks would decide it")
    few = comparison(
        Verdict.INCONCLUSIVE, ratio=Interval(1.63, None, None, 2), obstacle=Obstacle.TOO_FEW_BLOCKS
    )
    assert comparison_sentence(few, HOP).text.endswith("time per hop: inconclusive, too few blocks (2 of 6)")
    below = comparison(Verdict.INCONCLUSIVE, ratio=Interval(0.9, 0.85, 0.95, 7))
    assert comparison_sentence(below, HOP).text.endswith("which among so many comparisons may be chance")


@pytest.mark.parametrize(("shown", "text"), [("different", "a difference"), ("equivalent", "equivalence")])
def test_what_contradicts_an_earlier_look_says_so(shown: LookVerdict, text: str) -> None:
    for verdict, kind in ((Verdict.SLOWER, "slower"), (Verdict.INCONCLUSIVE, "quiet")):
        sentence = comparison_sentence(comparison(verdict, contradicted=shown), HOP)
        assert f": {verdict}, which contradicts an earlier look that had shown {text}" in sentence.text
        assert sentence.kind == kind


@pytest.mark.parametrize(
    ("ratio", "verdict", "text"),
    [
        (Interval(0.0287, 0.0244, 0.0357, 7), Verdict.FASTER, "(0.0244–0.0357): 35 times faster (28–41)"),
        (Interval(1.05, 1.03, 1.07, 7), Verdict.SLOWER, "(1.03–1.07): 5 % slower (3–7 %)"),
        (Interval(1 / 1.05, 1 / 1.07, 1 / 1.03, 7), Verdict.FASTER, "(0.935–0.971): 5 % faster (3–7 %)"),
        (Interval(1.0005, 1.0003, 1.0007, 7), Verdict.SLOWER, "(1.0003–1.0007): 0.05 % slower (0.03–0.07 %)"),
        (Interval(1.63, 1.55, 1.74, 7), Verdict.SLOWER, "(1.55–1.74): slower"),
    ],
)
def test_times_read_as_times_or_percentages(ratio: Interval, verdict: Verdict, text: str) -> None:
    assert comparison_sentence(comparison(verdict, ratio=ratio), HOP).text.endswith(text)


@pytest.mark.parametrize(
    ("metric", "verdict", "text"),
    [
        (HOP, Verdict.FASTER, "go took 1.63× erlang's time per hop (1.55–1.74): faster"),
        (CPU, Verdict.SLOWER, "go took 1.63× erlang's CPU time (1.55–1.74): slower"),
        (RATE, Verdict.FASTER, "go has 1.63× erlang's rate (1.55–1.74): higher"),
        (RATE, Verdict.SLOWER, "go has 1.63× erlang's rate (1.55–1.74): lower"),
        (MEMORY, Verdict.SLOWER, "go has 1.63× erlang's memory (1.55–1.74): more"),
        (MEMORY, Verdict.EQUIVALENT, "go has 1.63× erlang's memory (1.55–1.74): equivalent"),
    ],
)
def test_words_suit_the_metric(metric: Metric, verdict: Verdict, text: str) -> None:
    """The colour still says which is better."""
    sentence = comparison_sentence(comparison(verdict), metric)
    assert sentence.text == text
    assert sentence.kind == ("even" if verdict is Verdict.EQUIVALENT else str(verdict))


WHY = {
    Obstacle.TOO_FEW_BLOCKS: "too few blocks (7 of 8)",
    Obstacle.FAILED_BLOCKS: "since more than 10 % of the blocks failed",
    Obstacle.SAME_VALUES: "since both had the same value in every block",
    Obstacle.NO_STEADY_STATE: "since there is no steady state",
    Obstacle.UNFINISHED: "since the run is not finished",
    Obstacle.NO_REFERENCE: "since the change of the machine is not known",
}


@pytest.mark.parametrize("obstacle", Obstacle)
def test_what_stands_in_the_way_of_a_verdict(obstacle: Obstacle) -> None:
    made = comparison(Verdict.INCONCLUSIVE, obstacle=obstacle)
    sentence = comparison_sentence(made, HOP)
    assert sentence.text.endswith(f"erlang's time per hop (1.55–1.74): inconclusive, {WHY[obstacle]}")
    assert sentence.kind == "quiet"


@pytest.mark.parametrize(
    ("erlang", "go", "text"),
    [
        (scaled(100), [0.0] * 7, "go: time per hop 0 ns (0–0); 0 has no ratio"),
        ([100.0, None], [None, 50.0], "go: time per hop 50.0 ns; erlang has none in the same blocks"),
        (scaled(100), scaled(50), "go took 0.500× erlang's time per hop (0.500–0.500): 2.00 times faster"),
    ],
)
def test_the_best_comes_first(erlang: Values, go: Values, text: str) -> None:
    run = analysis({("erlang", P): {"hop_ns": erlang}, ("go", P): {"hop_ns": go}, ("idle", P): {}})
    best, baseline, idle = (sentence.text for sentence in at_point(run, HOP, P))
    assert best.startswith(text)
    assert baseline.startswith("erlang, the baseline: time per hop 100 ns")
    assert idle == "idle has no time per hop: no trial reported it"


def test_figures_in_different_blocks_have_no_ratio() -> None:
    run = analysis({("erlang", P): {"hop_ns": [100.0, None]}, ("go", P): {"hop_ns": [None, 50.0]}})
    pair = pair_sentence(run, HOP, "go", "erlang", P)
    assert pair.text == "No block measured the time per hop of both erlang and go"


@pytest.mark.parametrize(
    ("ratios", "text"),
    [
        ((2.0, 2.5, 3.0), "go is slower than erlang at all 3 points: 2.00× to 3.00×"),
        ((2.0, 2.0, 2.0), "go is slower than erlang at all 3 points: 2.00×"),
        ((0.995, 1.0, 1.005), "go is equivalent to erlang at all 3 points: 0.995× to 1.00×"),
        (
            (0.5, 2.0, 1.001),
            "go against erlang is faster at 1, slower at 1, equivalent at 1 of 3 points: 0.500× to 2.00×",
        ),
        ((2.0, None, 2.5), "go is slower than erlang at 2 points: 2.00× to 2.50×"),
    ],
)
def test_the_verdicts_at_all_points(ratios: Sequence[float | None], text: str) -> None:
    """Around 1 the ratios vary; points without a figure are counted."""
    values: dict[tuple[str, Point], dict[str, Values]] = {}
    for place, ratio in zip((P, Q, R), ratios, strict=True):
        values["erlang", place] = {"hop_ns": scaled(100)}
        values["go", place] = {"hop_ns": scaled(100 * ratio)} if ratio else {}
        if ratio and abs(ratio - 1) < 0.1:
            shares = (1.02, 0.98, 0.99, 1.0, 1.01, 1.015, 0.985)
            values["go", place] = {
                "hop_ns": [100 * ratio * one * other for one, other in zip(NOISE, shares, strict=True)]
            }
    missing = "; 1 of 3 points without a figure" if None in ratios else ""
    (sentence,) = overall(analysis(values), HOP)
    assert sentence.text == f"{text} erlang's time per hop{missing}"


def test_the_commonest_verdict_does_not_hide_the_others() -> None:
    values: dict[tuple[str, Point], dict[str, Values]] = {}
    for place, ratios in ((P, [2.0] * 7), (Q, [2.0, 2.0]), (R, [2.0, 2.0])):
        values["erlang", place] = {"hop_ns": scaled(100)}
        values["go", place] = {"hop_ns": [100.0 * ratio for ratio in ratios]}
    (sentence,) = overall(analysis(values), HOP)
    assert sentence.text.startswith("go against erlang is slower at 1, inconclusive at 2 of 3 points: ")


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        ("rate", "go's rate is lower than erlang's at both points: 0.500× erlang's rate"),
        ("memory_bytes", "go's memory is less than erlang's at both points: 0.500× erlang's memory"),
    ],
)
def test_words_over_all_points_suit_the_metric(metric: str, text: str) -> None:
    values = {
        (name, place): {metric: scaled(value)}
        for name, value in (("erlang", 100.0), ("go", 50.0))
        for place in (P, Q)
    }
    run = analysis(values, metrics=[metric])
    assert [sentence.text for sentence in overall(run, run.headline)] == [text]


def test_no_figure_at_any_point_has_the_commonest_reason() -> None:
    values = {("erlang", place): {"hop_ns": scaled(100)} for place in (P, Q)}
    (sentence,) = overall(analysis(values, failed=[("go", P), ("go", Q)]), HOP)
    assert sentence.text == "go cannot be compared with erlang: crashed: exit status 3"


@pytest.mark.parametrize(
    ("unit", "smaller", "larger"),
    [
        ("ns", "faster", "slower"),
        ("s", "faster", "slower"),
        ("B", "less", "more"),
        ("/s", "lower", "higher"),
        ("%", "lower", "higher"),
        ("", "lower", "higher"),
    ],
)
def test_verdicts_in_the_words_of_a_metric(unit: Unit, smaller: str, larger: str) -> None:
    """`faster` means better; where more is better, that is the larger one."""
    cost = Metric("x", unit, "X", "what x is")
    gain = Metric("x", unit, "X", "what x is", smaller_is_better=False)
    words = [verdict_word(verdict, cost) for verdict in (Verdict.FASTER, Verdict.SLOWER)]
    assert words == [smaller, larger]
    words = [verdict_word(verdict, gain) for verdict in (Verdict.FASTER, Verdict.SLOWER)]
    assert words == [larger, smaller]
    for metric in (cost, gain):
        assert verdict_word(Verdict.EQUIVALENT, metric) == "equivalent"
        assert verdict_word(Verdict.INCONCLUSIVE, metric) == "inconclusive"
