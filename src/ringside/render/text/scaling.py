"""Tables of scaling: speed-up over cores, growth with the size of the work, slopes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.analysis.scaling import CoresScaling, Outlook, ScaledContender
from ringside.model.design import Point
from ringside.model.results import Interval
from ringside.render.text import cells
from ringside.render.text.cells import Row, TableCell, TableData, table

# From here on a best number of cores means none.
_UNLIMITED_CORES = 10_000
# Parameters of the Universal Scalability Law, and so the fewest numbers of cores for a fit.
_PARAMETERS = 3
_OUTLOOKS = {
    Outlook.NO_GAIN: "gains almost nothing from more cores",
    Outlook.SLOWER_BEYOND: "gets slower beyond {ends} cores",
    Outlook.GAINS_UP_TO: "still gains at {most}; by the law up to {ends} cores (not measured)",
    Outlook.NEVER_MORE_THAN: "still gains at {most}; by the law at most {ends}× (not measured)",
    Outlook.NO_LIMIT: "no limit visible up to {most} cores",
    Outlook.NO_LAW: "the law does not fit; nothing is known beyond {most} cores",
    Outlook.NOT_CLEAR: "intervals too wide to say",
}


def scaling_tables(analysis: RunAnalysis) -> Iterator[TableData]:
    """A table for each law over cores and setting of the other factors, and for each law over a size."""
    for scaling in analysis.cores_scaling:
        yield _cores_table(analysis, scaling)
    for growth in analysis.growth:
        metric, factor = analysis.measurement.metric(growth.law.metric), growth.law.over
        titles = {fixed: analysis.setting(fixed) for fixed in growth.settings}
        yield table(
            f"{metric.title}: growth with {factor}",
            _by_setting(growth.order, titles, growth.exponents, "exponent", ""),
            f"the power of {factor} with which it grows: 1 is in proportion; with 95 % intervals",
        )


def slope_tables(analysis: RunAnalysis) -> Iterator[TableData]:
    """A table for each slope of the workload: a row for each contender, the smallest first, and a column for
    each setting of the other factors."""
    for slope in analysis.measurement.slopes:
        rows = [row for row in analysis.slopes if row.slope.name == slope.name]
        if rows:
            titles = {row.fixed: str(row.fixed) for row in rows}
            values = {(row.contender, row.fixed): row.value for row in rows}
            order = dict.fromkeys(row.contender for row in sorted(rows, key=lambda row: row.value.estimate))
            shown = _by_setting(order, titles, values, slope.title, slope.unit)
            yield table(slope.title, shown, slope.explanation)


def _by_setting(
    names: Iterable[str],
    titles: Mapping[Point, str],
    values: Mapping[tuple[str, Point], Interval],
    only: str,
    unit: str,
) -> list[Row]:
    """A row for each contender, a column for each setting; `only`: its title where there is one setting."""
    return [
        [
            ("contender", name),
            *(
                (title if len(titles) > 1 else only, cells.interval(values.get((name, fixed)), unit))
                for fixed, title in titles.items()
            ),
        ]
        for name in names
    ]


def outlook(row: ScaledContender) -> str:
    """What can be said of more cores, in a few words; empty without a fit."""
    if row.fit is None or row.outlook is None:
        return ""
    ends = dict.fromkeys(f"{end:.0f}" for end in row.outlook_ends or (0.0, 0.0))
    return _OUTLOOKS[row.outlook].format(most=row.fit.levels[-1], ends=" to ".join(ends))


def _cores_table(analysis: RunAnalysis, scaling: CoresScaling) -> TableData:
    setting = analysis.setting(scaling.fixed)
    noun = analysis.measurement.metric(scaling.law.metric).noun
    beyond = [
        row.contender
        for row in scaling.rows
        if any(ratio.low is not None and ratio.low > cores for cores, ratio in row.speed_ups.items())
    ]
    notes = [
        f"{', '.join(beyond)}: faster than so many cores can make the work. On one core something else may "
        "have run too, such as the runtime's compiler or collector: no figure of how the work scales."
    ] * bool(beyond)
    if not scaling.fitted_levels:
        notes.append(_too_few_levels(analysis, max(scaling.levels)))
    elif len(scaling.fitted_levels) == _PARAMETERS:
        notes.append(
            "Three numbers of cores fit a law with three parameters exactly: nothing is left to check it."
        )
    return table(
        f"Scaling over cores: {setting}" if setting else "Scaling over cores",
        [_cores_row(row, scaling) for row in scaling.rows],
        f"of {noun}, from pairs in blocks, with 95 % intervals; efficiency is speed-up over cores",
        notes=notes,
        narrow=("coherency", "contention", "efficiency"),
    )


def _cores_row(row: ScaledContender, scaling: CoresScaling) -> Row:
    shown: Row = [("contender", row.contender)]
    shown += [
        (f"speed-up on {cores}", cells.interval(row.speed_ups.get(cores), "")) for cores in scaling.levels
    ]
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
    value, low, high = (
        "" if end is None else f"{end:,.0f}" if end < _UNLIMITED_CORES else "no limit" for end in ends
    )
    return value if not low or not high or low == high else f"{value} ({low}–{high})"


def _too_few_levels(analysis: RunAnalysis, most: int) -> str:
    usable = len(analysis.run.host.get("cpus_usable") or ())
    advice = "Use --cores all."
    if 0 < usable <= most:
        advice = f"This machine has {units.count(usable, 'usable CPU')}; on a larger one, use --cores all."
    return (
        f"Speed-ups on up to {most} cores are too few to fit the law of scaling, which has three parameters: "
        f"this run cannot show where a program stops gaining, or gets slower. {advice}"
    )
