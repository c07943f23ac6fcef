"""Tables of scaling: speed-up over cores, growth with the size of the work, slopes."""

from __future__ import annotations

from collections.abc import Sequence

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.analysis.scaling import CoresScaling, Growth, Outlook, ScaledContender
from ringside.model.results import Interval
from ringside.render.text import cells
from ringside.render.text.cells import TableCell, TableData

# From here on a best number of cores means none.
_UNLIMITED_CORES = 10_000
# Parameters of the Universal Scalability Law, and so the fewest numbers of cores for a fit.
_PARAMETERS = 3


def scaling_tables(analysis: RunAnalysis) -> list[TableData]:
    """A table for each law over cores and setting of the other factors, and for each law over a size."""
    return [
        *(_cores_table(analysis, scaling) for scaling in analysis.cores_scaling),
        *(_growth_table(analysis, growth) for growth in analysis.growth),
    ]


def outlook(row: ScaledContender) -> str:
    """What can be said of more cores, in a few words; empty without a fit."""
    if row.fit is None or row.outlook is None:
        return ""
    most, (low, high) = row.fit.levels[-1], row.outlook_ends or (0.0, 0.0)
    ends = f"{low:.0f}" if f"{low:.0f}" == f"{high:.0f}" else f"{low:.0f} to {high:.0f}"
    return {
        Outlook.NO_GAIN: "gains almost nothing from more cores",
        Outlook.SLOWER_BEYOND: f"gets slower beyond {ends} cores",
        Outlook.GAINS_UP_TO: f"still gains at {most}; by the law up to {ends} cores (not measured)",
        Outlook.NEVER_MORE_THAN: f"still gains at {most}; by the law at most {ends}× (not measured)",
        Outlook.NO_LIMIT: f"no limit visible up to {most} cores",
        Outlook.NO_LAW: f"the law does not fit; nothing is known beyond {most} cores",
        Outlook.NOT_CLEAR: "intervals too wide to say",
    }[row.outlook]


def _cores_table(analysis: RunAnalysis, scaling: CoresScaling) -> TableData:
    fitted = bool(scaling.fitted_levels)
    setting = analysis.setting(scaling.fixed)
    noun = analysis.measurement.metric(scaling.law.metric).noun
    columns = ["contender", *(f"speed-up on {cores}" for cores in scaling.levels), "efficiency"]
    columns += ["contention", "coherency", "best cores", "by the law"] if fitted else []
    return TableData(
        f"Scaling over cores: {setting}" if setting else "Scaling over cores",
        tuple(columns),
        tuple(_cores_row(row, scaling.levels, fitted=fitted) for row in scaling.rows),
        subtitle=f"of {noun}, from pairs in blocks, with 95 % intervals; efficiency is speed-up over cores",
        notes=(*_beyond_cores(scaling), *_fit_notes(analysis, scaling)),
        narrow=("coherency", "contention", "efficiency"),
    )


def _cores_row(row: ScaledContender, levels: Sequence[int], *, fitted: bool) -> tuple[TableCell, ...]:
    return (
        cells.text(row.contender),
        *(cells.interval(row.speed_ups.get(cores), "") for cores in levels),
        TableCell(units.percent(row.efficiency)),
        *(_fit_cells(row) if fitted else ()),
    )


def _fit_cells(row: ScaledContender) -> tuple[TableCell, ...]:
    if row.fit is None:
        return (cells.ABSENT, cells.ABSENT, cells.ABSENT, cells.text(""))
    return (
        TableCell(units.ratio(row.fit.contention)),
        TableCell(units.ratio(row.fit.coherency)),
        TableCell(_cores(row.fit.best)),
        cells.text(outlook(row)),
    )


def _beyond_cores(scaling: CoresScaling) -> tuple[str, ...]:
    """What else explains speed-ups beyond the number of cores."""
    beyond = [
        row.contender
        for row in scaling.rows
        if any(ratio.low is not None and ratio.low > cores for cores, ratio in row.speed_ups.items())
    ]
    if not beyond:
        return ()
    return (
        f"{', '.join(beyond)}: faster than so many cores can make the work. On one core something else may "
        "have run too, such as the runtime's compiler or collector: no figure of how the work scales.",
    )


def _cores(best: Interval) -> str:
    def whole(value: float) -> str:
        return f"{value:,.0f}" if value < _UNLIMITED_CORES else "no limit"

    if best.low is None or best.high is None or whole(best.low) == whole(best.high):
        return whole(best.estimate)
    return f"{whole(best.estimate)} ({whole(best.low)}–{whole(best.high)})"


def _fit_notes(analysis: RunAnalysis, scaling: CoresScaling) -> tuple[str, ...]:
    if not scaling.fitted_levels:
        return (_too_few_levels(analysis, max(scaling.levels)),)
    if len(scaling.fitted_levels) == _PARAMETERS:
        return (
            "Three numbers of cores fit a law with three parameters exactly: nothing is left to check it.",
        )
    return ()


def _too_few_levels(analysis: RunAnalysis, most: int) -> str:
    usable = analysis.run.host.get("cpus_usable")
    text = (
        f"Speed-ups on up to {most} cores are too few to fit the law of scaling, which has three parameters: "
        "this run cannot show where a program stops gaining, or gets slower."
    )
    if usable and len(usable) <= most:
        text += (
            f" This machine has {units.count(len(usable), 'usable CPU')}; on a larger one, use --cores all."
        )
    else:
        text += " Use --cores all."
    return text


def _growth_table(analysis: RunAnalysis, growth: Growth) -> TableData:
    settings = growth.settings
    rows = tuple(
        (
            cells.text(name),
            *(cells.interval(growth.exponents.get((name, fixed)), "") for fixed in settings),
        )
        for name in growth.order
    )
    columns = tuple(analysis.setting(fixed) if len(settings) > 1 else "exponent" for fixed in settings)
    metric, factor = analysis.measurement.metric(growth.law.metric), growth.law.over
    return TableData(
        f"{metric.title}: growth with {factor}",
        ("contender", *columns),
        rows,
        subtitle=f"the power of {factor} with which it grows: 1 is in proportion; with 95 % intervals",
    )


def slope_tables(analysis: RunAnalysis) -> list[TableData]:
    """A table for each slope of the workload: a row for each contender, the smallest first, and a column for
    each setting of the other factors."""
    tables = []
    for slope in analysis.measurement.slopes:
        slopes = [row for row in analysis.slopes if row.slope.name == slope.name]
        settings = list(dict.fromkeys(row.fixed for row in slopes))
        values = {(row.contender, row.fixed): row.value for row in slopes}
        order = dict.fromkeys(row.contender for row in sorted(slopes, key=lambda row: row.value.estimate))
        if not settings:
            continue
        rows = tuple(
            (
                cells.text(name),
                *(cells.interval(values.get((name, fixed)), slope.unit) for fixed in settings),
            )
            for name in order
        )
        columns = tuple(str(fixed) if len(settings) > 1 else slope.title for fixed in settings)
        tables.append(TableData(slope.title, ("contender", *columns), rows, subtitle=slope.explanation))
    return tables
