"""The words that sentences and tables share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric, Point
from ringside.model.results import Stalls, Verdict
from ringside.store.plans import PlannedContender

# More names, or points, are a count.
MAX_NAMED = 3
# Behind a ratio at which a run ended once it was decided.
OVERSTATED = " (stopped when decided: likely nearer to 1)"
_KINDS = {Verdict.FASTER: "faster", Verdict.SLOWER: "slower", Verdict.EQUIVALENT: "even"}


@dataclass(frozen=True, slots=True)
class Sentence:
    """`kind`: faster, slower, even, failed, or quiet where there is no verdict."""

    text: str
    kind: str = "quiet"


def verdict_kind(verdict: Verdict, inconclusive: str = "number") -> str:
    """The kind of table cell, or of sentence, that a verdict is."""
    return _KINDS.get(verdict, inconclusive)


def verdict_word(verdict: Verdict, metric: Metric) -> str:
    """A verdict in words that suit the metric: a time is faster or slower, memory is less or more, all else
    is lower or higher."""
    if verdict not in (Verdict.FASTER, Verdict.SLOWER):
        return str(verdict)
    words = (
        ("faster", "slower")
        if metric.is_time
        else ("less", "more")
        if metric.unit == "B"
        else ("lower", "higher")
    )
    return words[(verdict is Verdict.FASTER) != metric.smaller_is_better]


def listed(names: Sequence[str], last: str = "and", most: int | None = MAX_NAMED) -> str:
    """`a, b and c`; beyond `most` names `a, b, c and 2 others`."""
    if most and len(names) > most:
        return f"{', '.join(names[:most])} {last} {units.count(len(names) - most, 'other')}"
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def possessive(name: str) -> str:
    """`go's`, `python-processes'`."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def where(analysis: RunAnalysis, point: Point, before: str = " at ") -> str:
    """The point, where a run has several."""
    return f"{before}{analysis.label(point)}" if len(analysis.points) > 1 else ""


def blocks(analysis: RunAnalysis, *, is_over: bool = False) -> str:
    """`9 of 40 blocks`, or `7 blocks` where that is all."""
    done, planned = analysis.blocks_done, analysis.experiment.blocks
    every = units.count(planned, "block")
    return units.count(done, "block") if is_over or done >= planned else f"{done:,} of {every}"


def best_median(analysis: RunAnalysis, metric: Metric, names: Sequence[str], point: Point) -> str:
    """What the first of these names has. A contender that failed often is ranked last, whatever the median
    of the trials that are left."""
    sign = 1 if metric.smaller_is_better else -1
    best, *others = (sign * analysis.cell(name, point).metrics[metric.name].estimate for name in names)
    return "best median of those that rarely failed" if min(others, default=best) < best else "best median"


def platform(contender: PlannedContender) -> str:
    """What a contender runs on: `Erlang 25.2.3 (2022)`."""
    year = f" ({contender.release.day.year})" if contender.release else ""
    return f"{contender.platform} {contender.version or 'not found'}{year}"


def stall_word(metric: Metric) -> str:
    """What stands in the place of a verdict."""
    return "stalls" if metric.is_speed else "outliers"


def stalled(stalls: Stalls, metric: Metric) -> str:
    """`go stalled in 4 of 20 blocks, by 30 % or more`; `go has outliers …` of what is no time or rate."""
    size = stalls.least - 1 if metric.smaller_is_better else 1 - 1 / stalls.least
    verb = "stalled" if metric.is_speed else "has outliers"
    blocks = f"{stalls.blocks} of {stalls.total} blocks"
    return f"{stalls.contender} {verb} in {blocks}, by {units.percent(size)} or more"


def without_stalls(stalls: Stalls, metric: Metric) -> str:
    """What stands in the place of a claim."""
    return f"{stalled(stalls, metric)}; without these no difference is shown"
