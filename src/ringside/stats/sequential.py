"""Interim looks at a run in progress: after which blocks it is examined, and what each look may claim."""

import math
from dataclasses import dataclass

from ringside.model.results import Interval
from ringside.stats.interval import CONFIDENCE

# The nominal confidence of an interval that is shown after interim looks, so that it really holds 95 %. A
# nominal 95 % misses in up to 6.9 % of cases, a nominal 97 % in up to 4.5 % (simulated, see VALIDATION).
SEQUENTIAL_CONFIDENCE = 0.97
# The probability that a family holds a false claim.
ERROR_RATE = 1 - CONFIDENCE
# The smallest p-value of fewer blocks, 1/32, is more than a first look may spend.
FIRST_LOOK = 7
# The ratio of the numbers of blocks at two successive looks.
_STEP = 4 / 3
# The first look may spend this part of the error rate (the smallest p-value of seven blocks is 1/64). Each
# later look leaves this share of the rest.
_FIRST_LEVEL, _LEFT = 0.02, 0.9
# A run that ends once it has decided overstates ratios whose intervals come nearer to 1 than this, and than
# half of the estimate's distance from 1 (simulated: VALIDATION).
_CLEAR = math.log(1.05)


@dataclass(frozen=True, slots=True)
class Look:
    """An examination after this many blocks. `level`: the error rate that all looks so far may have spent."""

    blocks: int
    level: float


def planned_looks(most: int) -> list[Look]:
    """The looks at a run in progress after up to this many blocks: after 7, 9, 12, 16, 21 … of them.

    What may be spent is fixed beforehand and does not depend on how long the run may become (K. K. G. Lan, D.
    L. DeMets, Biometrika 70 (1983) 659-663): 2 % at the first look, then at each a tenth of what is left."""
    looks: list[Look] = []
    blocks, rest = FIRST_LOOK, ERROR_RATE - _FIRST_LEVEL
    while blocks <= most:
        looks.append(Look(blocks, ERROR_RATE - rest))
        blocks, rest = int(blocks * _STEP), rest * _LEFT
    return looks


def is_overstated(ratio: Interval) -> bool:
    """Whether a ratio is probably too far from 1, if its run ended once a difference was shown: runs tend to
    end when chance enlarges the difference. Ratios that are clear of 1 are hardly affected."""
    if ratio.low is None or ratio.high is None:
        return False
    nearest = min(abs(math.log(ratio.low)), abs(math.log(ratio.high)))
    return nearest < min(_CLEAR, abs(math.log(ratio.estimate)) / 2)
