"""Which pairs of contenders are compared, and how contenders rank."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from ringside.model.design import Experiment, Metric
from ringside.model.results import Comparison, Interval, Verdict
from ringside.stats.decisions import rank_intervals
from ringside.stats.interval import MIN_BLOCKS

# With fewer blocks there is no verdict.
BLOCKS_FOR_VERDICT = MIN_BLOCKS


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


def shown_pairs(experiment: Experiment) -> tuple[tuple[str, str], ...]:
    """The pairs (numerator, denominator) whose ratios the tables show: those that the experiment names, else
    every contender over the baseline."""
    return experiment.show.ratios or _over_baseline(experiment)


def compared_pairs(experiment: Experiment) -> tuple[tuple[str, str], ...]:
    """All pairs whose verdict is shown anywhere: the shown ones, and every contender over the baseline."""
    return tuple(dict.fromkeys((*shown_pairs(experiment), *_over_baseline(experiment))))


def _over_baseline(experiment: Experiment) -> tuple[tuple[str, str], ...]:
    return tuple((name, experiment.baseline) for name in experiment.contenders if name != experiment.baseline)


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
