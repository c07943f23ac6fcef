"""Thresholds of a load, `p99>200ms`, and the search for the highest rate that meets one."""

import dataclasses
import math
import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from ringside import units as numbers
from ringside.load.result import LoadResult, Threshold, is_kept
from ringside.probe import protocol as ipc
from ringside.stats.samples import MIN_BEYOND, ValueCounts, is_supported
from ringside.text import nearest, one_line

_OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_WORDS = {"<": "below", "<=": "at or below", ">": "above", ">=": "at or above"}
_OPPOSITES = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_CONDITION = re.compile(r"\s*(?P<figure>[^<>=\s]*)\s*(?P<operator>[<>]=?)\s*(?P<limit>[^<>=]*?)\s*")
_PERCENTILE = re.compile(r"p([5-9][0-9](?:\.[0-9]{1,2})?)")
_NUMBER = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>.*)")
_NS = {name: unit.ns for unit in numbers.TIME_UNITS.values() for name in (unit.symbol, unit.name)}
_TIMES = ("p50", "p90", "p95", "p99", "p99.9", "p99.99", "max", "min", "mean")
# Requests that failed, in one way or in any.
_FAILURES = ("errors", "unfinished", "unsent")
_KNOWN = (*_TIMES, *_FAILURES, "rate")
_OF_K6 = {"med": "p50", "avg": "mean", "http_req_failed": "errors", "http_req_duration": "p95"}
_AT_THE_END = ("min", "mean", "unfinished", "unsent")
_OF_STEPS = ("p50", "p99", "max", "errors")
# Percentiles that the engine itself computes; others come from the histogram's counts.
_SUMMARY = {*_TIMES} - {"p99.99"}
# A rate that fails in a search is tried once more: the machine may have been busy. Each try is a load.
_MAX_TRIES = 24
_CLOSE = 1.05
_MAX_RATE = 10_000_000
TOO_FEW = f"fewer than {MIN_BEYOND} requests lie beyond it"


@dataclass(frozen=True, slots=True)
class Check:
    """A threshold, and a load's figure for it."""

    threshold: Threshold
    # In the threshold's unit; None if nothing was measured, which counts as crossed.
    value: float | None
    # The true value may be larger.
    is_lower_bound: bool = False
    # A percentile of fewer requests than support it.
    is_thin: bool = False

    @property
    def is_crossed(self) -> bool:
        """Whether the load failed by this threshold."""
        if self.value is None:
            return True
        return bool(_OPERATORS[self.threshold.operator](self.value, self.threshold.limit))

    def sentence(self) -> str:
        """The measured figure, and on which side of the limit it lies."""
        threshold = self.threshold
        source = f"({threshold.option} '{one_line(threshold.text)}')"
        verb, past = ("are", "were") if threshold.figure in _FAILURES else ("is", "was")
        if self.value is None:
            return f"{threshold.figure} {past} not measured, since nothing was answered as expected {source}"
        if self.is_lower_bound:
            verb += " at least"
        side = _WORDS[threshold.operator] if self.is_crossed else f"not {_WORDS[threshold.operator]}"
        more = f"; {TOO_FEW}" if self.is_thin else ""
        if self.is_crossed and (threshold.operator[0] == "<") is not (threshold.figure == "rate"):
            more += f"; to demand that, turn the sign: {_OPPOSITES[threshold.operator]}"
        return (
            f"{threshold.figure} {verb} {_shown(self.value, threshold.unit)}, "
            f"{side} {_shown(threshold.limit, threshold.unit)}{more} {source}"
        )

    def document(self) -> dict[str, Any]:
        """As plain data; times in milliseconds."""
        threshold = self.threshold
        scale, unit = (1e6, "ms") if threshold.unit == "ns" else (1.0, threshold.unit)
        return {
            **{"condition": threshold.text, "figure": threshold.figure},
            **{"value": None if self.value is None else self.value / scale},
            **{"limit": threshold.limit / scale, "unit": unit},
            **{"crossed": self.is_crossed, "too_few_requests": self.is_thin},
        }


def parse(text: str, option: str = "--fail-if") -> Threshold:
    """`p99>200ms`, `errors>1%`, `errors>0` or `rate<1000`. Raises ValueError with how to write it."""
    match, quoted = _CONDITION.fullmatch(text), f"'{one_line(text, 60)}'"
    if not match:
        raise ValueError(f"{quoted} is no condition: write it in quotes, like 'p99>200ms'")
    (figure, at, rate), sign = match["figure"].partition("@"), match["operator"]
    if figure not in _KNOWN and not _PERCENTILE.fullmatch(figure):
        plain = _OF_K6.get(figure, re.sub("[()]", "", figure))
        near = plain if _PERCENTILE.fullmatch(plain) else nearest(plain, _KNOWN)
        hint = f"did you mean {near}?" if near else f"possible are {', '.join(_KNOWN)}"
        raise ValueError(f"{quoted}: there is no figure `{one_line(figure, 30)}`; {hint}")
    if at and figure not in _OF_STEPS:
        raise ValueError(f"{quoted}: steps have {', '.join(_OF_STEPS)}, as in 'p99@400>50ms'")
    number = _NUMBER.fullmatch(match["limit"])
    example = "1000" if figure == "rate" else "1%" if figure in _FAILURES else "200ms"
    hint = f"write it like '{figure}{sign}{example}'"
    if not number:
        raise ValueError(f"{quoted} has no number: {hint}")
    value, unit = float(number["number"]), number["unit"]
    units = {"": "per second", "/s": "per second"} if figure == "rate" else {"": "", "%": "%"}
    if figure in _TIMES or figure.startswith("p"):
        units, value = dict.fromkeys(_NS, "ns"), value * _NS.get(unit, 1)
    if unit not in units:
        wrong = f"the unit `{one_line(unit, 20)}`" if unit else "no unit"
        raise ValueError(f"{quoted} has {wrong}: {hint}")
    if unit == "%" and value > 100:
        raise ValueError(f"{quoted} is more than 100 %")
    if option == "--find-rate":
        if at or figure == "rate" or sign.startswith(">"):
            raise ValueError(f"{quoted} is nothing to keep: write it like 'p99<50ms' or 'errors<1%'")
        sign = _OPPOSITES[sign]
    if option == "--abort-if" and (at or figure in _AT_THE_END):
        raise ValueError(
            f"{quoted}: {figure} is known at the end only; write percentiles, max, errors or rate"
        )
    return Threshold(text, figure, sign, value, units[unit], numbers.number(rate) if at else None, option)


def check(threshold: Threshold, result: LoadResult) -> Check:
    """Compare a load with a threshold: latencies (of a stream: lateness), the rate of replies (messages), or
    failures, as a number or a share of all requests. Errors include requests without an answer at the end
    (`unfinished`), and none that were never sent (`unsent`)."""
    figures = result.figures
    value: float | None
    if threshold.rate is not None:
        slots = [slot for step, slot in result.steps if step.rate_per_s == threshold.rate]
        checks = [_of_step(threshold, slot) for slot in slots or [ipc.SlotOfLoad(0, 0)]]
        return next((each for each in checks if each.is_crossed), checks[0])
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
    if level is None or threshold.figure in _SUMMARY:
        value = getattr(summary, f"{threshold.figure.replace('.', '_')}_ns")
    else:
        histogram = ValueCounts(result.counts.get(name, ()))
        value = float(histogram.percentile(level)) if histogram.total else None
    is_thin = level is not None and not is_supported(level, summary.count)
    return Check(threshold, value, result.censored > 0, is_thin)


def crossed(thresholds: Iterable[Threshold], result: LoadResult) -> list[Check]:
    """The crossed checks, if they have enough values to decide."""
    checks = (check(each, result) for each in thresholds)
    return [each for each in checks if each.value is not None and each.is_crossed and not each.is_thin]


def _of_step(threshold: Threshold, step: ipc.SlotOfLoad) -> Check:
    failed = step.due - step.answered
    if threshold.figure != "errors":
        # No time is 0: then nothing came back.
        time_ns = float(getattr(step, f"{threshold.figure}_ns"))
        return Check(threshold, time_ns or None, is_lower_bound=failed > 0)
    share = 100 / step.due if threshold.unit and step.due else 1.0
    return Check(threshold, failed * share if step.due else None)


def highest_rates(thresholds: Iterable[Threshold], result: LoadResult) -> dict[Threshold, float | None]:
    """By threshold of times, the highest rate of a staircase that was kept without crossing it."""
    kept = [(step.to_per_s or step.rate_per_s, slot) for step, slot in result.steps if is_kept(slot)]
    return {
        each: max((rate for rate, slot in kept if not _of_step(each, slot).is_crossed), default=None)
        for each in thresholds
        if each.rate is None and each.unit == "ns" and each.figure in _OF_STEPS and result.steps
    }


def highest_sentence(threshold: Threshold, rate_per_s: float | None) -> str:
    """Up to which rate a threshold was not crossed."""
    side, limit = _WORDS[_OPPOSITES[threshold.operator]], _shown(threshold.limit, threshold.unit)
    condition = f"was kept with {threshold.figure} {side} {limit}"
    if rate_per_s is None:
        return f"No rate {condition}."
    return f"The highest rate that {condition}: {rate_per_s:,.10g}/s."


def find_rate(
    limit: Threshold, plan: ipc.LoadPlan, carry_out: Callable[[ipc.LoadPlan], LoadResult]
) -> tuple[ipc.LoadPlan, LoadResult]:
    """Double or halve the plan's rate until the limit is met and then crossed, then close in to 5 %. The load
    at the highest rate that was kept, else the last, with a step for each try."""
    pacing = plan.pacing
    assert isinstance(pacing, ipc.ConstantRate | ipc.PoissonRate)
    steps: list[tuple[ipc.StaircaseStep, ipc.SlotOfLoad]] = []
    best, low, high, rate = None, 0.0, math.inf, pacing.rate_per_s
    while len(steps) < _MAX_TRIES:
        plan = replace(plan, pacing=replace(pacing, rate_per_s=rate))
        result = carry_out(plan)
        is_again = bool(steps) and steps[-1][0].rate_per_s == rate
        steps.append(_step(rate, result))
        if result.figures.outcome == "interrupted" or not result.is_answered:
            break
        if is_kept(steps[-1][1]) and not check(limit, result).is_crossed:
            best, low = (plan, result), rate
        elif is_again:
            high = rate
        else:
            continue
        rate = 2 * low if high == math.inf else math.sqrt(low * high) if low else high / 2
        rate = float(f"{rate:.3g}")
        if high <= low * _CLOSE or rate > _MAX_RATE or not (low or rate >= 1):
            break
    plan, result = best or (plan, result)
    rows = tuple(sorted(steps, key=lambda step: step[0].rate_per_s))
    return plan, dataclasses.replace(result, steps=rows, highest={limit: low or None})


def _step(rate: float, result: LoadResult) -> tuple[ipc.StaircaseStep, ipc.SlotOfLoad]:
    """The row of a try: what was answered in time, by the rate that the engine saw."""
    figures, latency = result.figures, result.figures.latency("latency") or ipc.LatencySummary()
    seconds = figures.duration_ns / 1e9
    due, times = figures.intended or 0, (latency.p50_ns, latency.p99_ns, latency.max_ns)
    due_s = due / (figures.intended_rate_per_s or math.inf)
    answered = min(due, round(figures.achieved_rate_per_s * max(seconds, due_s)))
    return ipc.StaircaseStep(rate, seconds), ipc.SlotOfLoad(due, answered, *times)


def _shown(value: float, unit: str) -> str:
    if unit == "ns":
        return numbers.quantity(value, "ns")
    text = numbers.significant(value) if value and value != int(value) else f"{value:,.0f}"
    return f"{text} {unit}".rstrip()
