"""A run in two or three sentences: who is first, by how much, and whether that is so everywhere."""

from __future__ import annotations

from collections.abc import Sequence

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric, Point
from ringside.render.sentences import Sentence, possessive

_TIMES = ("ns", "us", "ms", "s")
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


def text(analysis: RunAnalysis) -> str:
    """The answer as one paragraph."""
    return " ".join(f"{sentence.text}." for sentence in answers(analysis))


def leaders(analysis: RunAnalysis, point: Point) -> list[str]:
    """Those that may be the first at a point: whose ranks begin with 1."""
    return _first(analysis, point, _of_the_class(analysis, point))


def _of_the_class(analysis: RunAnalysis, point: Point) -> list[str]:
    """The contenders of the baseline's class with figures at a point, the best median first: ratios to the
    best, and ranks, are inside a class. Where the baseline is the floor, those of the next class; the floor
    itself where no other contender has a figure."""
    present = _with_figures(analysis, point)
    ranked = [name for name in present if name != analysis.floor] or present
    return [name for name in ranked if analysis.kind(name) == analysis.kind(ranked[0])]


def _with_figures(analysis: RunAnalysis, point: Point) -> list[str]:
    """The contenders with figures at a point, the best median first."""
    headline = analysis.headline.name
    order = analysis.rankings[headline, point].order
    return [name for name in order if headline in analysis.cell(name, point).metrics]


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
        verb, how = ("takes", "long") if metric.unit in _TIMES else ("needs", "much")
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
