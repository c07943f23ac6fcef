"""The answer of a run: who is first at each point, by verdicts and ranks, and which other influences there
are. render/text/answers.py has the sentences, docs/RULES.md the rules."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median

from ringside.analysis import plausibility
from ringside.analysis.distributions import WarmUp
from ringside.analysis.figures import RunFigures
from ringside.model.design import Cell, Metric, Point, grouped
from ringside.model.results import Comparison, Diagnostic, Interval, Obstacle, Verdict
from ringside.workloads.base import Workload

# If most of a figure is not the program's, equivalence says little about programs.
_MOST = 0.5
_NOISY, _BOUND, _STILL_FASTER = "noisy-neighbour", "generator-bound", "still-faster"
# Codes of the warnings about causes that no diagnostic of figures explains.
WEAK_FLOOR, WAITING, NOT_WARM = "weak-reference", "waiting", "not-warm"


class FirstPlace(StrEnum):
    """The first place at a point. `SHARED`: several are equivalent and better than all others. `OPEN`: more
    blocks may decide. `BARRED`: no verdict is possible between some. `ALONE`, `NOTHING`: one or no figure."""

    FIRST = "first"
    SHARED = "shared"
    OPEN = "open"
    BARRED = "barred"
    ALONE = "alone"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Influence:
    """Another possible cause of an order. `codes`: warnings that explain it; `text`: its own explanation."""

    codes: tuple[str, ...]
    contenders: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """A point. `names`: contenders of the ranked class that have figures, the best median first; `first`:
    those that may be first. `behind`: those shown to be worse than the first of these, with how many times,
    the nearest first. `ratios`: the same for all others. `cold`, `failing`: those that were still warming up,
    or failed too often; they are ranked only if all are such. `overstated`: `Comparison.overstated`.
    `obstacles`: why there is no verdict between some that may be first. `influences`: other possible causes
    of the order. `lacking`: how many of the class have no figure. `others`: the best of each other class but
    the floor."""

    point: Point
    first_place: FirstPlace
    names: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    behind: Mapping[str, Interval] = field(default_factory=dict)
    ratios: Mapping[str, Interval] = field(default_factory=dict)
    cold: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    overstated: frozenset[str] = frozenset()
    obstacles: frozenset[Obstacle] = frozenset()
    influences: tuple[Influence, ...] = ()
    lacking: int = 0
    others: tuple[str, ...] = ()

    @property
    def decisive(self) -> tuple[str, ...]:
        """The contenders at the first place, and the next behind them."""
        return (*self.first, *tuple(self.behind)[:1])


@dataclass(frozen=True, slots=True)
class Conclusion:
    """`here`: the point that stands for the run. A run that was cut off has no places."""

    here: Standing
    standings: tuple[Standing, ...]


def conclude(run: RunFigures, diagnostics: Sequence[Diagnostic], warm_ups: Sequence[WarmUp]) -> Conclusion:
    """The answers at all points."""
    standings = tuple(_PointEvidence(run, diagnostics, warm_ups, point).standing() for point in run.points)
    with_figures = [each for each in standings if each.names]
    preferred = [each for each in standings if each.point == run.overview_point]
    here = next((each for each in preferred if each.names), None) or max(
        reversed(with_figures or preferred), key=lambda each: len(each.names)
    )
    return Conclusion(here, standings)


@dataclass(frozen=True, slots=True)
class _PointEvidence:
    """The answer at a point, from the headline and its weak points."""

    run: RunFigures
    diagnostics: Sequence[Diagnostic]
    warm_ups: Sequence[WarmUp]
    point: Point

    def _compare(self, name: str, other: str) -> Comparison | None:
        return self.run.examination.comparison(self.run.headline, self.point, name, other)

    def standing(self) -> Standing:
        run, ranking = self.run, self.run.rankings[self.run.headline.name, self.point]
        present = [name for name in ranking.order if run.figure(name, self.point)]
        # If the baseline is the floor, the next class is ranked; the floor only if no other has a figure.
        ranked = [name for name in present if name != run.floor] or present
        if not ranked:
            return Standing(self.point, FirstPlace.NOTHING)
        (kind, own), *others = grouped((run.kind(name), name) for name in ranked).items()
        reliable = tuple(name for name in own if name not in ranking.failing) or tuple(own)
        names = tuple(name for name in reliable if name not in ranking.cold) or reliable
        shown, first, obstacles = self._first(names)
        ratios = self._times_worse(names, first[0])
        worse = {
            name: comparison
            for name in ratios
            if run.is_over and name not in first
            if (comparison := self._compare(first[0], name)) and comparison.verdict is Verdict.FASTER
        }
        standing = Standing(
            self.point,
            shown,
            names,
            first,
            behind={name: ratios[name] for name in worse},
            ratios=ratios,
            cold=tuple(name for name in reliable if name not in names),
            failing=tuple(name for name in own if name not in reliable),
            overstated=frozenset(name for name, comparison in worse.items() if comparison.overstated),
            obstacles=obstacles,
            lacking=sum(run.kind(name) == kind for name in run.names) - len(own),
            others=tuple(best for _, (best, *_) in others),
        )
        is_order = run.is_over and len(names) > 1
        return dataclasses.replace(standing, influences=tuple(self._influences(standing)) if is_order else ())

    def _times_worse(self, names: Sequence[str], best: str) -> dict[str, Interval]:
        """How many times worse than the best the others are, nearest first, but for those that often fail."""
        failing = self.run.rankings[self.run.headline.name, self.point].failing
        is_small = self.run.headline.smaller_is_better
        pairs = {
            name: self._compare(*(name, best) if is_small else (best, name))
            for name in names
            if name != best and name not in failing
        }
        ratios = {name: each.ratio for name, each in pairs.items() if each}
        return dict(sorted(ratios.items(), key=lambda item: item[1].estimate))

    def _first(self, names: tuple[str, ...]) -> tuple[FirstPlace, tuple[str, ...], frozenset[Obstacle]]:
        """The state of the first place, who may have it, and obstacles between these. Open if cut off."""
        is_over = self.run.is_over
        known = self.run.rankings[self.run.headline.name, self.point].ranks if is_over else {}
        ranks = {name: known.get(name, (1, len(names))) for name in names}
        first = tuple(name for name in names if ranks[name][0] == 1) or names
        between = [self._compare(*pair) for pair in itertools.combinations(first, 2)]
        undecided = [each for each in between if each is None or each.verdict is Verdict.INCONCLUSIVE]
        obstacles = [each.obstacle if each else Obstacle.NO_RATIO for each in undecided]
        shown = FirstPlace.OPEN
        if len(names) == 1:
            shown = FirstPlace.ALONE
        elif ranks[first[0]] == (1, 1):
            shown = FirstPlace.FIRST
        elif is_over and all(each is not None and each.verdict is Verdict.EQUIVALENT for each in between):
            shown = FirstPlace.SHARED
        elif is_over and all(obstacles):
            shown = FirstPlace.BARRED
        return shown, first, frozenset(filter(None, obstacles))

    def _influences(self, standing: Standing) -> Iterator[Influence]:
        """Influences other than the programs that may have decided the first place."""
        run, best = self.run, standing.first[0]
        # Figures beyond the floor have a separate influence.
        codes = set(plausibility.CODES) - {plausibility.FASTER_THAN_FLOOR}
        if names := self._subjects(standing.first, *codes):
            flagged = (each.code for each in self.diagnostics if {*each.subjects} & {*names})
            yield Influence(tuple(dict.fromkeys(code for code in flagged if code in codes)), names)
        if run.floor != best:
            over_floor = run.floor_ratios[run.headline.name, self.point].get(best)
            if influence := floor_influence(run.headline, self.point, run.floor, over_floor):
                beyond = [each.code for each in self.diagnostics if each.code in plausibility.BEYOND]
                is_named = best in self._subjects((best,), *beyond)
                yield dataclasses.replace(influence, codes=tuple(beyond if is_named else influence.codes))
        if names := self._subjects(standing.decisive, _BOUND):
            yield Influence((_BOUND,), names)
        for share, influence in self._shares(standing):
            # It decided nothing if the next one is behind by the program's own share of its figure.
            nearest = next(iter(standing.behind.values()), None)
            if share < _MOST if nearest is None else (nearest.low or 0.0) * share <= 1:
                yield influence

    def _subjects(self, names: Iterable[str], *codes: str) -> tuple[str, ...]:
        """The names that diagnostics with these codes concern."""
        subjects = {name for each in self.diagnostics if each.code in codes for name in each.subjects}
        return tuple(name for name in names if name in subjects)

    def _shares(self, standing: Standing) -> Iterator[tuple[float, Influence]]:
        """By cause, the program's share of the figure of the next one behind, else of the first."""
        run, name = self.run, standing.decisive[-1]
        figures = {metric: value.estimate for metric, value in run.cell(name, self.point).metrics.items()}
        if own := run.measurement.program_share(run.headline.name, self.point, figures):
            yield own[0], Influence((WAITING,), (name,), own[1])
        for each in self.diagnostics:
            if each.code == _NOISY:
                yield 1 - max(each.values.values()), Influence((_NOISY,))
        yield from self._warm_up(name, standing.names[0])

    def _warm_up(self, name: str, best: str) -> Iterator[tuple[float, Influence]]:
        """Influences of warming up: no steady state, work done once, servers or units that get faster."""
        headline, measurement = self.run.headline, self.run.measurement
        is_repeated = headline.name == measurement.repeated_metric
        for each in self.warm_ups if is_repeated else ():
            if each.cell == Cell(name, self.point) and each.steady is None:
                # Too few repeats to classify: they may go on getting faster at the same pace.
                later = median(each.medians[len(each.medians) // 2 :])
                share = 0.0 if each.is_long_enough else later / each.first
                yield share, Influence((NOT_WARM,), (name,))
        own, other = (self.run.plan.repeats_of(Cell(each, self.point)) or 1 for each in (name, best))
        if (is_repeated and own == 1 < other) or self._subjects((name,), _STILL_FASTER):
            yield 0.0, Influence((NOT_WARM,), (name,))
        here = self.run.figure(name, self.point)
        if here is None or headline.unit != "ns" or not isinstance(measurement, Workload):
            return
        work = measurement.work(self.point)
        shares = {
            point: value.estimate / here.estimate
            for point in self.run.points
            if here.estimate and measurement.work(point) > work and (value := self.run.figure(name, point))
        }
        if shares and (least := min(shares.values())) < 1:
            yield least, Influence((NOT_WARM,), (name,))


def floor_influence(
    metric: Metric, point: Point, floor: str | None, over_floor: Interval | None
) -> Influence | None:
    """A floor that is not shown to be better in this metric than a contender, whose ratio to it is given."""
    if floor is None or over_floor is None:
        return None
    times_worse = over_floor.inverse if metric.smaller_is_better else over_floor
    if times_worse.high is not None and times_worse.high < 1:
        return None
    return Influence((WEAK_FLOOR,), (floor,), plausibility.no_floor(metric, floor, (point,)))


def caveats(conclusion: Conclusion) -> Iterator[Diagnostic]:
    """The warnings of causes that no diagnostic of figures explains, each once."""
    influences = [each for standing in conclusion.standings for each in standing.influences]
    for code in (WEAK_FLOOR, WAITING, NOT_WARM):
        if own := [each for each in influences if each.codes == (code,)]:
            names = tuple(dict.fromkeys(name for each in own for name in each.contenders))
            yield Diagnostic(code, names, {"why": next((each.text for each in own if each.text), "")})
