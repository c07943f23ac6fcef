"""What a run has shown: at each point who is first, who shares that place and what is open, from verdicts and
rank intervals; and what else than the programs may have decided it, from figures of the run. Words are in
render/text/answers.py, docs/METHODOLOGY.md has the rules."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any

from ringside.analysis import plausibility
from ringside.analysis.cells import CellAnalysis
from ringside.analysis.comparisons import Ranking
from ringside.analysis.distributions import WarmUp
from ringside.model.design import Cell, Metric, Point
from ringside.model.results import Comparison, Diagnostic, Interval, Stalls, Verdict
from ringside.workloads.base import Measurement, Workload

# Where most of a figure is not the program's, that several are equivalent says little of them.
_MOST = 0.5
# A runtime that is so many days older than another may be slower for that; newer releases seldom make a
# program more than so many times faster.
YEARS_APART, _MOST_BY_AGE = 2 * 365, 2.0
_CARRY_OVER, _NOISY, _BOUND = "carry-over", "noisy-neighbour", "generator-bound"


class Shown(StrEnum):
    """What is shown at a point. `FIRST`: one has a rank of its own, the first. `SHARED`: several are shown to
    be equivalent, and better than all others. `OPEN`: neither. `ALONE`: one has a figure, `NOTHING`: none."""

    FIRST = "first"
    SHARED = "shared"
    OPEN = "open"
    ALONE = "alone"
    NOTHING = "nothing"


class Confounder(StrEnum):
    """What else than the program may have decided an order."""

    IMPLAUSIBLE = "implausible"
    FLOOR = "floor"
    ENGINE = "engine"
    ELSEWHERE = "elsewhere"
    HOST = "host"
    CARRY_OVER = "carry-over"
    WARM_UP = "warm-up"
    STALLS = "stalls"
    VERSIONS = "versions"


@dataclass(frozen=True, slots=True)
class Influence:
    """A cause that figures do not exclude. `contenders`: whom it concerns; for `VERSIONS` the next behind
    and the best. `ratio`: how many times worse the floor is than the best. `text`: the workload's words, or
    what the floor is not. `point`: where more work took less time per unit; None where repeats show it.
    `shares`: the values of the host's diagnostic. `stalls`: without these the next would not be behind."""

    cause: Confounder
    contenders: tuple[str, ...] = ()
    ratio: Interval | None = None
    text: str = ""
    point: Point | None = None
    shares: Mapping[str, float] = field(default_factory=dict)
    stalls: Stalls | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """A point. `names`: those of the class that is ranked that have figures, the best median first; `first`:
    those that may be first. `behind`: those that are shown to be worse than the best median, best first, by
    how many times. `ratios`: the same of all others that rarely failed. `overstated`: those whose ratio is
    probably nearer to 1 (`Comparison.overstated`). `last`: who has the last rank alone. `places`: the whole
    order, each place with one name or with several that are equivalent; None where it is not decided.
    `influences`: none where nothing is claimed of an order. `lacking`: how many of the class have no figure.
    `others`: the best of each other class but the floor."""

    point: Point
    shown: Shown
    names: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    behind: Mapping[str, Interval] = field(default_factory=dict)
    ratios: Mapping[str, Interval] = field(default_factory=dict)
    overstated: frozenset[str] = frozenset()
    last: str | None = None
    places: tuple[frozenset[str], ...] | None = None
    influences: tuple[Influence, ...] = ()
    lacking: int = 0
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lead:
    """Points at which the same is shown of the first place; `is_certain`: without influences."""

    shown: Shown
    names: tuple[str, ...]
    is_certain: bool
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Conclusion:
    """`here`: the point that stands for the run, one with figures if there is one. `is_over`: the run has
    ended; one that was cut off has no places. `same_order`: the whole order is decided at each point, and the
    same. `only`: the contender that alone has figures, at all points."""

    is_over: bool
    here: Standing
    standings: tuple[Standing, ...]
    leads: tuple[Lead, ...]
    same_order: bool
    only: str | None


@dataclass(frozen=True, slots=True)
class AnswerInputs:
    """What conclusions are drawn from. Of the headline, one contender over another at a point: `ranked` for
    any pair inside a class; `compare` for those that get a verdict, so that only these can be equivalent.
    `released`: when the runtimes came out, of those of which it is known."""

    headline: Metric
    measurement: Measurement
    names: Sequence[str]
    kinds: Mapping[str, str]
    floor: str | None
    cells: Mapping[Cell, CellAnalysis]
    rankings: Mapping[tuple[str, Point], Ranking]
    floor_ratios: Mapping[tuple[str, Point], Mapping[str, Interval]]
    ranked: Callable[[Point, str, str], Comparison | None]
    compare: Callable[[Point, str, str], Comparison | None]
    diagnostics: Iterable[Diagnostic]
    warm_ups: Sequence[WarmUp]
    released: Mapping[str, date]

    def figure(self, name: str, point: Point) -> Interval | None:
        return self.cells[Cell(name, point)].metrics.get(self.headline.name)

    def is_better(self, point: Point, name: str, other: str) -> bool:
        comparison = self.ranked(point, name, other)
        return comparison is not None and comparison.verdict is Verdict.FASTER

    def is_equivalent(self, point: Point, name: str, other: str) -> bool:
        comparison = self.compare(point, name, other)
        return comparison is not None and comparison.verdict is Verdict.EQUIVALENT

    def times_worse(self, point: Point, name: str, best: str) -> Interval | None:
        pair = (name, best) if self.headline.smaller_is_better else (best, name)
        comparison = self.ranked(point, *pair)
        return comparison.ratio if comparison else None


def conclude(
    of: AnswerInputs, points: Sequence[Point], overview_point: Point, *, is_over: bool
) -> Conclusion:
    """What is shown at all points."""
    standings = tuple(_standing(of, point, is_over=is_over) for point in points)
    with_figures = [each for each in standings if each.names]
    preferred = [each for each in standings if each.point == overview_point]
    here = next((each for each in preferred if each.names), None) or max(
        reversed(with_figures or preferred), key=lambda each: len(each.names)
    )
    places = {each.places for each in standings}
    return Conclusion(
        is_over=is_over,
        here=here,
        standings=standings,
        leads=_leads(standings),
        same_order=len(places) == 1 and None not in places,
        only=_only(of, here, with_figures),
    )


def _only(of: AnswerInputs, here: Standing, standings: Sequence[Standing]) -> str | None:
    names = {name for each in standings for name in each.names}
    # The floor leads nobody: where it alone has figures, the others failed.
    contenders = names - {of.floor} or names
    return here.names[0] if contenders == set(here.names) and len(contenders) == 1 else None


def _leads(standings: Sequence[Standing]) -> tuple[Lead, ...]:
    """Those at the most points first."""
    groups: dict[tuple[Shown, frozenset[str], bool], list[Standing]] = {}
    for each in standings:
        names = frozenset(each.first) if each.shown not in (Shown.OPEN, Shown.NOTHING) else frozenset()
        groups.setdefault((each.shown, names, not each.influences), []).append(each)
    leads = [
        Lead(shown, each[0].first if names else (), is_certain, tuple(one.point for one in each))
        for (shown, names, is_certain), each in groups.items()
    ]
    return tuple(sorted(leads, key=lambda lead: -len(lead.points)))


def _standing(of: AnswerInputs, point: Point, *, is_over: bool) -> Standing:
    ranking = of.rankings[of.headline.name, point]
    present = [name for name in ranking.order if of.figure(name, point) is not None]
    # Where the baseline is the floor, the next class is ranked; the floor where no other has a figure.
    ranked = [name for name in present if name != of.floor] or present
    if not ranked:
        return Standing(point, Shown.NOTHING)
    kind = of.kinds[ranked[0]]
    names = tuple(name for name in ranked if of.kinds[name] == kind)
    best = names[0]
    behind = [name for name in names[1:] if name not in ranking.failing]
    ratios = {name: ratio for name in behind if (ratio := of.times_worse(point, name, best))}
    others: dict[str, str] = {}
    for name in ranked:
        if of.kinds[name] != kind:
            others.setdefault(of.kinds[name], name)
    standing = Standing(
        point,
        Shown.ALONE,
        names,
        first=(best,),
        ratios=ratios,
        lacking=sum(of.kinds[name] == kind for name in of.names) - len(names),
        others=tuple(others.values()),
    )
    return standing if len(names) == 1 else _ranked(of, standing, is_over=is_over)


def _ranked(of: AnswerInputs, standing: Standing, *, is_over: bool) -> Standing:
    """With what verdicts and ranks show; of a run that was cut off, that the first place is open."""
    point, names, best = standing.point, standing.names, standing.names[0]
    known = of.rankings[of.headline.name, point].ranks if is_over else {}
    ranks = {name: known.get(name, (1, len(names))) for name in names}
    first = tuple(name for name in names if ranks[name][0] == 1)
    shown = Shown.OPEN
    if ranks[first[0]] == (1, 1):
        shown = Shown.FIRST
    elif all(ranks[name] == (1, len(first)) for name in first) and _equivalent(of, point, first):
        shown = Shown.SHARED
    behind = {
        name: ratio
        for name, ratio in standing.ratios.items()
        if is_over and name not in first and of.is_better(point, best, name)
    }
    overstated = {
        name for name in behind if (pair := of.ranked(point, best, name)) is not None and pair.overstated
    }
    last = next((name for name in names if ranks[name] == (len(names), len(names))), None)
    whole = dataclasses.replace(
        standing,
        shown=shown,
        first=first,
        behind=behind,
        overstated=frozenset(overstated),
        last=last,
        places=_places(of, point, ranks),
    )
    return _influenced(of, whole) if shown is not Shown.OPEN else whole


def _equivalent(of: AnswerInputs, point: Point, names: Iterable[str]) -> bool:
    return all(of.is_equivalent(point, *pair) for pair in itertools.combinations(names, 2))


def _places(
    of: AnswerInputs, point: Point, ranks: Mapping[str, tuple[int, int]]
) -> tuple[frozenset[str], ...] | None:
    groups: dict[tuple[int, int], list[str]] = {}
    for name, ends in ranks.items():
        groups.setdefault(ends, []).append(name)
    for (low, high), names in groups.items():
        if len(names) != high - low + 1 or not _equivalent(of, point, names):
            return None
    return tuple(frozenset(groups[ends]) for ends in sorted(groups))


def _influenced(of: AnswerInputs, standing: Standing) -> Standing:
    """With what else may have decided the first place."""
    influences = [*_marked(of, standing), *_floor(of, standing), *_engine(of, standing)]
    influences += [*_stalled(of, standing), *_older(of, standing)]
    influences += [
        influence for share, influence in _shares(of, standing) if not _is_excluded(standing, share)
    ]
    return dataclasses.replace(standing, influences=tuple(influences))


def _concerned(standing: Standing) -> tuple[str, ...]:
    """Those at the first place, and the next behind them."""
    return (*standing.first, *tuple(standing.behind)[:1])


def _marked(of: AnswerInputs, standing: Standing) -> Iterator[Influence]:
    """Figures that no honest program can have; of those beyond the floor `_floor` speaks."""
    codes = set(plausibility.CODES) - {plausibility.FASTER_THAN_FLOOR}
    marked = {name for each in of.diagnostics if each.code in codes for name in each.subjects}
    if names := tuple(name for name in standing.first if name in marked):
        yield Influence(Confounder.IMPLAUSIBLE, names)


def _floor(of: AnswerInputs, standing: Standing) -> Iterator[Influence]:
    """A floor that is not shown to be better than the best contender."""
    best = standing.names[0]
    if of.floor != best:
        over_floor = of.floor_ratios[of.headline.name, standing.point].get(best)
        if influence := floor_influence(of.headline, standing.point, of.floor, over_floor):
            yield influence


def floor_influence(
    metric: Metric, point: Point, floor: str | None, over_floor: Interval | None
) -> Influence | None:
    """A floor that is not shown to be better in this metric than a contender, whose ratio to it is given."""
    excess = plausibility.floor_excess(metric, over_floor)
    if floor is None or excess is None:
        return None
    return Influence(
        Confounder.FLOOR, (floor,), ratio=excess, text=plausibility.no_floor(metric, floor, (point,))
    )


def _engine(of: AnswerInputs, standing: Standing) -> Iterator[Influence]:
    bound = {name for each in of.diagnostics if each.code == _BOUND for name in each.subjects}
    if names := tuple(name for name in _concerned(standing) if name in bound):
        yield Influence(Confounder.ENGINE, names)


def _stalled(of: AnswerInputs, standing: Standing) -> Iterator[Influence]:
    """Those that are behind by stalls alone."""
    for name in standing.behind:
        comparison = of.ranked(standing.point, name, standing.names[0])
        if comparison and comparison.stalls:
            yield Influence(Confounder.STALLS, (name,), stalls=comparison.stalls)


def _older(of: AnswerInputs, standing: Standing) -> Iterator[Influence]:
    """That the next one's runtime is years older than that of the best, where so little lies between them
    that a newer one could make up for it."""
    for name, ratio in itertools.islice(standing.behind.items(), 1):
        older, newer = of.released.get(name), of.released.get(standing.names[0])
        is_close = ratio.low is not None and ratio.low < _MOST_BY_AGE
        if is_close and older and newer and (newer - older).days >= YEARS_APART:
            yield Influence(Confounder.VERSIONS, (name, standing.names[0]))


def _shares(of: AnswerInputs, standing: Standing) -> Iterator[tuple[float, Influence]]:
    """What is not the program's of the figure of the next one behind the first; of the first itself where
    none is behind: the share that is the program's, and the cause."""
    name, point = _concerned(standing)[-1], standing.point
    metrics = of.cells[Cell(name, point)].metrics
    figures = {metric: value.estimate for metric, value in metrics.items()}
    if own := of.measurement.program_share(of.headline.name, point, figures):
        yield own[0], Influence(Confounder.ELSEWHERE, (name,), text=own[1])
    for each in of.diagnostics:
        if each.code == _NOISY:
            yield 1 - max(each.values.values()), Influence(Confounder.HOST, shares=each.values)
        if each.code == _CARRY_OVER and standing.behind:
            effects: Mapping[str, Any] = each.values["effects"]
            largest = max(abs(effect) for effect in effects.values())
            yield 1 / (1 + largest), Influence(Confounder.CARRY_OVER, tuple(effects))
    yield from _warm_up(of, name, point)


def _is_excluded(standing: Standing, share: float) -> bool:
    """Whether the next would be behind with the program's share of its figure alone."""
    if not standing.behind:
        return share >= _MOST
    low = next(iter(standing.behind.values())).low
    return low is not None and low * share > 1


def _warm_up(of: AnswerInputs, name: str, point: Point) -> Iterator[tuple[float, Influence]]:
    """Repeats that show no steady state, and times of one unit of work that fall where there is more."""
    is_repeated = of.headline.name == of.measurement.repeated_metric
    for each in of.warm_ups if is_repeated else ():
        if each.cell == Cell(name, point) and each.steady is None:
            # Of too few repeats: they may go on getting faster by as much as they did.
            yield 0.0 if each.is_long_enough else each.last_over_first, Influence(Confounder.WARM_UP, (name,))
    here = of.figure(name, point)
    if here is None or of.headline.unit != "ns" or not isinstance(of.measurement, Workload):
        return
    work = of.measurement.work(point)
    shares = {
        each.point: value.estimate / here.estimate
        for each in of.cells
        if each.contender == name and of.measurement.work(each.point) > work
        if here.estimate and (value := of.figure(name, each.point))
    }
    if shares and (least := min(shares.values())) < 1:
        fastest = min(shares, key=lambda each: shares[each])
        yield least, Influence(Confounder.WARM_UP, (name,), point=fastest)
