"""Sentences about comparisons: whoever changes one reads here what comes of it."""

import dataclasses
from collections.abc import Iterator
from typing import Any, get_args

from ringside.model.design import Metric, Unit
from ringside.model.results import Comparison, Interval, LookVerdict, Obstacle, Verdict
from ringside.render.text.answers import comparison_sentence, pair_sentence
from ringside.render.text.changes import contender_changes, diff_answer
from ringside.render.text.words import verdict_word
from tests.render.text.test_changes import CHANGED, COMPARED
from tests.support import golden
from tests.support.analyses import CPU, HOP, MEMORY, RATE, analysis, point, scaled

P = point(nodes=10)
LOOKS: tuple[LookVerdict, ...] = ("different", "equivalent")
# Times read as times or percentages; an interval that excludes 1 may still be chance.
RATIOS = (
    (Verdict.FASTER, Interval(0.0287, 0.0244, 0.0357, 7)),
    (Verdict.SLOWER, Interval(1.05, 1.03, 1.07, 7)),
    (Verdict.FASTER, Interval(1 / 1.05, 1 / 1.07, 1 / 1.03, 7)),
    (Verdict.SLOWER, Interval(1.0005, 1.0003, 1.0007, 7)),
    (Verdict.INCONCLUSIVE, Interval(1.02, 0.9, 1.1, 7)),
    (Verdict.INCONCLUSIVE, Interval(0.9, 0.85, 0.95, 7)),
)


def comparison(verdict: Verdict, **changes: Any) -> Comparison:
    made = Comparison(P, "hop_ns", "go", "erlang", Interval(1.63, 1.55, 1.74, 7), verdict, 0.01)
    return dataclasses.replace(made, **changes)


def comparisons() -> Iterator[tuple[Comparison, Metric]]:
    yield from ((comparison(verdict), metric) for metric in (HOP, CPU, RATE, MEMORY) for verdict in Verdict)
    yield from ((comparison(Verdict.INCONCLUSIVE, obstacle=each), HOP) for each in Obstacle)
    for verdict in (Verdict.SLOWER, Verdict.INCONCLUSIVE):
        yield from ((comparison(verdict, contradicted=look), HOP) for look in LOOKS)
    yield from ((comparison(verdict, ratio=ratio), HOP) for verdict, ratio in RATIOS)
    few = Interval(1.63, None, None, 2)
    yield comparison(Verdict.INCONCLUSIVE, ratio=few, obstacle=Obstacle.TOO_FEW_BLOCKS), HOP
    yield comparison(Verdict.INCONCLUSIVE, ratio=RATIOS[4][1], blocks_needed=1234), HOP


def words() -> Iterator[str]:
    """`faster` means better; where more is better, that is the larger one."""
    for unit in get_args(Unit):
        for is_cost in (True, False):
            metric = Metric("x", unit, "X", "what x is", smaller_is_better=is_cost)
            verdicts = ", ".join(f"{verdict}: {verdict_word(verdict, metric)}" for verdict in Verdict)
            yield f"{unit or 'plain'}, {'less' if is_cost else 'more'} is better: {verdicts}"


def test_sentences_read_as_they_did() -> None:
    made = ["# Comparisons"]
    sentences = [comparison_sentence(*each, 0.05) for each in comparisons()]
    made += [f"{each.text} ({each.kind})" for each in sentences]
    made.append("# At one point")
    # Ratios of 0, of no block together, and of one half; `idle` has no figure.
    for erlang, go in ((scaled(100), [0.0] * 7), ([100.0, None], [None, 50.0]), (scaled(100), scaled(50))):
        run = analysis({("erlang", P): {"hop_ns": erlang}, ("go", P): {"hop_ns": go}, ("idle", P): {}})
        pair = pair_sentence(run, HOP, "go", "erlang", P)
        made.append(f"{pair.text} ({pair.kind})")
    made.append("# Between two runs")
    made += [diff_answer(both).text for both in COMPARED]
    made += [*contender_changes(CHANGED), *contender_changes(COMPARED[0])]
    made += ["# Verdicts in the words of a metric", *words()]
    golden.check("sentences.txt", "\n".join(made) + "\n")
