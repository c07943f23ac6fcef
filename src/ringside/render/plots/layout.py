"""Where things go in a panel: round ticks, places of labels."""

from __future__ import annotations

import math
from collections.abc import Mapping

_LABEL_SPACE = 14
_MIN_TICKS, _MAX_TICKS = 3, 8


def log_ticks(low: float, high: float) -> list[float]:
    """Three to eight round numbers on a logarithmic axis from `low` to `high`, both positive; the one that
    there is, where they are the same."""
    if low == high:
        return [low]
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        ticks = [float(f"{s}e{d}") for d in decades for s in steps if low <= float(f"{s}e{d}") <= high]
        if len(ticks) >= _MIN_TICKS:
            return _thinned(ticks)
    return _even_ticks(low, high)


def _even_ticks(low: float, high: float) -> list[float]:
    """Three to eight round numbers at even distances: on so short a stretch logarithms look even too."""
    digits = math.floor(math.log10(high - low))
    for step in (float(f"{times}e{digits - lower}") for lower in (0, 1) for times in (5, 2, 1)):
        first, last = math.ceil(low / step), math.floor(high / step)
        if last - first >= _MIN_TICKS - 1:
            ticks = [float(f"{count * step:.12g}") for count in range(first, last + 1)]
            return _thinned([tick for tick in ticks if low <= tick <= high])
    return [low, high]


def _thinned(ticks: list[float]) -> list[float]:
    return ticks[:: math.ceil(len(ticks) / _MAX_TICKS)]


def height_of(value: float, low: float, high: float, height: float, *, log: bool) -> float:
    """Where a value lies on an upright axis from `low` to `high`, in pixels from the top."""
    share = math.log(value / low) / math.log(high / low) if log else (value - low) / (high - low)
    return height * (1 - share)


def spread(wanted: Mapping[str, float], height: float) -> dict[str, float]:
    """Places for labels as near as can be to those that are `wanted`, in their order, at least a line
    apart and inside the panel."""
    placed: dict[str, float] = {}
    last = -math.inf
    for name, y in sorted(wanted.items(), key=lambda item: item[1]):
        last = placed[name] = max(y, last + _LABEL_SPACE)
    bottom = float(height)
    for name in reversed(placed):
        placed[name] = min(placed[name], bottom)
        bottom = placed[name] - _LABEL_SPACE
    return placed


def label_rows(wanted: Mapping[str, float], height: float) -> list[dict[str, object]]:
    """The data of `spec.end_labels`. Of more labels than lines in the panel, as many as fit, spread over it:
    tooltips have the others."""
    most = max(1, int(height // _LABEL_SPACE))
    if len(wanted) > most:
        ordered = sorted(wanted, key=wanted.__getitem__)
        kept = {ordered[place * len(ordered) // most] for place in range(most)}
        wanted = {name: y for name, y in wanted.items() if name in kept}
    return [{"contender": name, "y": y} for name, y in spread(wanted, height).items()]
