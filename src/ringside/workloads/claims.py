"""Tests claims of sources, the rows of `published/`. An answer comes from an interval, never from an
estimate; a claim of several parts is confirmed only if each part is."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from msgspec import structs

from ringside import units
from ringside.model.claims import ClaimRow, LevelRule, Place, Product, Quantity, Where
from ringside.model.design import Experiment, Level, Point
from ringside.model.results import Answer, ClaimResult, Interval, Run
from ringside.stats.interval import exponential, median_interval
from ringside.stats.paired import differences, hodges_lehmann, logarithms
from ringside.workloads.base import Measurement

# A figure "about x" is one from x / 1.5 to x · 1.5.
_ABOUT = 1.5
# Lines of a program that do not count as code.
NO_CODE = re.compile(r"(?:#|//|import |from |\"[\w./]+\"$|[\"'()\[\]{}\s,]*$)")


class AnalysedRun(Protocol):
    """The parts of a run's analysis that a test reads."""

    run: Run
    experiment: Experiment
    points: tuple[Point, ...]
    names: tuple[str, ...]
    # The nominal one of the intervals of ratios.
    confidence: float
    measurement: Measurement

    def values(self, metric: str, contender: str, point: Point) -> Mapping[int, float]:
        """The metric of a cell by block; empty if it has no figures, or too many blocks failed."""

    def program(self, contender: str) -> Mapping[str, str]:
        """The texts of its files by path; empty if they are not stored."""


Runs = Sequence[AnalysedRun]


# --- bands and judgements ---


@dataclass(frozen=True, slots=True)
class Band:
    """The values for which a claim holds, from `low` to `high`. `words`: those in words, after `the claim
    holds`. `why`: why our own band is what it is; empty if the source states a band or a direction.
    `is_open`: its ends lie outside, as 1 does for a claim of a direction: a tie is neither less nor more."""

    low: float = 0.0
    high: float = math.inf
    words: str = ""
    why: str = ""
    is_open: bool = False

    def answer(self, interval: Interval) -> Answer:
        """The position of an interval: inside the claim's band, or outside on one side."""
        if interval.low is None or interval.high is None:
            return Answer.INCONCLUSIVE
        ends = {interval.low, interval.high} & {self.low, self.high} if self.is_open else set()
        if self.low <= interval.low and interval.high <= self.high and not ends:
            return Answer.CONFIRMED
        is_outside = interval.high < self.low or interval.low > self.high
        return Answer.REFUTED if is_outside else Answer.INCONCLUSIVE

    def explained(self, finding: ClaimResult) -> ClaimResult:
        """With the values for which the claim holds, and why it is undecided."""
        sentence, figure = f"{finding.sentence}; the claim holds {self.words}", finding.figure
        if self.why:
            sentence += f" (our band: {self.why})"
        if figure and self.is_open and figure.low == figure.high == 1:
            sentence += "; both had the same value in every block"
        if figure and figure.low is None:
            are = "is" if figure.n == 1 else "are"
            sentence += f"; {units.count(figure.n, 'block')} {are} too few for an interval"
        return replace(finding, sentence=sentence)


def band_of(row: ClaimRow, unit: str = "", gain: tuple[int, int] | None = None) -> Band:
    """The band of a claim. `gain`: the levels of its `gain_over`, of the denominator and of the numerator."""
    if row.direction == "less":
        return Band(high=1.0, words="below 1", is_open=True)
    if row.direction == "more":
        return Band(low=1.0, words="above 1", is_open=True)
    if row.about is not None:
        low, high = row.about / _ABOUT, row.about * _ABOUT
        words = f"from {units.quantity(low, unit)} to {units.quantity(high, unit)}"
        return Band(low, high, words, "the source rounds, and had another machine")
    least, most = row.low, row.high
    if gain:
        few, many = gain
        least, most = (None if share is None else 1 + share * (many - few) / few for share in (least, most))
    if least is None:
        words = f"up to {units.significant(most or 0.0)}"
    elif most is None:
        words = f"from {units.significant(least)} on"
    else:
        words = f"from {units.significant(least)} to {units.significant(most)}"
    return Band(least or 0.0, math.inf if most is None else most, row.words or words, row.why)


@dataclass(frozen=True, slots=True)
class _Part:
    """A quantity of a claim, named as in a sentence, by block; as logarithms, unless it `is_plain`."""

    name: str
    values: Mapping[int, float]
    is_plain: bool = False

    def interval(self, confidence: float) -> Interval | None:
        values = [self.values[block] for block in sorted(self.values)]
        if not values or self.is_plain:
            return median_interval(values) if values else None
        return exponential(hodges_lehmann(values, confidence))


def _judge(
    run: AnalysedRun, parts: Sequence[_Part], band: Band, sentence: Callable[[str, Interval], str]
) -> ClaimResult:
    """Whether each part lies inside the band. Confirmed if all intervals do (an intersection-union test needs
    no correction); refuted if all lie outside, or one of k parts at a k times smaller error rate
    (Bonferroni). `sentence`: of a part's name and figure, for the part that decides."""
    intervals = [interval for part in parts if (interval := part.interval(run.confidence))]
    if len(intervals) < len(parts):
        figures = "figures" if parts[0].is_plain else "figures of both"
        why = f"there are no {figures}, or more than a tenth of the blocks failed, in this run"
        return ClaimResult(Answer.INCONCLUSIVE, why, run.experiment.name, (run.run.id,))
    answers = [band.answer(interval) for interval in intervals]
    strict = [part.interval(1 - (1 - run.confidence) / len(parts)) for part in parts]
    failing = [place for place, each in enumerate(strict) if each and band.answer(each) is Answer.REFUTED]
    answer = answers[0] if len({*answers}) == 1 else Answer.INCONCLUSIVE
    shown = next((place for place, each in enumerate(answers) if each is not Answer.CONFIRMED), 0)
    if failing:
        answer, shown = Answer.REFUTED, failing[0]
    text = sentence(parts[shown].name, intervals[shown])
    return ClaimResult(answer, text, run.experiment.name, (run.run.id,), intervals[shown])


def not_tested(why: str, experiment: str = "") -> ClaimResult:
    return ClaimResult(Answer.NOT_TESTED, why, experiment)


def elsewhere(finding: ClaimResult, condition: str) -> ClaimResult:
    """The result without a source's condition, which decides nothing about the claim under that condition."""
    if finding.answer is Answer.NOT_TESTED:
        return finding
    results = {Answer.CONFIRMED: Answer.OTHER_CONDITIONS, Answer.REFUTED: Answer.FAILS_OTHERWISE}
    result = results.get(finding.answer, Answer.NOT_TESTED)
    return replace(finding, answer=result, sentence=f"{condition}; without that, {finding.sentence}")


def decided_by(condition: str, with_it: ClaimResult, without: ClaimResult) -> ClaimResult:
    """The result with a source's condition; it holds only under that, if it is refuted without."""
    sentence = f"{condition}: {with_it.sentence}"
    if without.answer is Answer.NOT_TESTED:
        return replace(with_it, sentence=sentence)
    only = with_it.answer is Answer.CONFIRMED and without.answer is Answer.REFUTED
    return replace(
        with_it,
        answer=Answer.OTHER_CONDITIONS if only else with_it.answer,
        sentence=f"{sentence}; without that, {without.sentence}",
        runs=_run_ids([with_it, without]),
    )


def _run_ids(findings: Sequence[ClaimResult]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(run for finding in findings for run in finding.runs))


# --- runs and points ---


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
    points = [point for point in run.points if _accepts(point, where)]
    for factor, rule in where.items():
        if not isinstance(rule, LevelRule) or rule.pick is None:
            continue
        levels = {level for point in points if isinstance(level := _level(point, factor), int)}
        if not levels:
            return []
        chosen = max(levels) if rule.pick == "most" else min(levels)
        chosen = rule.prefer if rule.prefer is not None and rule.prefer in levels else chosen
        points = [point for point in points if _level(point, factor) == chosen]
    return points


@dataclass(frozen=True, slots=True)
class _Measured:
    """A quantity, and where it was measured."""

    quantity: Quantity
    run: AnalysedRun
    points: tuple[Point, ...]

    @property
    def figures(self) -> list[tuple[str, str, Point]]:
        return [(self.quantity.metric, self.quantity.contender, point) for point in self.points]

    @property
    def logs(self) -> Mapping[int, float]:
        """The logarithm of the geometric mean over points in each block that has a figure at all of them."""
        terms = [logarithms(self.run.values(*figure)) for figure in self.figures]
        return _summed(terms, len(terms))


def _summed(terms: Sequence[Mapping[int, float]], over: int = 1) -> dict[int, float]:
    """Sums in the blocks that all terms have."""
    blocks = set.intersection(*map(set, terms)) if terms else set()
    return {block: math.fsum(term[block] for term in terms) / over for block in sorted(blocks)}


def _terms(product: Product, name: str = "*") -> tuple[Quantity, ...]:
    """The quantities of a product, those of `*` with this name."""
    each = product if isinstance(product, tuple) else (product,)
    terms = (Quantity(term) if isinstance(term, str) else term for term in each)
    return tuple(structs.replace(q, contender=name) if q.contender == "*" else q for q in terms)


class _Number(int):
    """A level in a sentence: `{at[cores]:core}` is `2 cores`, `{at[seconds]:duration}` `1 min 00 s`."""

    def __format__(self, spec: str) -> str:
        if spec == "duration":
            return units.duration(self)
        return units.count(self, spec) if spec.isalpha() else int.__format__(self, spec)


def _levels(point: Point) -> dict[str, object]:
    return {name: _Number(level) if isinstance(level, int) else level for name, level in point.levels}


# --- the test of a row ---


def evaluate(row: ClaimRow, source: str, workload: str, runs: Runs) -> ClaimResult:
    """The answer of runs to a claim of a source."""
    if row.never:
        return not_tested(row.never)
    finding = _Test(row, source, workload, runs).result()
    if row.only_refutes and finding.answer is Answer.CONFIRMED:
        sentence = f"{finding.sentence}; {row.only_refutes}"
        finding = replace(finding, answer=Answer.INCONCLUSIVE, sentence=sentence)
    if finding.answer is Answer.NOT_TESTED:
        return finding
    if row.budget is not None or row.stand_in:
        finding = replace(finding, answer=Answer.UNTESTABLE)
    # The figures are those of stand-ins for programs that are no longer available.
    return replace(finding, sentence=f"{row.stand_in}: {finding.sentence}") if row.stand_in else finding


@dataclass(frozen=True, slots=True)
class _Test:
    """A row, and the runs that can test it."""

    row: ClaimRow
    source: str
    workload: str
    runs: Runs

    def but(self, runs: Runs | None = None, **changes: Any) -> _Test:
        row = structs.replace(self.row, **changes)
        return replace(self, row=row, runs=self.runs if runs is None else runs)

    def result(self) -> ClaimResult:
        row = self.row
        if row.lines:
            return self.further_lines()
        if row.between:
            return self.between_ends()
        if row.apart:
            return self.at_each_place()
        if row.known_by:
            default = self.but([run for run in self.runs if row.known_by in run.names]).judged()
            if default.answer is Answer.NOT_TESTED:
                return elsewhere(self.judged(), row.unknown)
            base = row.known_by.partition("@")[0]
            over, under = (row.known_by if side == base else side for side in (row.over, row.under))
            return decided_by(row.condition, default, self.but(over=over, under=under).judged())
        if row.own:
            own = self.but(at=row.at | row.own).judged()
            if own.answer is not Answer.NOT_TESTED:
                return own
            (factor,) = row.own
            where = f"{row.where}, on {{at[{factor}]:{factor.removesuffix('s')}}}"
            fewest = self.but(at=row.at | {factor: LevelRule(pick="fewest")}, where=where)
            return elsewhere(fewest.judged(), row.elsewhere)
        return self.judged()

    # --- quantities ---

    def quantities(self, *products: Product) -> tuple[Quantity, ...]:
        """The products' quantities; keys that they lack are the claim's."""
        row = self.row
        return tuple(
            structs.replace(
                each,
                metric=each.metric or row.metric,
                at=each.at if each.workload else row.at | each.at,
                workload=each.workload or self.workload,
                experiment=each.experiment or row.experiment,
            )
            for product in products
            for each in _terms(product)
        )

    def measured(self, quantities: Sequence[Quantity], runs: Runs | None = None) -> list[_Measured]:
        """Each quantity in the run that tests it: for one workload the claim's experiment, else one of the
        source's, else any, the most points first. Empty if one is missing."""
        best: dict[str, AnalysedRun] = {}
        for workload in {each.workload for each in quantities}:
            wanted = [each for each in quantities if each.workload == workload]
            names = {each.contender for each in wanted if each.contender != "*"} | {*self.row.needs}
            having = [
                run
                for run in (self.runs if runs is None else runs)
                if run.experiment.workload == workload and names <= {*run.names}
                if all(_points(run, each.at) for each in wanted)
            ]
            if not having:
                return []

            def rank(run: AnalysedRun, first: Quantity = wanted[0]) -> tuple[bool, bool, int]:
                number = sum(_accepts(point, first.at) for point in run.points)
                is_own = run.experiment.published == self.source
                return run.experiment.name == first.experiment, is_own, number

            best[workload] = max(having, key=rank)
        chosen = ((each, best[each.workload]) for each in quantities)
        return [_Measured(each, run, tuple(_points(run, each.at))) for each, run in chosen]

    def missing(self, quantities: Sequence[Quantity]) -> ClaimResult:
        row = self.row
        if row.missing:
            # By factor, the highest level of any point of all runs.
            most: defaultdict[str, _Number] = defaultdict(_Number)
            for factor, level in (each for run in self.runs for point in run.points for each in point.levels):
                if isinstance(level, int):
                    most[factor] = _Number(max(level, most[factor]))
            return not_tested(row.missing.format(most=most), row.experiment)
        names = dict.fromkeys(each.contender for each in quantities)
        # Without a run there is no point whose levels fill in the words after `, on`.
        where = row.where.partition(", on {")[0]
        return not_tested(f"no run has {' beside '.join(names)} {where}".rstrip(), row.experiment)

    def sides(self, run: AnalysedRun | None) -> Iterator[tuple[str, Product, Product]]:
        """The name, numerator and denominator of each part; without a run, all that the row names."""
        row = self.row
        if row.pairs:
            yield from ((f"{first} / {second}", first, second) for first, second in row.pairs)
        elif row.levels_of and run:
            # Words, such as `unbounded`, come after all numbers.
            levels = {point[row.levels_of] for point in _points(run, row.at)}
            first, *others = sorted(levels, key=lambda level: (isinstance(level, str), level))
            name = row.over if isinstance(row.over, str) else ""
            below = Quantity(name, at={row.levels_of: first})
            for level in others:
                yield f"{row.levels_of}={level}", Quantity(name, at={row.levels_of: level}), below
        elif row.each and (run or not row.if_present):
            names: Sequence[str] = row.each
            if run and row.if_present:
                names = [name for name in run.names if name.split("@")[0] in row.each]
            for name in names:
                yield name, _terms(row.over, name), _terms(row.under, name)
        else:
            yield self.quantities(row.over)[0].contender, row.over, row.under

    # --- one judgement ---

    def judged(self, *, explain: bool = True) -> ClaimResult:
        """The result of a claim's parts in the run that has them all. `explain`: with the band in words."""
        row = self.row
        if row.per or row.growth_over:
            return self.judged_value()
        needed = self.quantities(*(side for _, *both in self.sides(None) for side in both))
        found = self.measured(needed)
        runs = [each.run for each in found]
        parts, sources = [], {}
        for name, over, under in self.sides(runs[0]) if found else ():
            tops, bottoms = (self.measured(self.quantities(side), runs) for side in (over, under))
            above, below = ([each.figures for each in side] for side in (tops, bottoms))
            if under and above == below:
                continue
            ratios = [differences(top.logs, low.logs) for top, low in zip(tops, bottoms, strict=bool(under))]
            parts.append(_Part(name, _summed(ratios) if under else tops[0].logs))
            sources[name] = tops, bottoms, ratios
        if not parts:
            return self.missing(needed)
        run, metric = runs[-1], runs[-1].measurement.metric(found[-1].quantity.metric)
        several = len(sources[parts[0].name][0][0].points)

        def sentence(name: str, interval: Interval) -> str:
            tops, bottoms, ratios = sources[name]
            each = [_Part("", ratio).interval(run.confidence) for ratio in ratios]
            levels = _levels(tops[0].points[0])
            where = row.where.format(at=levels)
            text = "{name} has {ratio} times the {noun} of {other}{where}"
            text += ", over {points} points" * (several > 1)
            return (row.sentence or text).format(
                name=tops[0].quantity.contender if row.pairs else name,
                other=bottoms[0].quantity.contender if bottoms else "",
                ratio=units.ratio(interval),
                value=units.with_interval(interval, metric.unit),
                noun=metric.noun,
                where=f" {where}" if where else "",
                points=several,
                at=levels,
                under=_levels(bottoms[0].points[0]) if bottoms else {},
                first=units.ratio(each[0]) if each and each[0] else "?",
                second=units.ratio(each[1].inverse) if len(each) > 1 and each[1] else "?",
                among=f" (of {len(parts)} servers)" if len(parts) > 1 else "",
                sizes=len(parts) + 1,
            )

        tops, bottoms, _ = sources[parts[0].name]
        gain = None
        if row.gain_over:
            gain = int(bottoms[0].points[0][row.gain_over]), int(tops[0].points[0][row.gain_over])
        band = band_of(row, "" if row.under else metric.unit, gain)
        finding = _judge(run, parts, band, sentence)
        text = band.explained(finding).sentence if explain and finding.figure else finding.sentence
        for name in (name for name in row.beside if name in run.names):
            beside = replace(tops[0], quantity=structs.replace(tops[0].quantity, contender=name))
            if interval := _Part(name, differences(beside.logs, bottoms[0].logs)).interval(run.confidence):
                text += f"; {name} {units.ratio(interval)} times"
        text += f"; {row.note}" if row.note else ""
        return replace(finding, sentence=text, runs=tuple(dict.fromkeys(each.run.id for each in runs)))

    def judged_value(self) -> ClaimResult:
        """The result of a claim of a metric's own size."""
        row = self.row
        (quantity,) = self.quantities(row.over)
        found = self.measured([quantity])
        points = found[0].points if found else ()
        if row.growth_over:
            points = tuple(sorted(points, key=lambda point: int(point[row.growth_over])))
            points = points if len({point[row.growth_over] for point in points}) > 1 else ()
        if not points:
            return self.missing([quantity])
        run, metric = found[0].run, found[0].run.measurement.metric(quantity.metric)
        values, unit = dict(run.values(metric.name, quantity.contender, points[-1])), metric.unit
        if row.growth_over:
            low = run.values(metric.name, quantity.contender, points[0])
            further = int(points[-1][row.growth_over]) - int(points[0][row.growth_over])
            values = {block: value / further for block, value in differences(values, low).items()}
        elif row.per != "1":
            values, unit = {block: value / int(points[-1][row.per]) for block, value in values.items()}, ""
        if row.budget is not None and not values:
            return not_tested(f"{quantity.contender} has no figures {row.where}", row.experiment)

        def sentence(name: str, interval: Interval) -> str:
            return (row.sentence or "{name}: {noun} {value} {where}").format(
                name=name,
                noun=metric.noun,
                value=units.with_interval(interval, unit),
                ratio=units.ratio(interval),
                where=row.where,
                at=_levels(points[-1]),
                first=_levels(points[0]),
                budget=units.significant(row.budget / interval.estimate) if row.budget else "",
            )

        band = Band() if row.budget is not None else band_of(row, unit)
        finding = _judge(run, [_Part(quantity.contender, values, is_plain=True)], band, sentence)
        if row.budget is None and finding.figure:
            finding = band.explained(finding)
        return replace(finding, unit=unit) if finding.figure else finding

    # --- several judgements ---

    def at_each_place(self) -> ClaimResult:
        """Judge each stand-in at each place: the common answer, or `inconclusive` if they differ."""
        row = self.row
        brief = self.but(sentence="{name} {ratio} times{where}", note="")
        tests = (brief.at(place, each=(name,)) for name in row.each for place in row.apart)
        every = (test.judged(explain=False) for test in tests)
        findings = [each for each in every if each.answer is not Answer.NOT_TESTED]
        if not findings:
            return not_tested(row.missing, row.experiment)
        shown = next((each for each in findings if each.answer is not Answer.CONFIRMED), findings[0])
        finding = replace(
            shown,
            answer=shown.answer if len({each.answer for each in findings}) == 1 else Answer.INCONCLUSIVE,
            sentence="; ".join(dict.fromkeys(each.sentence for each in findings)),
            runs=_run_ids(findings),
        )
        sentence = band_of(row).explained(finding).sentence
        return replace(finding, sentence="; ".join(filter(None, (f"{row.sentence}: {sentence}", row.note))))

    def at(self, place: Place, **changes: Any) -> _Test:
        there = {"at": self.row.at | place.at, "where": place.where, "experiment": place.experiment}
        return self.but(**{**there, **changes})

    def between_ends(self) -> ClaimResult:
        """A claim of a place between two ends: a mix has the ratio if the band lies between theirs."""
        row = self.row

        def judged(place: Place, **levels: Level) -> ClaimResult:
            at = {**place.at, **levels}
            where = " ".join(f"{factor}={level}" for factor, level in at.items())
            return self.at(place, at=row.at | at, where=f"at {where}", between=()).judged()

        *outer, middle = row.between
        ends = [judged(place) for place in outer]
        runs = (run for run in self.runs if run.experiment.workload == self.workload)
        mixed = (point for run in runs for point in run.points if _accepts(point, middle.at))
        amounts = sorted({int(point[row.along]) for point in mixed})
        every = (judged(middle, **{row.along: amount}) for amount in amounts)
        mixes = [each for each in every if each.answer is not Answer.NOT_TESTED]
        if not mixes:
            return not_tested(row.missing, middle.experiment)
        holding = [each for each in mixes if each.answer is Answer.CONFIRMED]
        last, band = (holding or mixes)[-1], band_of(row)
        lowest, highest = (end.figure for end in (ends[0], ends[-1]))
        is_between = lowest and highest and (lowest.high or math.inf) < band.low <= (highest.low or 0.0)
        answer = Answer.INCONCLUSIVE
        if holding or is_between:
            answer = Answer.OTHER_CONDITIONS
        elif all(each.answer is Answer.REFUTED for each in (ends[-1], *mixes)):
            answer = Answer.REFUTED
        at_ends = "".join(
            f"; where it only {place.where}, {units.ratio(end.figure)} times"
            for place, end in zip(outer, ends, strict=True)
            if end.figure
        )
        sentence = f"{row.condition}: {last.sentence}{at_ends}"
        return ClaimResult(answer, sentence, last.experiment, _run_ids([last, *ends]), last.figure)

    # --- programs ---

    def further_lines(self) -> ClaimResult:
        """The lines of code that further forms add: the source's own, from the fewest to the most."""
        row = self.row
        assert row.lines is not None
        codes, ids = dict[str, Counter[str]](), dict[str, None]()
        for name, *paths in (row.lines.before, row.lines.after, *row.lines.others):
            having = [run for run in self.runs if name in run.names and {*paths} <= {*run.program(name)}]
            if not having and len(codes) < 2:
                return not_tested(f"no run has the program {' '.join(paths)} of {name}", row.experiment)
            for run in having[-1:]:
                texts = "\n".join(run.program(name)[path] for path in paths).splitlines()
                codes[name] = Counter(line for line in map(str.strip, texts) if not NO_CODE.match(line))
                ids[run.run.id] = None
        (before, first), *others = codes.items()
        counts, band = {name: (code - first).total() for name, code in others}, band_of(row)
        interval = Interval(next(iter(counts.values())), min(counts.values()), max(counts.values()), 1)
        sentence = f"lines of code that {before} has not: {', '.join(f'{n} {c}' for n, c in counts.items())}"
        found = ClaimResult(band.answer(interval), sentence, row.experiment, tuple(ids), interval)
        return band.explained(found)
