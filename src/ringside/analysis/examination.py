"""Decides which pairs are compared, what a run has decided, block by block, and how contenders rank. A run in
progress and its later analysis examine the same blocks at the same looks, so they decide the same."""

import dataclasses
import functools
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, median
from typing import NamedTuple, get_args

from ringside.analysis.cells import MAX_FAILED_SHARE, repeats_state, trial_figures
from ringside.model.catalogue import ContenderClass
from ringside.model.design import Cell, Experiment, Metric, Point, grouped
from ringside.model.results import REPEATABLE, Comparison, Interval, Obstacle, Outcome, Trial, Verdict
from ringside.stats import samples, sequential
from ringside.stats.carry_over import MEMORY, CarryOver, carry_over
from ringside.stats.decisions import ComparisonTests, Decision, has_no_resolution, rank_intervals
from ringside.stats.interval import CONFIDENCE, exponential
from ringside.stats.interval import MIN_BLOCKS as MIN_BLOCKS
from ringside.stats.paired import differences, logarithms, ratio_of_means
from ringside.stats.series import SAME_LEVEL, SeriesKind
from ringside.workloads.base import Measurement

# If more trials than this reach no steady state, noise may only look like one in the others.
_MAX_UNSTEADY_SHARE = 0.5

# A difference must exceed the effect of earlier trials by this many standard errors (3 %, one-sided).
_BEYOND_CARRY_OVER = 1.88

# Metric, point, numerator, denominator.
_Key = tuple[str, Point, str, str]


def nominal_confidence(experiment: Experiment) -> float:
    """The nominal confidence of the intervals of ratios, so that they really hold 95 %."""
    # A run of seven blocks or fewer has its first look at its end.
    is_sequential = experiment.until_decided and experiment.blocks > sequential.FIRST_LOOK
    return sequential.SEQUENTIAL_CONFIDENCE if is_sequential else CONFIDENCE


def shown_pairs(experiment: Experiment) -> tuple[tuple[str, str], ...]:
    """The pairs (numerator, denominator) that tables show: the experiment's, else all over the baseline."""
    return experiment.show.ratios or _over_baseline(experiment)


def compared_pairs(experiment: Experiment) -> tuple[tuple[str, str], ...]:
    """All pairs whose verdict is shown anywhere: the shown ones, and every contender over the baseline."""
    return tuple(dict.fromkeys((*shown_pairs(experiment), *_over_baseline(experiment))))


def _over_baseline(experiment: Experiment) -> tuple[tuple[str, str], ...]:
    return tuple((name, experiment.baseline) for name in experiment.contenders if name != experiment.baseline)


class Observations:
    """By cell, the `values` of each metric by block, the blocks `attempted`, and those `unsteady`."""

    def __init__(self, measurement: Measurement, trials: Iterable[Trial] = ()) -> None:
        self._measurement = measurement
        self.values: defaultdict[Cell, dict[str, dict[int, float]]] = defaultdict(dict)
        self._histograms: dict[tuple[str, Cell], dict[int, str]] = {}
        self._percentiles: dict[tuple[str, Cell], samples.MergedPercentile] = {}
        # Percentiles for which some block has too few requests.
        self._merged: set[str] = set()
        self.attempted: dict[Cell, set[int]] = {}
        self.left_out: set[Cell] = set()  # Cells that failed and are not tried again.
        self.unsteady: dict[Cell, dict[int, SeriesKind]] = {}
        self._order: list[tuple[str, int, int, Cell]] = []
        for trial in trials:
            self.add(trial)

    def add(self, trial: Trial) -> None:
        """Count a trial, unless it is a warm-up or will be repeated."""
        cell, block = trial.cell, trial.block
        if block < 1 or trial.outcome in REPEATABLE:
            return
        if trial.outcome is Outcome.UNAVAILABLE:
            self.left_out.add(cell)
        else:
            self._order.append((trial.machine, block, trial.position, cell))
        # On a machine that lacks its runtime a contender has not failed.
        if trial.machine and trial.outcome is Outcome.UNAVAILABLE:
            return
        self.attempted.setdefault(cell, set()).add(block)
        if (state := repeats_state(trial, self._measurement)) and state.since is None:
            self.unsteady.setdefault(cell, {})[block] = state.kind
        for name, value in trial_figures(trial, self._measurement).items():
            self.values[cell].setdefault(name, {})[block] = value
            step, load_name, histogram, level = self._measurement.percentiles.get(name, ("", "", "", 0.0))
            load = trial.load(step, load_name)
            if load and (summary := load.latency(histogram)) and (counts := load.counts.get(histogram)):
                self._histograms.setdefault((name, cell), {})[block] = counts
                if not samples.is_supported(level, summary.count // 2):
                    self._merged.add(name)

    def percentile(self, metric: str, cell: Cell) -> samples.MergedPercentile | None:
        """A high percentile of all blocks' requests; None if each block has twice those that it needs."""
        blocks, values = self._histograms.get((metric, cell), {}), self.values[cell].get(metric, {})
        if metric not in self._merged or not blocks or len(blocks) < len(values):
            return None
        known = self._percentiles.get((metric, cell))
        if known is None or known.blocks < len(blocks):
            level = self._measurement.percentiles[metric][3]
            histograms = list(map(samples.ValueCounts.read, blocks.values()))
            known = self._percentiles[metric, cell] = samples.MergedPercentile(histograms, level)
        return known

    def _relative(self, metric: str) -> dict[Cell, dict[int, float]]:
        """By cell and block, the logarithm of a metric, relative to the cell's median."""
        logs = {cell: logarithms(own[metric]) for cell, own in self.values.items() if metric in own}
        levels = {cell: median(own.values()) for cell, own in logs.items() if own}
        return {cell: {block: log - levels[cell] for block, log in own.items()} for cell, own in logs.items()}

    def carry_over(self, metric: str, memory: float = MEMORY) -> CarryOver[Cell] | None:
        """How contenders affect the next trials, in a metric; None if too few trials or no order show it."""
        if len({each[:3] for each in self._order}) < len(self._order):
            return None
        logs = self._relative(metric)
        sequences: dict[str, list[tuple[str, tuple[int, Cell], float | None]]] = {}
        for machine, block, _, cell in sorted(self._order, key=lambda each: each[:3]):
            sequence, key = sequences.setdefault(machine, []), (block, cell)
            if sequence and sequence[-1][0] != cell.contender:
                before, last = sequence[-1][1]
                if (before, last.point) != (block, cell.point):
                    # An uncounted trial came before it (`RunLoop.follows_another`).
                    sequence.append((cell.contender, (0, cell), None))
            sequence.append((cell.contender, key, logs.get(cell, {}).get(block)))
        return carry_over(sequences.values(), memory)

    def modes(self, metric: str) -> dict[Cell, tuple[float, float]]:
        """By cell, two modes, 3 % apart or more, that both a metric and its residuals without the block's
        effect have. A machine with two speeds gives modes to the metric alone, other cells' modes to the
        residuals alone."""
        machines = {(block, cell): machine for machine, block, _, cell in self._order}
        logs = self._relative(metric)
        by_block = grouped((block, value) for own in logs.values() for block, value in own.items())
        usual = {block: median(own) if len(own) > 1 else 0.0 for block, own in by_block.items()}
        by_machine = grouped(
            (
                (cell, machines.get((block, cell), "")),
                (self.values[cell][metric][block], math.exp(value - usual[block])),
            )
            for cell, own in logs.items()
            for block, value in own.items()
        )
        found: dict[Cell, tuple[float, float]] = {}
        for (cell, _), pairs in by_machine.items():
            modes = samples.bimodality([value for value, _ in pairs])
            is_apart = modes and modes[1] > (1 + SAME_LEVEL) * modes[0]
            if modes and is_apart and samples.bimodality([residual for _, residual in pairs]):
                found[cell] = max(found.get(cell, modes), modes, key=lambda each: each[1] / each[0])
        return found

    def failures(self, metric: str, cell: Cell) -> int:
        """The number of blocks of a cell that gave no value."""
        return len(self.attempted.get(cell, ())) - len(self.values[cell].get(metric, {}))

    def failed_share(self, metric: str, cell: Cell) -> float:
        """The share of the blocks of a cell that gave no value."""
        return self.failures(metric, cell) / max(1, len(self.attempted.get(cell, ())))

    def obstacle(self, metric: str, cell: Cell) -> Obstacle | None:
        """The obstacle to any verdict on a cell, if there is one."""
        if self.failed_share(metric, cell) > MAX_FAILED_SHARE:
            return Obstacle.FAILED_BLOCKS
        if (merged := self.percentile(metric, cell)) and not merged.is_supported:
            return Obstacle.TOO_FEW_REQUESTS
        # Only this metric is the level of a steady state.
        if metric != self._measurement.repeated_metric:
            return None
        kinds = list(self.unsteady.get(cell, {}).values())
        if len(kinds) <= _MAX_UNSTEADY_SHARE * len(self.attempted.get(cell, ())):
            return None
        still_falls = 2 * kinds.count(SeriesKind.WARMING_UP) >= len(kinds)
        return Obstacle.WARMING_UP if still_falls else Obstacle.NO_STEADY_STATE


class Family(NamedTuple):
    """Comparisons that share an error rate, and their tests."""

    keys: Sequence[_Key]
    tests: ComparisonTests[_Key]


class RunExamination:
    """The comparisons of a run: shown pairs, and pairs inside a class. Those in the headline (`confirmatory`:
    in all metrics of one family) share an error rate and end the run; each other metric has its own, later
    (`exploratory`). `classes`: names by class; the first with two is ranked first."""

    def __init__(
        self,
        experiment: Experiment,
        measurement: Measurement,
        points: Sequence[Point],
        classes: Sequence[Sequence[str]] | None = None,
        *,
        exploratory: bool = False,
    ) -> None:
        self.metrics = tuple(map(measurement.metric, measurement.shown(experiment)))
        self.confirmatory = self.metrics if measurement.one_family else self.metrics[:1]
        self.observations = Observations(measurement)
        self.blocks = 0
        self._experiment, self._points = experiment, points
        self._shown_pairs = shown_pairs(experiment)
        classes = classes or [experiment.contenders]
        self._rivals = next((names for names in classes if len(names) > 1), ())
        inside = [pair for names in classes for pair in itertools.combinations(names, 2)]
        # Each once, in whatever order it is asked for.
        pairs = {frozenset(pair): pair for pair in (*inside, *compared_pairs(experiment))}.values()
        self._families: list[Family] = []
        self._family_of: dict[str, Family] = {}
        others = self.metrics[len(self.confirmatory) :] if exploratory else ()
        for metrics in (self.confirmatory, *((metric,) for metric in others)):
            each = itertools.product([metric.name for metric in metrics], points, pairs)
            keys = [(metric, point, *pair) for metric, point, pair in each]
            self._families.append(Family(keys, ComparisonTests(experiment.margin)))
            self._family_of |= {metric.name: self._families[-1] for metric in metrics}
        self._confidence = nominal_confidence(experiment)
        planned = sequential.planned_looks(experiment.blocks) if experiment.until_decided else []
        self._looks = {look.blocks: look for look in planned}
        # From the first look on: the cells of comparisons that more blocks could decide.
        self._open: set[Cell] | None = None
        self._is_over = False
        self._settle()

    def add_block(self, trials: Iterable[Trial]) -> bool:
        """Count the next whole block and take the look planned after it; False if none is planned."""
        for trial in trials:
            self.observations.add(trial)
        self.blocks += 1
        return self.look(self.blocks)

    def look(self, blocks: int) -> bool:
        """Take the look that is planned after this many blocks; False where there is none."""
        if blocks in self._looks:
            self._examine(self._looks[blocks])
        return blocks in self._looks

    def conclude(self, rest: Iterable[Trial], *, is_over: bool) -> None:
        """Settle all comparisons. `rest`: trials of incomplete blocks. `is_over`: no blocks will follow."""
        self._is_over = is_over
        if is_over:
            # The last look may spend all of the error rate that the earlier ones left.
            self._examine(sequential.Look(self.blocks, sequential.ERROR_RATE))
        for trial in rest:
            self.observations.add(trial)
        self._settle()

    def _examine(self, look: sequential.Look) -> None:
        self._settle()
        for keys, tests in self._families:
            tests.examine({key: self._logs[key] for key in keys if key in self._logs}, look)
        shown = itertools.product(self.confirmatory, self._points, self._shown_pairs)
        rivals = (
            (self.metrics[0], point, pair)
            for point in self._points
            for pair in itertools.combinations(self._candidates(point), 2)
        )
        self._open = {
            Cell(name, point)
            for metric, point, pair in (*shown, *rivals)
            if self._is_open(metric, point, pair)
            for name in pair
        }

    def _candidates(self, point: Point) -> list[str]:
        """The contenders that may be first in the first metric, because none is shown to be better."""

        def is_behind(name: str, other: str) -> bool:
            comparison = self._judged(self.metrics[0], point, name, other)
            return comparison is not None and comparison.verdict is Verdict.SLOWER

        names = self._rivals
        return [name for name in names if not any(is_behind(name, other) for other in names if other != name)]

    def _is_open(self, metric: Metric, point: Point, pair: tuple[str, str]) -> bool:
        """Whether more blocks could decide a pair."""
        comparison = self._judged(metric, point, *pair)
        is_left_out = any(Cell(name, point) in self.observations.left_out for name in pair)
        if comparison is None or comparison.verdict is not Verdict.INCONCLUSIVE or is_left_out:
            return False
        if comparison.obstacle is Obstacle.FAILED_BLOCKS:
            # One failure is a large share of few blocks, but may be a small share of all.
            failures = (self.observations.failures(metric.name, Cell(name, point)) for name in pair)
            return max(failures) <= MAX_FAILED_SHARE * self._experiment.blocks
        return comparison.obstacle in (None, Obstacle.CARRY_OVER)

    def _settle(self) -> None:
        """Settle the ratios with all observations."""
        values = self.observations.values
        # Once for each cell, not for each of its pairs.
        logs_of = functools.cache(lambda metric, cell: logarithms(values[cell].get(metric, {})))
        self._logs: dict[_Key, dict[int, float]] = {}
        for key in (key for family in self._families for key in family.keys):
            metric, point, *names = key
            if logs := differences(*(logs_of(metric, Cell(name, point)) for name in names)):
                self._logs[key] = logs
        # Computed on demand, because most looks are followed by another, which needs no intervals.
        self._decisions: dict[_Key, Decision] = {}
        self._carry_over = functools.cache(self.observations.carry_over)
        self.modes = functools.cache(self.observations.modes)

    def comparison(self, metric: Metric, point: Point, contender: str, baseline: str) -> Comparison | None:
        """A pair's comparison, in either order; None without a common block. Early stops are `overstated`."""
        comparison, of = self._judged(metric, point, contender, baseline), self._experiment
        if comparison is None:
            return None
        is_early = metric in self.confirmatory and of.until_decided and comparison.ratio.n < of.blocks
        if is_early and comparison.verdict in (Verdict.FASTER, Verdict.SLOWER):
            return dataclasses.replace(comparison, overstated=sequential.is_overstated(comparison.ratio))
        if not self._is_over and comparison.verdict is Verdict.INCONCLUSIVE and not comparison.obstacle:
            return dataclasses.replace(comparison, obstacle=Obstacle.UNFINISHED, blocks_needed=None)
        return comparison

    def _judged(self, metric: Metric, point: Point, contender: str, baseline: str) -> Comparison | None:
        """The comparison as if the run had ended."""
        key, turned = (metric.name, point, contender, baseline), (metric.name, point, baseline, contender)
        if is_turned := turned in self._logs:
            key = turned
        if key not in self._logs:
            return None
        logs, tests = self._logs[key], self._family_of[metric.name].tests
        if key not in self._decisions:
            decided = self._of_percentiles(metric, point, *key[2:])
            by_signs = decided or tests.decision(key, logs, self._confidence)
            self._decisions[key] = decided or self._of_means(key, by_signs)
        decision = self._decisions[key]
        ratio = decision.ratio.inverse if is_turned else decision.ratio
        is_larger = (decision.direction > 0) != is_turned
        is_slower = is_larger == metric.smaller_is_better
        better, worse = (baseline, contender) if is_slower else (contender, baseline)
        of_better, obstacle = (
            self.observations.obstacle(metric.name, Cell(name, point)) for name in (better, worse)
        )
        # A contender that is better while it still warms up only gets further ahead.
        if not decision.direction or of_better is not Obstacle.WARMING_UP:
            obstacle = obstacle or of_better
        if obstacle is Obstacle.TOO_FEW_REQUESTS:
            ratio = Interval(ratio.estimate, None, None, ratio.n)
        # More than `MIN_BLOCKS` where the interval is that of a run with interim looks.
        if obstacle is None and ratio.low is None:
            obstacle = Obstacle.TOO_FEW_BLOCKS
        if obstacle is None and has_no_resolution(logs):
            obstacle = Obstacle.SAME_VALUES
        contradicted = None if obstacle else decision.contradicted
        verdict, needed = Verdict.INCONCLUSIVE, None
        is_carried_over = decision.direction != 0 and self._may_be_carried_over(key, decision)
        if obstacle is None and is_carried_over and not decision.equivalent:
            obstacle = Obstacle.CARRY_OVER
        elif obstacle is None and decision.direction and not is_carried_over:
            verdict = Verdict.SLOWER if is_slower else Verdict.FASTER
        elif obstacle is None and decision.equivalent:
            verdict = Verdict.EQUIVALENT
        elif obstacle is None:
            needed = decision.blocks_needed
        pair = (point, metric.name, contender, baseline)
        modes = decision.modes
        return Comparison(*pair, ratio, verdict, decision.p, obstacle, needed, contradicted, modes=modes)

    def _may_be_carried_over(self, key: _Key, decision: Decision) -> bool:
        """Whether the effects of earlier trials may explain a difference, if nearly all of them lasted."""
        metric, point, numerator, denominator = key
        ratio, effect = decision.ratio, self._carry_over(metric)
        if effect is None or ratio.low is None or ratio.high is None:
            return False
        bias, error = effect.bias(Cell(numerator, point), Cell(denominator, point), self._logs[key])
        nearest = ratio.low if decision.direction > 0 else ratio.high
        own_error = math.log(ratio.estimate / nearest) / NormalDist().inv_cdf((1 + self._confidence) / 2)
        beyond = decision.direction * (math.log(ratio.estimate) - bias)
        return beyond < _BEYOND_CARRY_OVER * math.hypot(own_error, error)

    def _of_percentiles(self, metric: Metric, point: Point, *names: str) -> Decision | None:
        """The decision by percentiles of all requests, Bonferroni-corrected; None if none are stored."""
        above, below = (self.observations.percentile(metric.name, Cell(name, point)) for name in names)
        if above is None or below is None or min(above.blocks, below.blocks) < MIN_BLOCKS:
            return None
        error_rate = 1 - self._confidence
        ratio, strict = (
            samples.independent_ratio(above.interval(confidence), below.interval(confidence))
            for confidence in (self._confidence, 1 - error_rate / len(self._family_of[metric.name].keys))
        )
        direction = ((strict.low or 0) > 0) - ((strict.high or 0) < 0)
        farthest = max(math.inf if end is None else abs(end) for end in (ratio.low, ratio.high))
        is_inside = farthest < math.log1p(self._experiment.margin)
        return Decision(exponential(ratio), error_rate if direction else 1.0, direction, is_inside)

    def _of_means(self, key: _Key, decision: Decision) -> Decision:
        """By the ratio of means, which must show the same, if a contender has two modes in the headline."""
        metric, point, *names = key
        known = self.modes(metric) if metric == self.metrics[0].name else {}
        modes = {name: known[cell] for name in names if (cell := Cell(name, point)) in known}
        if not modes or decision.ratio.low is None:
            return decision
        upper, lower = (self.observations.values[Cell(name, point)][metric] for name in names)
        ratio = ratio_of_means(upper, lower, self._confidence)
        if not (ratio and ratio.low and ratio.high):
            return decision
        is_beyond = ratio.low > 1 if decision.direction > 0 else ratio.high < 1
        is_inside = max(ratio.high, 1 / ratio.low) < 1 + self._experiment.margin
        direction, equivalent = decision.direction * is_beyond, decision.equivalent and is_inside
        return Decision(ratio, decision.p, direction, equivalent, decision.contradicted, modes=modes)

    def is_needed(self, cell: Cell) -> bool:
        """Whether the answer needed more blocks of this cell at the last look."""
        return self._open is None or not self._shown_pairs or cell in self._open

    @property
    def is_decided(self) -> bool:
        """Whether the last look decided the first place and all shown comparisons. False before a look."""
        return self._open is not None and not self._open and bool(self._shown_pairs)


def by_class(experiment: Experiment, kind: Callable[[str], ContenderClass]) -> list[list[str]]:
    """The contenders by class: that of the baseline first, the floor last."""
    order = dict.fromkeys((kind(experiment.baseline), *get_args(ContenderClass)))
    return [[name for name in experiment.contenders if kind(name) == each] for each in order]


def judge_trials(
    experiment: Experiment,
    measurement: Measurement,
    points: Sequence[Point],
    trials: Sequence[Trial],
    classes: Sequence[Sequence[str]] | None = None,
    *,
    is_over: bool,
) -> RunExamination:
    """The examination of a run from the trials that count. A whole block has an uninterrupted trial of every
    cell that is measurable and was still needed. In a run that has ended, all blocks count."""
    examination = RunExamination(experiment, measurement, points, classes, exploratory=True)
    unavailable = {trial.cell for trial in trials if trial.block == 0}
    cells = [Cell(name, point) for point in points for name in experiment.contenders]
    measurable = [cell for cell in cells if cell not in unavailable]
    blocks = grouped((trial.block, trial) for trial in trials if trial.block > 0)
    rest: list[Trial] = []
    for _, block in sorted(blocks.items()):
        made = {trial.cell for trial in block if trial.outcome is not Outcome.INTERRUPTED}
        if is_over or all(cell in made for cell in measurable if examination.is_needed(cell)):
            examination.add_block(block)
        else:
            rest += block
    examination.conclude(rest, is_over=is_over)
    return examination


@dataclass(frozen=True, slots=True)
class Ranking:
    """The contenders at a point by class: best median first, then `failing` ones, then those without figures.
    `ranks`: the first and last rank (from 1) inside the class, if any were compared. `cold`: warming up."""

    order: tuple[str, ...]
    ranks: Mapping[str, tuple[int, int]]
    failing: frozenset[str] = frozenset()
    cold: frozenset[str] = frozenset()


def rank(
    medians: Mapping[str, Interval | None],
    metric: Metric,
    compare: Callable[[str, str], Comparison | None],
    classes: Sequence[Sequence[str]] | None = None,
    failing: Collection[str] = (),
    cold: Collection[str] = (),
) -> Ranking:
    """Rank the contenders of `medians`. `classes` in order [one]; `failing`, `cold`: as in `Ranking`."""
    groups = classes if classes is not None else [tuple(medians)]
    place = {name: number for number, group in enumerate(groups) for name in group}

    def best_first(name: str) -> tuple[bool, int, bool, float]:
        median = medians[name]
        if median is None:
            return True, place[name], False, 0.0
        value = median.estimate if metric.smaller_is_better else -median.estimate
        return False, place[name], name in failing, value

    order = tuple(sorted(medians, key=best_first))
    ranks: dict[str, tuple[int, int]] = {}
    for group in groups:
        names = [name for name in order if name in group and medians[name] is not None and name not in cold]
        pairs = {pair: compare(*pair) for pair in itertools.permutations(names, 2)}
        if any(pairs.values()):
            # A contender that failed too often ranks behind the others, whatever its figures.
            is_better = {
                (name, other): (other in failing and name not in failing)
                or (comparison is not None and comparison.verdict is Verdict.FASTER)
                for (name, other), comparison in pairs.items()
            }
            ranks |= rank_intervals(names, is_better)
    return Ranking(order, ranks, frozenset(failing), frozenset(cold))
