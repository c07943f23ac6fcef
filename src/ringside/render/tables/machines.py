"""The table of a run's machines."""

from __future__ import annotations

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.render.table import TableCell, TableData
from ringside.render.tables import cells
from ringside.text import one_line


def table(analysis: RunAnalysis) -> TableData | None:
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
