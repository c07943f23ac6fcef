"""Comparisons of contenders: ratios from pairs inside blocks, verdicts, ranks. A run in progress uses the
same to see what is decided."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from ringside.analysis.cells import CellAnalysis
from ringside.model.design import Cell, Experiment, Metric, Point
from ringside.model.results import Comparison, Interval, Obstacle, Stalls, Trial, Verdict, in_order
from ringside.stats.decisions import ComparisonTests, Decision, has_no_resolution, rank_intervals
from ringside.stats.interval import CONFIDENCE, MIN_BLOCKS, exponential, is_positive_finite
from ringside.stats.paired import differences, hodges_lehmann, logarithms, stalls
from ringside.stats.sequential import Look

# With fewer blocks there is no verdict.
BLOCKS_FOR_VERDICT = MIN_BLOCKS

# By metric and cell: the value in each block.
Values = Mapping[tuple[str, Cell], Mapping[int, float]]
# Metric, point, numerator, denominator.
Key = tuple[str, Point, str, str]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The contenders at a point, class by class, those with the best median first, behind them those that
    failed too often for a verdict, and those without figures last. `ranks`: the first and the last rank that
    each contender with figures can have inside its class, from 1; none for a class of which no two were
    compared. `failing`: those that failed too often for a verdict, whose figures may be better than the best
    one's."""

    order: tuple[str, ...]
    ranks: Mapping[str, tuple[int, int]]
    failing: frozenset[str] = frozenset()


def beside_itself(
    cells: Mapping[Cell, CellAnalysis], trials: Sequence[Trial], metric: str
) -> Interval | None:
    """The control: the ratio of trials of one cell that come right after each other, the last of a block and
    the first of the next, from all cells together. Every other ratio is turned around, as orders inside
    blocks are by chance. None of fewer than six, which have no interval."""
    logs: list[float] = []
    for before, after in itertools.pairwise(in_order(trials)):
        if (before.machine, before.cell, before.block + 1) != (after.machine, after.cell, after.block):
            continue
        values = [cells[each.cell].by_block.get(metric, {}).get(each.block, 0.0) for each in (before, after)]
        if all(map(is_positive_finite, values)):
            logs.append(math.log(values[1] / values[0]) * (-1) ** len(logs))
    if len(logs) < MIN_BLOCKS:
        return None
    return exponential(hodges_lehmann(logs))


def shown_pairs(experiment: Experiment) -> tuple[tuple[str, str], ...]:
    """The pairs (numerator, denominator) whose ratios the tables show: those that the experiment names, else
    every contender over the baseline."""
    return experiment.show.ratios or _over_baseline(experiment)


def compared_pairs(experiment: Experiment) -> tuple[tuple[str, str], ...]:
    """All pairs whose verdict is shown anywhere: the shown ones, and every contender over the baseline."""
    return tuple(dict.fromkeys((*shown_pairs(experiment), *_over_baseline(experiment))))


def _over_baseline(experiment: Experiment) -> tuple[tuple[str, str], ...]:
    return tuple((name, experiment.baseline) for name in experiment.contenders if name != experiment.baseline)


class ComparisonFamily:
    """Pairs of contenders (numerator, denominator) at all points in some metrics: one family with one error
    rate. Looks are taken as blocks come, or all of them afterwards."""

    def __init__(
        self,
        metrics: Sequence[Metric],
        points: Sequence[Point],
        pairs: Sequence[tuple[str, str]],
        margin: float,
    ) -> None:
        self._metrics = {metric.name: metric for metric in metrics}
        self._keys: tuple[Key, ...] = tuple(
            (metric.name, point, *pair) for metric in metrics for point in points for pair in pairs
        )
        self._family: ComparisonTests[Key] = ComparisonTests(margin)
        self._decisions: dict[Key, Decision] = {}
        self._logs: dict[Key, dict[int, float]] = {}
        self._confidence = CONFIDENCE

    def examine(self, values: Values, look: Look, confidence: float = CONFIDENCE) -> None:
        """Take a look at the values so far, and settle the decisions by them; `confidence`: of the intervals
        of ratios."""
        self._settle(values, confidence)
        self._family.examine(self._logs, look)

    def conclude(self, values: Values, confidence: float = CONFIDENCE) -> None:
        """Settle the decisions by all values, after the last look."""
        self._settle(values, confidence)

    def _settle(self, values: Values, confidence: float) -> None:
        self._logs = self._log_ratios(values)
        self._confidence = confidence
        # Most looks are followed by another, and nobody asks for their intervals.
        self._decisions = {}

    def comparison(
        self, metric: str, point: Point, contender: str, baseline: str, obstacle: Obstacle | None = None
    ) -> Comparison | None:
        """The comparison of a pair; None where it has no block in common. `obstacle`: why it has no verdict
        whatever its values."""
        key, decision, turned = self._find((metric, point, contender, baseline))
        if decision is None:
            return None
        ratio = decision.ratio.inverse if turned else decision.ratio
        # More than `BLOCKS_FOR_VERDICT` where the interval is that of a run with interim looks.
        if obstacle is None and ratio.low is None:
            obstacle = Obstacle.TOO_FEW_BLOCKS
        if obstacle is None and has_no_resolution(self._logs[key]):
            obstacle = Obstacle.SAME_VALUES
        direction = -decision.direction if turned else decision.direction
        verdict = Verdict.INCONCLUSIVE
        if obstacle is None and direction:
            is_better = (direction < 0) == self._metrics[metric].smaller_is_better
            verdict = Verdict.FASTER if is_better else Verdict.SLOWER
        elif obstacle is None and decision.equivalent:
            verdict = Verdict.EQUIVALENT
        stalled = None
        if verdict in (Verdict.FASTER, Verdict.SLOWER):
            stalled = self._stalls(key, decision, contender if verdict is Verdict.SLOWER else baseline)
        needed = decision.blocks_needed if verdict is Verdict.INCONCLUSIVE and obstacle is None else None
        earlier = None if obstacle else decision.contradicted
        return Comparison(
            point,
            metric,
            contender,
            baseline,
            ratio,
            verdict,
            decision.p,
            obstacle,
            needed,
            earlier,
            stalls=stalled,
        )

    def _stalls(self, key: Key, decision: Decision, worse: str) -> Stalls | None:
        """Those of the worse of a pair, where they alone make the difference."""
        logs = [decision.direction * value for value in self._logs[key].values()]
        stalled = stalls(logs, self._confidence)
        return Stalls(worse, len(stalled), len(logs), math.exp(stalled[0])) if stalled else None

    def _find(self, key: Key) -> tuple[Key, Decision | None, bool]:
        """The decision on a pair in either order, and whether it is the other one."""
        metric, point, numerator, denominator = key
        turned = (metric, point, denominator, numerator)
        if turned in self._logs:
            return turned, self._decision(turned), True
        return key, self._decision(key) if key in self._logs else None, False

    def _decision(self, key: Key) -> Decision:
        if key not in self._decisions:
            self._decisions[key] = self._family.decision(key, self._logs[key], self._confidence)
        return self._decisions[key]

    def _log_ratios(self, values: Values) -> dict[Key, dict[int, float]]:
        # Once for each cell, not for each of its pairs.
        logs_of = functools.cache(
            lambda metric, name, point: logarithms(values.get((metric, Cell(name, point)), {}))
        )
        log_ratios = {}
        for key in self._keys:
            metric, point, numerator, denominator = key
            if logs := differences(logs_of(metric, numerator, point), logs_of(metric, denominator, point)):
                log_ratios[key] = logs
        return log_ratios


def rank(
    medians: Mapping[str, Interval | None],
    metric: Metric,
    compare: Callable[[str, str], Comparison | None],
    classes: Sequence[Sequence[str]] | None = None,
    failing: Collection[str] = (),
) -> Ranking:
    """The ranking of contenders at a point by `metric`; `medians` names all of them, in the experiment's
    order. `classes`: the names of each class, in the order in which classes stand [default: all are one].
    `failing`: as the ranking has them."""
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
        names = [name for name in order if name in group and medians[name] is not None]
        pairs = {pair: compare(*pair) for pair in itertools.permutations(names, 2)}
        if any(pairs.values()):
            is_better = {
                pair: comparison is not None and comparison.verdict is Verdict.FASTER
                for pair, comparison in pairs.items()
            }
            ranks |= rank_intervals(names, is_better)
    return Ranking(order, ranks, frozenset(failing))
