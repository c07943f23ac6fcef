"""What shows why trials failed: the last lines that the program wrote, and the command that repeats one."""

from __future__ import annotations

from ringside.analysis.cells import CellAnalysis
from ringside.analysis.run import RunAnalysis
from ringside.model.results import Outcome
from ringside.render import command
from ringside.text import LOG_LINES, last_lines
from ringside.workloads.base import Workload


def to_repeat(analysis: RunAnalysis, cell: CellAnalysis) -> str:
    """The command that repeats a trial of a cell that failed; empty where none can."""
    outcomes = set(cell.outcomes) - {Outcome.UNAVAILABLE}
    failed = outcomes - {Outcome.OK} or (outcomes and cell.missing)
    if not failed or not isinstance(analysis.measurement, Workload):
        return ""
    levels = {factor: cell.cell.point[factor] for factor in analysis.varying}
    return command.repeat_command(analysis, cell.cell.contender, levels)


def notes(analysis: RunAnalysis, cell: CellAnalysis) -> tuple[str, ...]:
    """Lines below a table: the end of what the program wrote to stderr, or of what its build printed, and how
    to repeat the trial."""
    name = cell.cell.contender
    lines: list[str] = []
    if stderr := last_lines(cell.stderr):
        lines += [f"{name} wrote to stderr:", *(f"  | {line}" for line in stderr)]
    elif log := last_lines(analysis.contenders[name].log, LOG_LINES):
        lines += [f"the build of {name} printed:", *(f"  | {line}" for line in log)]
    if again := to_repeat(analysis, cell):
        lines.append(f"{name} again, with all that it writes: {again}")
    return tuple(lines)
