"""What prose about a source needs of its figures and of runs: ratios, medians, and what they show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ringside.analysis.suite import examine
from ringside.model.catalogue import Claim, Published
from ringside.model.design import Level, Point
from ringside.model.results import Answer, Finding, Interval
from ringside.stats.interval import median_interval
from ringside.stats.paired import differences
from ringside.workloads.claims import LESS, MORE, AnalysedRun, Part, answer, logs, not_tested

Levels = Mapping[str, Level]


class Direction(StrEnum):
    """What the interval of a ratio shows: as claims of a direction are decided."""

    MORE = "more"
    LESS = "less"
    SAME = "same"
    UNCLEAR = "unclear"

    @classmethod
    def of(cls, ratio: Interval) -> Direction:
        """`SAME`: neither more nor less, within the margin of verdicts."""
        answers = answer(ratio, MORE), answer(ratio, LESS)
        # An interval that is 1 alone confirms both.
        if answers[0] is answers[1]:
            return cls.UNCLEAR if answers[0] is Answer.INCONCLUSIVE else cls.SAME
        return {
            (Answer.CONFIRMED, Answer.REFUTED): cls.MORE,
            (Answer.CONFIRMED, Answer.INCONCLUSIVE): cls.MORE,
            (Answer.REFUTED, Answer.CONFIRMED): cls.LESS,
            (Answer.INCONCLUSIVE, Answer.CONFIRMED): cls.LESS,
        }.get(answers, cls.UNCLEAR)


class Explained(StrEnum):
    """How much of a gap a condition explains."""

    MOST = "most"
    SOME = "some"
    NONE = "none"

    @classmethod
    def of(cls, gap: Interval, effect: Interval) -> Explained:
        """How much of a gap, a ratio above 1, goes away with a condition. `effect`: the gap over what is left
        of it. Half of it or more, by logarithms, is most; an effect that is not shown is none."""
        if Direction.of(effect) is not Direction.MORE:
            return cls.NONE
        share = math.log(effect.estimate) / math.log(gap.estimate) if gap.estimate > 1 else 0.0
        return cls.MOST if share >= 0.5 else cls.SOME


@dataclass(frozen=True, slots=True)
class Place:
    """Points of a workload: those that have these levels; of several the last, which is the largest."""

    workload: str
    levels: Levels

    def at(self, **levels: Level) -> Place:
        return Place(self.workload, {**self.levels, **levels})

    def point(self, run: AnalysedRun) -> Point | None:
        """The point of a run; None where it has none."""
        points = [each for each in run.points if self._holds(each.as_dict())]
        return points[-1] if points and run.experiment.workload == self.workload else None

    def _holds(self, levels: Levels) -> bool:
        return all(levels.get(factor) == level for factor, level in self.levels.items())


@dataclass(frozen=True, slots=True)
class PostData:
    """A source, runs, and the findings of its claims by their ids. `older`: the same of runs on older
    runtimes, where there are some."""

    source: Published
    runs: Sequence[AnalysedRun]
    findings: Mapping[str, Finding]
    older: PostData | None = None

    @classmethod
    def of(
        cls, source: Published, runs: Sequence[AnalysedRun], older: Sequence[AnalysedRun] = ()
    ) -> PostData:
        findings = {each.claim.id: each.finding for each in examine([source], runs)}
        return cls(source, runs, findings, cls.of(source, older) if older else None)

    def finding(self, claim: str) -> Finding:
        return self.findings.get(claim) or not_tested("")

    def is_known(self, claim: str) -> bool:
        """Whether an interval confirms the claim or refutes it, under whatever conditions."""
        return self.finding(claim).answer in (Answer.CONFIRMED, Answer.REFUTED, Answer.OTHER_CONDITIONS)

    def turned(self) -> tuple[list[Claim], int]:
        """The claims of which older runtimes confirm what today's refute, or the reverse; and how many claims
        both decide."""
        if self.older is None:
            return [], 0
        both = [
            each for each in self.source.claims if self.is_known(each.id) and self.older.is_known(each.id)
        ]
        holds = {Answer.CONFIRMED, Answer.OTHER_CONDITIONS}
        return [
            each
            for each in both
            if (self.finding(each.id).answer in holds) != (self.older.finding(each.id).answer in holds)
        ], len(both)

    def then(self, metric: str, contender: str, **levels: Level) -> float | None:
        """The source's figure at these levels."""
        for figure in self.source.figures:
            is_same = (figure.metric, figure.contender) == (metric, contender)
            if is_same and all(figure.point.get(name) == level for name, level in levels.items()):
                return figure.value
        return None

    def own(self) -> list[AnalysedRun]:
        """The runs of the source's own experiments."""
        return [run for run in self.runs if run.experiment.published == self.source.name]

    def run(self, names: Sequence[str], *places: Place) -> AnalysedRun | None:
        """The run that has these contenders at all of these places: one of the source's own first, then one
        with more blocks of figures."""
        fitting = [
            run
            for run in self.runs
            if set(names) <= set(run.names) and all(place.point(run) for place in places)
        ]
        return max(
            fitting,
            key=lambda run: (run.experiment.published == self.source.name, len(run.points)),
            default=None,
        )

    def ratio(
        self, metric: str, above: str, below: str, place: Place, of: Place | None = None
    ) -> Interval | None:
        """A metric of one contender over that of another inside blocks of one run; `of`: the place of the
        second, where it is another one. None where there is no such run, or no figures of both."""
        other = of or place
        run = self.run((above, below), place, other)
        if run is None:
            return None
        at, there = place.point(run), other.point(run)
        if at is None or there is None:
            return None
        return Part(
            "", differences(logs(run, metric, above, [at]), logs(run, metric, below, [there]))
        ).interval(run.confidence)

    def value(self, metric: str, contender: str, place: Place) -> Interval | None:
        """The median of a metric over blocks; None where there are no figures."""
        run = self.run((contender,), place)
        point = place.point(run) if run else None
        values = run.values(metric, contender, point) if run and point else {}
        return median_interval(list(values.values())) if values else None

    def levels(self, workload: str, factor: str) -> list[Level]:
        """The levels that a factor has in the source's own runs of a workload, without repetition."""
        points = [point for point in self.points(workload) if factor in point.as_dict()]
        return list(dict.fromkeys(point[factor] for point in points))

    def points(self, workload: str) -> list[Point]:
        """Those of the source's own runs of a workload."""
        return [point for run in self.own() if run.experiment.workload == workload for point in run.points]
