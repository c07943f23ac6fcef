"""The answer of a run in sentences that can be quoted: the words of analysis/answers.py, the same in every
form of output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ringside import units
from ringside.analysis.answers import Confounder, Influence, Lead, Shown, Standing
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric, Point
from ringside.model.results import Interval, Stalls
from ringside.render.text.diagnostics import NOISE
from ringside.store.plans import PlannedContender
from ringside.text import capitalised

# More names, or points, are a count.
_MAX_NAMED = 3
# Behind a ratio at which a run ended once it was decided.
OVERSTATED = " (stopped when decided: likely nearer to 1)"


@dataclass(frozen=True, slots=True)
class Sentence:
    """`kind`: faster, slower, even, failed, or quiet where there is no verdict."""

    text: str
    kind: str


def answers(analysis: RunAnalysis) -> list[Sentence]:
    """The answer of a run in sentences, the most important first; one that says why, where there is none."""
    conclusion = analysis.conclusion
    here = conclusion.here
    if not analysis.trial_count and not conclusion.is_over:
        return [Sentence("No trial of this run has ended yet", "quiet")]
    if here.shown is Shown.NOTHING:
        text = f"No contender has a figure ({analysis.headline.noun}): the table of failures says why"
        return [Sentence(text, "failed")]
    sentences = [_opening(analysis, here)]
    if not conclusion.is_over:
        # Of a run that was cut off nothing is known of places, at any point.
        if here.shown is not Shown.ALONE:
            sentences.append(Sentence(_so_far(analysis, here), "quiet"))
        return [*sentences, *_baseline(analysis)]
    if behind := _behind(analysis, here):
        sentences.append(Sentence(behind, "quiet"))
    if here.others:
        sentences.append(Sentence(_other_classes(analysis, here), "quiet"))
    if len(analysis.points) > 1:
        sentences.append(Sentence(_elsewhere(analysis), "quiet"))
    return [*sentences, *_baseline(analysis)]


def answer_text(analysis: RunAnalysis) -> str:
    """The answer as one paragraph."""
    return " ".join(f"{sentence.text}." for sentence in answers(analysis))


def short_answer(analysis: RunAnalysis) -> str:
    """The first sentence of the answer in a few words, for a badge."""
    conclusion = analysis.conclusion
    here = conclusion.here
    if here.shown is Shown.NOTHING:
        return "no figures"
    if not conclusion.is_over:
        return f"not decided yet: {_progress(analysis)}"
    if here.shown is Shown.OPEN:
        return f"not decided: {listed(here.first, 'or')}" if len(here.first) <= _MAX_NAMED else "not decided"
    value = analysis.cell(here.first[0], here.point).metrics[analysis.headline.name]
    amount = units.metric_estimate(value, analysis.headline)
    if len(here.first) > _MAX_NAMED:
        return f"{len(here.first)} equivalent, {amount}"
    text = f"{' ≈ '.join(here.first)} {amount}"
    return f"{text}, cause not certain" if here.influences else text


def best_median(analysis: RunAnalysis, metric: Metric, names: Sequence[str], point: Point) -> str:
    """What the first of these names has. Who failed often stands behind the others, whatever the median of
    the trials that are left."""
    cells = [analysis.cell(name, point) for name in names]
    sign = 1 if metric.smaller_is_better else -1
    best, *others = (sign * cell.metrics[metric.name].estimate for cell in cells)
    is_passed = any(other < best for other in others)
    return "best median of those that rarely failed" if is_passed else "best median"


def possessive(name: str) -> str:
    """`go's`, `python-processes'`."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def stalled(of: Stalls, metric: Metric) -> str:
    """`go stalled in 4 of 20 blocks, by 30 % or more`; `go has outliers …` of what is no time or rate."""
    size = of.least - 1 if metric.smaller_is_better else 1 - 1 / of.least
    what = "stalled" if stall_word(metric) == "stalls" else "has outliers"
    return f"{of.contender} {what} in {of.blocks} of {of.total} blocks, by {units.percent(size)} or more"


def without_stalls(of: Stalls, metric: Metric) -> str:
    """What stands in the place of a claim."""
    return f"{stalled(of, metric)}; without these no difference is shown"


def stall_word(metric: Metric) -> str:
    """What stands in the place of a verdict."""
    return "stalls" if metric.is_speed else "outliers"


def where(analysis: RunAnalysis, point: Point) -> str:
    """The point, where a run has several."""
    return f" at {analysis.label(point)}" if len(analysis.points) > 1 else ""


def _amount(analysis: RunAnalysis, name: str, point: Point) -> str:
    metric = analysis.headline
    value = analysis.cell(name, point).metrics[metric.name]
    return f"{metric.noun} {units.with_interval(value, metric.unit)}"


def _opening(analysis: RunAnalysis, here: Standing) -> Sentence:
    at, best = where(analysis, here.point), here.first[0]
    amount = _amount(analysis, best, here.point)
    if here.shown is Shown.ALONE:
        of_class = f" {analysis.kind(here.first[0])}" if here.others else ""
        only = f" is the only{of_class} contender with a figure" if here.lacking or here.others else ""
        progress = "" if analysis.conclusion.is_over else f", after {_progress(analysis)}"
        return Sentence(f"{best}{only}{at}: {amount}{progress}", "quiet")
    if not analysis.conclusion.is_over:
        return Sentence(f"Not decided yet: {_progress(analysis)}", "quiet")
    if here.shown is Shown.OPEN:
        text = f"Who is first{_among(analysis, here)}{at} is not decided after {_progress(analysis)}: "
        median = best_median(analysis, analysis.headline, here.names, here.point)
        text += f"{listed(here.first, 'or')} may be; the {median} is {possessive(best)}, {amount}"
        return Sentence(text, "quiet")
    if here.shown is Shown.FIRST:
        if here.influences:
            text = f"{best} has the best {analysis.headline.noun}{_among(analysis, here)}{at}, "
            text += f"{_value(analysis, best, here.point)}{_but(analysis, here)}"
            return Sentence(text, "quiet")
        return Sentence(f"{best} is first{_among(analysis, here)}{at}: {amount}", "faster")
    text = f"{listed(here.first)} share the first place{_among(analysis, here)}{at}, equivalent within "
    text += f"{units.percent(analysis.experiment.margin)}: {possessive(best)} {amount}"
    return Sentence(f"{text}{_but(analysis, here)}", "even")


def _value(analysis: RunAnalysis, name: str, point: Point) -> str:
    metric = analysis.headline
    return units.with_interval(analysis.cell(name, point).metrics[metric.name], metric.unit)


def _among(analysis: RunAnalysis, here: Standing) -> str:
    """` of 5 with a figure`, ` of the 3 idiomatic contenders`; empty where all contenders are ranked."""
    count = len(here.names)
    if here.others:
        figures = " with a figure" if here.lacking else ""
        return f" of the {count} {analysis.kind(here.first[0])} contenders{figures}"
    return f" of {count} with a figure" if here.lacking else ""


def _progress(analysis: RunAnalysis) -> str:
    """`9 of 40 blocks`, or `7 blocks` where that is all."""
    done, planned = analysis.blocks_done, analysis.experiment.blocks
    return units.count(done, "block") if done >= planned else f"{done:,} of {units.count(planned, 'block')}"


def _so_far(analysis: RunAnalysis, here: Standing) -> str:
    best, at = here.names[0], where(analysis, here.point)
    median = best_median(analysis, analysis.headline, here.names, here.point)
    text = f"So far {best} has the {median}{at}, {_amount(analysis, best, here.point)}"
    nearest = next((name for name in here.names if name in here.ratios), None)
    return f"{text}; {_distance(analysis, nearest, here.ratios[nearest], best)}" if nearest else text


def _behind(analysis: RunAnalysis, here: Standing) -> str:
    """The next behind and the last, by their ratios to the best; who has no rank of its own is not last."""
    if not here.behind:
        return ""
    (name, ratio), *others = here.behind.items()
    text = _distance(analysis, name, ratio, here.names[0]) + _overstated(here, name)
    if others:
        last, ratio = others[-1]
        text += f"; {_distance(analysis, last, ratio)}{_overstated(here, last)}"
        text += f", the last of {len(here.names)}" if last == here.last else ""
    return text


def _overstated(here: Standing, name: str) -> str:
    return OVERSTATED if name in here.overstated else ""


def _distance(analysis: RunAnalysis, name: str, ratio: Interval, best: str = "") -> str:
    """`go takes 2.5 times (2.4–2.6) as long as erlang`, `go takes 5 % (3–7 %) longer`; where more is better,
    `That is 2.5 times (2.4–2.6) go's`, after the figure of the best."""
    metric, is_small = analysis.headline, units.is_small_excess(ratio)
    size, ends = units.excess(ratio)
    amount = f"{size} ({ends})" if ends else size
    if not metric.smaller_is_better:
        start = "That is " if best and analysis.conclusion.is_over else ""
        start = f"that is {start}" if best and not start else start
        text = f"{start}{amount}{' more than' if is_small else ''} {possessive(name)}"
    else:
        verb, more, how = ("takes", "longer", "long") if metric.is_time else ("needs", "more", "much")
        text = f"{name} {verb} {amount} {more if is_small else f'as {how}'}"
        text += f" {'than' if is_small else 'as'} {best}" if best else ""
    margin = analysis.experiment.margin
    is_inside = ratio.low is not None and ratio.high is not None and 1 < ratio.low <= ratio.high <= 1 + margin
    return f"{text}, less than the margin of {units.percent(margin)}" if is_inside else text


def _other_classes(analysis: RunAnalysis, here: Standing) -> str:
    each = [f"{name} ({analysis.kind(name)}) {_value(analysis, name, here.point)}" for name in here.others]
    return (
        f"Not ranked among them: {', '.join(each)}"
        if len(here.names) > 1
        else f"Beside it: {', '.join(each)}"
    )


def _baseline(analysis: RunAnalysis) -> list[Sentence]:
    """That the baseline has no figure, at the point of the answer."""
    baseline, here = analysis.experiment.baseline, analysis.conclusion.here
    if analysis.headline.name in analysis.cell(baseline, here.point).metrics:
        return []
    text = (
        f"{baseline}, the baseline, has no figure{where(analysis, here.point)}: nothing is compared with it"
    )
    return [Sentence(text, "failed")]


def _but(analysis: RunAnalysis, here: Standing) -> str:
    if not here.influences:
        return ""
    reasons = "; ".join(_reason(analysis, here, each) for each in here.influences)
    return f"; it may not be the program that decides this: {reasons}"


def _reason(analysis: RunAnalysis, here: Standing, of: Influence) -> str:
    names = listed(of.contenders) if of.contenders else ""
    if of.stalls:
        return f"{stalled(of.stalls, analysis.headline)}, without which it is not shown to be behind"
    if of.cause is Confounder.FLOOR:
        return no_better(of)
    if of.cause is Confounder.HOST:
        return ", ".join(NOISE[name].format(units.percent(share)) for name, share in of.shares.items())
    if of.cause is Confounder.VERSIONS:
        platforms = [(name, platform(analysis.contenders[name])) for name in of.contenders]
        return " and ".join(f"{name} runs on {runtime}" for name, runtime in platforms)
    if of.cause is Confounder.WARM_UP and of.point:
        faster = f"each unit of work takes it less time where there is more, at {analysis.label(of.point)}"
        return f"{names} may not be warm: {faster}"
    return {
        Confounder.IMPLAUSIBLE: f"no honest program has the figures of {names}",
        Confounder.ENGINE: f"the load engine was at its limit with {names}",
        Confounder.ELSEWHERE: f"{names}: {of.text}",
        Confounder.CARRY_OVER: f"trials differ after those of {names}",
        Confounder.WARM_UP: f"the repeats of {names} show no steady state",
    }[of.cause]


def no_better(of: Influence) -> str:
    """Of a floor that is not shown to be better than the best contender."""
    name = f"{listed(of.contenders)}, the floor,"
    if of.ratio is None or of.ratio.low is None or of.ratio.low <= 1:
        return f"{name} is not shown to be better"
    size, ends = units.excess(of.ratio)
    return f"{name} is {size} worse ({ends})" + (f": {of.text}" if of.text else "")


def platform(contender: PlannedContender) -> str:
    """What a contender runs on: `Erlang 25.2.3 (2022)`."""
    year = f" ({contender.release.day.year})" if contender.release else ""
    return f"{contender.platform} {contender.version or 'not found'}{year}"


def _elsewhere(analysis: RunAnalysis) -> str:
    """What is shown at all points; of one contender alone, its figures there."""
    conclusion, total = analysis.conclusion, len(analysis.points)
    if conclusion.only:
        return _range(analysis, conclusion.only)
    everywhere = f"at {units.all_of(total, 'point')}"
    is_certain = all(lead.is_certain for lead in conclusion.leads)
    if conclusion.same_order:
        return f"The same {'holds' if is_certain else 'order was measured'} {everywhere}"
    if len(conclusion.leads) > 1:
        parts = [f"{_led(lead)} at {_points(analysis, lead.points)}" for lead in conclusion.leads]
        # An open point is no name, which is written as it is.
        return "; ".join(parts if conclusion.leads[0].names else [capitalised(parts[0]), *parts[1:]])
    [lead] = conclusion.leads
    if not lead.names:
        return capitalised(f"{_led(lead)} {everywhere}")
    return f"{_led(lead)} {everywhere}; behind, the order differs or is not decided"


def _led(lead: Lead) -> str:
    names = listed(lead.names) if lead.names else ""
    if lead.shown is Shown.FIRST:
        return f"{names} {'is first' if lead.is_certain else 'has the best figure'}"
    return {
        Shown.SHARED: f"{names} share the first place",
        Shown.ALONE: f"only {names} of its class has a figure",
        Shown.OPEN: "the first place is not decided",
        Shown.NOTHING: "no contender has a figure",
    }[lead.shown]


def _points(analysis: RunAnalysis, points: Sequence[Point]) -> str:
    if len(points) > _MAX_NAMED:
        return f"{len(points)} of {units.count(len(analysis.points), 'point')}"
    return listed([analysis.label(each) for each in points])


def _range(analysis: RunAnalysis, name: str) -> str:
    """The lowest and the highest figure of a contender, and the points that have them."""
    metric = analysis.headline
    values = {
        each: cell.metrics[metric.name].estimate
        for each in analysis.points
        if metric.name in (cell := analysis.cell(name, each)).metrics
    }
    if len(values) == 1:
        missing = len(analysis.points) - 1
        return f"It has no figure at {'the other point' if missing == 1 else f'the {missing:,} other points'}"
    ends = (min(values, key=values.__getitem__), max(values, key=values.__getitem__))
    low, high = (f"{units.quantity(values[each], metric.unit)} at {analysis.label(each)}" for each in ends)
    which = units.all_of(len(values), "point")
    if len(values) < len(analysis.points):
        which = f"{len(values)} of {len(analysis.points)} points"
    return f"Over {which}: from {low} to {high}"


def listed(names: Sequence[str], last: str = "and", most: int | None = _MAX_NAMED) -> str:
    if most and len(names) > most:
        others = units.count(len(names) - most, "other")
        return f"{', '.join(names[:most])} {last} {others}"
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), names[-1])))
