"""Tables of contenders, problems × contenders, and claims with their answers."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import JudgedClaim, Overview, OverviewColumn
from ringside.model.design import Cell
from ringside.model.results import Answer, Outcome
from ringside.render.text import cells, command
from ringside.render.text.cells import Row, TableCell, TableData, table
from ringside.render.text.words import platform, where
from ringside.store.plans import PlannedContender
from ringside.text import one_line


def runs_on(contender: PlannedContender) -> str:
    """`Python 3.13.2 (2024)`; nothing for commands and URLs."""
    state = ", not built" if contender.version and contender.unavailable else ""
    return f"{platform(contender)}{state}" if contender.platform else ""


_COLUMNS: dict[str, Callable[[PlannedContender], str]] = {
    # Commands and URLs have no manifest.
    "what": lambda contender: "" if runs_on(contender) else contender.title,
    "class": lambda contender: contender.kind if runs_on(contender) else "",
    "family": lambda contender: contender.family,
    "model": lambda contender: contender.model,
    "queue": lambda contender: contender.queue,
    "scheduler": lambda contender: contender.scheduler,
    "runs on": runs_on,
    "from": lambda contender: contender.origin,
}


# What the family says in a word, and what decides less.
_DETAILS = ("class", "model", "scheduler", "from")
_MAX_TEXT = 200


def contender_table(*analyses: RunAnalysis) -> TableData:
    """What the contenders of some runs are: their model, queue, scheduler and version. Columns in which no
    contender has text are left out."""
    contenders: dict[str, list[PlannedContender]] = {}
    for analysis in analyses:
        for name, contender in analysis.contenders.items():
            contenders.setdefault(name, []).append(contender)
    # Of a contender whose program differs from workload to workload, each text once.
    texts = {
        (name, column): ", ".join(dict.fromkeys(filter(None, map(text_of, planned))))
        for name, planned in contenders.items()
        for column, text_of in _COLUMNS.items()
    }
    columns = [column for column in _COLUMNS if any(texts[name, column] for name in contenders)]
    return table(
        "Contenders",
        [
            [("contender", name), *((column, one_line(texts[name, column], _MAX_TEXT)) for column in columns)]
            for name in contenders
        ],
        notes=_years_apart(itertools.chain(*contenders.values())),
        extra=(column for column in _DETAILS if column != "model" or "family" in columns),
    )


def _years_apart(contenders: Iterable[PlannedContender]) -> tuple[str, ...]:
    """A note where runtimes are of different times."""
    released = {each.release.day: platform(each) for each in contenders if each.release}
    oldest, newest = min(released, default=date.max), max(released, default=date.max)
    if (newest - oldest).days < 2 * 365:
        return ()
    return (f"The runtimes are of different times, {released[oldest]} to {released[newest]}.",)


def failure_table(analysis: RunAnalysis) -> TableData | None:
    """Cells that have trials without figures, or lack some, with the reason; below, what the first such
    trial of each contender wrote to stderr, and how to repeat it. None where there are none."""
    rows: list[Row] = []
    notes: dict[str, tuple[str, ...]] = {}
    for cell in (analysis.cells[Cell(name, point)] for point in analysis.points for name in analysis.names):
        failed = {outcome: n for outcome, n in cell.outcomes.items() if outcome is not Outcome.OK}
        if not failed and cell.outcomes and not cell.missing:
            continue
        name, otherwise = cell.cell.contender, "figures missing" if cell.missing else "none measured"
        counts = ", ".join(f"{n} × {outcome}" for outcome, n in failed.items()) or otherwise
        label = analysis.label(cell.cell.point)
        rows.append([("contender", name), ("point", label), ("trials", counts), ("why", cell.reason)])
        notes[name] = notes.get(name) or command.failure_notes(analysis, cell)
    return table("Without figures", rows, notes=itertools.chain(*notes.values())) if rows else None


def overview_table(overview: Overview) -> TableData:
    """A row for each contender, a column for each problem: times the best one's headline, and the rank."""
    return table(
        "Overview",
        [
            [
                ("contender", name),
                *((column.label, _overview_cell(column, name)) for column in overview.columns),
            ]
            for name in overview.names
        ],
        "how many times worse than the best of each problem, and in brackets the ranks it can have; "
        "a contender of another class than the baseline has its class there",
        notes=map(_explanation, overview.columns),
    )


def _overview_cell(column: OverviewColumn, name: str) -> TableCell:
    cell = column.cell(name)
    if cell is None:
        return TableCell("", "quiet")
    if cell.ratio is None:
        return TableCell(str(cell.outcome), "failed") if cell.outcome else cells.ABSENT
    if cell.other_class:
        return TableCell(f"{units.significant(cell.ratio)} [{cell.other_class}]", "number")
    rank = f" [{units.rank_interval(cell.ranks)}]" if cell.ranks else ""
    if cell.is_best:
        return TableCell(f"1{rank}", "faster")
    kind = "faster" if cell.ranks and cell.ranks[0] == 1 else "number"
    return TableCell(f"{units.significant(cell.ratio)}{rank}", kind)


def _explanation(column: OverviewColumn) -> str:
    analysis = column.analysis
    best = analysis.rankings[analysis.headline.name, column.point].order[0]
    value = analysis.cell(best, column.point).metrics.get(analysis.headline.name)
    amount = f"; best: {best}, {units.quantity(value.estimate, analysis.headline.unit)}" if value else ""
    return f"{column.label}: {analysis.headline.noun}{where(analysis, column.point)}{amount}"


_ANSWER_KINDS = {
    Answer.CONFIRMED: "faster",
    Answer.REFUTED: "slower",
    Answer.OTHER_CONDITIONS: "even",
    Answer.INCONCLUSIVE: "even",
    Answer.UNTESTABLE: "quiet",
    Answer.NOT_TESTED: "quiet",
}


def claim_table(examined: Sequence[JudgedClaim]) -> TableData:
    """A row for each claim that was tested: its source, answer, deciding figure, and what was measured."""
    columns = ("source", "claim", "answer", "figure", "measured", "command")
    rows: list[Row] = []
    for each in examined:
        finding = each.finding
        if finding.answer is Answer.NOT_TESTED:
            continue
        figure = cells.interval(finding.figure, finding.unit)
        if finding.figure and not finding.unit:
            figure = TableCell(units.ratio(finding.figure))
        answer = TableCell(str(finding.answer), _ANSWER_KINDS[finding.answer])
        row = (each.source.name, each.claim.text, answer, figure, finding.sentence, each.command)
        rows.append(list(zip(columns, row, strict=True)))
    return table("Claims", rows, claim_summary(examined), columns=columns, narrow=("command", "source"))


def claim_summary(examined: Sequence[JudgedClaim]) -> str:
    """`3 confirmed, 4 refuted, 1 not tested here`."""
    counts = Counter(each.finding.answer for each in examined)
    words = {
        Answer.OTHER_CONDITIONS: "hold under other conditions",
        Answer.UNTESTABLE: "cannot be tested as they were",
    }
    each = (
        f"{count} {words.get(answer, answer) if count > 1 else answer}"
        for answer in Answer
        if (count := counts[answer])
    )
    return ", ".join(each) or "no claims"
