"""The tables of a run as data, the same for the terminal, Markdown and the page: all contenders at one point,
one metric over all points, machines, where the time went, repeats, and what a source reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import itemgetter

from ringside import units
from ringside.analysis.comparisons import Ranking
from ringside.analysis.distributions import REPEATS_FOR_STEADY_STATE, WarmUp
from ringside.analysis.published import ThenAndNowRow
from ringside.analysis.run import RunAnalysis
from ringside.analysis.scaling import BreakdownRow
from ringside.model.design import Cell, Metric, Point
from ringside.render.text import cells, contenders, scaling
from ringside.render.text.answers import without_stalls
from ringside.render.text.cells import TableCell, TableData
from ringside.text import one_line
from ringside.workloads.process import FIRST_ANSWER, STEADY_AFTER

# Up to so many points each has a table of its own; beyond, one table has a row for each point.
_POINT_TABLES = 4


def tables(analysis: RunAnalysis, *, everything: bool = True) -> list[TableData]:
    """All tables of a run, in the order in which they are read; without `everything`, of metrics that are
    compared besides the headline and of its parts none."""
    shown = (
        *figures(analysis, everything=everything),
        contenders.contender_table(analysis),
        contenders.failure_table(analysis),
    )
    return [table for table in shown if table]


def part_tables(analysis: RunAnalysis, *, everything: bool = True) -> list[TableData]:
    """The tables of a run that is a part of a suite; what the contenders are stands once, behind all
    parts."""
    shown = (*figures(analysis, everything=everything), contenders.failure_table(analysis))
    return [table for table in shown if table]


def answer_table(analysis: RunAnalysis) -> TableData:
    """The one of the tables that the answer in words comes from."""
    is_split = len(analysis.points) <= _POINT_TABLES
    return figures(analysis)[analysis.points.index(analysis.overview_point) if is_split else 0]


def figures(analysis: RunAnalysis, *, everything: bool = True) -> list[TableData]:
    """The tables of what was measured."""
    of_points: list[TableData | None]
    if len(analysis.points) <= _POINT_TABLES:
        of_points = [marked_table(analysis, point) for point in analysis.points]
    else:
        of_points = [
            table
            for metric in (analysis.metrics if everything else (analysis.headline,))
            for table in (
                metric_table(analysis, metric),
                ratio_table(analysis, metric) if analysis.pairs else None,
            )
        ]
    shown = (
        *of_points,
        machine_table(analysis),
        warm_up_table(analysis),
        *scaling.slope_tables(analysis),
        *scaling.scaling_tables(analysis),
        breakdown_table(analysis) if everything else None,
        *published_tables(analysis),
    )
    return [table for table in shown if table]


# Columns beside the headline, its ratio, verdict and rank that a first look needs at most.
MOST_OTHERS = 2
_IMPLAUSIBLE = f"{cells.MARK} has figures that no honest program can have: see the warnings."


def point_table(analysis: RunAnalysis, point: Point) -> TableData:
    """All contenders at one point, class by class, the best first: headline with its interval, ratio and
    verdict, the interval of its rank inside its class, ratio over the floor, other metrics."""
    headline, baseline, floor = analysis.headline, analysis.experiment.baseline, analysis.floor
    ranking = analysis.rankings[headline.name, point]
    is_ranked = bool(ranking.ranks)
    has_floor = floor is not None and floor != baseline
    compared, secondary = other_metrics(analysis, point)
    # Where all are alike, or but for the floor, it says nothing.
    has_class = any(analysis.kind(name) == "bare" for name in analysis.names)
    has_pairs = len(analysis.names) > 1
    columns = ["contender", *(["class"] if has_class else []), headline.title]
    columns += [f"× {baseline}", "verdict"] if has_pairs else []
    columns += ["rank"] if is_ranked else []
    columns += [f"× {floor}"] if has_floor else []
    columns += [metric.title for metric in (*compared, *secondary)]
    others = [*(["class"] if has_class else []), *([f"× {floor}"] if has_floor else [])]
    others += [metric.title for metric in (*compared, *secondary)]
    values = {name: analysis.cell(name, point).metrics.get(headline.name) for name in ranking.order}
    most = max((value.estimate for value in values.values() if value), default=0.0)
    rows = []
    for name in ranking.order:
        cell, value = analysis.cell(name, point), values[name]
        comparison = analysis.comparison(headline, name, baseline, point)
        row = [
            cells.name(analysis, name),
            *([cells.text(analysis.kind(name))] if has_class else []),
            replace(
                cells.figure(cell, headline, interval=True),
                bar=value.estimate / most if value and most > 0 else None,
            ),
        ]
        if has_pairs:
            row += [
                cells.ratio(comparison, headline, is_baseline=name == baseline),
                cells.verdict(comparison, headline, is_baseline=name == baseline),
            ]
        row += [_rank(analysis, ranking, name)] if is_ranked else []
        row += [_over_floor(analysis, name, point)] if has_floor else []
        row += [cells.figure(cell, metric) for metric in (*compared, *secondary)]
        rows.append(tuple(row))
    return TableData(
        title=analysis.label(point),
        columns=tuple(columns),
        rows=tuple(rows),
        notes=(
            *((_IMPLAUSIBLE,) if analysis.implausible & set(ranking.order) else ()),
            *_numbers_of_blocks({name: value.n for name, value in values.items() if value}),
        ),
        # The verdict stays: without it a ratio cannot be read.
        narrow=(*reversed(others), "rank"),
        extra=tuple(others[MOST_OTHERS:]),
    )


def marked_table(analysis: RunAnalysis, point: Point) -> TableData:
    """The table of a point where no sentences of its comparisons stand beside it: with which ratios are
    overstated, and which stalls alone made."""
    table, headline = point_table(analysis, point), analysis.headline
    pairs = analysis.comparisons[headline.name, point].values()
    compared = [each for each in pairs if each.baseline == analysis.experiment.baseline]
    early = ", ".join(each.contender for each in compared if each.overstated and not each.stalls)
    notes = [f"Stopped when decided, so likely nearer to 1: the ratios of {early}."] if early else []
    notes += [f"{without_stalls(each.stalls, headline)}." for each in compared if each.stalls]
    return replace(table, notes=(*table.notes, *notes))


def _numbers_of_blocks(blocks: Mapping[str, int]) -> list[str]:
    """A note where figures are not from equally many blocks."""
    by_count: dict[int, list[str]] = {}
    for name, count in sorted(blocks.items(), key=itemgetter(1), reverse=True):
        by_count.setdefault(count, []).append(name)
    if len(by_count) < 2:
        return []
    counts = "; ".join(f"{', '.join(names)} {count:,}" for count, names in by_count.items())
    return [f"Blocks: {counts}. Figures are medians over all of these, ratios over those that both have."]


def other_metrics(analysis: RunAnalysis, point: Point) -> tuple[list[Metric], list[Metric]]:
    """The metrics besides the headline of which some contender has a figure at the point: compared ones, and
    those without verdicts."""
    present = {metric for name in analysis.names for metric in analysis.cell(name, point).metrics}
    compared = [metric for metric in analysis.metrics[1:] if metric.name in present]
    names = {metric.name for metric in analysis.metrics}
    secondary = [
        analysis.measurement.metric(name)
        for name in analysis.measurement.secondary
        if name not in names and name in present
    ]
    return compared, secondary


def metric_table(analysis: RunAnalysis, metric: Metric) -> TableData:
    """One metric: a row for each point, a column for each contender."""
    rows = tuple(
        (
            cells.text(analysis.label(point)),
            *(cells.figure(analysis.cell(name, point), metric) for name in analysis.names),
        )
        for point in analysis.points
    )
    title = f"{metric.title}: {metric.explanation}"
    names = [cells.name(analysis, name).text for name in analysis.names]
    notes = (_IMPLAUSIBLE,) if analysis.implausible else ()
    return TableData(title, ("point", *names), rows, subtitle="medians over blocks", notes=notes)


def ratio_table(analysis: RunAnalysis, metric: Metric) -> TableData:
    """The ratios of one metric: a row for each point, a column for each pair."""
    rows = tuple(
        (
            cells.text(analysis.label(point)),
            *(
                cells.ratio(analysis.comparison(metric, contender, baseline, point), metric)
                for contender, baseline in analysis.pairs
            ),
        )
        for point in analysis.points
    )
    columns = ("point", *(f"{contender} / {baseline}" for contender, baseline in analysis.pairs))
    subtitle = "with 95 % intervals"
    if metric not in analysis.metrics[: analysis.confirmatory]:
        subtitle += "; exploratory: its verdicts have an error rate of their own"
    return TableData(f"{metric.title}: ratios from pairs inside blocks", columns, rows, subtitle=subtitle)


def _rank(analysis: RunAnalysis, ranking: Ranking, name: str) -> TableCell:
    if name in ranking.ranks:
        return TableCell(units.rank_interval(ranking.ranks[name]))
    return TableCell("floor", "quiet") if name == analysis.floor else cells.ABSENT


def _over_floor(analysis: RunAnalysis, name: str, point: Point) -> TableCell:
    if name == analysis.floor:
        return TableCell("1", "quiet")
    ratio = analysis.floor_ratios[analysis.headline.name, point].get(name)
    return TableCell(units.significant(ratio.estimate)) if ratio else cells.ABSENT


def machine_table(analysis: RunAnalysis) -> TableData | None:
    """Every contender at every point on each machine; None of a run on one."""
    if (machines := analysis.machines) is None:
        return None
    headline, baseline = analysis.headline, analysis.experiment.baseline
    has_ratios = len(analysis.names) > 1
    names = {machine: one_line(machine) for machine in machines.names}
    columns = ["contender"]
    for machine in machines.names:
        columns += [names[machine], *([f"× {baseline}, {names[machine]}"] if has_ratios else [])]
    columns += [f"× {baseline}, all", "spread"] if has_ratios else []
    rows = []
    for row in machines.rows:
        name, point = row.cell.contender, row.cell.point
        label = f" {analysis.label(point)}" if len(analysis.points) > 1 else ""
        fields = [cells.text(f"{name}{label}")]
        for machine in machines.names:
            fields.append(cells.interval(row.figures.get(machine), headline.unit))
            if has_ratios:
                ratio = row.ratios.get(machine)
                is_baseline = name == baseline and machine in row.figures
                fields.append(
                    TableCell("1", "quiet")
                    if is_baseline
                    else TableCell(units.ratio(ratio))
                    if ratio
                    else cells.ABSENT
                )
        if has_ratios:
            comparison = analysis.comparison(headline, name, baseline, point)
            fields.append(cells.ratio(comparison, headline, is_baseline=name == baseline))
            fields.append(
                cells.ABSENT if row.spread is None else TableCell(f"×/÷ {units.significant(row.spread)}")
            )
        rows.append(tuple(fields))
    blocks = ", ".join(
        f"{names[name]} {units.count(number, 'block')}" for name, number in machines.blocks.items()
    )
    return TableData(
        "Machines",
        tuple(columns),
        tuple(rows),
        subtitle=f"{headline.title} by machine: {blocks}. All pairs are of one machine.",
        notes=(
            ("Spread: the factor by which the ratios of two machines typically differ, beyond chance.",)
            if has_ratios
            else ()
        ),
    )


def breakdown_table(analysis: RunAnalysis) -> TableData | None:
    """The metrics of the workload's breakdown, and below what they show in words; None without any."""
    if not analysis.breakdown:
        return None
    metrics = [analysis.measurement.metric(name) for name in analysis.measurement.breakdown]
    several = len({row.cell.point for row in analysis.breakdown}) > 1
    notes = []
    for row in analysis.breakdown:
        if row.diagnosis:
            where = f"{analysis.label(row.cell.point)}: " if several else ""
            notes.append(f"{where}{row.diagnosis}.")
    return TableData(
        "Where the time went",
        ("contender", *(("point",) if several else ()), *(metric.title for metric in metrics)),
        tuple(
            (
                cells.text(row.cell.contender),
                *((cells.text(analysis.label(row.cell.point)),) if several else ()),
                *(_breakdown_figure(row, metric) for metric in metrics),
            )
            for row in analysis.breakdown
        ),
        subtitle="medians over blocks; times are sums over all units of a kind",
        notes=tuple(notes),
        narrow=tuple(metric.title for metric in reversed(metrics)),
    )


def _breakdown_figure(row: BreakdownRow, metric: Metric) -> TableCell:
    value = row.figures.get(metric.name)
    return TableCell(units.metric_estimate(value, metric)) if value else cells.ABSENT


def warm_up_table(analysis: RunAnalysis) -> TableData | None:
    """A row for each cell whose work was repeated; None where none was."""
    name = analysis.measurement.repeated_metric
    if not analysis.warm_ups or name is None:
        return None
    metric = analysis.measurement.metric(name)
    by_cell = {warm_up.cell: warm_up for warm_up in analysis.warm_ups}
    ordered = (Cell(contender, point) for point in analysis.points for contender in analysis.names)
    several = len(analysis.points) > 1
    return TableData(
        f"{metric.title}: first and steady, inside one process",
        (
            *("contender", *(("point",) if several else ())),
            *("repeats", "first", "steady", "first / steady", "steady from"),
            *("first answer", "steady after", "course"),
        ),
        tuple(
            (
                cells.text(cell.contender),
                *((cells.text(analysis.label(cell.point)),) if several else ()),
                TableCell(f"{len(by_cell[cell].medians):,}"),
                *_warm_up_figures(by_cell[cell], metric),
                *(_after(analysis, cell, name) for name in (FIRST_ANSWER.name, STEADY_AFTER.name)),
                cells.text(_course(by_cell[cell])),
            )
            for cell in ordered
            if cell in by_cell
        ),
        subtitle="medians over blocks; `steady from`: the number of the repeat; `first answer` and `steady "
        "after`: since the process began; blocks are counted where they differ",
        notes=()
        if all(warm_up.is_long_enough for warm_up in analysis.warm_ups)
        else (f"With fewer than {REPEATS_FOR_STEADY_STATE} repeats no steady state can be detected.",),
        narrow=("repeats", "steady from"),
    )


def _after(analysis: RunAnalysis, cell: Cell, name: str) -> TableCell:
    value = analysis.cells[cell].metrics.get(name)
    return TableCell(units.quantity(value.estimate, "s")) if value else cells.ABSENT


def _warm_up_figures(warm_up: WarmUp, metric: Metric) -> tuple[TableCell, ...]:
    first = TableCell(units.quantity(warm_up.first, metric.unit))
    if warm_up.steady is None or warm_up.first_over_steady is None:
        return first, cells.ABSENT, cells.ABSENT, cells.ABSENT
    return (
        first,
        TableCell(units.quantity(warm_up.steady, metric.unit)),
        TableCell(units.significant(warm_up.first_over_steady)),
        TableCell(str(warm_up.since)),
    )


def _course(warm_up: WarmUp) -> str:
    """`warming up`, or `5 × steady, 2 × warming up` where blocks differ."""
    counts = sorted(warm_up.kinds.items(), key=lambda item: -item[1])
    if len(counts) == 1:
        return str(counts[0][0])
    return ", ".join(f"{n} × {kind}" for kind, n in counts)


# A row, the metric that it is of, and its unit: none for a ratio.
_Row = tuple[Metric, ThenAndNowRow, str]


def published_tables(analysis: RunAnalysis) -> list[TableData]:
    """Figures of contenders then and now, and ratios of pairs; none without a source."""
    if not analysis.then_and_now:
        return []
    figures = [(both.metric, row, both.metric.unit) for both in analysis.then_and_now for row in both.figures]
    ratios = [(both.metric, row, "") for both in analysis.then_and_now for row in both.ratios]
    figure_table = _published_table(analysis, "Then and now", "contender", figures)
    if not ratios:
        return [figure_table]
    return [figure_table, _published_table(analysis, "Ratios then and now", "pair", ratios)]


def _published_table(analysis: RunAnalysis, title: str, column: str, rows: Sequence[_Row]) -> TableData:
    source, metric = analysis.then_and_now[0].source, analysis.then_and_now[0].metric
    several = len(analysis.then_and_now) > 1
    has_notes = any(row.note for _, row, _ in rows)
    return TableData(
        title,
        (
            "point",
            column,
            *(("metric",) if several else ()),
            "then",
            *(("as it was then",) if has_notes else ()),
            "now",
        ),
        tuple(
            (
                cells.text(analysis.label(row.point)),
                cells.text(row.label),
                *((cells.text(metric.title),) if several else ()),
                TableCell(units.quantity(row.then, unit) if unit else units.significant(row.then)),
                *((cells.text(row.note),) if has_notes else ()),
                cells.interval(row.now, unit),
            )
            for metric, row, unit in rows
        ),
        subtitle="" if several else f"{metric.title}: {metric.explanation}",
        notes=(
            f"Then: {source.title} ({source.date}); hardware: {source.hardware}.",
            *([f"The source's figures: {source.metric_note}."] if source.metric_note else []),
        ),
    )
