"""How numbers are written: three figures that count, units that a person reads."""

from __future__ import annotations

import math

from ringside.model.design import Metric
from ringside.model.results import Interval, Verdict

_SCALES = {
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "B": ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")),
}
VERDICT_WORDS = {
    Verdict.FASTER: "faster",
    Verdict.SLOWER: "slower",
    Verdict.INDISTINGUISHABLE: "indistinguishable",
    Verdict.TOO_FEW_BLOCKS: "",
}
# How a verdict looks, where it decides (report/tabular.py).
_KINDS = {Verdict.FASTER: "faster", Verdict.SLOWER: "slower", Verdict.INDISTINGUISHABLE: "even"}


def kind(verdict: Verdict) -> str:
    """The kind of entry that a verdict is; a plain number where there is none."""
    return _KINDS.get(verdict, "number")


def significant(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, without an exponent: 0.0123, 1.23, 123, 12,300."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value)) + 1e-12))
    rounded = round(value, digits - 1 - math.floor(math.log10(abs(value)) + 1e-12))
    return f"{rounded:,.{decimals}f}"


def quantity(value: float, unit: str) -> str:
    """A value with its unit, scaled so that it reads well: `1.23 µs`, `45.6 MiB`, `12,300`."""
    if not unit and float(value).is_integer():
        return f"{value:,.0f}"
    factor, name = scale(value, unit)
    return f"{significant(value / factor)} {name}".strip()


def scale(value: float, unit: str) -> tuple[float, str]:
    """The unit in which a value reads well, as (how many of `unit` it is, its name): 1e6, "ms" of ns."""
    scales = _SCALES.get(unit, ((1.0, unit),))
    return next(((f, n) for f, n in scales if abs(value) >= f), scales[-1])


def with_interval(value: Interval, unit: str) -> str:
    """`123 ns (118–131)`: the interval in the estimate's scale; without it where there is none."""
    factor, name = scale(value.estimate, unit)
    text = f"{significant(value.estimate / factor)} {name}".strip()
    if value.low is None or value.high is None:
        return text
    return f"{text} ({significant(value.low / factor)}–{significant(value.high / factor)})"


def ratio(value: Interval) -> str:
    """`1.63 (1.55–1.74)`."""
    if value.low is None or value.high is None:
        return significant(value.estimate)
    return f"{significant(value.estimate)} ({significant(value.low)}–{significant(value.high)})"


def metric_estimate(value: Interval, metric: Metric) -> str:
    """The estimate alone, with its unit."""
    return quantity(value.estimate, metric.unit)
