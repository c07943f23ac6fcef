"""What is decided about each of many pairs: which is smaller, or that they are equivalent.

Which of them differ is decided by a step-down test on the largest statistic, by sign flips of whole blocks
(J. P. Romano, M. Wolf, "Exact and approximate stepdown methods for multiple hypothesis testing", JASA 100
(2005) 94-108). If two contenders do not differ, exchanging their values in a block changes nothing; one
random sign for a whole block keeps the dependence between all pairs of that block.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Generic, TypeVar

from ringside.model.results import Interval
from ringside.stats import paired
from ringside.stats.interval import CONFIDENCE, exponential
from ringside.stats.sequential import Look

if TYPE_CHECKING:
    import numpy as np

Pair = TypeVar("Pair", bound=Hashable)

# An estimate of more blocks than this is no plan.
_MAX_BLOCKS_NEEDED = 100_000
# A difference is as small as rounding where every log ratio is.
_NOTHING = 1e-12


@dataclass(frozen=True, slots=True)
class Decision:
    """What all looks together say of a pair.

    `ratio`: with its interval, from all blocks. `p`: the adjusted p-value at the look that decided, else at
    the last one. `direction`: -1 where the numerator is smaller, +1 where it is larger, 0 where no difference
    is shown. `equivalent`: the ratio lies inside the margin. `blocks_needed`: about how many blocks would
    decide what is not decided; None where that is not in sight."""

    ratio: Interval
    p: float
    direction: int
    equivalent: bool
    blocks_needed: int | None = None

    @property
    def is_decided(self) -> bool:
        return self.direction != 0 or self.equivalent


class Family(Generic[Pair]):
    """Pairs that share an error rate. `margin`: ratios between 1 / (1 + margin) and 1 + margin are
    equivalent.

    A pair differs where the step-down test of all pairs says so at some look, and its interval, by the
    signed-rank test of the pair alone, excludes 1. Pairs that differ leave the family of later looks.
    It is equivalent where at some look both one-sided tests reject a ratio beyond the margin (D. J.
    Schuirmann, J. Pharmacokinet. Biopharm. 15 (1987) 657-680), and its interval lies inside. It is 95 % sure
    that a family holds no false difference; for an equivalence that holds for each pair by itself. Pairs with
    fewer than six blocks, and those whose values are the same in every block, are not decided.
    """

    def __init__(self, margin: float) -> None:
        self._bound = math.log1p(margin)
        self._p_values: dict[Pair, float] = {}
        self._different: set[Pair] = set()
        self._equivalent: set[Pair] = set()

    def examine(self, log_ratios: Mapping[Pair, Mapping[int, float]], look: Look) -> None:
        """Take a look. `log_ratios`: by pair and block, numbered from 1; later blocks than the look's do not
        count."""
        family = {
            pair: {block: value for block, value in values.items() if block <= look.blocks}
            for pair, values in log_ratios.items()
            if pair not in self._different
        }
        adjusted = adjusted_p_values(family, range(1, look.blocks + 1))
        self._p_values.update(adjusted)
        for pair, values in family.items():
            if not values:
                continue
            if adjusted[pair] <= look.level:
                self._different.add(pair)
            if pair not in self._equivalent and self._is_inside(
                paired.hodges_lehmann(list(values.values()), 1 - 2 * look.level)
            ):
                self._equivalent.add(pair)

    def decision(
        self, pair: Pair, log_ratios: Mapping[int, float], confidence: float = CONFIDENCE
    ) -> Decision:
        """What was decided about a pair, with the ratio over all of its blocks, at least one. `confidence`:
        the nominal one of its interval."""
        values = [log_ratios[block] for block in sorted(log_ratios)]
        summary = paired.hodges_lehmann(values, confidence)
        ratio, p = exponential(summary), self._p_values.get(pair, 1.0)
        if summary.low is None or summary.high is None or has_no_resolution(log_ratios):
            return Decision(ratio, p, 0, equivalent=False)
        excludes_1 = summary.low > 0 or summary.high < 0
        if pair in self._different and excludes_1:
            direction = int(math.copysign(1, summary.low))
            return Decision(ratio, p, direction, self._is_inside(summary))
        if pair in self._equivalent and self._is_inside(summary):
            return Decision(ratio, p, 0, equivalent=True)
        return Decision(ratio, p, 0, equivalent=False, blocks_needed=self._blocks_needed(summary))

    def _is_inside(self, summary: Interval) -> bool:
        if summary.low is None or summary.high is None:
            return False
        return -self._bound < summary.low and summary.high < self._bound

    def _blocks_needed(self, summary: Interval) -> int | None:
        """The width of an interval shrinks with the root of the number of blocks: until it excludes 0, or
        lies inside the margin."""
        assert summary.low is not None
        assert summary.high is not None
        half, distance = (summary.high - summary.low) / 2, abs(summary.estimate)
        factors = [(half / gap) ** 2 for gap in (distance, self._bound - distance) if gap > 0]
        needed = math.ceil(summary.n * min(factors)) if factors else None
        # An interval that is narrow enough already waits for the family, of which its width says nothing.
        return needed if needed and summary.n < needed <= _MAX_BLOCKS_NEEDED else None


def has_no_resolution(log_ratios: Mapping[int, float]) -> bool:
    """Whether all log ratios are 0: a clock or a counter that is too coarse shows nothing."""
    return all(abs(value) < _NOTHING for value in log_ratios.values())


# So many blocks have all their sign vectors listed (4,096); more have random ones.
_MAX_EXACT = 13
_FLIPS = 10_000
# More blocks than this are averaged in groups of neighbours, which keeps symmetry and costs little power.
_MAX_BLOCKS = 256
# A statistic is reached by one that differs from it by rounding only.
_ROUNDING = 1e-6
# A ratio of 1.5 or more on which all blocks agree is as large as a difference can be.
CLEAR_RATIO = 1.5
# Sign vectors at a time, to bound the memory.
_CHUNK = 1000


def adjusted_p_values(
    log_ratios: Mapping[Pair, Mapping[int, float]], blocks: Sequence[int]
) -> dict[Pair, float]:
    """The p-value of "no difference" for each pair, adjusted for all of them: when each is compared with a
    level, the probability of one false claim or more (the family-wise error rate) is at most that level.

    `log_ratios`: by pair and block; blocks that a pair lacks count as 0, which favours no side. The statistic
    of a pair is |Σ d| / sqrt(Σ d²), which lies between 0 and the square root of the number of its blocks.
    Where all of them agree on the direction and their median ratio is at least `CLEAR_RATIO`, it is that root
    or more, the larger the smallest |d|, but less than the root of one more block: unequal amounts would
    otherwise make a difference that nobody doubts look small, and pairs that are only noisy seldom agree by
    as much in every block. Pairs are tested from the largest statistic down, each against the largest of
    those that remain, over all sign vectors up to 13 blocks and over 10,000 random ones (always the same)
    beyond; so a pair with few blocks, whose p-value cannot be small, comes after those with more that agree,
    and does not raise theirs. Exact where the log ratios of a block are jointly symmetric; METHODOLOGY has
    simulations of the other cases.
    """
    import numpy as np  # here, since `--help` does without

    pairs = list(log_ratios)
    if not pairs or not blocks:
        return {}
    row = {block: number for number, block in enumerate(blocks)}
    differences = np.zeros((len(blocks), len(pairs)))
    for column, pair in enumerate(pairs):
        for block, value in log_ratios[pair].items():
            if block in row:
                differences[row[block], column] = value
    observed, exceeded, flips = _exceedances(_grouped(differences))
    order = np.argsort(-observed)
    p_values = np.maximum.accumulate(exceeded[order] / flips)
    return {pairs[index]: float(p) for index, p in zip(order, p_values, strict=True)}


def _exceedances(differences: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """The statistic of each pair, how many sign vectors make it or a smaller pair's at least as large, and
    the number of sign vectors."""
    import numpy as np

    signs = _signs(len(differences))
    # Signed values and, by their signs alone, whether all blocks agree.
    norms = np.sqrt((differences**2).sum(axis=0))
    scaled = differences / np.where(norms > 0, norms, 1.0)
    present = (differences != 0).sum(axis=0)
    magnitudes = [column[column > 0] for column in np.abs(differences).T]
    clear = np.array([len(each) > 0 and np.median(each) >= np.log(CLEAR_RATIO) for each in magnitudes])
    smallest = np.array([each.min() if len(each) else 0.0 for each in magnitudes])
    directions = np.sign(differences)
    roots = np.sqrt(present)
    largest = roots + (np.sqrt(present + 1) - roots) * smallest / (1 + smallest)

    def statistic(some: np.ndarray) -> np.ndarray:
        values: np.ndarray = np.abs(some @ scaled)
        if clear.any():
            agree = np.abs(some @ directions[:, clear]) == present[clear]
            values[:, clear] = np.where(agree, largest[clear], values[:, clear])
        return values

    observed = statistic(signs[:1].astype(float))[0]
    ascending = np.argsort(observed)
    exceeded: np.ndarray = np.zeros(len(observed), dtype=np.int64)
    in_order = observed[ascending]
    bound = in_order - _ROUNDING
    # Pairs with equal statistics are tested together: neither may depend on the order of the names.
    last = np.searchsorted(in_order, in_order + _ROUNDING, side="right") - 1
    for start in range(0, len(signs), _CHUNK):
        flipped = statistic(signs[start : start + _CHUNK].astype(float))[:, ascending]
        exceeded[ascending] += (np.maximum.accumulate(flipped, axis=1)[:, last] >= bound).sum(axis=0)
    return observed, exceeded, len(signs)


def _grouped(differences: np.ndarray) -> np.ndarray:
    import numpy as np

    size = -(-len(differences) // _MAX_BLOCKS)
    if size == 1:
        return differences
    starts = np.arange(0, len(differences), size)
    sizes: np.ndarray = np.diff(np.append(starts, len(differences)))
    means: np.ndarray = np.add.reduceat(differences, starts, axis=0) / sizes[:, None]
    return means


@lru_cache(maxsize=32)
def _signs(blocks: int) -> np.ndarray:
    """Sign vectors, a row of bytes each, the first all +1. A vector and its opposite give the same
    statistics, so the first sign is always +1."""
    import numpy as np

    if blocks <= _MAX_EXACT:
        numbers = np.arange(2 ** (blocks - 1))[:, None]
        bits = (numbers >> np.arange(blocks - 1)[None, :]) & 1
        signs = np.hstack([np.zeros((len(numbers), 1), dtype=np.int64), bits])
    else:
        signs = np.random.default_rng(blocks).integers(0, 2, size=(_FLIPS, blocks))
        signs[0] = 0
    # A run with looks keeps several: as numbers of 64 bits they would be most of a report's memory.
    vectors: np.ndarray = 1 - 2 * signs.astype(np.int8)
    return vectors


def rank_intervals(
    names: Sequence[Pair], is_better: Mapping[tuple[Pair, Pair], bool]
) -> dict[Pair, tuple[int, int]]:
    """The rank of each name as an interval (first, last), from 1: one more than the number of names that are
    shown to be better, and the number of names less those that are shown to be worse. `is_better`: (better,
    worse) pairs that are shown to differ. With the family-wise error rate of the claims, all intervals hold
    together (M. Mogstad, J. P. Romano, A. M. Shaikh, D. Wilhelm, Review of Economic Studies 91 (2024))."""
    return {
        name: (
            1 + sum(is_better.get((other, name), False) for other in names),
            len(names) - sum(is_better.get((name, other), False) for other in names),
        )
        for name in names
    }
