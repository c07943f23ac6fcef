"""Tests claims that are rows of `published/`: finds the run and the points of a row, and judges them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from msgspec import structs

from ringside import units
from ringside.model.claims import ClaimRow, LevelRule, Place, Product, Quantity, Where
from ringside.model.design import Level, Point
from ringside.model.results import Answer, ClaimResult, Interval
from ringside.stats.interval import median_interval
from ringside.stats.paired import differences
from ringside.workloads.claims import (
    LESS,
    MORE,
    AnalysedRun,
    Band,
    Part,
    about,
    agreeing,
    answer,
    at_least,
    at_most,
    between,
    decided_by,
    elsewhere,
    judge,
    judge_part,
    judge_values,
    logs,
    not_tested,
    stand_in,
)

_NO_CODE = re.compile(r"(?:#|//|import |from |[\"'()\[\]{}\s,]*$)")
Runs = Sequence[AnalysedRun]


def evaluate(test: ClaimRow, source: str, workload: str, runs: Runs) -> ClaimResult:
    """The answer of runs to a claim of a source."""
    if test.never:
        return not_tested(test.never)
    finding = _evaluate(_Claim(test, source, workload), runs)
    if test.only_refutes and finding.answer is Answer.CONFIRMED:
        sentence = f"{finding.sentence}; {test.only_refutes}"
        finding = replace(finding, answer=Answer.INCONCLUSIVE, sentence=sentence)
    if test.budget is not None and finding.answer is not Answer.NOT_TESTED:
        finding = replace(finding, answer=Answer.UNTESTABLE)
    return stand_in(finding, test.stand_in) if test.stand_in else finding


@dataclass(frozen=True, slots=True)
class _Claim:
    test: ClaimRow
    source: str
    workload: str

    def but(self, **changes: Any) -> _Claim:
        return replace(self, test=structs.replace(self.test, **changes))


def _evaluate(claim: _Claim, runs: Runs) -> ClaimResult:
    test = claim.test
    if test.lines:
        return _further_lines(test, runs)
    if test.builds:
        return _build_times(test, runs)
    if test.between:
        return _between_ends(claim, runs)
    if test.apart:
        return _apart(claim, runs)
    if test.known_by:
        default = _judged(claim, [run for run in runs if test.known_by in run.names])
        if default.answer is Answer.NOT_TESTED:
            return elsewhere(_judged(claim, runs), test.unknown)
        base = test.known_by.partition("@")[0]
        over, under = (test.known_by if side == base else side for side in (test.over, test.under))
        return decided_by(test.condition, default, _judged(claim.but(over=over, under=under), runs))
    if test.own:
        own = _judged(claim.but(at=test.at | test.own), runs)
        if own.answer is not Answer.NOT_TESTED:
            return own
        ((factor, _),) = test.own.items()
        where = f"{test.where}, on {{at[{factor}]:{factor.removesuffix('s')}}}"
        fewest = claim.but(at=test.at | {factor: LevelRule(pick="fewest")}, where=where)
        return elsewhere(_judged(fewest, runs), test.elsewhere)
    return _judged(claim, runs)


# --- runs and points -------------------------------------------------------------------------------


def _level(point: Point, factor: str) -> Level:
    """The level of a factor, or the product of two."""
    first, _, second = factor.partition("*")
    return int(point[first]) * int(point[second]) if second else point[first]


def _accepts(point: Point, where: Where) -> bool:
    levels = point.as_dict()
    for factor, rule in where.items():
        if not levels.keys() >= set(factor.split("*")):
            return False
        level = _level(point, factor)
        if isinstance(rule, LevelRule):
            if rule.least is not None and not (isinstance(level, int) and level >= rule.least):
                return False
            if rule.other_than is not None and level == rule.other_than:
                return False
        elif level not in (rule if isinstance(rule, tuple) else (rule,)):
            return False
    return True


def _points(run: AnalysedRun, where: Where) -> list[Point]:
    """The points of a run that are meant."""
    points = [point for point in run.points if _accepts(point, where)]
    for factor, rule in where.items():
        if not isinstance(rule, LevelRule) or rule.pick is None:
            continue
        levels = {level for point in points if isinstance(level := _level(point, factor), int)}
        if not levels:
            return []
        chosen = max(levels) if rule.pick == "most" else min(levels)
        chosen = rule.prefer if rule.prefer in levels and rule.prefer is not None else chosen
        points = [point for point in points if _level(point, factor) == chosen]
    return points


@dataclass(frozen=True, slots=True)
class _Found:
    """A quantity, and where it was measured."""

    quantity: Quantity
    run: AnalysedRun
    points: tuple[Point, ...]

    @property
    def logs(self) -> Mapping[int, float]:
        return logs(self.run, self.quantity.metric, self.quantity.contender, self.points)


def _quantities(claim: _Claim, product: Product) -> tuple[Quantity, ...]:
    """A product's quantities, with what the claim says where they say nothing."""
    test = claim.test
    terms = product if isinstance(product, tuple) else (product,)
    quantities = (Quantity(term) if isinstance(term, str) else term for term in terms)
    return tuple(
        structs.replace(
            each,
            metric=each.metric or test.metric,
            at=test.at | each.at if not each.workload else each.at,
            workload=each.workload or claim.workload,
            experiment=each.experiment or test.experiment,
        )
        for each in quantities
    )


def _find(claim: _Claim, quantities: Sequence[Quantity], runs: Runs) -> list[_Found]:
    """Each quantity in the run that tests it; empty where one is missing. Those of one workload come from one
    run: of the claim's experiment, else of one of the source's experiments, else of any, with most points."""
    found: dict[int, _Found] = {}
    for workload in dict.fromkeys(each.workload for each in quantities):
        wanted = [(place, each) for place, each in enumerate(quantities) if each.workload == workload]
        names = {each.contender for _, each in wanted if each.contender != "*"} | {*claim.test.needs}
        best: tuple[tuple[bool, bool, int], AnalysedRun] | None = None
        for run in runs:
            if run.experiment.workload != workload or not names <= {*run.names}:
                continue
            if not all(_points(run, each.at) for _, each in wanted):
                continue
            first = wanted[0][1]
            number = sum(_accepts(point, first.at) for point in run.points)
            is_own = run.experiment.published == claim.source
            rank = (run.experiment.name == first.experiment, is_own, number)
            if best is None or rank > best[0]:
                best = rank, run
        if best is None:
            return []
        for place, each in wanted:
            found[place] = _Found(each, best[1], tuple(_points(best[1], each.at)))
    return [found[place] for place in range(len(quantities))]


# --- one judgement ---------------------------------------------------------------------------------


class _Number(int):
    """A level in a sentence: `{at[cores]:core}` is `2 cores`, `{at[seconds]:duration}` `1 min 00 s`."""

    def __format__(self, spec: str) -> str:
        if spec == "duration":
            return units.duration(self)
        return units.count(self, spec) if spec.isalpha() else int.__format__(self, spec)


class _Levels(dict[str, object]):
    """The levels of a point."""

    def __init__(self, point: Point) -> None:
        super().__init__((name, _Number(v) if isinstance(v, int) else v) for name, v in point.levels)


class _Most:
    """By factor, the highest level of any point of all runs."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    def __getitem__(self, factor: str) -> _Number:
        levels = (point.as_dict().get(factor) for run in self._runs for point in run.points)
        return _Number(max((level for level in levels if isinstance(level, int)), default=0))


def _band(test: ClaimRow, unit: str, gain: tuple[Point, Point] | None = None) -> Band:
    if test.direction:
        return LESS if test.direction == "less" else MORE
    if test.about is not None:
        return about(test.about, unit)
    low, high = test.low, test.high
    if test.gain_over and gain:
        many, few = (int(point[test.gain_over]) for point in gain)
        low, high = (None if share is None else (few + share * (many - few)) / few for share in (low, high))
    if low is not None and high is not None:
        band = between(low, high, test.why)
    else:
        band = at_least(low, test.why) if low is not None else at_most(high or 0.0, test.why)
    return replace(band, words=test.words) if test.words else band


def _missing(claim: _Claim, quantities: Sequence[Quantity], runs: Runs) -> ClaimResult:
    test = claim.test
    if test.missing:
        why = test.missing.format(most=_Most(runs))
    else:
        names = [each.contender for each in quantities]
        # No point gives the words of other levels than the source's.
        where = test.where.partition(", on {")[0]
        why = f"no run has {' beside '.join(dict.fromkeys(names))}" + (f" {where}" if where else "")
    return not_tested(why, test.experiment)


def _sides(claim: _Claim, run: AnalysedRun | None) -> Iterator[tuple[str, Product, Product]]:
    """The name, numerator and denominator of each part of a claim; of all that can be, without a run."""
    test = claim.test

    def named(product: Product, name: str) -> Product:
        terms = product if isinstance(product, tuple) else (product,)
        quantities = (Quantity(term) if isinstance(term, str) else term for term in terms)
        return tuple(structs.replace(q, contender=name) if q.contender == "*" else q for q in quantities)

    if test.pairs:
        yield from ((f"{first} / {second}", first, second) for first, second in test.pairs)
    elif test.levels_of and run:
        levels = {point[test.levels_of] for point in _points(run, test.at)}
        # Words, such as `unbounded`, stand behind all numbers.
        first, *others = sorted(levels, key=lambda level: (isinstance(level, str), level))
        name = test.over if isinstance(test.over, str) else ""
        below = Quantity(name, at={test.levels_of: first})
        for level in others:
            yield f"{test.levels_of}={level}", Quantity(name, at={test.levels_of: level}), below
    elif test.each and not test.if_present:
        yield from ((name, named(test.over, name), named(test.under, name)) for name in test.each)
    elif test.each:
        names = [name for name in run.names if name.split("@")[0] in test.each] if run else []
        yield from ((name, named(test.over, name), named(test.under, name)) for name in names)
    else:
        first_name = _quantities(claim, test.over)[0].contender
        yield first_name, test.over, test.under


def _judged(claim: _Claim, runs: Runs, judging: Callable[..., ClaimResult] = judge) -> ClaimResult:
    """The result of a claim's parts in the run that has them all."""
    test = claim.test
    if test.per or test.growth_over:
        return _judged_value(claim, runs)
    if (test.each and test.if_present) or test.levels_of:
        needed = _quantities(claim, test.over) + _quantities(claim, test.under)
    else:
        needed = tuple(
            q for _, *sides in _sides(claim, None) for side in sides for q in _quantities(claim, side)
        )
    found = _find(claim, needed, runs)
    sides = list(_sides(claim, found[0].run)) if found else []
    parts, points = [], {}
    for name, over, under in sides:
        tops, bottoms = (
            _find(claim, _quantities(claim, each), [f.run for f in found]) for each in (over, under)
        )
        if under and [(f.quantity.metric, f.quantity.contender, f.points) for f in tops] == [
            (f.quantity.metric, f.quantity.contender, f.points) for f in bottoms
        ]:
            continue
        pairs = zip(tops, bottoms, strict=True) if under else ()
        ratios = [differences(top.logs, low.logs) for top, low in pairs]
        values = _product(ratios) if under else tops[0].logs
        parts.append(Part(name, values))
        points[name] = tops, bottoms, ratios
    if not parts:
        return _missing(claim, needed, runs)
    tops, bottoms, ratios = points[parts[0].name]
    run = found[-1].run
    metric = run.metric(found[-1].quantity.metric)
    gain = (tops[0].points[0], bottoms[0].points[0]) if test.gain_over else None
    several = len(tops[0].points)

    def sentence(name: str, interval: Interval) -> str:
        tops, bottoms, ratios = points[name]
        each = [Part("", ratio).interval(run.confidence) for ratio in ratios]
        levels = _Levels(tops[0].points[0])
        where = test.where.format(at=levels)
        text = test.sentence or (
            "{name} has {ratio} times the {noun} of {other}{where}"
            + (", over {points} points" * (several > 1))
        )
        return text.format(
            name=tops[0].quantity.contender if test.pairs else name,
            other=bottoms[0].quantity.contender if bottoms else "",
            ratio=units.ratio(interval),
            value=units.with_interval(interval, metric.unit),
            noun=metric.noun,
            where=f" {where}" if where else "",
            points=several,
            at=levels,
            under=_Levels(bottoms[0].points[0]) if bottoms else {},
            first=units.ratio(each[0]) if each and each[0] else "?",
            second=units.ratio(each[1].inverse) if len(each) > 1 and each[1] else "?",
            among=f" (of {len(parts)} servers)" if len(parts) > 1 else "",
            sizes=len(parts) + 1,
        )

    finding = judging(run, parts, _band(test, metric.unit if not test.under else "", gain), sentence)
    also = ""
    for name in (name for name in test.beside if name in run.names):
        beside = replace(tops[0], quantity=structs.replace(tops[0].quantity, contender=name))
        if interval := Part(name, differences(beside.logs, bottoms[0].logs)).interval(run.confidence):
            also += f"; {name} {units.ratio(interval)} times"
    also += f"; {test.note}" if test.note else ""
    ids = tuple(dict.fromkeys(each.run.run.id for each in found))
    return replace(finding, sentence=finding.sentence + also, runs=ids)


def _product(ratios: Sequence[Mapping[int, float]]) -> Mapping[int, float]:
    """Logarithms of a product, in the blocks that all of its terms have."""
    blocks = set.intersection(*map(set, ratios))
    return {block: sum(ratio[block] for ratio in ratios) for block in sorted(blocks)}


def _judged_value(claim: _Claim, runs: Runs) -> ClaimResult:
    """The result of a claim of a metric's own size."""
    test = claim.test
    (quantity,) = _quantities(claim, test.over)
    found = _find(claim, [quantity], runs)
    points = found[0].points if found else ()
    if test.growth_over:
        points = tuple(sorted(points, key=lambda point: int(point[test.growth_over])))
        if len({point[test.growth_over] for point in points}) < 2:
            points = ()
    if not points:
        return _missing(claim, [quantity], runs)
    run, unit = found[0].run, found[0].run.metric(quantity.metric).unit
    values = dict(run.values(quantity.metric, quantity.contender, points[-1]))
    if test.growth_over:
        low = run.values(quantity.metric, quantity.contender, points[0])
        further = int(points[-1][test.growth_over]) - int(points[0][test.growth_over])
        values = {
            block: (values[block] - low[block]) / further for block in sorted(low.keys() & values.keys())
        }
    elif test.per != "1":
        divisor, unit = int(points[-1][test.per]), ""
        values = {block: value / divisor for block, value in values.items()}
    if test.budget is not None and not values:
        return not_tested(f"{quantity.contender} has no figures {test.where}", test.experiment)

    def sentence(interval: Interval) -> str:
        return (test.sentence or "{name}: {noun} {value} {where}").format(
            name=quantity.contender,
            noun=run.metric(quantity.metric).noun,
            value=units.with_interval(interval, unit),
            ratio=units.ratio(interval),
            where=test.where,
            at=_Levels(points[-1]),
            first=_Levels(points[0]),
            budget=units.significant(test.budget / interval.estimate) if test.budget else "",
        )

    if test.budget is not None:
        cost = median_interval(list(values.values()))
        text = sentence(cost)
        return ClaimResult(Answer.UNTESTABLE, text, run.experiment.name, (run.run.id,), cost, unit)
    return judge_values(run, values, _band(test, unit), sentence, unit)


# --- several judgements ----------------------------------------------------------------------------


def _apart(claim: _Claim, runs: Runs) -> ClaimResult:
    """Judged for each stand-in at each place by itself: all have to agree."""
    test, findings = claim.test, []
    for name in test.each:
        for place in test.apart:
            at = test.at | place.at
            one = claim.but(
                at=at,
                experiment=place.experiment,
                each=(name,),
                where=place.where,
                sentence="{name} {ratio} times{where}",
                note="",
            )
            finding = _judged(one, runs, judge_part)
            if finding.answer is not Answer.NOT_TESTED:
                findings.append(finding)
    if not findings:
        return not_tested(test.missing, test.experiment)
    finding = agreeing(findings, _band(test, ""))
    return replace(finding, sentence=f"{test.sentence}: {finding.sentence}; {test.note}")


def _between_ends(claim: _Claim, runs: Runs) -> ClaimResult:
    """A claim of something between two ends: the source does not say where. Each point between them is
    judged; where the ratio is below the band at one end and not at the other, a mix has it."""
    test = claim.test

    def judged(place: Place, **levels: Level) -> ClaimResult:
        where = " ".join(f"{factor}={level}" for factor, level in {**place.at, **levels}.items())
        at: Where = {**test.at, **place.at, **levels}
        one = claim.but(at=at, where=f"at {where}", experiment=place.experiment, between=())
        return _judged(one, runs)

    *outer, middle = test.between
    ends = [judged(place) for place in outer]
    amounts = sorted(
        {
            int(point[test.along])
            for run in runs
            for point in run.points
            if run.experiment.workload == claim.workload and _accepts(point, middle.at)
        }
    )
    mixes = [judged(middle, **{test.along: amount}) for amount in amounts]
    measured = [each for each in mixes if each.answer is not Answer.NOT_TESTED]
    if not measured:
        return not_tested(test.missing, middle.experiment)
    holding = [each for each in measured if each.answer is Answer.CONFIRMED]
    last, highest = (holding or measured)[-1], ends[-1].figure
    reached = highest is not None and (highest.low or 0.0) >= _band(test, "").low
    if holding or reached:
        result = Answer.OTHER_CONDITIONS
    elif all(each.answer is Answer.REFUTED for each in (ends[-1], *measured)):
        result = Answer.REFUTED
    else:
        result = Answer.INCONCLUSIVE
    at_ends = "".join(
        f"; where it only {place.where}, {units.ratio(end.figure)} times"
        for place, end in zip(outer, ends, strict=True)
        if end.figure
    )
    ids = tuple(dict.fromkeys(run for each in (last, *ends) for run in each.runs))
    sentence = f"{test.condition}: {last.sentence}{at_ends}"
    return ClaimResult(result, sentence, last.experiment, ids, last.figure)


# --- programs and builds ---------------------------------------------------------------------------


def _further_lines(test: ClaimRow, runs: Runs) -> ClaimResult:
    """Lines that the second form has and the first has not; without comments, imports and brackets alone.
    They are counted, not measured: the interval is the count."""
    assert test.lines is not None
    codes, ids = [], []
    for name, path in (test.lines.before, test.lines.after):
        having = [run for run in runs if name in run.names and path in run.program(name)]
        if not having:
            return not_tested(f"no run has the program {path} of {name}", test.experiment)
        lines = (line.strip() for line in having[-1].program(name)[path].splitlines())
        codes.append(Counter(line for line in lines if not _NO_CODE.match(line)))
        ids.append(having[-1].run.id)
    count, band = (codes[1] - codes[0]).total(), _band(test, "")
    interval = Interval(count, count, count, 1)
    sentence = (
        f"{test.lines.after[0]} has {units.count(count, 'line')} of code that {test.lines.before[0]} has not;"
        f" the claim holds {band.words} (our band: {band.why})"
    )
    return ClaimResult(answer(interval, band), sentence, test.experiment, tuple(dict.fromkeys(ids)), interval)


def _build_times(test: ClaimRow, runs: Runs) -> ClaimResult:
    """How long builds took, and the median of all others over the first. A program is built once in a run's
    life, so there is no interval: nothing is decided."""
    times = {name: seconds for run in runs for name in run.names if (seconds := run.build_s(name))}
    name, *names = test.builds
    others = {other: times[other] for other in names if other in times}
    if name not in times or not others:
        return not_tested(test.missing, test.experiment)
    each = ", ".join(f"{other}'s in {units.quantity(seconds, 's')}" for other, seconds in others.items())
    return ClaimResult(
        Answer.INCONCLUSIVE,
        test.sentence.format(own=units.quantity(times[name], "s"), others=each),
        test.experiment,
        tuple(dict.fromkeys(run.run.id for run in runs if name in run.names)),
        Interval(median(others.values()) / times[name], None, None, 1),
    )
