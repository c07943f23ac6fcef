"""What repeats inside one process did: first beside steady figures, and whether there is a steady state."""

from __future__ import annotations

from collections import Counter
from statistics import median

from ringside import units as numbers
from ringside.analysis.summary import Summary
from ringside.model.design import Cell
from ringside.render.table import Entry, TableData
from ringside.stats.steadiness import LEAST, Kind, Steadiness, missing, steadiness


def table(summary: Summary) -> TableData | None:
    """A row for each cell whose work was repeated; None where none was."""
    if not summary.repeats or summary.workload.repeated_metric is None:
        return None
    metric = summary.workload.metric(summary.workload.repeated_metric)
    several = len(summary.points) > 1
    notes = []
    blind = missing()
    if blind:
        notes.append("Whether they are steady is found with ruptures: pip install 'ringside[report]'.")
    rows = []
    for point in summary.points:
        for name in summary.names():
            each = summary.repeats.get(Cell(name, point))
            if not each:
                continue
            found = [] if blind else [one for series in each if (one := steadiness(series))]
            first = median(series[0] for series in each)
            steady = [one.steady for one in found if one.steady is not None]
            row = [Entry(name, "text")]
            row += [Entry(summary.label(point), "text")] if several else []
            row.append(Entry(numbers.quantity(first, metric.unit)))
            if steady:
                value = median(steady)
                row += [
                    Entry(numbers.quantity(value, metric.unit)),
                    Entry(numbers.significant(first / value)),
                    Entry(str(round(median(one.since + 1 for one in found if one.since is not None)))),
                ]
            else:
                row += [Entry("–", "quiet")] * 3
            row.append(Entry(_kinds(found), "text"))
            rows.append(tuple(row))
    if any(len(series) < LEAST for each in summary.repeats.values() for series in each):
        notes.append(f"Below {LEAST} repeats nothing is said of steadiness.")
    columns = ("contender", *(("point",) if several else ()))
    return TableData(
        f"{metric.title}: first and steady, inside one process",
        (*columns, "first", "steady", "first / steady", "steady from", "what it does"),
        tuple(rows),
        subtitle="medians over blocks; `steady from`: the number of the repeat; blocks count if they differ",
        notes=tuple(notes),
        narrow=("steady from",),
    )


def _kinds(found: list[Steadiness]) -> str:
    """`warming up`, or `5 × steady, 2 × warming up` where blocks differ."""
    counts: Counter[Kind] = Counter(one.kind for one in found)
    if not counts:
        return "–"
    if len(counts) == 1:
        return str(next(iter(counts)))
    return ", ".join(f"{n} × {kind}" for kind, n in counts.most_common())
