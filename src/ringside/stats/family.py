"""Many comparisons at once: the error rate of a whole table is held, and ranks are given in groups."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

from ringside.model.results import Verdict
from ringside.stats.interval import CONFIDENCE, LEAST
from ringside.stats.ratio import Paired, verdict

Name = TypeVar("Name", bound=Hashable)


def adjusted(p_values: Sequence[float]) -> list[float]:
    """Each p of a family as one that may be held against 5 % by itself: then the probability of one false
    claim or more in the whole family is 5 % at most.

    Hochberg's step-up procedure (Y. Hochberg, Biometrika 75 (1988) 800-802). It needs statistics that do not
    depend on each other negatively, which comparisons with a common baseline fulfil (S. K. Sarkar, C.-K.
    Chang, JASA 92 (1997) 1601-1608). Unlike Holm's it can decide for many contenders with few blocks, where
    exact p-values cannot become small.
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i], reverse=True)
    found = [1.0] * len(p_values)
    least = 1.0
    for rank, i in enumerate(order, start=1):
        least = min(least, rank * p_values[i])
        found[i] = least
    return found


def as_family(pairs: Mapping[Name, Paired | None]) -> dict[Name, float]:
    """The p of each comparison as one of all of these; a pair without a block in common has none."""
    known = {key: found.p for key, found in pairs.items() if found is not None}
    return dict(zip(known, adjusted(list(known.values())), strict=True))


def ranks(
    ordered: Sequence[Name],
    compare: Callable[[Name, Name], Paired | None],
    *,
    smaller_is_better: bool = True,
) -> dict[Name, int]:
    """The group of ties in which each of `ordered`, the best first, stands, from 1. All pairs of them are one
    family of comparisons; where it cannot tell two apart they share a rank."""
    pairs = {pair: compare(*pair) for pair in itertools.combinations(ordered, 2)}
    fair = as_family(pairs)

    def differ(one: Name, other: Name) -> bool:
        found = pairs[one, other]
        if found is None:
            return False
        p = fair[one, other]
        return verdict(found.ratio, smaller_is_better=smaller_is_better, p=p) is Verdict.FASTER

    return {name: rank for rank, tied in enumerate(groups(ordered, differ), 1) for name in tied}


def blocks_needed(comparisons: int) -> int:
    """The number of blocks from which each of so many comparisons can be decided, however the others stand:
    the smallest exact p, 2 / 2^n, must lie below 5 % by their number. Six at least."""
    n = LEAST
    while comparisons * 2.0 ** (1 - n) > 1 - CONFIDENCE:
        n += 1
    return n


def groups(ordered: Sequence[Name], differ: Callable[[Name, Name], bool]) -> list[list[Name]]:
    """`ordered`, the best first, in groups that are ties: a new group begins with the first that differs from
    the one which leads the group before. `differ(a, b)` says whether two of them are told apart."""
    found: list[list[Name]] = []
    for name in ordered:
        if found and not differ(found[-1][0], name):
            found[-1].append(name)
        else:
            found.append([name])
    return found
