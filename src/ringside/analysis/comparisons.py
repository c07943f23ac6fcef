"""Comparisons of contenders at one point: ratios from pairs inside blocks, verdicts, ranks. The stopping rule
of a run in progress uses the same."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ringside.model.design import Experiment, Metric, Point
from ringside.model.results import Comparison, Interval, Verdict
from ringside.stats.family import adjusted_p_values, blocks_needed, ranks
from ringside.stats.interval import MIN_BLOCKS
from ringside.stats.ratio import PairedRatio, paired, verdict

# With fewer blocks there is no verdict.
BLOCKS_FOR_VERDICT = MIN_BLOCKS

# Values of one metric at one point, by contender and block.
Values = Mapping[str, Mapping[int, float]]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The contenders at a point, those with the best median first and those without figures last. `ranks`:
    the group of ties of each contender with figures, from 1; empty where there are too few blocks.
    `blocks_needed`: set where ranks would contradict verdicts for want of blocks, and then they are not to be
    shown: from so many blocks on each pair can be decided."""

    order: tuple[str, ...]
    ranks: Mapping[str, int]
    blocks_needed: int | None = None


def shown_pairs(experiment: Experiment) -> tuple[tuple[str, str], ...]:
    """The pairs (numerator, denominator) whose ratios the tables show: those that the experiment names, else
    every contender over the baseline."""
    return experiment.show.ratios or _over_baseline(experiment)


def compared_pairs(experiment: Experiment) -> tuple[tuple[str, str], ...]:
    """All pairs that get a verdict anywhere: the shown ones, and every contender over the baseline. At one
    point and in one metric they are one family of comparisons."""
    return tuple(dict.fromkeys((*shown_pairs(experiment), *_over_baseline(experiment))))


def _over_baseline(experiment: Experiment) -> tuple[tuple[str, str], ...]:
    return tuple((name, experiment.baseline) for name in experiment.contenders if name != experiment.baseline)


def compare(
    values: Values, pairs: Sequence[tuple[str, str]], metric: Metric, point: Point, *, sequential: bool
) -> dict[tuple[str, str], Comparison]:
    """The comparison of each pair, all of them as one family; a pair without a block in common has none.
    `sequential`: blocks were added until intervals were narrow (`stats.sequential`)."""
    ratios = {
        (contender, baseline): paired(
            values.get(contender, {}), values.get(baseline, {}), sequential=sequential
        )
        for contender, baseline in pairs
    }
    adjusted = adjusted_p_values(ratios)
    return {
        pair: Comparison(
            point=point,
            metric=metric.name,
            contender=pair[0],
            baseline=pair[1],
            ratio=paired_ratio.ratio,
            verdict=verdict(paired_ratio.ratio, smaller_is_better=metric.smaller_is_better, p=adjusted[pair]),
            p=adjusted[pair],
        )
        for pair, paired_ratio in ratios.items()
        if paired_ratio is not None
    }


def rank(
    medians: Mapping[str, Interval | None],
    values: Values,
    metric: Metric,
    comparisons: Mapping[tuple[str, str], Comparison],
    baseline: str,
    *,
    sequential: bool,
) -> Ranking:
    """The ranking of contenders at a point by `metric`; `medians` names all of them, in the experiment's
    order, and `values` has an entry for each."""

    def best_first(name: str) -> tuple[bool, float]:
        median = medians[name]
        if median is None:
            return True, 0.0
        return False, median.estimate if metric.smaller_is_better else -median.estimate

    order = tuple(sorted(medians, key=best_first))
    if max(len(blocks) for blocks in values.values()) < MIN_BLOCKS:
        return Ranking(order, {})

    def ratio(contender: str, other: str) -> PairedRatio | None:
        return paired(values[contender], values[other], sequential=sequential)

    with_figures = [name for name in order if medians[name] is not None]
    groups = ranks(with_figures, ratio, smaller_is_better=metric.smaller_is_better)
    tied = (name for name in groups if name != baseline and groups[name] == groups.get(baseline))
    decided = (Verdict.FASTER, Verdict.SLOWER)
    contradict = any(
        (comparison := comparisons.get((name, baseline))) and comparison.verdict in decided for name in tied
    )
    needed = blocks_needed(math.comb(len(with_figures), 2)) if contradict else None
    return Ranking(order, groups, needed)
