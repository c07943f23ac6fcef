"""What `vs` shows of executions: a command alone with its histogram, the spread of each command, and tables
over parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Cell, Metric
from ringside.model.results import Description
from ringside.render.text import cells
from ringside.render.text.cells import TableCell, TableData
from ringside.render.text.terminal import bar

# Of `--sort`: the order of the commands, or the shortest mean first.
SORTED_BY_MEAN = "mean-time"
SPREAD = ("mean ± σ", "min", "max")
_BAR_WIDTH = 40


def with_spread(analysis: RunAnalysis, figures: TableData) -> TableData:
    """A table of commands at one point, its names in the first column, with columns for the spread of the
    headline after its rank. Beside that, the mean and the first of the other metrics are enough for a first
    look."""
    after = 1 + max(
        index for index, name in enumerate(figures.columns) if index < 2 or name in ("verdict", "rank")
    )
    (point,) = analysis.points
    described = analysis.executions.descriptions
    rows = tuple(
        (*row[:after], *spread(described.get(Cell(row[0].text, point)), analysis.headline), *row[after:])
        for row in figures.rows
    )
    columns = (*figures.columns[:after], *SPREAD, *figures.columns[after:])
    others = columns[after:]
    extra = tuple(name for name in others if name not in {SPREAD[0], *figures.columns[after : after + 1]})
    narrow = (*reversed(others), *figures.narrow[-2:])
    return dataclasses.replace(figures, columns=columns, rows=rows, narrow=narrow, extra=extra)


def spread(description: Description | None, metric: Metric) -> tuple[TableCell, ...]:
    """Mean with standard deviation, the least and the most value."""
    if description is None:
        return (cells.ABSENT,) * len(SPREAD)
    return (
        TableCell(_mean(description, metric)),
        TableCell(units.quantity(description.least, metric.unit)),
        TableCell(units.quantity(description.most, metric.unit)),
    )


def in_order(analysis: RunAnalysis, order: str) -> list[Cell]:
    """The cells with figures: point by point in the order of the commands, or the shortest mean first."""
    described = analysis.executions.descriptions
    if order == SORTED_BY_MEAN:
        return sorted(described, key=lambda cell: described[cell].mean)
    return list(described)


def scan_table(analysis: RunAnalysis, order: str = "auto") -> TableData:
    """The headline over the parameters: a row for each point and command, with the ratio over the baseline at
    the same point, or of a command alone over its first point."""
    described = analysis.executions.descriptions
    headline, baseline = analysis.headline, analysis.experiment.baseline
    first = analysis.points[0]
    factors = [name for name, _ in first.levels]
    is_alone = len(analysis.names) == 1
    over_first = analysis.executions.over_first_point if is_alone else {}
    rows = []
    for cell in in_order(analysis, order):
        row = [cells.text(str(cell.point[name])) for name in factors]
        row += [] if is_alone else [cells.text(cell.contender)]
        row += [cells.figure(analysis.cells[cell], headline, interval=True)]
        if is_alone:
            ratio = over_first.get(cell)
            row += [TableCell("1", "quiet") if cell.point == first else cells.ABSENT]
            row[-1] = TableCell(units.ratio(ratio)) if ratio else row[-1]
        else:
            comparison = analysis.comparison(headline, cell.contender, baseline, cell.point)
            row += [cells.ratio(comparison, headline, is_baseline=cell.contender == baseline)]
        rows.append((*row, *spread(described[cell], headline)))
    setting = " ".join(f"{name}={first[name]}" for name in factors)
    return TableData(
        title="Medians over blocks",
        columns=(
            *factors,
            *([] if is_alone else ["command"]),
            headline.title,
            f"× {setting}" if is_alone else f"× {baseline}",
            *SPREAD,
        ),
        rows=tuple(rows),
        subtitle=f"{headline.noun} with its 95 % interval; ratios are of the {headline.noun}, "
        "from pairs inside blocks",
        narrow=tuple(reversed(SPREAD)),
    )


def show_alone(analysis: RunAnalysis, console: Console) -> None:
    """Print a command alone: its figures, outliers, and a histogram."""
    ((cell, description),) = analysis.executions.descriptions.items()
    for label, text in alone_lines(analysis, cell, description):
        console.print(Text.assemble((f"{label:>12}  ", "dim"), text))
    console.print()
    for line in histogram(description, analysis.headline):
        console.print(Text(line))


def alone_lines(analysis: RunAnalysis, cell: Cell, description: Description) -> list[tuple[str, str]]:
    """The figures of a command, each with its label."""
    headline = analysis.headline
    metrics = analysis.cells[cell].metrics
    lines = []
    if value := metrics.get(headline.name):
        known = " with its 95 % interval" if value.low is not None else ""
        text = f"{units.with_interval(value, headline.unit)}   median{known}"
        lines.append((headline.title, f"{text}, {units.count(description.n, 'execution')}"))
    least, most = (units.quantity(value, headline.unit) for value in (description.least, description.most))
    lines += [("mean ± σ", _mean(description, headline)), ("min … max", f"{least} … {most}")]
    others = [
        f"{metric.noun} {units.metric_estimate(metrics[metric.name], metric)}"
        for metric in analysis.measurement.metrics
        if metric != headline and metric.name in metrics
    ]
    if others:
        lines.append(("medians", ", ".join(others)))
    lines.append(("outliers", _outliers(description, headline)))
    return lines


def histogram(description: Description, metric: Metric) -> list[str]:
    """A line for each bin: where it begins, a bar, how many values."""
    most = max(each.count for each in description.bins)
    # One scale for all, with digits enough to tell the edges apart.
    factor, name = units.scale(description.bins[-1].high, metric.unit)
    width = description.bins[0].high - description.bins[0].low
    digits = units.digits_between(width / factor)
    edges = [f"{each.low / factor:.{digits}f} {name}" for each in description.bins]
    longest = max(map(len, edges))
    return [
        f"{edge:>{longest}}  {bar(each.count / most, _BAR_WIDTH)} {each.count}"
        for edge, each in zip(edges, description.bins, strict=True)
    ]


def spread_values(description: Description | None) -> Mapping[str, float | int | None]:
    """The description as JSON values, in seconds."""
    if description is None:
        return {}
    return {
        "mean_s": description.mean,
        "stddev_s": description.deviation,
        "min_s": description.least,
        "max_s": description.most,
        "outliers": len(description.outliers),
    }


def _mean(description: Description, metric: Metric) -> str:
    factor, name = units.scale(description.mean, metric.unit)
    mean = f"{units.significant(description.mean / factor)} {name}"
    if description.deviation is None:
        return mean
    deviation = units.at_place_of(description.deviation / factor, description.mean / factor)
    return f"{mean} ± {deviation} {name}"


def _outliers(description: Description, metric: Metric) -> str:
    values: Sequence[float] = sorted(description.outliers)
    if not values:
        return "none"
    ends = units.quantity(values[0], metric.unit)
    if len(values) > 1:
        ends += f" … {units.quantity(values[-1], metric.unit)}"
    return f"{len(values)} of {description.n} ({ends}), not in the histogram; other programs may have run"
