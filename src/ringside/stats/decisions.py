"""What is decided about each of many pairs: which is smaller, or that they are equivalent."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from ringside.model.results import Interval
from ringside.stats import signed_rank, stepdown
from ringside.stats.interval import CONFIDENCE, exponential
from ringside.stats.sequential import Look

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

    A pair differs where the step-down test of all pairs (`stepdown`) says so at some look, and its interval,
    by the signed-rank test of the pair alone, excludes 1. Pairs that differ leave the family of later looks.
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
        adjusted = stepdown.adjusted_p_values(family, range(1, look.blocks + 1))
        self._p_values.update(adjusted)
        for pair, values in family.items():
            if not values:
                continue
            if adjusted[pair] <= look.level:
                self._different.add(pair)
            if pair not in self._equivalent and self._is_inside(
                signed_rank.hodges_lehmann(list(values.values()), 1 - 2 * look.level)
            ):
                self._equivalent.add(pair)

    def decision(
        self, pair: Pair, log_ratios: Mapping[int, float], confidence: float = CONFIDENCE
    ) -> Decision:
        """What was decided about a pair, with the ratio over all of its blocks, at least one. `confidence`:
        the nominal one of its interval."""
        values = [log_ratios[block] for block in sorted(log_ratios)]
        summary = signed_rank.hodges_lehmann(values, confidence)
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
