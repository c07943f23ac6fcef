"""A run in sentences that can be quoted: its answer (who is first, by how much, and whether that is so
everywhere), and each comparison, for experiments, `vs` and `load --vs` alike."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ringside import units
from ringside.analysis.comparisons import BLOCKS_FOR_VERDICT
from ringside.analysis.examination import MAX_FAILED_SHARE
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric, Point
from ringside.model.results import Comparison, Obstacle, Verdict

_TIMES = ("ns", "s")
_OBSTACLES = {
    Obstacle.FAILED_BLOCKS: f"since more than {units.percent(MAX_FAILED_SHARE)} of the blocks failed",
    Obstacle.SAME_VALUES: "since both had the same value in every block",
    Obstacle.NO_STEADY_STATE: "since there is no steady state",
    Obstacle.UNFINISHED: "since the run is not finished",
    Obstacle.NO_REFERENCE: "since the change of the machine is not known",
}
_SHOWN = {"different": "a difference", "equivalent": "equivalence"}


@dataclass(frozen=True, slots=True)
class Sentence:
    """`kind`: faster, slower, even, failed, or quiet where there is no verdict."""

    text: str
    kind: str


def comparison_sentence(comparison: Comparison, metric: Metric) -> Sentence:
    """`B took 0.690× A's wall time (0.681–0.702): faster`."""
    times, ends = units.ratio_parts(comparison.ratio)
    contender, baseline = comparison.contender, comparison.baseline
    verb = "took" if metric.unit in _TIMES else "has"
    text = f"{contender} {verb} {times}× {possessive(baseline)} {metric.noun}"
    text += f" ({ends})" if ends else ""
    text += f": {units.verdict_word(comparison.verdict, metric)}"
    if comparison.contradicted:
        text += f", which contradicts an earlier look that had shown {_SHOWN[comparison.contradicted]}"
    if comparison.verdict is Verdict.INCONCLUSIVE:
        why = _why(comparison)
        return Sentence(f"{text}, {why}" if why else text, "quiet")
    return Sentence(text, units.kind(comparison.verdict))


def possessive(name: str) -> str:
    """`go's`, `python-processes'`."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def _why(comparison: Comparison) -> str:
    """Why a comparison is inconclusive, and what would decide it."""
    if comparison.obstacle is Obstacle.TOO_FEW_BLOCKS:
        # A run that may end early has wider intervals, which six blocks cannot give.
        least = max(BLOCKS_FOR_VERDICT, comparison.ratio.n + 1)
        return f"too few blocks ({comparison.ratio.n} of {least})"
    if comparison.obstacle:
        return _OBSTACLES[comparison.obstacle]
    if comparison.blocks_needed:
        return f"about {comparison.blocks_needed:,} blocks would decide it"
    low, high = comparison.ratio.low, comparison.ratio.high
    excludes_1 = (low is not None and low > 1) or (high is not None and high < 1)
    return "which among so many comparisons may be chance" if excludes_1 else ""


def pair_sentence(
    analysis: RunAnalysis, metric: Metric, contender: str, baseline: str, point: Point
) -> Sentence:
    """A pair at a point, or that it cannot be compared there."""
    comparison = analysis.comparison(metric, contender, baseline, point)
    if comparison:
        return comparison_sentence(comparison, metric)
    return Sentence(f"No block measured the {metric.noun} of both {baseline} and {contender}", "quiet")


def at_point(analysis: RunAnalysis, metric: Metric, point: Point) -> list[Sentence]:
    """A sentence for each contender, the best median first."""
    return [
        _contender_sentence(analysis, metric, point, name)
        for name in analysis.rankings[metric.name, point].order
    ]


def overall(analysis: RunAnalysis, metric: Metric) -> list[Sentence]:
    """A sentence for each contender over all points; none where there is one point only."""
    if len(analysis.points) < 2:
        return []
    return [
        _over_points(analysis, metric, name)
        for name in analysis.names
        if name != analysis.experiment.baseline
    ]


def _contender_sentence(analysis: RunAnalysis, metric: Metric, point: Point, name: str) -> Sentence:
    baseline = analysis.experiment.baseline
    cell = analysis.cell(name, point)
    value = cell.metrics.get(metric.name)
    if value is None:
        reason = cell.reason or "no trial reported it"
        return Sentence(f"{name} has no {metric.noun}: {reason}", "failed")
    amount = f"{metric.noun} {units.with_interval(value, metric.unit)}"
    if name == baseline:
        return Sentence(f"{name}, the baseline: {amount}", "quiet")
    comparison = analysis.comparison(metric, name, baseline, point)
    if comparison:
        sentence = comparison_sentence(comparison, metric)
        return dataclasses.replace(sentence, text=sentence.text + _across_classes(analysis, name, baseline))
    baseline_value = analysis.cell(baseline, point).metrics.get(metric.name)
    is_zero = value.estimate == 0 or (baseline_value is not None and baseline_value.estimate == 0)
    why = "0 has no ratio" if is_zero else f"{baseline} has none in the same blocks"
    return Sentence(f"{name}: {amount}; {why}", "quiet")


def _across_classes(analysis: RunAnalysis, name: str, baseline: str) -> str:
    kinds = analysis.kind(name), analysis.kind(baseline)
    return f" (classes differ: {kinds[0]}, {kinds[1]})" if kinds[0] != kinds[1] else ""


def _over_points(analysis: RunAnalysis, metric: Metric, name: str) -> Sentence:
    baseline, total = analysis.experiment.baseline, len(analysis.points)
    comparisons = [
        comparison
        for point in analysis.points
        if (comparison := analysis.comparison(metric, name, baseline, point))
    ]
    if not comparisons:
        reasons = Counter(
            cell.reason for point in analysis.points if (cell := analysis.cell(name, point)).reason
        )
        reason = reasons.most_common(1)[0][0] if reasons else f"{baseline} has no figures to compare with"
        return Sentence(f"{name} cannot be compared with {baseline}: {reason}", "failed")
    what = f"{_span(comparisons)} {possessive(baseline)} {metric.noun}"
    absent = total - len(comparisons)
    missing = f"; {absent} of {total} points without a figure" if absent else ""
    verdicts = Counter(comparison.verdict for comparison in comparisons)
    verdict, count = verdicts.most_common(1)[0]
    kind = units.kind(verdict) if verdict is not Verdict.INCONCLUSIVE else "quiet"
    if count == len(comparisons):
        where = f"at {units.all_of(count, 'point')}" if not absent else f"at {units.count(count, 'point')}"
        return Sentence(f"{_relation(verdict, metric, name, baseline)} {where}: {what}{missing}", kind)
    parts = ", ".join(
        f"{units.verdict_word(each, metric)} at {verdicts[each]}" for each in Verdict if verdicts[each]
    )
    return Sentence(f"{name} against {baseline} is {parts} of {total} points: {what}{missing}", "even")


def _span(comparisons: Sequence[Comparison]) -> str:
    """`0.690×`, or `0.690× to 1.20×` over several points."""
    ratios = [comparison.ratio.estimate for comparison in comparisons]
    ends = dict.fromkeys(f"{units.significant(end)}×" for end in (min(ratios), max(ratios)))
    return " to ".join(ends)


def _relation(verdict: Verdict, metric: Metric, name: str, baseline: str) -> str:
    word = units.verdict_word(verdict, metric)
    if verdict is Verdict.EQUIVALENT:
        return f"{name} is equivalent to {baseline}"
    if verdict is Verdict.INCONCLUSIVE:
        return f"{name} against {baseline} is inconclusive"
    if metric.unit in _TIMES:
        return f"{name} is {word} than {baseline}"
    return f"{possessive(name)} {metric.noun} is {word} than {possessive(baseline)}"


_DURATIONS = ("ns", "us", "ms", "s")
# More names are a count.
_MAX_NAMED = 3


def answers(analysis: RunAnalysis) -> list[Sentence]:
    """The answer of a run in sentences, the most important first; one that says why, where there is none."""
    point = analysis.overview_point
    names = _of_the_class(analysis, point)
    if not analysis.trial_count and not analysis.run.ended_at:
        return [Sentence("No trial of this run has ended yet", "quiet")]
    if not names:
        return [
            Sentence(
                f"No contender has a figure ({analysis.headline.noun}): the table of failures says why",
                "failed",
            )
        ]
    first = _first(analysis, point, names)
    sentences = [_opening(analysis, point, names, first), *_others(analysis, point, names, first)]
    if len(analysis.points) > 1:
        sentences.append(_elsewhere(analysis, point))
    return sentences


def answer_text(analysis: RunAnalysis) -> str:
    """The answer as one paragraph."""
    return " ".join(f"{sentence.text}." for sentence in answers(analysis))


def leaders(analysis: RunAnalysis, point: Point) -> list[str]:
    """Those that may be the first at a point: whose ranks begin with 1."""
    return _first(analysis, point, _of_the_class(analysis, point))


def _of_the_class(analysis: RunAnalysis, point: Point) -> list[str]:
    """The contenders of the baseline's class with figures at a point, the best median first: ratios to the
    best, and ranks, are inside a class. Where the baseline is the floor, those of the next class; the floor
    itself where no other contender has a figure."""
    headline = analysis.headline.name
    order = analysis.rankings[headline, point].order
    present = [name for name in order if headline in analysis.cell(name, point).metrics]
    ranked = [name for name in present if name != analysis.floor] or present
    return [name for name in ranked if analysis.kind(name) == analysis.kind(ranked[0])]


def _first(analysis: RunAnalysis, point: Point, names: Sequence[str]) -> list[str]:
    ranks = analysis.rankings[analysis.headline.name, point].ranks
    return [name for name in names if name in ranks and ranks[name][0] == 1] or list(names[:1])


def _opening(analysis: RunAnalysis, point: Point, names: Sequence[str], first: Sequence[str]) -> Sentence:
    metric = analysis.headline
    where = f" at {analysis.label(point)}" if len(analysis.points) > 1 else ""
    value = analysis.cell(first[0], point).metrics[metric.name]
    amount = units.with_interval(value, metric.unit)
    if len(names) == 1:
        return Sentence(f"{first[0]}{where}: {metric.noun} {amount}", "quiet")
    if len(first) == 1:
        is_sure = analysis.rankings[metric.name, point].ranks.get(first[0], (1, 2)) == (1, 1)
        if is_sure:
            return Sentence(f"{first[0]} is first{where}: {metric.noun} {amount}", "faster")
        return Sentence(
            f"{first[0]} has the best median{where}, {metric.noun} {amount}, but no order is certain", "quiet"
        )
    return Sentence(
        f"{_listed(first)} share the first place{where}: {possessive(first[0])} {metric.noun} {amount}",
        "even",
    )


def _others(
    analysis: RunAnalysis, point: Point, names: Sequence[str], first: Sequence[str]
) -> list[Sentence]:
    """The next one and the last, by their ratios to the best."""
    behind = analysis.behind_best[point]
    rest = [name for name in names if name not in first and name in behind]
    if not rest:
        return []
    best = names[0]
    text = _distance(analysis.headline, rest[0], best, analysis, point)
    if len(rest) > 1:
        last = _distance(analysis.headline, rest[-1], "", analysis, point)
        text += f"; {last}, the last of {len(names)}"
    return [Sentence(text, "quiet")]


def _distance(metric: Metric, name: str, best: str, analysis: RunAnalysis, point: Point) -> str:
    """`go takes 2.5 times (2.4–2.6) as long as erlang`; where more is better, `That is 2.5 times go's`, after
    the figure of the best."""
    ratio = analysis.behind_best[point][name]
    times, ends = units.ratio_parts(ratio)
    amount = f"{times} times ({ends})" if ends else f"{times} times"
    if not metric.smaller_is_better:
        text = ("That is " if best else "") + f"{amount} {possessive(name)}"
    else:
        verb, how = ("takes", "long") if metric.unit in _DURATIONS else ("needs", "much")
        text = f"{name} {verb} {amount} as {how}" + (f" as {best}" if best else "")
    margin = analysis.experiment.margin
    is_small = ratio.high is not None and ratio.high <= 1 + margin
    return f"{text}, less than the margin of {units.percent(margin)}" if is_small else text


def _elsewhere(analysis: RunAnalysis, point: Point) -> Sentence:
    """Whether the same ones lead at the other points; of one contender alone, its figures there."""
    here = set(leaders(analysis, point))
    # The floor leads nobody: where it alone has figures, the others failed.
    left_out = {analysis.floor} - here
    names = {name for each in analysis.points for name in _of_the_class(analysis, each)} - left_out
    if len(names) == 1:
        return _range(analysis, names.pop())
    others = [
        each for each in analysis.points if each != point and not left_out & set(leaders(analysis, each))
    ]
    differing = [
        each for each in others if leaders(analysis, each) and not here & set(leaders(analysis, each))
    ]
    if not differing:
        what = "The same holds" if len(here) == 1 else "One of them leads"
        return Sentence(f"{what} at {units.all_of(len(analysis.points), 'point')}", "quiet")
    example = differing[0]
    count = units.count(len(differing), "point")
    return Sentence(
        f"At {count} of {len(analysis.points)} another leads: at {analysis.label(example)} "
        f"{_listed(leaders(analysis, example))}",
        "quiet",
    )


def _range(analysis: RunAnalysis, name: str) -> Sentence:
    """The lowest and the highest figure of a contender, and the points that have them."""
    metric = analysis.headline
    values = {
        each: cell.metrics[metric.name].estimate
        for each in analysis.points
        if metric.name in (cell := analysis.cell(name, each)).metrics
    }
    if len(values) == 1:
        return Sentence(f"It has no figure at {_other_points(len(analysis.points) - 1)}", "quiet")
    ends = (min(values, key=values.__getitem__), max(values, key=values.__getitem__))
    low, high = (f"{units.quantity(values[each], metric.unit)} at {analysis.label(each)}" for each in ends)
    which = units.all_of(len(values), "point")
    if len(values) < len(analysis.points):
        which = f"{len(values)} of {len(analysis.points)} points"
    return Sentence(f"Over {which}: from {low} to {high}", "quiet")


def _other_points(count: int) -> str:
    return "the other point" if count == 1 else f"the {count:,} other points"


def _listed(names: Sequence[str]) -> str:
    if len(names) > _MAX_NAMED:
        return f"{', '.join(names[:_MAX_NAMED])} and {len(names) - _MAX_NAMED} others"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
