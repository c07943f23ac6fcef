"""Contenders by the family of their concurrency model. render/text/families.py has the sentences."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ringside.analysis.answers import WEAK_FLOOR, floor_influence
from ringside.analysis.plausibility import BEYOND
from ringside.analysis.run import RunAnalysis
from ringside.model.catalogue import Question, QuestionFigure
from ringside.model.design import Cell, Metric, Point, grouped
from ringside.model.results import Interval, Obstacle
from ringside.stats.paired import paired_ratio
from ringside.stats.series import MIN_FOR_STEADY_STATE


@dataclass(frozen=True, slots=True)
class FamilyStanding:
    """The ranked class's figures at a point, or how many times better than at `over`. `families`: members
    with figures, best first. `first`: possible winners; of a gain none. `ahead`: family pairs, each member
    better. `unknown`: of no family; `others`: of other classes; `lacking`: without figures."""

    analysis: RunAnalysis
    metric: Metric
    point: Point
    over: Point | None
    values: Mapping[str, Interval]
    families: Mapping[str, tuple[str, ...]]
    first: tuple[str, ...]
    ahead: frozenset[tuple[str, str]] = frozenset()
    unknown: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    by: str = "family"

    @property
    def best(self) -> str:
        return self.contenders[0]

    @property
    def contenders(self) -> tuple[str, ...]:
        """The contenders of known families, family by family."""
        return tuple(name for members in self.families.values() for name in members)

    @property
    def caveats(self) -> list[str]:
        """The codes of causes other than the programs: the floor's, and those that the answer names here."""
        over_floor = self.analysis.floor_ratios.get((self.metric.name, self.point), {})
        floor = floor_influence(self.metric, self.point, self.analysis.floor, over_floor.get(self.best))
        here = (each for each in self.analysis.conclusion.standings if each.point == self.point)
        others = (each for standing in here for each in standing.influences)
        causes = (floor, *(each for each in others if not {*each.codes} & {WEAK_FLOOR, *BEYOND}))
        return list(dict.fromkeys(code for cause in causes if cause for code in cause.codes))

    @property
    def unsteady(self) -> tuple[str, ...]:
        """The contenders that may be first and reach no steady state, so they have no verdicts."""
        obstacle = self.analysis.examination.observations.obstacle
        each = {name: obstacle(self.metric.name, Cell(name, self.point)) for name in self.first}
        return tuple(name for name in each if each[name] in (Obstacle.NO_STEADY_STATE, Obstacle.WARMING_UP))

    @property
    def cold(self) -> tuple[str, ...]:
        """The contenders that were still warming up, or had too few repeats to tell, at one of the points."""
        of, metric = self.analysis, self.metric.name
        few = MIN_FOR_STEADY_STATE if metric == of.measurement.repeated_metric else 0
        cells = [Cell(name, at) for name in self.contenders for at in (self.point, self.over or self.point)]
        cold = (it for it in cells if (of.plan.repeats_of(it) or few) < few or of.is_warming_up(metric, it))
        return tuple(dict.fromkeys(it.contender for it in cold))

    @property
    def unit(self) -> str:
        return "" if self.over else self.metric.unit

    @property
    def smaller_is_better(self) -> bool:
        return self.metric.smaller_is_better and self.over is None


def by_family(
    analysis: RunAnalysis, metric: Metric, point: Point, over: Point | None = None, by: str = "family"
) -> FamilyStanding | None:
    """The standing of families, or of ways of sharing state; None if no known one has a figure."""
    ranking = analysis.rankings.get((metric.name, point))
    if ranking is None:
        return None
    values = {name: value for name in ranking.order if (value := _value(analysis, metric, name, point, over))}
    ranked = [name for name in values if analysis.kind(name) != "floor"]
    own = [name for name in ranked if analysis.kind(name) == analysis.kind(ranked[0])]
    if over:
        own.sort(key=lambda name: -values[name].estimate)
    families = ((getattr(analysis.contenders[name], by) or "", name) for name in own)
    members: dict[str, list[str]] = grouped(families)
    unknown = members.pop("", [])
    if not members:
        return None
    # Neither runs that were cut off nor gains have places.
    ranks = ranking.ranks if analysis.is_over and over is None else {}

    def is_ahead(one: str, other: str) -> bool:
        return all(
            a in ranks and b in ranks and ranks[a][1] < ranks[b][0]
            for a, b in itertools.product(members[one], members[other])
        )

    several = [family for family, names in members.items() if len(names) > 1]
    return FamilyStanding(
        analysis,
        metric,
        point,
        over,
        values,
        {family: tuple(names) for family, names in members.items()},
        tuple(name for name in own if ranks.get(name, (1, 1))[0] == 1) if over is None else (),
        frozenset(pair for pair in itertools.permutations(several, 2) if is_ahead(*pair)),
        tuple(unknown),
        tuple(name for name in ranked if name not in own),
        tuple(name for name in analysis.names if name not in values),
        by,
    )


def _value(
    analysis: RunAnalysis, metric: Metric, name: str, point: Point, over: Point | None
) -> Interval | None:
    if over is None:
        return analysis.cell(name, point).metrics.get(metric.name)
    here, there = (analysis.values(metric.name, name, at) for at in (point, over))
    if metric.smaller_is_better:
        here, there = there, here
    return paired_ratio(here, there, analysis.confidence)


@dataclass(frozen=True, slots=True)
class QuestionPart:
    """A figure of a question. `standing`: None if no run has it."""

    figure: QuestionFigure
    standing: FamilyStanding | None


@dataclass(frozen=True, slots=True)
class QuestionAnswer:
    question: Question
    parts: tuple[QuestionPart, ...]

    @property
    def is_measured(self) -> bool:
        return any(part.standing for part in self.parts)


def answer(questions: Iterable[Question], analyses: Sequence[RunAnalysis]) -> tuple[QuestionAnswer, ...]:
    """The questions with the answers of these runs; the last run counts if an experiment has several."""
    runs = {analysis.experiment.name: analysis for analysis in analyses}

    def part(figure: QuestionFigure) -> QuestionPart:
        return QuestionPart(figure, _standing(figure, runs.get(figure.experiment)))

    return tuple(QuestionAnswer(each, tuple(map(part, each.figures))) for each in questions)


def _standing(figure: QuestionFigure, analysis: RunAnalysis | None) -> FamilyStanding | None:
    if analysis is None or figure.metric not in {metric.name for metric in analysis.metrics}:
        return None
    metric = analysis.measurement.metric(figure.metric)
    # The last point with the most figures, as in an overview.
    here = [point for point in reversed(analysis.points) if figure.at.items() <= point.as_dict().items()]
    pairs = [(point, point.but(**figure.over) if figure.over else None) for point in here]
    standings = (
        by_family(analysis, metric, point, over, figure.by)
        for point, over in pairs
        if over is None or (over != point and over in analysis.points)
    )
    return max(filter(None, standings), key=lambda each: len(each.contenders), default=None)
