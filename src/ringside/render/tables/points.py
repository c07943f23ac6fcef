"""Tables of points: all contenders at one point, or one metric over all points."""

from __future__ import annotations

from dataclasses import replace

from ringside import units
from ringside.analysis.comparisons import Ranking
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric, Point
from ringside.render.table import TableCell, TableData
from ringside.render.tables import cells

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
        notes=(_IMPLAUSIBLE,) if analysis.implausible & set(ranking.order) else (),
        narrow=(*(metric.title for metric in reversed(secondary)), "rank", "class"),
    )


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
