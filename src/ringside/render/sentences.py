"""What a run says in sentences that can be quoted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ringside import units as numbers
from ringside.analysis.summary import Summary
from ringside.model.design import Cell, Metric, Point
from ringside.model.results import Comparison, Verdict

_WHOLE = {"CPU": "CPU time", "Wall": "wall time"}


@dataclass(frozen=True, slots=True)
class Sentence:
    """`kind`: faster, slower, even, failed, or quiet where there is no verdict."""

    text: str
    kind: str


def thing(metric: Metric) -> str:
    """What a metric is called within a sentence: `time per hop`, `CPU time`."""
    if metric.title in _WHOLE:
        return _WHOLE[metric.title]
    word = metric.title[:1].lower() + metric.title[1:]
    return f"time {word}" if word.startswith("per ") and metric.unit in ("ns", "s") else word


def at_point(summary: Summary, metric: Metric, point: Point) -> list[Sentence]:
    """A sentence for each contender, the best median first."""
    baseline = summary.experiment.baseline
    found = []
    for name in summary.ranked(metric, point):
        cell = summary.cells[Cell(name, point)]
        value = cell.metrics.get(metric.name)
        if value is None:
            reason = cell.reason or "its trials did not tell it"
            found.append(Sentence(f"{name} has no {thing(metric)}: {reason}", "failed"))
        elif name == baseline:
            amount = numbers.with_interval(value, metric.unit)
            found.append(Sentence(f"{name}, the baseline: {thing(metric)} {amount}", "quiet"))
        else:
            compared = summary.compare(metric, name, baseline, point)
            if compared is None:
                amount = numbers.with_interval(value, metric.unit)
                other = summary.cells[Cell(baseline, point)].metrics.get(metric.name)
                zero = value.estimate == 0 or (other is not None and other.estimate == 0)
                why = "0 has no ratio" if zero else f"{baseline} has none in the same blocks"
                text = f"{name}: {thing(metric)} {amount}; {why}"
                found.append(Sentence(text, "quiet"))
            else:
                found.append(_compared(compared, metric))
    return found


def _compared(one: Comparison, metric: Metric) -> Sentence:
    times = numbers.ratio(one.ratio)
    what = f"{times} times {one.baseline}'s {thing(metric)}"
    verb = "takes" if metric.unit in ("ns", "s") else "has"
    if one.verdict is Verdict.TOO_FEW_BLOCKS:
        blocks = f"{one.ratio.n} block{'s' * (one.ratio.n != 1)}"
        return Sentence(f"{one.contender} {verb} about {what}: no verdict from {blocks}", "quiet")
    if one.verdict is Verdict.INDISTINGUISHABLE:
        text = f"{one.contender} cannot be told from {one.baseline}: {what}"
        return Sentence(text, "even")
    return Sentence(f"{one.contender} {verb} {what}: {one.verdict}", numbers.kind(one.verdict))


def overall(summary: Summary, metric: Metric) -> list[Sentence]:
    """A sentence for each contender over all points; nothing where there is one point only."""
    if len(summary.points) < 2:
        return []
    return [
        _over_points(summary, metric, name) for name in summary.names() if name != summary.experiment.baseline
    ]


def _over_points(summary: Summary, metric: Metric, name: str) -> Sentence:
    baseline, total = summary.experiment.baseline, len(summary.points)
    compared = [
        one for point in summary.points if (one := summary.compare(metric, name, baseline, point)) is not None
    ]
    if not compared:
        reasons = Counter(
            cell.reason for point in summary.points if (cell := summary.cells[Cell(name, point)]).reason
        )
        reason = reasons.most_common(1)[0][0] if reasons else f"{baseline} has no figures to compare with"
        return Sentence(f"{name} cannot be compared with {baseline}: {reason}", "failed")
    low, high = min(one.ratio.estimate for one in compared), max(one.ratio.estimate for one in compared)
    span = numbers.significant(low)
    if numbers.significant(high) != span:
        span += f" to {numbers.significant(high)}"
    what = f"{span} times {baseline}'s {thing(metric)}"
    missing = f"; {total - len(compared)} of {total} points without a figure" * (len(compared) < total)
    verdicts = Counter(one.verdict for one in compared)
    verdict, count = verdicts.most_common(1)[0]
    if verdict is Verdict.TOO_FEW_BLOCKS:
        return Sentence(f"{name}: about {what}; too few blocks for a verdict{missing}", "quiet")
    if count == len(compared):
        where = f"at all {count} points" if count == total else f"at {count} points"
        words = f"is {_word(verdict)} {baseline} {where}"
        return Sentence(f"{name} {words}: {what}{missing}", numbers.kind(verdict))
    parts = ", ".join(_part(one, verdicts[one]) for one in _ordered(verdicts))
    return Sentence(f"{name} against {baseline} is {parts} of {total} points: {what}{missing}", "even")


def _ordered(verdicts: Counter[Verdict]) -> Sequence[Verdict]:
    return [verdict for verdict in Verdict if verdicts[verdict]]


def _part(verdict: Verdict, count: int) -> str:
    return f"{numbers.VERDICT_WORDS[verdict] or 'without a verdict'} at {count}"


def _word(verdict: Verdict) -> str:
    return "indistinguishable from" if verdict is Verdict.INDISTINGUISHABLE else f"{verdict} than"
