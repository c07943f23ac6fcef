"""The tables of a run as data, the same for the terminal, Markdown and the page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ringside import units as numbers
from ringside.analysis import laws, published, steady
from ringside.analysis.summary import LIMIT, CellSummary, Summary
from ringside.model.design import Cell, Metric, Point
from ringside.model.results import Comparison, Interval, Outcome, Verdict
from ringside.render.table import Entry, TableData
from ringside.stats.family import blocks_needed
from ringside.stats.interval import LEAST

# Up to so many points each has a table of its own; beyond, one table has a row for each point.
_POINT_TABLES = 4


def tables(summary: Summary) -> list[TableData]:
    """All tables of a run, in the order in which they are read."""
    found: list[TableData] = []
    if len(summary.points) <= _POINT_TABLES:
        found += [point_table(summary, point) for point in summary.points]
    else:
        for metric in summary.metrics():
            found.append(metric_table(summary, metric))
            found.append(ratio_table(summary, metric))
    if steady_table := steady.table(summary):
        found.append(steady_table)
    found += slope_tables(summary)
    found += laws.tables(summary)
    if where := laws.where_table(summary):
        found.append(where)
    found += then_tables(published.then_and_now(summary), summary)
    found.append(contender_table(summary))
    if failures := failure_table(summary):
        found.append(failures)
    return found


def point_table(summary: Summary, point: Point) -> TableData:
    """All contenders at one point, the best first: headline with its interval, ratios, rank in groups of
    ties, cost."""
    metrics = summary.metrics()
    headline, rest = metrics[0], metrics[1:]
    extra = [
        metric
        for name in summary.workload.beside
        if name not in {metric.name for metric in metrics}
        for metric in summary.workload.metrics
        if metric.name == name
    ]
    baseline = summary.experiment.baseline
    has_limit = LIMIT in summary.names() and baseline != LIMIT
    # Where nothing can be told apart all would be first.
    ranks = summary.ranks(headline, point) if summary.blocks_done >= LEAST else {}
    notes = _coarse_ranks(summary, headline, point, ranks)
    ranked = bool(ranks) and not notes
    columns = ["contender", headline.title, f"× {baseline}", "verdict"]
    columns += ["rank"] if ranked else []
    columns += ["× limit"] if has_limit else []
    # A column in which nobody has a figure tells nothing.
    there = {name for one in summary.names() for name in summary.cells[Cell(one, point)].metrics}
    rest, extra = ([metric for metric in some if metric.name in there] for some in (rest, extra))
    columns += [metric.title for metric in (*rest, *extra)]
    rows = []
    for name in summary.ranked(headline, point):
        cell = summary.cells[Cell(name, point)]
        row = [Entry(name, "text"), _figure(cell, headline, interval=True)]
        comparison = summary.compare(headline, name, baseline, point) if name != baseline else None
        row += [_ratio(comparison, name == baseline), _verdict(comparison, name == baseline)]
        if ranked:
            row.append(Entry(str(ranks[name])) if name in ranks else Entry("–", "quiet"))
        if has_limit:
            times = summary.compare(headline, name, LIMIT, point) if name != LIMIT else None
            row.append(_times(times, name == LIMIT))
        row += [_figure(cell, metric) for metric in (*rest, *extra)]
        rows.append(tuple(row))
    return TableData(
        title=summary.label(point),
        columns=tuple(columns),
        rows=tuple(rows),
        notes=notes,
        narrow=(*(metric.title for metric in reversed(extra)), "rank"),
    )


def _coarse_ranks(
    summary: Summary, headline: Metric, point: Point, ranks: Mapping[str, int]
) -> tuple[str, ...]:
    """A note in place of ranks, where one would share the baseline's whom the verdict tells from it."""
    baseline = summary.experiment.baseline
    tied = [name for name in ranks if name != baseline and ranks[name] == ranks.get(baseline)]
    found = [summary.compare(headline, name, baseline, point) for name in tied]
    if not any(one and one.verdict in (Verdict.FASTER, Verdict.SLOWER) for one in found):
        return ()
    pairs = math.comb(len(ranks), 2)
    return (
        f"No ranks: they hold all {pairs} pairs to one error rate, and {summary.blocks_done} blocks are too "
        f"few to tell apart as many as the verdicts do; from {blocks_needed(pairs)} on each can be decided.",
    )


def metric_table(summary: Summary, metric: Metric) -> TableData:
    """One metric: a row for each point, a column for each contender."""
    rows = tuple(
        (
            Entry(summary.label(point), "text"),
            *(_figure(summary.cells[Cell(name, point)], metric) for name in summary.names()),
        )
        for point in summary.points
    )
    title = f"{metric.title}: {metric.explanation}"
    return TableData(title, ("point", *summary.names()), rows, subtitle="medians over blocks")


def ratio_table(summary: Summary, metric: Metric) -> TableData:
    """The ratios of one metric: a row for each point, a column for each pair."""
    rows = tuple(
        (
            Entry(summary.label(point), "text"),
            *(_ratio(summary.compare(metric, one, other, point), False) for one, other in summary.pairs()),
        )
        for point in summary.points
    )
    columns = ("point", *(f"{one} / {other}" for one, other in summary.pairs()))
    return TableData(
        f"{metric.title}: ratios from pairs inside blocks", columns, rows, subtitle="with 95 % intervals"
    )


def slope_tables(summary: Summary) -> list[TableData]:
    """A table for each slope of the workload: a row for each contender, a column for each setting."""
    found = []
    for slope in summary.workload.slopes:
        mine = [one for one in summary.slopes if one.slope.name == slope.name]
        settings = list(dict.fromkeys(one.fixed for one in mine))
        if not settings:
            continue
        by_key = {(one.contender, one.fixed): one.value for one in mine}
        order = sorted(
            {one.contender for one in mine},
            key=lambda name: min(value.estimate for (who, _), value in by_key.items() if who == name),
        )
        rows = tuple(
            (Entry(name, "text"), *(_interval(by_key.get((name, fixed)), slope.unit) for fixed in settings))
            for name in order
        )
        columns = tuple(str(fixed) if len(settings) > 1 else slope.title for fixed in settings)
        found.append(TableData(slope.title, ("contender", *columns), rows, subtitle=slope.explanation))
    return found


def then_tables(then: Sequence[published.ThenAndNow], summary: Summary) -> list[TableData]:
    """What the source reported beside this run: figures of contenders, and ratios of pairs."""
    if not then:
        return []
    source = then[0].source
    notes = (
        f"Then: {source.title} ({source.date}); hardware: {source.hardware}.",
        *([f"The source's figures: {source.metric_note}."] if source.metric_note else []),
    )
    several = len(then) > 1

    def table(title: str, first: str, lines: Sequence[tuple[Metric, published.Line, str]]) -> TableData:
        rows = tuple(
            (
                Entry(summary.label(line.point), "text"),
                Entry(line.who, "text"),
                *([Entry(metric.title, "text")] if several else []),
                Entry(numbers.quantity(line.then, unit) if unit else numbers.significant(line.then)),
                _interval(line.now, unit),
            )
            for metric, line, unit in lines
        )
        columns = ("point", first, *(["figure"] if several else []), "then", "now")
        explained = "" if several else f"{then[0].metric.title}: {then[0].metric.explanation}"
        return TableData(title, columns, rows, explained, notes)

    figures = [(one.metric, line, one.metric.unit) for one in then for line in one.figures]
    ratios = [(one.metric, line, "") for one in then for line in one.ratios]
    found = [table("Then and now", "contender", figures)]
    return [*found, table("Ratios then and now", "pair", ratios)] if ratios else found


def _runs_on(described: Mapping[str, Any]) -> str:
    """`runs_on` is not in runs of earlier versions."""
    what = described.get("runs_on") or described["language"]
    return " ".join(filter(None, (what, described.get("version", "not here"))))


def contender_table(summary: Summary) -> TableData:
    """What the contenders are: their model, queue, scheduler and version."""
    rows = tuple(
        tuple(
            Entry(str(text) or "–", "text")
            for text in (
                name,
                described["model"],
                described["queue"],
                described["scheduler"],
                _runs_on(described),
            )
        )
        for name, described in summary.contenders.items()
    )
    return TableData("Contenders", ("contender", "model", "queue", "scheduler", "runs on"), rows)


def failure_table(summary: Summary) -> TableData | None:
    """Cells that have trials without figures, with the reason; None where there are none."""
    rows = []
    for point in summary.points:
        for name in summary.names():
            cell = summary.cells[Cell(name, point)]
            bad = {outcome: n for outcome, n in cell.outcomes.items() if outcome is not Outcome.OK}
            if bad or not cell.outcomes:
                counts = ", ".join(f"{n} × {outcome}" for outcome, n in bad.items()) or "none made"
                row = (name, summary.label(point), counts, cell.reason)
                rows.append(tuple(Entry(text, "text") for text in row))
    if not rows:
        return None
    return TableData("Without figures", ("contender", "point", "trials", "why"), tuple(rows))


def _figure(cell: CellSummary, metric: Metric, *, interval: bool = False) -> Entry:
    value = cell.metrics.get(metric.name)
    if value is not None:
        text = (
            numbers.with_interval(value, metric.unit) if interval else numbers.metric_estimate(value, metric)
        )
        return Entry(text)
    failed = next((outcome for outcome in cell.outcomes if outcome is not Outcome.OK), None)
    return Entry(str(failed), "failed") if failed and not cell.has_figures else Entry("–", "quiet")


def _ratio(comparison: Comparison | None, is_baseline: bool) -> Entry:
    if is_baseline:
        return Entry("1", "quiet")
    if comparison is None:
        return Entry("–", "quiet")
    return Entry(numbers.ratio(comparison.ratio), numbers.kind(comparison.verdict))


def _times(comparison: Comparison | None, is_limit: bool) -> Entry:
    if is_limit:
        return Entry("1", "quiet")
    return Entry(numbers.significant(comparison.ratio.estimate)) if comparison else Entry("–", "quiet")


def _verdict(comparison: Comparison | None, is_baseline: bool) -> Entry:
    if is_baseline:
        return Entry("baseline", "quiet")
    if comparison is None:
        return Entry("–", "quiet")
    return Entry(numbers.VERDICT_WORDS[comparison.verdict] or "–", numbers.kind(comparison.verdict))


def _interval(value: Interval | None, unit: str) -> Entry:
    return Entry(numbers.with_interval(value, unit)) if value else Entry("–", "quiet")
