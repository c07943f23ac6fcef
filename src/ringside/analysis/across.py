"""Two runs of one experiment, made at different times: the second over the first."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ringside import units as numbers
from ringside.analysis.summary import Summary
from ringside.errors import UsageError
from ringside.model.design import Cell, Metric
from ringside.model.results import Interval, Verdict, Warned
from ringside.render.documents import ratio, warnings
from ringside.render.table import Entry, TableData
from ringside.stats import unpaired
from ringside.stats.ratio import verdict
from ringside.text import one_line

FORMAT = 1
_MACHINE = ("cpu_model", "cpus", "kernel", "memory_bytes")


@dataclass(frozen=True, slots=True)
class Moved:
    """A cell in both runs, in one metric. `verdict` says what the second run is."""

    cell: Cell
    metric: Metric
    ratio: Interval
    verdict: Verdict

    @property
    def worse_by(self) -> float:
        """The share by which the second run is worse; below 0 where it is better."""
        return (self.ratio.estimate if self.metric.smaller_is_better else 1 / self.ratio.estimate) - 1


@dataclass(frozen=True, slots=True)
class Across:
    """Both runs and all that they share. `drift`: by how much the machine is known to have moved, a
    difference of logarithms; None where one run did not tell, and then there are no verdicts."""

    one: Summary
    other: Summary
    moved: Sequence[Moved]
    drift: float | None
    changed: Sequence[str]
    warnings: Sequence[Warned]


def across(one: Summary, other: Summary, metric: str | None = None) -> Across:
    """What two runs say of each other, cell by cell; the intervals of one metric hold together with 95 %.
    Raises UsageError where they cannot be compared."""
    if one.workload.name != other.workload.name:
        raise UsageError(
            f"{one.run.id} is of the workload `{one.workload.name}`, {other.run.id} of "
            f"`{other.workload.name}`: nothing to compare"
        )
    metrics = [one.workload.metric(metric)] if metric else one.metrics()
    shared = [
        cell
        for cell, found in one.cells.items()
        if found.has_figures and cell in other.cells and other.cells[cell].has_figures
    ]
    if not shared:
        raise UsageError(f"{one.run.id} and {other.run.id} share no cell with figures")
    told = bool(one.references and other.references)
    drift = unpaired.drift([*one.references, *other.references]) if told else None
    moved = list(itertools.chain.from_iterable(_moved(one, other, each, shared, drift) for each in metrics))
    return Across(one, other, moved, drift, _changed(one, other), _warnings(one, other, drift))


def _moved(
    one: Summary, other: Summary, metric: Metric, shared: Sequence[Cell], drift: float | None
) -> list[Moved]:
    def values(summary: Summary, cell: Cell) -> list[float]:
        return list(summary.cells[cell].by_block.get(metric.name, {}).values())

    both = [cell for cell in shared if values(one, cell) and values(other, cell)]
    found = []
    for cell in both:
        times = unpaired.ratio(values(other, cell), values(one, cell), drift=drift or 0.0, family=len(both))
        if times is None:
            continue
        if drift is None:
            times = Interval(times.estimate, None, None, times.n)
        said = verdict(times, smaller_is_better=metric.smaller_is_better)
        found.append(Moved(cell, metric, times, said))
    return found


def beyond(found: Across, share: float) -> list[Moved]:
    """Cells that the verdict calls worse in the second run, and the estimate by more than this share."""
    return [one for one in found.moved if one.verdict is Verdict.SLOWER and one.worse_by > share]


def table(found: Across) -> TableData:
    """A row for each cell and metric."""
    several = len({one.metric.name for one in found.moved}) > 1
    rows = []
    for one in found.moved:
        unit = one.metric.unit
        before, after = (run.cells[one.cell].metrics[one.metric.name] for run in (found.one, found.other))
        row = [Entry(one.cell.contender, "text"), Entry(found.one.label(one.cell.point), "text")]
        row += [Entry(one.metric.title, "text")] if several else []
        row += [Entry(numbers.quantity(value.estimate, unit)) for value in (before, after)]
        kind = numbers.kind(one.verdict)
        row += [
            Entry(numbers.ratio(one.ratio), kind),
            Entry(numbers.VERDICT_WORDS[one.verdict] or "–", kind),
        ]
        rows.append(tuple(row))
    columns = (
        "contender",
        "point",
        *(("figure",) if several else ()),
        "one",
        "other",
        "other / one",
        "verdict",
    )
    return TableData(
        f"{found.other.run.id} over {found.one.run.id}",
        columns,
        tuple(rows),
        subtitle="not paired: intervals of all cells hold together with 95 %, and are wider by the drift",
        notes=(*_how(found), *found.changed),
    )


def _how(found: Across) -> tuple[str, ...]:
    if found.drift is None:
        return ()
    times = numbers.significant(math.exp(found.drift))
    return (f"A fixed computation took up to {times} times as long in one block as in another of both runs.",)


def document(found: Across) -> dict[str, Any]:
    """The document of `compare --json`. Ratios are the second run over the first."""
    return {
        "format": FORMAT,
        "one": found.one.run.id,
        "other": found.other.run.id,
        "drift": found.drift,
        "changed": list(found.changed),
        "comparisons": [
            {
                "contender": one.cell.contender,
                "point": one.cell.point.as_dict(),
                "metric": one.metric.name,
                **ratio(one.ratio),
                "verdict": str(one.verdict),
            }
            for one in found.moved
        ],
        "warnings": warnings(found.warnings),
    }


def _changed(one: Summary, other: Summary) -> list[str]:
    """What is not the same in both: versions, sources."""
    found = []
    for name, before in one.contenders.items():
        after = other.contenders.get(name)
        if after is None:
            continue
        then, now = before.get("version"), after.get("version")
        if then != now:
            found.append(one_line(f"{name}: {then or 'not here'} before, {now or 'not here'} after."))
        if before.get("files") != after.get("files"):
            found.append(f"{name}: its sources have changed.")
    return found


def _warnings(one: Summary, other: Summary, drift: float | None) -> list[Warned]:
    found = []
    if drift is None:
        found.append(
            Warned(
                "no-reference",
                "one of the runs timed no fixed computation, so nobody knows by how much the machine moved "
                "between them: there are no verdicts",
                "make both runs again, best as one experiment with both contenders",
            )
        )
    differ = [name for name in _MACHINE if one.run.host.get(name) != other.run.host.get(name)]
    if differ:
        found.append(
            Warned(
                "other-machine",
                f"the machines or kernels differ ({', '.join(differ)}), which ratios then compare",
                "compare runs of one machine",
            )
        )
    only = [name for name in one.names() if name not in other.names()]
    only += [name for name in other.names() if name not in one.names()]
    if only:
        found.append(
            Warned("one-sided", f"{', '.join(only)}: in one of the runs only", "nothing need be done")
        )
    return found
