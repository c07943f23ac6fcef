"""The answer of a run, and single comparisons, in sentences that can be quoted: the words of
analysis/answers.py, the same in every form of output, for experiments, `vs` and `load --vs` alike."""

from collections.abc import Sequence

from ringside import units
from ringside.analysis.answers import FirstPlace, Standing
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric, Point, grouped
from ringside.model.results import Comparison, Obstacle, Verdict
from ringside.render.text import words
from ringside.render.text.words import Sentence, blocks, listed, possessive, where

MOST_SENTENCES = 3  # For one point.


def answers(analysis: RunAnalysis) -> list[Sentence]:
    """The answer of a run in sentences: of the point that stands for it, then what holds at the others."""
    conclusion = analysis.conclusion
    sentences = point_answer(analysis, conclusion.here, where(analysis, conclusion.here.point))
    if analysis.is_over and conclusion.here.names and (text := _elsewhere(analysis)):
        sentences.append(Sentence(text))
    return sentences


def point_answer(
    analysis: RunAnalysis, standing: Standing, at: str = "", *, below_table: bool = False
) -> list[Sentence]:
    """One to three sentences about a point, or why there is no answer. `at`: names the point. `below_table`:
    ratios take the place of the figure, which stands above."""
    if not analysis.trial_count and not analysis.is_over:
        return [Sentence("No trial of this run has ended yet")]
    if standing.first_place is FirstPlace.NOTHING:
        here = [analysis.cell(name, standing.point) for name in analysis.names]
        few = any(cell.values(analysis.headline.name) for cell in here)
        why = f": {words.NO_FIGURE[few]}" if few or analysis.is_complete else ""
        return [Sentence(f"No program has a figure{at} ({analysis.headline.noun}){why}", "failed")]
    is_shown_first = standing.first_place is FirstPlace.FIRST and analysis.is_over and not standing.influences
    is_joined = below_table and is_shown_first
    texts = [_distances(analysis, standing, is_joined)]
    opening = _opening(analysis, standing, at, texts.pop() if is_joined else "")
    if analysis.is_over:
        texts.append(f"Still warming up, and not ranked: {', '.join(standing.cold)}" if standing.cold else "")
    sentences = [opening, *(Sentence(text) for text in texts if text)]
    baseline = analysis.experiment.baseline
    if analysis.headline.name not in analysis.cell(baseline, standing.point).metrics:
        text = f"{baseline}, the baseline, has no figure: nothing is compared with it"
        sentences[MOST_SENTENCES - 1 :] = [Sentence(text, "failed")]
    return sentences[:MOST_SENTENCES]


def answer_text(analysis: RunAnalysis, sentences: Sequence[Sentence] | None = None) -> str:
    """The answer, or these of its sentences, as one paragraph."""
    return " ".join(f"{each.text}." for each in (answers(analysis) if sentences is None else sentences))


def short_answer(analysis: RunAnalysis) -> str:
    """The first sentence of the answer in a few words, for a badge."""
    here, headline = analysis.conclusion.here, analysis.headline
    if here.first_place is FirstPlace.NOTHING:
        return "no figures"
    if not analysis.is_over:
        return f"not decided yet: {blocks(analysis)}"
    if here.first_place is FirstPlace.BARRED:
        return "no verdict possible"
    if here.first_place is FirstPlace.OPEN:
        return f"too close to call: {listed(here.first)}"
    value = analysis.cell(here.first[0], here.point).metrics[headline.name].estimate
    amount = units.quantity(value, headline.unit)
    if len(here.first) > words.MAX_NAMED:
        return f"{len(here.first)} equal, {amount}"
    return f"{' ≈ '.join(here.first)} {amount}{', cause not certain' if here.influences else ''}"


def _opening(analysis: RunAnalysis, here: Standing, at: str, distances: str) -> Sentence:
    """The contenders at the first place with their figure, or with the `distances` instead."""
    best, metric = here.names[0], analysis.headline
    noun, figures = metric.noun, analysis.cell(best, here.point).metrics
    figure = units.with_interval(figures[metric.name], metric.unit)
    median = f"{best} has the best median, {noun} {figure}"
    if here.first_place is FirstPlace.ALONE:
        kind = f" {analysis.kind(best)}" if here.others else ""
        is_only = here.lacking or here.others or here.cold or here.failing
        others = "that can be ranked" if here.failing else "with a figure"
        state = "in a steady state" if here.cold else others
        only = f" is the only{kind} program {state}" if is_only else ""
        return Sentence(f"{best}{only}{at}: {noun} {figure}")
    leaders = (best, *here.others)
    values = [analysis.cell(name, here.point).metrics[metric.name].estimate for name in leaders]
    if (min if metric.smaller_is_better else max)(values) != values[0]:
        at = f" among {analysis.kind(best)} programs{at}"
    if not analysis.is_over:
        return Sentence(f"Not decided yet{at}: {blocks(analysis)}; so far {median}")
    if here.first_place is FirstPlace.OPEN:
        return Sentence(f"Too close to call{at} after {blocks(analysis)}: {listed(here.first)}; {median}")
    if here.first_place is FirstPlace.BARRED:
        causes = "".join(f", {words.OBSTACLES[each]}" for each in Obstacle if each in here.obstacles)
        which = f"{listed(here.first, 'or')} may be first{causes}"
        return Sentence(f"No verdict possible{at} after {blocks(analysis)}: {which}; {median}")
    best, but = here.first[0], words.reserve(code for each in here.influences for code in each.codes)
    if here.first_place is FirstPlace.FIRST:
        verdict = _best(metric)
        value = distances or (figure if verdict.endswith(f" {noun}") else f"{noun} {figure}")
        return Sentence(f"{best} {verdict}{at}: {value}{but}", "quiet" if here.influences else "faster")
    within = f"equal within {units.percent(analysis.experiment.margin)}"
    text = f"{listed(here.first)} share the first place{at}, {within}: {possessive(best)} {noun} {figure}"
    return Sentence(text + but, "even")


def _best(metric: Metric) -> str:
    """`is fastest`, `needs the least memory held`, `has the highest rate`."""
    if metric.is_time and "CPU" not in metric.noun:
        return "is fastest"
    verb = "needs the least" if metric.is_time or metric.unit == "B" else "has the lowest"
    return f"{verb if metric.smaller_is_better else 'has the highest'} {metric.noun}"


def _distances(analysis: RunAnalysis, here: Standing, is_named: bool) -> str:
    """The next behind and the last, by ratios to the best: `go takes 2.5 times as long as erlang (2.2–4.1),
    ruby 28 times (18–34)`. In an unfinished run, the nearest only. `is_named`: it stands just before."""
    metric, is_over, best = analysis.headline, analysis.is_over, here.first[0]
    shown = list((here.behind if is_over else here.ratios).items())
    shown = [*shown[:1], *(shown[1:][-1:] if is_over else [])]
    verb, longer, long = ("takes", "longer", "as long") if metric.is_time else ("has", "more", "as much")
    verb = "needs" if metric.unit == "B" else verb
    parts: list[str] = []
    before = ""
    for name, ratio in shown:
        size, ends = units.excess(ratio)
        how = longer if units.is_small_excess(ratio) else long
        if not metric.smaller_is_better:
            text = f"{size}{' more than' * units.is_small_excess(ratio)} {possessive(name)}"
        elif parts:
            text = f"{name} {size}{f' {how}' if how != before else ''}"
        else:
            than = "" if is_named else f" {'than' if how == longer else 'as'} {best}"
            text = f"{name} {verb} {size} {how}{than}"
        parts.append(text + f" ({ends})" * bool(ends) + words.OVERSTATED * (name in here.overstated))
        before = how
    start = "" if metric.smaller_is_better or is_named or not parts else "That is "
    return start + ", ".join(parts)


def _elsewhere(analysis: RunAnalysis) -> str:
    """The first places at the other points, the most frequent first."""
    standings = analysis.conclusion.standings
    points = grouped((_first(standing), analysis.label(standing.point)) for standing in standings)
    if len(points) == 1 < len(analysis.points):
        every = "both" if len(analysis.points) == 2 else f"all {len(analysis.points):,}"
        return f"At {every} points {_first(analysis.conclusion.here)}"
    parts = [
        f"{text} at {listed(labels) if len(labels) <= words.MAX_NAMED else units.count(len(labels), 'point')}"
        for text, labels in sorted(points.items(), key=lambda item: -len(item[1]))
    ]
    return "By point: " + "; ".join(parts) if len(points) > 1 else ""


def _first(standing: Standing) -> str:
    names = listed(sorted(standing.first)) if standing.first else ""
    return {
        FirstPlace.FIRST: f"{names} {'has the best figure' if standing.influences else 'is first'}",
        FirstPlace.SHARED: f"{names} share the first place",
        FirstPlace.ALONE: f"{names} alone can be ranked",
        FirstPlace.OPEN: "the first place is too close to call",
        FirstPlace.BARRED: "no verdict is possible",
        FirstPlace.NOTHING: "no program has a figure",
    }[standing.first_place]


def comparison_sentence(comparison: Comparison, metric: Metric, margin: float) -> Sentence:
    """`B was 1.45 times faster than A in wall time (1.42–1.47)`, `B took 2.50× A's wall time: slower`."""
    contender, baseline, ratio = comparison.contender, comparison.baseline, comparison.ratio
    word = words.verdict_text(comparison, metric, margin)
    noun = f"{'mean ' * bool(comparison.modes)}{metric.noun}"
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
    text += words.OVERSTATED if comparison.overstated else ""
    if comparison.verdict is Verdict.INCONCLUSIVE and (why := _why(comparison)):
        text += f", {why}"
    return Sentence(text, words.KINDS.get(comparison.verdict, "quiet"))


def _why(comparison: Comparison) -> str:
    """Why a comparison is inconclusive, and what would decide it."""
    if comparison.obstacle is Obstacle.TOO_FEW_BLOCKS:
        return f"too few blocks ({comparison.ratio.n})"
    if comparison.obstacle:
        return words.OBSTACLES[comparison.obstacle]
    if comparison.blocks_needed:
        return f"about {comparison.blocks_needed:,} blocks would decide it"
    low, high = comparison.ratio.low, comparison.ratio.high
    excludes_1 = (low is not None and low > 1) or (high is not None and high < 1)
    if excludes_1 and comparison.modes:
        return "and the test of pairs does not show the difference"
    return "the difference may still be chance" if excludes_1 else ""


def pair_sentence(
    analysis: RunAnalysis, metric: Metric, contender: str, baseline: str, point: Point
) -> Sentence:
    """A pair at a point, or that it cannot be compared there."""
    comparison = analysis.comparison(metric, contender, baseline, point)
    if comparison:
        return comparison_sentence(comparison, metric, analysis.experiment.margin)
    values = {name: analysis.cell(name, point).values(metric.name) for name in (baseline, contender)}
    if values[baseline].keys() & values[contender].keys():
        names = listed([name for name, own in values.items() if min(own.values()) <= 0])
        why = f"the {metric.noun} of {names} was not above 0"
        return Sentence(f"{baseline} and {contender} have no ratio: {why}")
    return Sentence(f"No block measured the {metric.noun} of both {baseline} and {contender}")
