"""Judges claims of sources: bands, quantities in blocks, and what an interval says.

It follows the rules of verdicts: an answer comes from an interval, never from an estimate, and a claim of
several parts is confirmed only where each part is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ringside import units
from ringside.model.design import Experiment, Metric, Point
from ringside.model.results import Answer, ClaimResult, Interval, Outcome, Run
from ringside.stats.interval import exponential, median_interval
from ringside.stats.paired import hodges_lehmann, logarithms

# A figure "about x" is one from x / 1.5 to x · 1.5.
_ABOUT = 1.5
_WHY_ABOUT = "the source rounds, and had another machine"
# A difference smaller than this is none, as in verdicts.
_MARGIN = 0.05

# Logarithms of a figure, or of a ratio, by block.
Logs = Mapping[int, float]


class AnalysedRun(Protocol):
    """What a test reads of a run's analysis."""

    @property
    def run(self) -> Run: ...

    @property
    def experiment(self) -> Experiment: ...

    @property
    def points(self) -> tuple[Point, ...]: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def confidence(self) -> float:
        """The nominal confidence of the intervals of ratios."""

    def metric(self, name: str) -> Metric: ...

    def values(self, metric: str, contender: str, point: Point) -> Mapping[int, float]:
        """The metric of a cell by block; empty where it has no figures, or too many blocks failed."""

    def outcomes(self, contender: str, point: Point) -> Mapping[Outcome, int]:
        """How often the trials of a cell ended in which way."""

    def build_s(self, contender: str) -> float | None:
        """How long its build took, in seconds; None where that is not known."""

    def program(self, contender: str) -> Mapping[str, str]:
        """The texts of its files by path; empty where they are not stored."""


@dataclass(frozen=True, slots=True)
class Band:
    """The values for which a claim holds, from `low` to `high`; `words` say so: `the claim holds` …. It is
    refuted below `refuted_below` and above `refuted_above`, which are `low` and `high` where they are None:
    only claims of a direction have others. `why`: why a band that is ours is what it is; empty where the
    source states it, or the direction of its claim does."""

    low: float = 0.0
    high: float = math.inf
    words: str = ""
    why: str = ""
    refuted_below: float | None = None
    refuted_above: float | None = None

    def holds(self, interval: Interval) -> bool:
        """Whether the whole interval lies inside."""
        if interval.low is None or interval.high is None:
            return False
        return self.low <= interval.low and interval.high <= self.high

    def fails(self, interval: Interval) -> bool:
        """Whether the whole interval lies outside, on one side."""
        if interval.low is None or interval.high is None:
            return False
        below = self.low if self.refuted_below is None else self.refuted_below
        above = self.high if self.refuted_above is None else self.refuted_above
        return interval.high < below or interval.low > above


def about(value: float, unit: str = "") -> Band:
    low, high = value / _ABOUT, value * _ABOUT
    return Band(low, high, f"from {units.quantity(low, unit)} to {units.quantity(high, unit)}", _WHY_ABOUT)


def between(low: float, high: float, why: str = "") -> Band:
    return Band(low, high, f"from {units.significant(low)} to {units.significant(high)}", why)


def at_least(low: float, why: str = "") -> Band:
    return Band(low=low, words=f"from {units.significant(low)} on", why=why)


def at_most(high: float, why: str = "") -> Band:
    return Band(high=high, words=f"up to {units.significant(high)}", why=why)


# The ratio of a contender that has less than the other; refuted where it has more, or as much.
LESS = Band(high=1.0, words="below 1", refuted_above=1 / (1 + _MARGIN))
MORE = Band(low=1.0, words="above 1", refuted_below=1 + _MARGIN)


@dataclass(frozen=True, slots=True)
class Part:
    """A quantity of a claim, named as in a sentence, by its logarithms in each block."""

    name: str
    logs: Logs

    def interval(self, confidence: float) -> Interval | None:
        if not self.logs:
            return None
        return exponential(hodges_lehmann([self.logs[block] for block in sorted(self.logs)], confidence))


def not_tested(why: str, experiment: str = "") -> ClaimResult:
    return ClaimResult(Answer.NOT_TESTED, why, experiment)


def stand_in(finding: ClaimResult, original: str) -> ClaimResult:
    """The result of a claim of figures of programs that cannot be had any more: what was measured is what
    others in their place give. `original`: what is missing, and what stands in for it."""
    if finding.answer is Answer.NOT_TESTED:
        return finding
    return replace(finding, answer=Answer.UNTESTABLE, sentence=f"{original}: {finding.sentence}")


def elsewhere(finding: ClaimResult, condition: str) -> ClaimResult:
    """The result of a claim that was measured only without a condition of the source's: where it holds
    nevertheless it holds under other conditions, else nothing is known of it. `condition`: the source's."""
    if finding.answer is Answer.NOT_TESTED:
        return finding
    holds = finding.answer is Answer.CONFIRMED
    result = Answer.OTHER_CONDITIONS if holds else Answer.NOT_TESTED
    return replace(finding, answer=result, sentence=f"{condition}; without that, {finding.sentence}")


def decided_by(condition: str, with_it: ClaimResult, without: ClaimResult) -> ClaimResult:
    """The result of a claim that was measured with a condition of the source's and without it. It holds
    under that condition only where it does not hold without; else it is what it is with the condition."""
    sentence = f"{condition}: {with_it.sentence}"
    if without.answer is Answer.NOT_TESTED:
        return replace(with_it, sentence=sentence)
    only = with_it.answer is Answer.CONFIRMED and without.answer is Answer.REFUTED
    return replace(
        with_it,
        answer=Answer.OTHER_CONDITIONS if only else with_it.answer,
        sentence=f"{sentence}; without that, {without.sentence}",
        runs=tuple(dict.fromkeys((*with_it.runs, *without.runs))),
    )


def agreeing(findings: Sequence[ClaimResult], band: Band) -> ClaimResult:
    """The result of a claim that is judged several times, apart: their answer where all have the same, else
    none. Of `judge_part`; at least one."""
    tested = [finding for finding in findings if finding.answer is not Answer.NOT_TESTED]
    if not tested:
        return findings[0]
    shown = next((finding for finding in tested if finding.answer is not Answer.CONFIRMED), tested[0])
    is_one = len({finding.answer for finding in tested}) == 1
    finding = replace(
        shown,
        answer=shown.answer if is_one else Answer.INCONCLUSIVE,
        sentence="; ".join(dict.fromkeys(finding.sentence for finding in tested)),
        runs=tuple(dict.fromkeys(run for finding in tested for run in finding.runs)),
    )
    return _explained(finding, band)


def logs(run: AnalysedRun, metric: str, contender: str, points: Sequence[Point]) -> dict[int, float]:
    """The logarithm of the geometric mean over points in each block that has a figure at all of them."""
    at = [logarithms(run.values(metric, contender, point)) for point in points]
    blocks = set.intersection(*map(set, at)) if at else set()
    return {block: math.fsum(values[block] for values in at) / len(at) for block in sorted(blocks)}


def judge_values(
    run: AnalysedRun,
    values: Mapping[int, float],
    band: Band,
    sentence: Callable[[Interval], str],
    unit: str = "",
) -> ClaimResult:
    """The result of a claim that the median of values, given by block, lies inside the band."""
    if not values:
        return _undecided(run, "there are no figures, or more than a tenth of the blocks failed,")
    interval = median_interval(list(values.values()))
    finding = ClaimResult(
        answer(interval, band), sentence(interval), run.experiment.name, (run.run.id,), interval, unit
    )
    return _explained(finding, band)


def answer(interval: Interval, band: Band) -> Answer:
    """What one interval says of a claim."""
    if band.holds(interval):
        return Answer.CONFIRMED
    return Answer.REFUTED if band.fails(interval) else Answer.INCONCLUSIVE


def judge(
    run: AnalysedRun, parts: Sequence[Part], band: Band, sentence: Callable[[str, Interval], str]
) -> ClaimResult:
    """The result of a claim that each of its parts lies inside the band. It is confirmed where all intervals
    do (an intersection-union test: no part needs a correction). It is refuted where all lie outside, or one
    of the k parts does at an error rate that is k times smaller (Bonferroni).

    `sentence`: of a part's name and figure. Of several, the one that decides is written."""
    finding = judge_part(run, parts, band, sentence)
    return finding if finding.figure is None else _explained(finding, band)


def judge_part(
    run: AnalysedRun, parts: Sequence[Part], band: Band, sentence: Callable[[str, Interval], str]
) -> ClaimResult:
    """As `judge`, for a claim that is judged several times: without the band in words."""
    error = (1 - run.confidence) / max(1, len(parts))
    intervals = [part.interval(run.confidence) for part in parts]
    if not intervals or any(interval is None for interval in intervals):
        return _undecided(run, "there are no figures of both, or more than a tenth of the blocks failed,")
    known = [interval for interval in intervals if interval is not None]
    strict = [part.interval(1 - error) for part in parts]
    failing = [index for index, interval in enumerate(strict) if interval and band.fails(interval)]
    if all(band.holds(interval) for interval in known):
        result, shown = Answer.CONFIRMED, 0
    elif failing or all(band.fails(interval) for interval in known):
        result, shown = Answer.REFUTED, failing[0] if failing else 0
    else:
        undecided = (index for index, interval in enumerate(known) if not band.holds(interval))
        result, shown = Answer.INCONCLUSIVE, next(undecided, 0)
    figure = known[shown]
    return ClaimResult(
        result, sentence(parts[shown].name, figure), run.experiment.name, (run.run.id,), figure
    )


def _explained(finding: ClaimResult, band: Band) -> ClaimResult:
    """With the values for which the claim holds, and why it is undecided."""
    figure = finding.figure
    few = figure is not None and figure.low is None
    why = (
        f"; {units.count(figure.n, 'block')} {'is' if figure.n == 1 else 'are'} too few for an interval"
        if figure and few
        else ""
    )
    ours = f" (our band: {band.why})" if band.why else ""
    return _with_sentence(finding, f"; the claim holds {band.words}{ours}{why}")


def _undecided(run: AnalysedRun, why: str) -> ClaimResult:
    return ClaimResult(Answer.INCONCLUSIVE, f"{why} in this run", run.experiment.name, (run.run.id,))


def _with_sentence(finding: ClaimResult, more: str) -> ClaimResult:
    return replace(finding, sentence=finding.sentence + more)
