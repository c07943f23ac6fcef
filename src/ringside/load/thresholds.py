"""Thresholds of a load, `p99>200ms`: conditions under which it counts as failed."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ringside import units as numbers
from ringside.load.result import LoadResult
from ringside.stats.samples import MIN_BEYOND, ValueCounts, is_supported
from ringside.text import nearest, one_line

_OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_WORDS = {"<": "below", "<=": "at or below", ">": "above", ">=": "at or above"}
_CONDITION = re.compile(r"\s*(?P<figure>[^<>=\s]*)\s*(?P<operator>[<>]=?)\s*(?P<limit>[^<>=]*?)\s*")
_PERCENTILE = re.compile(r"p([5-9]\d(?:\.\d{1,2})?)")
_NUMBER = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>.*)")
_NS = {name: unit.ns for unit in numbers.TIME_UNITS.values() for name in (unit.symbol, unit.name)}
_TIMES = ("p50", "p90", "p95", "p99", "p99.9", "p99.99", "max", "min", "mean")
# Requests that failed, in one way or in any.
_FAILURES = ("errors", "unfinished", "unsent")
_KNOWN = (*_TIMES, *_FAILURES, "rate")
# Percentiles that the engine itself computes; others come from the histogram's counts.
_SUMMARY = {*_TIMES} - {"p99.99"}
TOO_FEW = f"fewer than {MIN_BEYOND} requests lie beyond it"


@dataclass(frozen=True, slots=True)
class Threshold:
    """A condition that must not hold. `unit` is `ns`, `per second`, `%` or empty (a count)."""

    text: str
    figure: str
    operator: str
    limit: float
    unit: str


@dataclass(frozen=True, slots=True)
class Check:
    """A threshold held against a load. `value`: in the threshold's unit; None where nothing was measured,
    which counts as crossed. `is_lower_bound`: the true value may be larger. `is_thin`: a percentile of fewer
    requests than support it."""

    threshold: Threshold
    value: float | None
    is_lower_bound: bool = False
    is_thin: bool = False

    @property
    def is_crossed(self) -> bool:
        """Whether the load failed by this threshold."""
        if self.value is None:
            return True
        return bool(_OPERATORS[self.threshold.operator](self.value, self.threshold.limit))

    def sentence(self) -> str:
        """What was measured, and on which side of the limit it is."""
        threshold = self.threshold
        source = f"(--fail-if '{one_line(threshold.text)}')"
        if self.value is None:
            return f"{threshold.figure} was not measured, since nothing was answered {source}"
        verb = "are" if threshold.figure in _FAILURES else "is"
        if self.is_lower_bound:
            verb += " at least"
        side = _WORDS[threshold.operator] if self.is_crossed else f"not {_WORDS[threshold.operator]}"
        few = f"; {TOO_FEW}" if self.is_thin else ""
        return (
            f"{threshold.figure} {verb} {_shown(self.value, threshold.unit)}, "
            f"{side} {_shown(threshold.limit, threshold.unit)}{few} {source}"
        )

    def document(self) -> dict[str, Any]:
        """As plain data; times in milliseconds."""
        threshold = self.threshold
        scale, unit = (1e6, "ms") if threshold.unit == "ns" else (1.0, threshold.unit)
        return {
            "condition": threshold.text,
            "figure": threshold.figure,
            "value": None if self.value is None else self.value / scale,
            "limit": threshold.limit / scale,
            "unit": unit,
            "crossed": self.is_crossed,
            "too_few_requests": self.is_thin,
        }


def parse(text: str) -> Threshold:
    """`p99>200ms`, `errors>1%`, `errors>0` or `rate<1000`. Raises ValueError with how to write it."""
    match = _CONDITION.fullmatch(text)
    if not match:
        raise ValueError(f"{_quoted(text)} is no condition: write it in quotes, like 'p99>200ms'")
    figure, sign = match["figure"], match["operator"]
    if figure not in _KNOWN and not _PERCENTILE.fullmatch(figure):
        near = nearest(figure, _KNOWN)
        hint = f"did you mean {near}?" if near else f"possible are {', '.join(_KNOWN)}"
        raise ValueError(f"{_quoted(text)}: there is no figure `{one_line(figure, 30)}`; {hint}")
    number = _NUMBER.fullmatch(match["limit"])
    if not number:
        raise ValueError(f"{_quoted(text)} has no number: write it like {_example(figure, sign)}")
    value, unit = float(number["number"]), number["unit"]
    wrong_unit = ValueError(
        f"{_quoted(text)} has {f'the unit `{one_line(unit, 20)}`' if unit else 'no unit'}: write it like "
        f"{_example(figure, sign)}"
    )
    if figure == "rate":
        if unit not in ("", "/s"):
            raise wrong_unit
        return Threshold(text, figure, sign, value, "per second")
    if figure in _FAILURES:
        if unit not in ("", "%"):
            raise wrong_unit
        if unit and value > 100:
            raise ValueError(f"{_quoted(text)} is more than 100 %")
        return Threshold(text, figure, sign, value, unit)
    if unit not in _NS:
        raise wrong_unit
    return Threshold(text, figure, sign, value * _NS[unit], "ns")


def check(threshold: Threshold, result: LoadResult) -> Check:
    """Hold a threshold against a load. Times are latencies, of streams lateness; the rate is that of replies
    as expected, of streams of messages. Errors contain the requests that had no answer at the end
    (`unfinished`, of which `unsent` were never sent); shares are those of all requests."""
    figures = result.figures
    if threshold.figure == "rate":
        return Check(threshold, figures.achieved_rate_per_s)
    if threshold.figure in _FAILURES:
        failed = figures.failed if threshold.figure == "errors" else getattr(figures, threshold.figure)
        if not threshold.unit:
            return Check(threshold, float(failed))
        return Check(threshold, 100 * failed / figures.attempted if figures.attempted else None)
    name = result.main_histogram
    summary = figures.latency(name)
    if summary is None:
        return Check(threshold, None)
    level = float(threshold.figure[1:]) / 100 if threshold.figure.startswith("p") else None
    if threshold.figure in _SUMMARY:
        value = getattr(summary, f"{threshold.figure.replace('.', '_')}_ns")
    else:
        assert level is not None
        value = _percentile(result.counts.get(name, ()), level)
    is_thin = level is not None and not is_supported(level, summary.count)
    return Check(threshold, value, result.is_lower_bound, is_thin)


def _percentile(counts: Sequence[tuple[int, int]], level: float) -> float | None:
    """A percentile of a histogram of (value, count) pairs; None of an empty one."""
    histogram = ValueCounts(counts)
    return float(histogram.percentile(level)) if histogram.total else None


def _shown(value: float, unit: str) -> str:
    if unit == "ns":
        return numbers.quantity(value, "ns")
    text = numbers.significant(value) if value and value != int(value) else f"{value:,.0f}"
    return f"{text} {unit}".rstrip()


def _example(figure: str, sign: str) -> str:
    limit = "1000" if figure == "rate" else "1%" if figure in _FAILURES else "200ms"
    return f"'{figure}{sign}{limit}'"


def _quoted(text: str) -> str:
    return f"'{one_line(text, 60)}'"
