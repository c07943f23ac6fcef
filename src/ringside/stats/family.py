"""Many comparisons at once: the family-wise error rate, and ranks with ties."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

from ringside.model.results import Verdict
from ringside.stats.interval import CONFIDENCE, MIN_BLOCKS
from ringside.stats.ratio import PairedRatio, verdict

Name = TypeVar("Name", bound=Hashable)


def hochberg(p_values: Sequence[float]) -> list[float]:
    """The p-values of a family of comparisons, adjusted: when each is compared with 5 %, the probability of
    one false claim or more in the whole family (the family-wise error rate) is at most 5 %.

    Hochberg's step-up procedure (Y. Hochberg, Biometrika 75 (1988) 800-802). It requires statistics that do
    not depend on each other negatively; comparisons with a common baseline fulfil this (S. K. Sarkar, C.-K.
    Chang, JASA 92 (1997) 1601-1608). Unlike Holm's procedure it can decide for many contenders with few
    blocks, where exact p-values cannot become small.
    """
    descending = sorted(range(len(p_values)), key=p_values.__getitem__, reverse=True)
    scaled = (rank * p_values[i] for rank, i in enumerate(descending, start=1))
    adjusted = dict(zip(descending, itertools.accumulate(scaled, min), strict=True))
    return [adjusted[i] for i in range(len(p_values))]


def adjusted_p_values(pairs: Mapping[Name, PairedRatio | None]) -> dict[Name, float]:
    """The p-value of each comparison, adjusted for all of them. A pair without a common block (None) has no
    p-value and does not count."""
    p_values = {pair: comparison.p for pair, comparison in pairs.items() if comparison is not None}
    return dict(zip(p_values, hochberg(list(p_values.values())), strict=True))


def ranks(
    ordered: Sequence[Name],
    compare: Callable[[Name, Name], PairedRatio | None],
    *,
    smaller_is_better: bool = True,
) -> dict[Name, int]:
    """The rank of each name, from 1; `ordered` begins with the best. Names share a rank where no difference
    is shown (`tie_groups`). All pairs are one family of comparisons."""
    pairs = {pair: compare(*pair) for pair in itertools.combinations(ordered, 2)}
    p_values = adjusted_p_values(pairs)

    def differ(better: Name, worse: Name) -> bool:
        comparison = pairs[better, worse]
        if comparison is None:
            return False
        p = p_values[better, worse]
        return verdict(comparison.ratio, smaller_is_better=smaller_is_better, p=p) is Verdict.FASTER

    return {name: rank for rank, tied in enumerate(tie_groups(ordered, differ), 1) for name in tied}


def blocks_needed(comparisons: int) -> int:
    """The number of blocks from which each of this many comparisons can be decided, whatever the others show:
    the smallest exact p-value, 2 / 2^n, must be at most 5 % divided by their number. Never below six."""
    n = MIN_BLOCKS
    while comparisons * 2.0 ** (1 - n) > 1 - CONFIDENCE:
        n += 1
    return n


def tie_groups(ordered: Sequence[Name], differ: Callable[[Name, Name], bool]) -> list[list[Name]]:
    """`ordered`, the best first, in groups of ties. Each name is compared with the first of the current
    group, and begins a new group if `differ(first, name)`."""
    groups: list[list[Name]] = []
    for name in ordered:
        if groups and not differ(groups[-1][0], name):
            groups[-1].append(name)
        else:
            groups.append([name])
    return groups
