"""The answer of a run in sentences that can be quoted: the words of analysis/answers.py, the same in every
form of output."""

from __future__ import annotations

from collections.abc import Sequence

from ringside import units
from ringside.analysis.answers import Confounder, FirstPlace, Influence, Lead, Standing
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Point
from ringside.model.results import Interval, Obstacle
from ringside.render.text.diagnostics import NOISE
from ringside.render.text.sentences import OBSTACLES
from ringside.render.text.words import (
    MAX_NAMED,
    OVERSTATED,
    Sentence,
    best_median,
    blocks,
    listed,
    possessive,
    where,
)
from ringside.text import capitalised

# What is shown of the first place at some of several points.
_LEADS = {
    FirstPlace.FIRST: "{names} is first",
    FirstPlace.SHARED: "{names} share the first place",
    FirstPlace.ALONE: "only {names} of its class is ranked",
    FirstPlace.OPEN: "the first place is too close to call",
    FirstPlace.BARRED: "no verdict on the first place is possible",
    FirstPlace.NOTHING: "no contender has a figure",
}
# What those that are ranked have, and where others were still warming up.
_FIGURE = {False: "with a figure", True: "in a steady state"}
# What else than the programs may have decided an order, where the words need no more than names.
_REASONS = {
    Confounder.IMPLAUSIBLE: "no honest program has the figures of {names}",
    Confounder.ENGINE: "the load engine was at its limit with {names}",
    Confounder.ELSEWHERE: "{names}: {text}",
    Confounder.WARM_UP: "{names} may not be warm",
}


def answers(analysis: RunAnalysis) -> list[Sentence]:
    """The answer of a run in sentences, the most important first; one that says why, where there is none."""
    conclusion = analysis.conclusion
    here, baseline = conclusion.here, analysis.experiment.baseline
    if not analysis.trial_count and not conclusion.is_over:
        return [Sentence("No trial of this run has ended yet")]
    if here.first_place is FirstPlace.NOTHING:
        why = "no trial measures it here" if analysis.is_complete else "the table of failures says why"
        text = f"No contender has a figure ({analysis.headline.noun}): {why}"
        return [Sentence(text, "failed")]
    if conclusion.is_over:
        cold = f"Still warming up, and not ranked: {', '.join(here.cold)}" if here.cold else ""
        texts = [_behind(analysis, here), cold, _other_classes(analysis, here), _elsewhere(analysis)]
    else:
        # Of a run that was cut off nothing is known of places, at any point.
        texts = [_so_far(analysis, here) if here.first_place is not FirstPlace.ALONE else ""]
    sentences = [_opening(analysis, here), *(Sentence(text) for text in texts if text)]
    if analysis.headline.name not in analysis.cell(baseline, here.point).metrics:
        at = where(analysis, here.point)
        text = f"{baseline}, the baseline, has no figure{at}: nothing is compared with it"
        sentences.append(Sentence(text, "failed"))
    return sentences


def answer_text(analysis: RunAnalysis) -> str:
    """The answer as one paragraph."""
    return " ".join(f"{sentence.text}." for sentence in answers(analysis))


def short_answer(analysis: RunAnalysis) -> str:
    """The first sentence of the answer in a few words, for a badge."""
    here, headline = analysis.conclusion.here, analysis.headline
    if here.first_place is FirstPlace.NOTHING:
        return "no figures"
    if not analysis.conclusion.is_over:
        return f"not decided yet: {blocks(analysis)}"
    if here.first_place is FirstPlace.BARRED:
        return "no verdict possible"
    if here.first_place is FirstPlace.OPEN:
        names = f": {listed(here.first)}" if len(here.first) <= MAX_NAMED else ""
        return f"too close to call{names}"
    value = analysis.cell(here.first[0], here.point).metrics[headline.name].estimate
    amount = units.quantity(value, headline.unit)
    if len(here.first) > MAX_NAMED:
        return f"{len(here.first)} equal, {amount}"
    return f"{' ≈ '.join(here.first)} {amount}{', cause not certain' if here.influences else ''}"


def _value(analysis: RunAnalysis, name: str, point: Point) -> str:
    metric = analysis.headline
    return units.with_interval(analysis.cell(name, point).metrics[metric.name], metric.unit)


def _opening(analysis: RunAnalysis, here: Standing) -> Sentence:
    headline, best, is_over = analysis.headline, here.first[0], analysis.conclusion.is_over
    value, at, among = _value(analysis, best, here.point), where(analysis, here.point), _among(analysis, here)
    if here.first_place is FirstPlace.ALONE:
        kind, what = f" {analysis.kind(best)}" if here.others else "", _FIGURE[bool(here.cold)]
        only = f" is the only{kind} contender {what}" if here.lacking or here.others or here.cold else ""
        progress = "" if is_over else f", after {blocks(analysis)}"
        return Sentence(f"{best}{only}{at}: {headline.noun} {value}{progress}")
    if not is_over:
        return Sentence(f"Not decided yet: {blocks(analysis)}")
    if here.first_place in (FirstPlace.OPEN, FirstPlace.BARRED):
        top = here.names[0]
        median = best_median(analysis, headline, here.names, here.point)
        figure = f"{top} has the {median}, {headline.noun} {_value(analysis, top, here.point)}"
        among = f" ({among.strip()})" if among else ""
        text, end = f"Too close to call{at} after {blocks(analysis)}: {listed(here.first)}", ""
        if here.first_place is FirstPlace.BARRED:
            text = f"No verdict possible{at} after {blocks(analysis)}: {listed(here.first, 'or')} may"
            causes = [OBSTACLES[each] for each in Obstacle if each in here.obstacles]
            end = " be first" + "".join(f", {each}" for each in causes)
        return Sentence(f"{text}{end}{among}; {figure}")
    reasons = "; ".join(_reason(analysis, each) for each in here.influences)
    but = f"; it may not be the program that decides this: {reasons}" if reasons else ""
    if here.first_place is FirstPlace.FIRST and but:
        return Sentence(f"{best} has the best {headline.noun}{among}{at}, {value}{but}")
    if here.first_place is FirstPlace.FIRST:
        return Sentence(f"{best} is first{among}{at}: {headline.noun} {value}", "faster")
    within = f"equal within {units.percent(analysis.experiment.margin)}"
    text = f"{listed(here.first)} share the first place{among}{at}, {within}: "
    return Sentence(f"{text}{possessive(best)} {headline.noun} {value}{but}", "even")


def _among(analysis: RunAnalysis, here: Standing) -> str:
    """` of 5 with a figure`, ` of the 3 idiomatic contenders`; empty where all contenders are ranked."""
    figures = f" {_FIGURE[bool(here.cold)]}" if here.lacking or here.cold else ""
    if here.others:
        return f" of the {len(here.names)} {analysis.kind(here.first[0])} contenders{figures}"
    return f" of {'the ' if here.cold else ''}{len(here.names)}{figures}" if figures else ""


def _so_far(analysis: RunAnalysis, here: Standing) -> str:
    best, headline = here.names[0], analysis.headline
    median = best_median(analysis, headline, here.names, here.point)
    value = _value(analysis, best, here.point)
    text = f"So far {best} has the {median}{where(analysis, here.point)}, {headline.noun} {value}"
    nearest = next((name for name in here.names if name in here.ratios), None)
    return f"{text}; {_distance(analysis, nearest, here.ratios[nearest], best)}" if nearest else text


def _behind(analysis: RunAnalysis, here: Standing) -> str:
    """The next behind and the last, by their ratios to the best; who has no rank of its own is not last."""
    shown = list(here.behind.items())
    parts = [
        _distance(analysis, name, ratio, "" if place else here.first[0])
        + (OVERSTATED if name in here.overstated else "")
        for place, (name, ratio) in enumerate([*shown[:1], *shown[1:][-1:]])
    ]
    is_last = len(shown) > 1 and shown[-1][0] == here.last
    return "; ".join(parts) + (f", the last of {len(here.names)}" if is_last else "")


def _distance(analysis: RunAnalysis, name: str, ratio: Interval, best: str = "") -> str:
    """`go takes 2.5 times (2.4–2.6) as long as erlang`, `go takes 5 % (3–7 %) longer`; where more is better,
    `That is 2.5 times (2.4–2.6) go's`, after the figure of the best."""
    metric, is_small = analysis.headline, units.is_small_excess(ratio)
    size, ends = units.excess(ratio)
    amount = f"{size} ({ends})" if ends else size
    if metric.smaller_is_better:
        verb, more, how = ("takes", "longer", "long") if metric.is_time else ("needs", "more", "much")
        text = f"{name} {verb} {amount} {more if is_small else f'as {how}'}"
        text += f" {'than' if is_small else 'as'} {best}" if best else ""
    else:
        start = ("That is " if analysis.conclusion.is_over else "that is ") if best else ""
        text = f"{start}{amount}{' more than' if is_small else ''} {possessive(name)}"
    margin = analysis.experiment.margin
    is_inside = ratio.low is not None and ratio.high is not None and 1 < ratio.low <= ratio.high <= 1 + margin
    return f"{text}, less than the margin of {units.percent(margin)}" if is_inside else text


def _other_classes(analysis: RunAnalysis, here: Standing) -> str:
    each = [f"{name} ({analysis.kind(name)}) {_value(analysis, name, here.point)}" for name in here.others]
    start = "Not ranked among them" if len(here.names) > 1 else "Beside it"
    return f"{start}: {', '.join(each)}" if each else ""


def _reason(analysis: RunAnalysis, influence: Influence) -> str:
    names = influence.contenders
    if influence.cause is Confounder.FLOOR:
        return no_better(influence)
    if influence.cause is Confounder.HOST:
        return ", ".join(NOISE[name].format(units.percent(each)) for name, each in influence.shares.items())
    if influence.cause is Confounder.WARM_UP and influence.point:
        more = (
            f"each unit of work takes it less time where there is more, at {analysis.label(influence.point)}"
        )
        return f"{listed(names)} may not be warm: {more}"
    return _REASONS[influence.cause].format(names=listed(names), text=influence.text)


def no_better(influence: Influence) -> str:
    """Of a floor that is not shown to be better than the best contender."""
    name, ratio = f"{listed(influence.contenders)}, the floor,", influence.ratio
    if ratio is None or ratio.low is None or ratio.low <= 1:
        return f"{name} is not shown to be better"
    size, ends = units.excess(ratio)
    return f"{name} is {size} worse ({ends})" + (f": {influence.text}" if influence.text else "")


def _elsewhere(analysis: RunAnalysis) -> str:
    """What is shown at all of several points; of one contender alone, its figures there."""
    conclusion, total = analysis.conclusion, len(analysis.points)
    if total == 1:
        return ""
    if conclusion.only:
        return _range(analysis, conclusion.only)
    everywhere = f"at {units.all_of(total, 'point')}"
    if conclusion.same_order:
        is_certain = all(lead.is_certain for lead in conclusion.leads)
        return f"The same {'holds' if is_certain else 'order was measured'} {everywhere}"
    parts = [f"{_lead(each)} at {_points(analysis, each.points)}" for each in conclusion.leads]
    first, *others = conclusion.leads
    if not others:
        behind = "; behind, the order differs or is not decided" if first.names else ""
        parts = [f"{_lead(first)} {everywhere}{behind}"]
    # An open point is no name, which is written as it is.
    return "; ".join(parts if first.names else [capitalised(parts[0]), *parts[1:]])


def _lead(lead: Lead) -> str:
    if lead.first_place is FirstPlace.FIRST and not lead.is_certain:
        return f"{listed(lead.names)} has the best figure"
    return _LEADS[lead.first_place].format(names=listed(lead.names) if lead.names else "")


def _points(analysis: RunAnalysis, points: Sequence[Point]) -> str:
    if len(points) > MAX_NAMED:
        return f"{len(points)} of {units.count(len(analysis.points), 'point')}"
    return listed([analysis.label(each) for each in points])


def _range(analysis: RunAnalysis, name: str) -> str:
    """The lowest and the highest figure of a contender, and the points that have them."""
    metric = analysis.headline
    values = {
        each: value.estimate
        for each in analysis.points
        if (value := analysis.cell(name, each).metrics.get(metric.name))
    }
    if len(values) == 1:
        missing = len(analysis.points) - 1
        return f"It has no figure at {'the other point' if missing == 1 else f'the {missing:,} other points'}"
    ends = (min(values, key=values.__getitem__), max(values, key=values.__getitem__))
    low, high = (f"{units.quantity(values[each], metric.unit)} at {analysis.label(each)}" for each in ends)
    all_points = units.all_of(len(values), "point")
    part = f"{len(values)} of {len(analysis.points)} points"
    return f"Over {part if len(values) < len(analysis.points) else all_points}: from {low} to {high}"
