"""How much groups differ beyond what chance inside them makes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, variance


def between_groups(groups: Sequence[Sequence[float]]) -> float | None:
    """The standard deviation between the means of groups, in the unit of the values, without what the values'
    own scatter makes of it; 0 where that explains all. Groups of one value do not count; None with fewer than
    two others.

    τ² = max(0, S² - mean(s_i² / n_i)), S² the variance of the groups' means: the unweighted estimate of the
    random effects' variance (L. V. Hedges, I. Olkin, Statistical Methods for Meta-Analysis, 1985, section
    9.C; "variance component" or "Hedges-Olkin" estimate). It is unbiased before the cut at 0, whatever the
    groups' sizes; of few groups it is rough.
    """
    counted = [group for group in groups if len(group) > 1]
    if len(counted) < 2:
        return None
    means = [fmean(group) for group in counted]
    inside = fmean(variance(group) / len(group) for group in counted)
    return math.sqrt(max(0.0, variance(means) - inside))
