"""Two runs as a forest plot: the second over the first, a row for each cell."""

from __future__ import annotations

from collections.abc import Sequence

from ringside import units
from ringside.analysis.run_diff import CellChange, RunDiff
from ringside.render.plots.colours import of_contender
from ringside.render.plots.forest import ratios
from ringside.render.plots.marks import row_axis
from ringside.render.plots.spec import (
    Chart,
    Json,
    Panel,
    by_contender,
    described,
)

# More rows or panels than these are in the table alone.
_MAX_ROWS, _MAX_PANELS = 60, 6


def chart(diff: RunDiff) -> Chart:
    """A panel for each metric of which both runs have positive figures."""
    metrics = list(dict.fromkeys(change.metric for change in diff.changes))
    panels = []
    for metric in metrics:
        changes = [each for each in diff.changes if each.metric == metric and each.ratio.estimate > 0]
        if changes:
            panels.append(Panel(metric.title, _forest(diff, changes[:_MAX_ROWS])))
    caption = (
        "The figures of the second run over those of the first, with the interval of the ratio. Between the "
        f"dashed lines, {units.percent(diff.margin)} around 1, two are equivalent."
    )
    return described(Chart("Second over first", caption, tuple(panels[:_MAX_PANELS])))


def _forest(diff: RunDiff, changes: Sequence[CellChange]) -> Json:
    limits = [1 / (1 + diff.margin), 1 + diff.margin]
    data: list[Json] = []
    ends = [1.0, *limits]
    for each in changes:
        ratio = each.ratio
        ends += [end for end in (ratio.low, ratio.estimate, ratio.high) if end and end > 0]
        times, interval = units.ratio_parts(ratio)
        data.append(
            {
                "contender": _label(diff, each),
                "ratio": ratio.estimate,
                "low": ratio.low if ratio.low and ratio.low > 0 else None,
                "high": ratio.high,
                "text": f"{times}×",
                "interval": interval,
                "verdict": units.verdict_word(each.verdict, each.metric),
            }
        )
    contenders = {_label(diff, each): each.cell.contender for each in changes}
    rows = row_axis(list(contenders))
    y = {**rows, "axis": {**rows["axis"], "labelLimit": 320}}
    colours = by_contender(contenders, lambda label: of_contender(contenders[label]))
    return ratios(data, ends, limits, "times the first run", y, colours)


def _label(diff: RunDiff, change: CellChange) -> str:
    """The contender, and the point where there are several."""
    name = change.cell.contender
    return f"{name}, {diff.first.label(change.cell.point)}" if len(diff.first.points) > 1 else name
