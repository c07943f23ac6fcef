"""The tables of a run as data, the same for the terminal, Markdown and the page: all contenders at one point,
one metric over all points, machines, where the time went, repeats, and what a source reported."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ringside import units
from ringside.analysis.distributions import MIN_FOR_STEADY_STATE, WarmUp
from ringside.analysis.run import RunAnalysis
from ringside.analysis.scaling import MAX_CORES, MIN_LEVELS, CoresScaling, Growth, Outlook, ScaledContender
from ringside.model.design import Metric, Point
from ringside.model.results import Interval
from ringside.render.text import cells, contenders
from ringside.render.text.cells import Row, TableCell, TableData, table
from ringside.render.text.words import NO_FIGURE, OUTLOOKS, counted, where
from ringside.text import one_line
from ringside.workloads.process import FIRST_ANSWER, STEADY_AFTER

# Up to this many points each has a table of its own; beyond, one table has a row for each point.
POINT_TABLES = 4
# Longer names of metrics would leave too little room for the programs' columns.
_LONG = 24
_IMPLAUSIBLE = f"{cells.MARK} has figures that no honest program can have: see the warnings."


def tables(analysis: RunAnalysis, *, is_part: bool = False, by_point: bool = True) -> list[TableData]:
    """All tables of a run in reading order. `is_part`: of a suite. `by_point`: also those of points."""
    shown: list[TableData | None] = []
    if len(analysis.points) <= POINT_TABLES:
        shown += [point_table(analysis, point) for point in analysis.points if by_point]
    else:
        for metric in analysis.metrics:
            shown.append(metric_table(analysis, metric))
            shown.append(ratio_table(analysis, metric) if analysis.pairs else None)
    shown += [machine_table(analysis), warm_up_table(analysis)]
    shown += [*scaling_tables(analysis), breakdown_table(analysis), *published_tables(analysis)]
    shown += [None if is_part else contenders.contender_table(analysis), contenders.failure_table(analysis)]
    return [each for each in shown if each]


def first_table(analysis: RunAnalysis, point: Point | None) -> TableData:
    """The terminal's first table of a point: programs, best first, with headline and distance from the
    baseline, or why there is none; of all points (None) only headlines. The floor only if it is needed."""
    headline, baseline, margin = analysis.headline, analysis.experiment.baseline, analysis.experiment.margin
    few = len(analysis.names) < 3  # The floor is then the only one to compare with.
    names = [name for name in analysis.names if few or name != analysis.floor or name == baseline]
    if point is None:
        return replace(metric_table(analysis, headline, names), title="", subtitle="", notes=())
    ranking = analysis.rankings[headline.name, point]
    shown = _headlines(analysis, point, names)
    first_kind = analysis.kind(next(iter(shown)))
    column = headline.noun if len(headline.noun) <= _LONG else headline.title
    rows: list[Row] = []
    for name, whole in shown.items():
        cell, kind = analysis.cell(name, point), analysis.kind(name)
        figure, _, ends = whole.text.partition(" (")
        title = cells.name(analysis, name) + (f" ({kind})" if kind != first_kind else "")
        comparison = analysis.comparison(headline, name, baseline, point)
        is_least = not ranking.cold.isdisjoint((name, baseline))
        against = cells.distance(comparison, headline, margin, is_least=is_least)
        if not (has_figure := headline.name in cell.metrics):
            # Without the remedy, which `run` prints once, and `--all`.
            why = analysis.contenders[name].unavailable or cell.reason.removeprefix(f"{whole.text}: ")
            against = TableCell(one_line(why or NO_FIGURE[bool(cell.values(headline.name))]), "text")
        elif name == baseline:
            against = TableCell("baseline", "text")
        elif name in ranking.failing:
            failed, trials = (sum(each.values()) for each in (cell.failures, cell.outcomes))
            against = TableCell(f"failed {failed} of {trials} trials", "failed")
        row: Row = [("program", title), (column, replace(whole, text=figure, bar=None))]
        row.append((" ", TableCell(f"({ends}" if ends else "", "quiet", bar=whole.bar)))
        is_compared = len(analysis.names) > 1 or not has_figure
        rows.append([*row, *([(f"vs {baseline}", against)] if is_compared else [])])
    return table("", rows, narrow=(" ",))


def _headlines(analysis: RunAnalysis, point: Point, names: Sequence[str]) -> dict[str, TableCell]:
    """The headline of these contenders at a point, in the order of the ranking, with its bar."""
    headline = analysis.headline
    order = [name for name in analysis.rankings[headline.name, point].order if name in names]
    values = {name: analysis.figure(name, point) for name in order}
    figures = {name: cells.figure(analysis.cell(name, point), headline, with_interval=True) for name in order}
    most = max((value.estimate for value in values.values() if value), default=0.0)
    shares = {name: value.estimate / most for name, value in values.items() if value and most > 0}
    return {name: replace(figure, bar=shares.get(name)) for name, figure in figures.items()}


def point_table(analysis: RunAnalysis, point: Point) -> TableData:
    """All contenders at a point, the best first: headline, ratio and verdict, rank in their class, ratio over
    the floor, other metrics; below it, which ratios are overstated."""
    rows = [[*row, *others] for row, others in point_rows(analysis, point).values()]
    headline = analysis.headline
    pairs = analysis.comparisons[headline.name, point].values()
    compared = [each for each in pairs if each.baseline == analysis.experiment.baseline]
    early = ", ".join(each.contender for each in compared if each.overstated)
    needed = {"contender", headline.title, f"× {analysis.experiment.baseline}", "verdict", "rank"}
    others = [column for column, _ in rows[0] if column not in needed]
    notes = point_notes(analysis, point)
    if early:
        notes.append(f"Stopped when decided, so likely nearer to 1: the ratios of {early}.")
    # The verdict stays: without it a ratio cannot be read.
    return table(analysis.label(point), rows, notes=notes, narrow=(*reversed(others), "rank"))


def point_rows(analysis: RunAnalysis, point: Point) -> dict[str, tuple[Row, Row]]:
    """The rows of that table by name, in the order of the ranking, with the other metrics apart."""
    headline, baseline, floor = analysis.headline, analysis.experiment.baseline, analysis.floor
    margin = analysis.experiment.margin
    ranking = analysis.rankings[headline.name, point]
    # If all classes are alike, or all but the floor's, the column says nothing.
    has_class = any(analysis.kind(name) == "bare" for name in analysis.names)
    others = _other_metrics(analysis, point)
    rows: dict[str, tuple[Row, Row]] = {}
    for name, figure in _headlines(analysis, point, analysis.names).items():
        cell, is_baseline = analysis.cell(name, point), name == baseline
        comparison = analysis.comparison(headline, name, baseline, point)
        row: Row = [("contender", cells.name(analysis, name))]
        row += [("class", analysis.kind(name))] if has_class else []
        row += [(headline.title, figure)]
        if len(analysis.names) > 1:
            row += [(f"× {baseline}", cells.ratio(comparison, headline, is_baseline=is_baseline))]
            verdict = cells.verdict(comparison, headline, margin)
            row += [("verdict", TableCell("baseline", "quiet") if is_baseline else verdict)]
        if name in ranking.ranks:
            row += [("rank", TableCell(units.rank_interval(ranking.ranks[name])))]
        elif ranking.ranks:
            row += [("rank", TableCell("floor", "quiet") if name == floor else cells.ABSENT)]
        if floor not in (None, baseline):
            ratio = analysis.floor_ratios[headline.name, point].get(name)
            over_floor = TableCell(units.significant(ratio.estimate)) if ratio else cells.ABSENT
            row += [(f"× {floor}", TableCell("1", "quiet") if name == floor else over_floor)]
        rows[name] = (row, [(metric.title, cells.figure(cell, metric)) for metric in others])
    return rows


def point_notes(analysis: RunAnalysis, point: Point) -> list[str]:
    """Notes about implausible figures, and about programs that still got faster."""
    ranking = analysis.rankings[analysis.headline.name, point]
    notes = [_IMPLAUSIBLE] if analysis.implausible & set(analysis.names) else []
    if cold := ", ".join(name for name in ranking.order if name in ranking.cold):
        notes.append(f"Still warming up, so slower here than they would be: {cold}.")
    return notes


def _other_metrics(analysis: RunAnalysis, point: Point) -> list[Metric]:
    """The metrics besides the headline that have figures at the point: compared ones, then the others."""
    present = {metric for name in analysis.names for metric in analysis.cell(name, point).metrics}
    secondary = map(analysis.measurement.metric, analysis.measurement.secondary)
    others = dict.fromkeys((*analysis.metrics[1:], *secondary))
    return [each for each in others if each.name in present and each != analysis.headline]


def metric_table(analysis: RunAnalysis, metric: Metric, names: Sequence[str] = ()) -> TableData:
    """One metric: a row for each point, a column for each contender, or for each of `names`."""
    rows: list[Row] = []
    columns = [(cells.name(analysis, name), name) for name in names or analysis.names]
    for point in analysis.points:
        figures = ((column, cells.figure(analysis.cell(name, point), metric)) for column, name in columns)
        rows.append([("point", analysis.label(point)), *figures])
    notes = (_IMPLAUSIBLE,) if analysis.implausible else ()
    return table(f"{metric.title}: {metric.explanation}", rows, "medians over blocks", notes=notes)


def ratio_table(analysis: RunAnalysis, metric: Metric) -> TableData:
    """The ratios of one metric: a row for each point, a column for each pair."""
    rows: list[Row] = []
    for point in analysis.points:
        compared = ((pair, analysis.comparison(metric, *pair, point)) for pair in analysis.pairs)
        ratios = ((" / ".join(pair), cells.ratio(each, metric)) for pair, each in compared)
        rows.append([("point", analysis.label(point)), *ratios])
    subtitle = "with 95 % intervals"
    if metric not in analysis.examination.confirmatory:
        subtitle += "; exploratory: its verdicts have an error rate of their own"
    return table(f"{metric.title}: ratios from pairs inside blocks", rows, subtitle)


def machine_table(analysis: RunAnalysis) -> TableData | None:
    """Every contender at every point on each machine; None of a run on one."""
    if (machines := analysis.machines) is None:
        return None
    headline, baseline = analysis.headline, analysis.experiment.baseline
    has_ratios = len(analysis.names) > 1
    names = {machine: one_line(machine) for machine in machines.blocks}
    rows = []
    for each in machines.rows:
        name, point = each.cell.contender, each.cell.point
        row: Row = [("contender", f"{name}{where(analysis, point, ' ')}")]
        for machine, shown in names.items():
            figure, ratio = each.figures.get(machine), each.ratios.get(machine)
            row.append((shown, cells.interval(figure, headline.unit)))
            if has_ratios:
                text = TableCell(units.ratio(ratio)) if ratio else cells.ABSENT
                is_baseline = name == baseline and figure
                row.append((f"× {baseline}, {shown}", TableCell("1", "quiet") if is_baseline else text))
        if has_ratios:
            comparison = analysis.comparison(headline, name, baseline, point)
            all_ratio = cells.ratio(comparison, headline, is_baseline=name == baseline)
            spread = None if each.spread is None else TableCell(f"×/÷ {units.significant(each.spread)}")
            row += [(f"× {baseline}, all", all_ratio), ("spread", spread or cells.ABSENT)]
        rows.append(row)
    blocks = ", ".join(f"{names[name]} {units.count(n, 'block')}" for name, n in machines.blocks.items())
    note = "Spread: the factor by which the ratios of two machines typically differ, beyond chance."
    subtitle = f"{headline.title} by machine: {blocks}. All pairs are of one machine."
    return table("Machines", rows, subtitle, notes=[note] if has_ratios else [])


def breakdown_table(analysis: RunAnalysis) -> TableData | None:
    """The metrics of the workload's breakdown, with their meaning in words below; None without any."""
    if not analysis.breakdown:
        return None
    metrics = [analysis.measurement.metric(name) for name in analysis.measurement.breakdown]
    several = len({cell.point for cell in analysis.breakdown}) > 1
    rows: list[Row] = []
    notes = []
    for cell, diagnosis in analysis.breakdown.items():
        label, figures = analysis.label(cell.point), analysis.cells[cell].metrics
        row: Row = [("contender", cell.contender), *([("point", label)] if several else [])]
        row += [(each.title, cells.estimate(figures.get(each.name), each.unit)) for each in metrics]
        rows.append(row)
        if diagnosis:
            notes.append(f"{label}: {diagnosis}." if several else f"{diagnosis}.")
    subtitle = "medians over blocks; times are sums over all units of a kind"
    narrow = (metric.title for metric in reversed(metrics))
    return table("Where the time went", rows, subtitle, notes=notes, narrow=narrow)


def warm_up_table(analysis: RunAnalysis) -> TableData | None:
    """A row for each cell whose work was repeated; None if none was."""
    name = analysis.measurement.repeated_metric
    if not analysis.warm_ups or name is None:
        return None
    metric = analysis.measurement.metric(name)
    by_cell = {warm_up.cell: warm_up for warm_up in analysis.warm_ups}
    rows = [_warm_up_row(analysis, by_cell[cell], metric) for cell in analysis.cells if cell in by_cell]
    title = f"{metric.title}: first and steady, inside one process"
    how = "medians over blocks; `steady from`: the number of the repeat; `first answer` and `steady after`: "
    how += "since the process began; blocks are counted where they differ"
    notes = [f"With fewer than {MIN_FOR_STEADY_STATE} repeats no steady state can be detected."]
    is_long_enough = all(warm_up.is_long_enough for warm_up in analysis.warm_ups)
    narrow = ("repeats", "steady from")
    return table(title, rows, how, notes=() if is_long_enough else notes, narrow=narrow)


def _warm_up_row(analysis: RunAnalysis, warm_up: WarmUp, metric: Metric) -> Row:
    cell, figures = warm_up.cell, analysis.cells[warm_up.cell].metrics
    # `warming up`, or `5 × steady, 2 × warming up` where blocks differ.
    kinds = sorted(warm_up.kinds.items(), key=lambda item: -item[1])
    course = ", ".join(f"{n} × {kind}" if len(kinds) > 1 else str(kind) for kind, n in kinds)
    steady = [cells.ABSENT] * 3
    if warm_up.steady is not None and warm_up.first_over_steady is not None:
        over = units.significant(warm_up.first_over_steady)
        texts = (units.quantity(warm_up.steady, metric.unit), over, str(warm_up.since))
        steady = list(map(TableCell, texts))
    return [
        ("contender", cell.contender),
        *([("point", analysis.label(cell.point))] if len(analysis.points) > 1 else []),
        ("repeats", TableCell(f"{len(warm_up.medians):,}")),
        ("first", TableCell(units.quantity(warm_up.first, metric.unit))),
        *zip(("steady", "first / steady", "steady from"), steady, strict=True),
        ("first answer", cells.estimate(figures.get(FIRST_ANSWER.name), "s")),
        ("steady after", cells.estimate(figures.get(STEADY_AFTER.name), "s")),
        ("course", course),
    ]


def published_tables(analysis: RunAnalysis) -> Iterator[TableData]:
    """Figures of contenders then and now, and ratios of pairs, which have no unit; none without a source."""
    both = analysis.then_and_now
    figures = [(each.metric, row, each.metric.unit) for each in both for row in each.figures]
    ratios = [(each.metric, row, "") for each in both for row in each.ratios]
    shown = (("Then and now", "contender", figures), ("Ratios then and now", "pair", ratios))
    for title, column, rows in (each for each in shown if each[2]):
        source, first, several = both[0].source, both[0].metric, len(both) > 1
        has_notes = any(row.note for _, row, _ in rows)
        of = source.software.items()
        software = (version if version[:1].isalpha() else f"{name} {version}" for name, version in of)
        facts = "; ".join([f"{source.title} ({source.date})", f"hardware: {source.hardware}", *software])
        of_figures = [f"The source's figures: {source.metric_note}."] if source.metric_note else []
        whole: list[Row] = []
        for metric, row, unit in rows:
            then = units.quantity(row.then, unit) if unit else units.significant(row.then)
            line: Row = [("point", analysis.label(row.point)), (column, row.label)]
            line += [("metric", metric.title)] if several else []
            line += [("then", TableCell(then)), *([("as it was then", row.note)] if has_notes else [])]
            whole.append([*line, ("now", cells.interval(row.now, unit))])
        subtitle = "" if several else f"{first.title}: {first.explanation}"
        yield table(title, whole, subtitle, notes=[f"Then: {facts}.", *of_figures])


def scaling_tables(analysis: RunAnalysis) -> Iterator[TableData]:
    """A table for each slope, for each law over cores and setting of the other factors, and for each law over
    a size."""
    for slope in analysis.slopes:
        law, titles = slope.law, {fixed: str(fixed) for _, fixed in slope.values}
        yield table(law.title, _by_setting(slope, titles, law.title, law.unit), law.explanation)
    for scaling in analysis.cores_scaling:
        yield _cores_table(analysis, scaling)
    for growth in analysis.growth:
        metric, size = analysis.measurement.metric(growth.law.metric), counted(analysis, growth.law.over)
        titles = {fixed: analysis.setting(fixed) for _, fixed in growth.values}
        rows = _by_setting(growth, titles, "exponent", "")
        how = f"the power of {size} with which it grows: 1 is in proportion; with 95 % intervals"
        yield table(f"{metric.title}: growth with {size}", rows, how)


def _by_setting(growth: Growth[Any], titles: Mapping[Point, str], only: str, unit: str) -> list[Row]:
    """A row for each contender, smallest first, a column for each setting of the other factors. `only`: its
    title where there is one."""
    columns = list(titles.values()) if len(titles) > 1 else [only]
    rows: list[Row] = []
    for name in growth.order:
        figures = (cells.interval(growth.values.get((name, fixed)), unit) for fixed in titles)
        rows.append([("contender", name), *zip(columns, figures, strict=True)])
    return rows


def outlook(row: ScaledContender) -> str:
    """The fit's prediction for more cores, in a few words; empty without a fit."""
    if row.fit is None or row.outlook is None:
        return ""
    # A speed-up is not rounded to a whole number, as cores are: more than that may have been measured.
    write = units.significant if row.outlook is Outlook.NEVER_MORE_THAN else "{:,.0f}".format
    ends = dict.fromkeys(map(write, row.outlook_ends or ()))
    return OUTLOOKS[row.outlook].format(most=row.fit.levels[-1], ends=" to ".join(ends))


def _cores_table(analysis: RunAnalysis, scaling: CoresScaling) -> TableData:
    setting = analysis.setting(scaling.fixed)
    noun = analysis.measurement.metric(scaling.law.metric).noun
    beyond = [
        row.contender
        for row in scaling.rows
        if any(ratio.low is not None and ratio.low > cores for cores, ratio in row.speed_ups.items())
    ]
    notes = [
        f"{', '.join(beyond)}: a speed-up above the number of cores. On one core something else may "
        "have run too, such as the runtime's compiler or collector: this does not show how the work scales."
    ] * bool(beyond)
    if not scaling.fitted_levels:
        notes.append(
            f"{max(scaling.levels)} cores are too few to show where a program stops gaining: on a larger "
            "machine, use --cores all."
        )
    elif len(scaling.fitted_levels) == MIN_LEVELS:
        notes.append(
            "Three numbers of cores fit a law with three parameters exactly: nothing is left to check it."
        )
    title = f"Scaling over cores: {setting}" if setting else "Scaling over cores"
    subtitle = f"of {noun}, from pairs in blocks, with 95 % intervals; efficiency is speed-up over cores"
    rows = [_cores_row(row, scaling) for row in scaling.rows]
    return table(title, rows, subtitle, notes=notes, narrow=("coherency", "contention", "efficiency"))


def _cores_row(row: ScaledContender, scaling: CoresScaling) -> Row:
    shown: Row = [("contender", row.contender)]
    for cores in scaling.levels:
        shown.append((f"speed-up on {cores}", cells.interval(row.speed_ups.get(cores), "")))
    shown.append(("efficiency", TableCell(units.percent(row.efficiency))))
    if scaling.fitted_levels:
        fit = row.fit
        shown += [
            ("contention", TableCell(units.ratio(fit.contention)) if fit else cells.ABSENT),
            ("coherency", TableCell(units.ratio(fit.coherency)) if fit else cells.ABSENT),
            ("best cores", TableCell(_cores(fit.best)) if fit else cells.ABSENT),
            ("by the law", outlook(row)),
        ]
    return shown


def _cores(best: Interval) -> str:
    ends = (best.estimate, best.low, best.high)
    texts = ("" if end is None else f"{end:,.0f}" if end < MAX_CORES else "no limit" for end in ends)
    value, low, high = texts
    return value if not low or not high or low == high else f"{value} ({low}–{high})"
