"""Decisions about each of many pairs: one is smaller, or both are equivalent.

A step-down test on the largest statistic, by sign flips of whole blocks, decides which pairs differ (J. P.
Romano, M. Wolf, "Exact and approximate stepdown methods for multiple hypothesis testing", JASA 100 (2005)
94-108). If two contenders do not differ, exchanging their values in a block changes nothing; one random sign
for a whole block keeps the dependence between all pairs of that block.
"""

from __future__ import annotations

import bisect
import math
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from statistics import median
from typing import Generic, TypeVar

from ringside.arrays import np
from ringside.model.results import Interval, LookVerdict
from ringside.stats import paired
from ringside.stats.interval import CONFIDENCE, exponential
from ringside.stats.sequential import FIRST_LOOK, Look

Pair = TypeVar("Pair", bound=Hashable)

# Larger estimates of blocks are not shown.
_MAX_BLOCKS_NEEDED = 100_000
# Log ratios below this are rounding errors.
_NOTHING = 1e-12


@dataclass(frozen=True, slots=True)
class Decision:
    """The result of all looks at a pair.

    `ratio`: with its interval, from all blocks. `p`: the adjusted p-value at the look that decided, else at
    the last one. `direction`: -1 where the numerator is smaller, +1 where it is larger, 0 where no difference
    is shown. `equivalent`: the ratio lies inside the margin. `contradicted`: what was decided first does not
    agree with the interval of all blocks. `blocks_needed`: about how many blocks would decide it, or None.
    `modes`: of contenders that have two; the ratio is then of means."""

    ratio: Interval
    p: float
    direction: int
    equivalent: bool
    contradicted: LookVerdict | None = None
    blocks_needed: int | None = None
    modes: Mapping[str, tuple[float, float]] = field(default_factory=dict)


class ComparisonTests(Generic[Pair]):
    """Pairs that share an error rate. `margin`: ratios between 1 / (1 + margin) and 1 + margin are
    equivalent; with 0 none are.

    A pair differs where the step-down test of all pairs says so at some look (`JointTest`), and its own
    signed-rank interval excludes 1. It is equivalent where both one-sided tests reject a ratio beyond the
    margin (D. J. Schuirmann, J. Pharmacokinet. Biopharm. 15 (1987) 657-680), each over all looks together,
    and its interval lies inside: 95 % hold for all differences, and for each equivalence. What is shown first
    holds until the interval of all blocks contradicts it (docs/METHODOLOGY.md)."""

    def __init__(self, margin: float) -> None:
        self._bound = math.log1p(margin)
        self._p_values: dict[Pair, float] = {}
        self._differences: JointTest[Pair] = JointTest()
        # Whether the ratio of a pair is below the upper end of the margin, and above the lower one.
        self._margin_tests = defaultdict[tuple[Pair, int], JointTest[tuple[Pair, int]]](JointTest)
        self._first: dict[Pair, LookVerdict] = {}

    def examine(self, log_ratios: Mapping[Pair, Mapping[int, float]], look: Look) -> None:
        """Take a look. `log_ratios`: by pair and block, numbered from 1; blocks after it do not count."""
        family = {pair: logs for pair, logs in log_ratios.items() if pair not in self._differences.rejected}
        if not family:
            return
        statistics = two_sided(matrix(family, range(1, look.blocks + 1)))
        self._p_values |= self._differences.look(list(family), statistics, look.level)
        for pair in family.keys() & self._differences.rejected:
            self._first.setdefault(pair, "different")
        if self._bound:
            self._examine_margin(family, look)

    def _examine_margin(self, family: Mapping[Pair, Mapping[int, float]], look: Look) -> None:
        """Test each undecided pair against both ends of the margin."""
        # By pair and end, the distance from it.
        distances = {
            (pair, end): {block: self._bound - end * value for block, value in values.items()}
            for pair, values in family.items()
            if pair not in self._first and values
            for end in (1, -1)
            if (pair, end) not in self._margin_tests[pair, end].rejected
        }
        if not distances:
            return
        flipped = _flipped(_ranked(matrix(distances, range(1, look.blocks + 1))))
        # By pair, and by sign vector and its opposite, Σ s / sqrt(Σ s²) of the signed ranks.
        statistics = np.stack([flipped, -flipped], axis=2).reshape(len(distances), -1)
        for number, side in enumerate(distances):
            self._margin_tests[side].look([side], statistics[[number]], look.level)
        for pair, _ in distances:
            if all((pair, end) in self._margin_tests[pair, end].rejected for end in (1, -1)):
                self._first[pair] = "equivalent"

    def decision(
        self, pair: Pair, log_ratios: Mapping[int, float], confidence: float = CONFIDENCE
    ) -> Decision:
        """The decision about a pair, with the ratio over all of its blocks, at least one. `confidence`:
        the nominal one of its interval."""
        summary = paired.hodges_lehmann(list(log_ratios.values()), confidence)
        ratio, p = exponential(summary), self._p_values.get(pair, 1.0)
        if summary.low is None or summary.high is None or has_no_resolution(log_ratios):
            return Decision(ratio, p, 0, equivalent=False)
        is_inside = -self._bound < summary.low and summary.high < self._bound
        first = self._first.get(pair)
        if first == "equivalent" and is_inside:
            return Decision(ratio, p, 0, equivalent=True)
        contradicted: LookVerdict | None = first if first == "equivalent" else None
        if pair in self._differences.rejected:
            if summary.low > 0 or summary.high < 0:
                direction = int(math.copysign(1, summary.low))
                return Decision(ratio, p, direction, is_inside, contradicted)
            contradicted = first
        # The width of an interval shrinks with the root of the number of blocks: until it excludes 0, or lies
        # inside the margin.
        half, distance = (summary.high - summary.low) / 2, abs(summary.estimate)
        factors = [(half / gap) ** 2 for gap in (distance, self._bound - distance) if gap > 0]
        needed = math.ceil(summary.n * min(factors)) if factors else 0
        # If the interval is narrow enough already, the family's error rate decides, not the width.
        blocks = needed if summary.n < needed <= _MAX_BLOCKS_NEEDED else None
        return Decision(ratio, p, 0, equivalent=False, contradicted=contradicted, blocks_needed=blocks)


def has_no_resolution(log_ratios: Mapping[int, float]) -> bool:
    """Whether all log ratios are 0: a clock or a counter that is too coarse shows nothing."""
    return all(abs(value) < _NOTHING for value in log_ratios.values())


# All sign vectors of 14 blocks, whose first sign is +1: one and its opposite give the same statistics. Later
# blocks have random signs.
_EXACT = 14
# This many blocks have a sign each. In longer runs neighbours share one: 2 blocks up to twice as many, 4 up
# to four times as many. This keeps the symmetry and costs little power.
_SINGLE = 256
# A statistic is reached by one that differs from it by rounding only.
_ROUNDING = 1e-6
# A ratio of 1.5 or more on which all blocks agree is as large as a difference can be.
CLEAR_RATIO = 1.5
# Sign vectors at a time, to bound the memory.
_CHUNK = 1024


class JointTest(Generic[Pair]):
    """Hypotheses that share an error rate over all looks. Every look uses the same sign vectors. A vector
    that would have led to a claim at one look counts at each later one. So the share of vectors that lead to
    a claim at any look is at most the level of the last look. A rejected hypothesis is tested no more, which
    frees the error rate that it alone had spent."""

    def __init__(self) -> None:
        self._spent: dict[Pair, np.ndarray] = {}
        self.rejected: set[Pair] = set()

    def look(self, pairs: Sequence[Pair], statistics: np.ndarray, level: float) -> dict[Pair, float]:
        """The p-values of the hypotheses that earlier looks did not reject. This look rejects those of at
        most `level`. `statistics` has a row for each hypothesis and a column for each sign vector; the first
        vector was observed. This method overwrites them.

        Hypotheses are tested in the order of their statistics, the largest first. A sign vector counts for a
        hypothesis if it makes its statistic, or that of a later one, at least as large as the observed one,
        or did so at an earlier look. The p-value is the share of these vectors, but no smaller than the
        p-value before it."""
        vectors = statistics.shape[1]
        for of_pair, pair in zip(statistics, pairs, strict=True):
            if pair in self._spent:
                # Vectors of fewer blocks stand for all that begin like them.
                of_pair[np.tile(self._spent[pair], vectors // len(self._spent[pair]))] = np.inf
        ascending = np.argsort(statistics[:, 0])
        observed: list[float] = statistics[ascending, 0].tolist()
        # By sign vector, the largest statistic of each hypothesis and those before it.
        largest: np.ndarray = np.maximum.accumulate(statistics[ascending])
        # Pairs with equal statistics are tested together, so that the order of names does not matter.
        ends = [bisect.bisect_right(observed, each + _ROUNDING) for each in observed]
        places = zip(ends, observed, strict=True)
        reached = [np.count_nonzero(largest[end - 1] >= each - _ROUNDING) for end, each in places]
        exceeded: np.ndarray = np.empty(len(pairs), dtype=np.int64)
        exceeded[ascending] = np.maximum.accumulate(reached[::-1])[::-1]
        allowed = math.floor(level * vectors + _ROUNDING)
        self.rejected |= {pair for pair, count in zip(pairs, exceeded, strict=True) if count <= allowed}
        # Those with the smallest statistics are not rejected.
        rest = ascending[: np.count_nonzero(exceeded > allowed)]
        if len(rest):
            place = vectors - 1 - allowed
            limit = np.partition(largest[len(rest) - 1], place)[place] + _ROUNDING
            for number in rest:
                # The statistics of earlier looks are infinite, and stay so.
                self._spent[pairs[number]] = (statistics[number] > limit) | np.isinf(statistics[number])
        return {pair: float(count / vectors) for pair, count in zip(pairs, exceeded, strict=True)}


def matrix(log_ratios: Mapping[Pair, Mapping[int, float]], blocks: Sequence[int]) -> np.ndarray:
    """A row for each block, a column for each pair, 0 where it lacks the block."""
    pairs = log_ratios.values()
    differences: np.ndarray = np.array([[values.get(block, 0.0) for values in pairs] for block in blocks])
    return differences


def two_sided(differences: np.ndarray) -> np.ndarray:
    """By pair and sign vector, |Σ s| / sqrt(Σ s²) of the scores s (`_scores`), which lies between 0 and the
    square root of the number of blocks. If all blocks of a pair agree on the direction and their median ratio
    is at least `CLEAR_RATIO`, the statistic is between that root and the root for one more block, and grows
    with the smallest |d|. Otherwise unequal amounts would make an obvious difference look small. Pairs that
    differ only by noise seldom agree so much in every block."""
    statistics: np.ndarray = np.abs(_flipped(_scores(differences)))
    present = (differences != 0).sum(axis=0)
    magnitudes = [column[column > 0].tolist() for column in np.abs(differences).T]
    clear = np.array([bool(each) and median(each) >= math.log(CLEAR_RATIO) for each in magnitudes])
    if clear.any():
        smallest = np.array([min(each, default=0.0) for each in magnitudes])
        roots = np.sqrt(present)
        largest = roots + (np.sqrt(present + 1) - roots) * smallest / (1 + smallest)
        agree = np.abs(_flipped(np.sign(differences[:, clear]))) > present[clear, None] - 0.5
        statistics[clear] = np.where(agree, largest[clear, None], statistics[clear])
    return statistics


def _scores(differences: np.ndarray) -> np.ndarray:
    """The values themselves up to the first look, whose few ranks would tie; then signed ranks (Wilcoxon's),
    which outliers hardly change. Their columns have length 1."""
    if len(differences) > FIRST_LOOK:
        return _ranked(differences)
    norms = np.sqrt((differences**2).sum(axis=0))
    scores: np.ndarray = differences / np.where(norms > 0, norms, 1.0)
    return scores


def _ranked(differences: np.ndarray) -> np.ndarray:
    """The signs of values times the ranks of their amounts, in columns of length 1. Values of 0 have none."""
    ranked: np.ndarray = np.zeros(differences.shape)
    for column, values in enumerate(differences.T):
        present = values != 0
        _, place, counts = np.unique(np.abs(values[present]), return_inverse=True, return_counts=True)
        # Values that tie share the mean of their ranks.
        ranks = (counts.cumsum() - (counts - 1) / 2)[place]
        ranked[present, column] = np.sign(values[present]) * ranks / (math.hypot(*ranks) or 1.0)
    return ranked


def _flipped(scores: np.ndarray) -> np.ndarray:
    """The sum of each column under each sign vector, a row for each column: callers compare pairs vector by
    vector, which is fastest along rows."""
    starts = group_starts(len(scores))
    sums: np.ndarray = np.add.reduceat(scores, starts, axis=0)
    signs = sign_vectors(len(sums))
    flipped: np.ndarray = np.concatenate(
        [sums.T @ signs[start : start + _CHUNK].astype(float).T for start in range(0, len(signs), _CHUNK)],
        axis=1,
    )
    return flipped


def group_starts(blocks: int) -> list[int]:
    """The first block of each sign, from 0. Later blocks change nothing about earlier ones."""
    starts = list(range(min(blocks, _SINGLE)))
    begin, size = _SINGLE, 2
    while begin < blocks:
        starts += range(begin, min(blocks, 2 * begin), size)
        begin, size = 2 * begin, 2 * size
    return starts


@lru_cache(maxsize=1)
def sign_vectors(count: int) -> np.ndarray:
    """Sign vectors for this many blocks or groups, a row of bytes each, the first all +1. Up to 14 signs, all
    vectors are listed. Beyond, the first 14 signs of each are. Vectors for fewer blocks, in order and
    repeated, are the beginnings of those for more."""
    vectors = 2 ** (min(count, _EXACT) - 1)
    signs: np.ndarray = np.stack([_signs_at(place)[:vectors] for place in range(count)])
    return signs.T


@cache
def _signs_at(place: int) -> np.ndarray:
    """The signs of a block or group, counted from 0, in all vectors: each look adds some to those of the
    earlier ones."""
    vectors = np.arange(2 ** (_EXACT - 1))
    if place < _EXACT:
        bits = (2 * vectors) >> place & 1
    else:
        bits = np.random.default_rng(place).integers(0, 2, size=len(vectors))
        bits[0] = 0
    # Bytes: numbers of 64 bits would be most of a report's memory.
    signs: np.ndarray = (1 - 2 * bits).astype(np.int8)
    return signs


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
