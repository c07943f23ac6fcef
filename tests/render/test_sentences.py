from __future__ import annotations

import dataclasses

import pytest

from ringside.model.results import Comparison, Interval, Verdict
from ringside.render.sentences import at_point, comparison_sentence, overall, pair_sentence
from tests.analyses import HOP, NOISE, RATE, analysis, point, scaled

P, Q, R = point(nodes=10), point(nodes=20), point(nodes=40)


def comparison(verdict: Verdict, low: float | None = 1.55, high: float | None = 1.74) -> Comparison:
    return Comparison(P, "hop_ns", "go", "erlang", Interval(1.63, low, high, 7), verdict, 0.01)


@pytest.mark.parametrize(
    ("verdict", "kind", "end"),
    [
        (Verdict.FASTER, "faster", "faster"),
        (Verdict.SLOWER, "slower", "slower"),
        (Verdict.INDISTINGUISHABLE, "even", "indistinguishable"),
    ],
)
def test_a_comparison_of_times(verdict: Verdict, kind: str, end: str) -> None:
    sentence = comparison_sentence(comparison(verdict), HOP)
    assert sentence.text == f"go took 1.63× erlang's time per hop (1.55–1.74): {end}"
    assert sentence.kind == kind


def test_a_comparison_of_another_metric() -> None:
    sentence = comparison_sentence(comparison(Verdict.FASTER), RATE)
    assert sentence.text == "go's rate is 1.63× erlang's (1.55–1.74): faster"


def test_too_few_blocks_for_a_verdict() -> None:
    ratio = Interval(1.63, None, None, 2)
    few = dataclasses.replace(comparison(Verdict.TOO_FEW_BLOCKS), ratio=ratio)
    sentence = comparison_sentence(few, HOP)
    assert sentence.text == "go took 1.63× erlang's time per hop: too few blocks for a verdict (2 of 6)"
    assert sentence.kind == "quiet"


def test_the_best_comes_first_and_the_baseline_is_named() -> None:
    run = analysis(
        {("erlang", P): {"hop_ns": scaled(100)}, ("go", P): {"hop_ns": scaled(50)}, ("idle", P): {}},
    )
    texts = [sentence.text for sentence in at_point(run, HOP, P)]
    assert texts == [
        "go took 0.500× erlang's time per hop (0.500–0.500): faster",
        "erlang, the baseline: time per hop 100 ns (97–104)",
        "idle has no time per hop: no trial reported it",
    ]


def test_a_contender_that_failed_has_its_reason() -> None:
    run = analysis({("erlang", P): {"hop_ns": scaled(100)}}, failed=[("go", P)])
    last = at_point(run, HOP, P)[-1]
    assert last.text == "go has no time per hop: crashed: exit status 3"
    assert last.kind == "failed"


def test_a_figure_of_0_has_no_ratio() -> None:
    run = analysis({("erlang", P): {"hop_ns": scaled(100)}, ("go", P): {"hop_ns": [0.0] * 7}})
    assert at_point(run, HOP, P)[0].text == "go: time per hop 0 ns (0–0); 0 has no ratio"


def test_figures_in_different_blocks_have_no_ratio() -> None:
    run = analysis({("erlang", P): {"hop_ns": [100.0, None]}, ("go", P): {"hop_ns": [None, 50.0]}})
    assert at_point(run, HOP, P)[0].text == "go: time per hop 50.0 ns; erlang has none in the same blocks"
    pair = pair_sentence(run, HOP, "go", "erlang", P)
    assert pair.text == "No block measured the time per hop of both erlang and go"


def three_points(*ratios: float | None) -> list[str]:
    """What is shown over all points of a contender with these ratios at them."""
    values = {}
    for place, ratio in zip((P, Q, R), ratios, strict=True):
        values["erlang", place] = {"hop_ns": scaled(100)}
        values["go", place] = {"hop_ns": scaled(100 * ratio)} if ratio else {}
    return [sentence.text for sentence in overall(analysis(values), HOP)]


def test_the_same_verdict_at_all_points() -> None:
    assert three_points(2.0, 2.5, 3.0) == [
        "go is slower than erlang at all 3 points: 2.00× to 3.00× erlang's time per hop"
    ]
    assert three_points(2.0, 2.0, 2.0) == [
        "go is slower than erlang at all 3 points: 2.00× erlang's time per hop"
    ]


def test_points_without_a_figure_are_counted() -> None:
    assert three_points(2.0, None, 2.5) == [
        "go is slower than erlang at 2 points: 2.00× to 2.50× erlang's time per hop; 1 of 3 points without a "
        "figure"
    ]


def test_different_verdicts_are_counted() -> None:
    assert three_points(0.5, 2.0, 3.0) == [
        "go against erlang is faster at 1, slower at 2 of 3 points: 0.500× to 3.00× erlang's time per hop"
    ]


def test_no_verdict_at_any_point() -> None:
    few = {
        (name, place): {"hop_ns": [value, value]}
        for name, value in (("erlang", 100.0), ("go", 150.0))
        for place in (P, Q)
    }
    (sentence,) = overall(analysis(few), HOP)
    assert sentence.text == "go: 1.50× erlang's time per hop; too few blocks for a verdict"


def test_no_figure_at_any_point_has_the_commonest_reason() -> None:
    values = {("erlang", place): {"hop_ns": scaled(100)} for place in (P, Q)}
    (sentence,) = overall(analysis(values, failed=[("go", P), ("go", Q)]), HOP)
    assert sentence.text == "go cannot be compared with erlang: crashed: exit status 3"


def test_one_point_has_no_overall_sentence() -> None:
    assert overall(analysis({("erlang", P): {"hop_ns": NOISE}, ("go", P): {"hop_ns": NOISE}}), HOP) == []
