"""The p-values of a single look, which verdicts over several looks are made of."""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from ringside.stats import decisions

Pair = TypeVar("Pair", bound=Hashable)


def adjusted_p_values(log_ratios: Mapping[Pair, Mapping[int, float]], of: Sequence[int]) -> dict[Pair, float]:
    """The p-value of "no difference" for each pair at one look, adjusted for all of them (`JointTest`): when
    each is compared with a level, the probability of one false claim or more (the family-wise error rate) is
    at most that level.

    `log_ratios`: by pair and block; blocks that a pair lacks count as 0, which favours no side. Exact where
    the log ratios of a block are jointly symmetric; VALIDATION has simulations of the other cases.
    """
    if not log_ratios or not of:
        return {}
    test: decisions.JointTest[Pair] = decisions.JointTest()
    statistics = decisions.two_sided(decisions.matrix(log_ratios, of))
    return test.look(list(log_ratios), statistics, 0.0)
