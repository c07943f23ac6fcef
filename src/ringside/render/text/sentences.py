"""Comparisons in sentences that can be quoted, for experiments, `vs` and `load --vs` alike."""

from __future__ import annotations

from ringside import units
from ringside.analysis.examination import BLOCKS_FOR_VERDICT
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric, Point
from ringside.model.results import Comparison, Obstacle, Verdict
from ringside.render.text.words import (
    OBSTACLES,
    OVERSTATED,
    Sentence,
    possessive,
    verdict_kind,
    verdict_word,
)


def comparison_sentence(comparison: Comparison, metric: Metric) -> Sentence:
    """`B was 1.45 times faster than A in wall time (1.42–1.47)`, `B took 2.50× A's wall time (2.20–2.90):
    slower`: with one figure."""
    contender, baseline, ratio = comparison.contender, comparison.baseline, comparison.ratio
    word, noun = verdict_word(comparison.verdict, metric), f"{'mean ' * bool(comparison.modes)}{metric.noun}"
    above_1 = ratio if ratio.estimate > 1 else ratio.inverse
    is_plain = above_1 is ratio and not units.is_small_excess(ratio)
    if comparison.verdict in (Verdict.FASTER, Verdict.SLOWER) and metric.is_time and not is_plain:
        size, ends = units.excess(above_1)
        text = f"{contender} was {size} {word} than {baseline} in {noun}"
        text += f" ({ends})" if ends else ""
    else:
        size, ends = units.ratio_parts(ratio)
        text = f"{contender} {'took' if metric.is_time else 'has'} {size}× {possessive(baseline)} {noun}"
        text += f" ({ends}): {word}" if ends else f": {word}"
    for name, modes in comparison.modes.items():
        low, high = (units.quantity(mode, metric.unit) for mode in modes)
        text += f"; {name} has two modes, {low} and {high}"
    if comparison.contradicted:
        text += "; earlier blocks had shown otherwise"
    text += OVERSTATED if comparison.overstated else ""
    if comparison.verdict is Verdict.INCONCLUSIVE and (why := _why(comparison)):
        text += f", {why}"
    return Sentence(text, verdict_kind(comparison.verdict, "quiet"))


def _why(comparison: Comparison) -> str:
    """Why a comparison is inconclusive, and what would decide it."""
    if comparison.obstacle is Obstacle.TOO_FEW_BLOCKS:
        # A run that may end early has wider intervals, which six blocks cannot give.
        least = max(BLOCKS_FOR_VERDICT, comparison.ratio.n + 1)
        return f"too few blocks ({comparison.ratio.n} of {least})"
    if comparison.obstacle:
        return OBSTACLES[comparison.obstacle]
    if comparison.blocks_needed:
        return f"about {comparison.blocks_needed:,} blocks would decide it"
    low, high = comparison.ratio.low, comparison.ratio.high
    excludes_1 = (low is not None and low > 1) or (high is not None and high < 1)
    return "the difference may still be chance" if excludes_1 and not comparison.modes else ""


def pair_sentence(
    analysis: RunAnalysis, metric: Metric, contender: str, baseline: str, point: Point
) -> Sentence:
    """A pair at a point, or that it cannot be compared there."""
    comparison = analysis.comparison(metric, contender, baseline, point)
    if comparison:
        return comparison_sentence(comparison, metric)
    return Sentence(f"No block measured the {metric.noun} of both {baseline} and {contender}")
