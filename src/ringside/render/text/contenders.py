"""Tables of contenders, problems × contenders, and claims with their answers."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from operator import attrgetter

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import JudgedClaim, Overview, OverviewColumn
from ringside.model.design import grouped
from ringside.model.results import Answer, ClaimResult
from ringside.render.text import cells, command
from ringside.render.text.cells import Row, TableCell, TableData, plain_table, table
from ringside.render.text.words import NO_VERDICT, TOO_CLOSE, where
from ringside.store.plans import PlannedContender
from ringside.text import one_line


def runs_on(contender: PlannedContender) -> str:
    """`Python 3.13.2 (2024)`; nothing for commands and URLs."""
    state = ", not built" if contender.version and contender.unavailable else ""
    return f"{contender.described}{state}" if contender.runs_on else ""


_COLUMNS: dict[str, Callable[[PlannedContender], str]] = {
    # Commands and URLs have no manifest.
    "what": lambda contender: "" if runs_on(contender) else contender.title,
    "class": lambda contender: contender.kind if runs_on(contender) else "",
    **{name: attrgetter(name) for name in ("family", "model", "queue", "scheduler")},
    "runs on": runs_on,
    "from": attrgetter("origin"),
}


_MAX_TEXT = 200


def contender_table(*analyses: RunAnalysis) -> TableData:
    """The contenders' properties: model, queue, scheduler, version. Columns without text are left out."""
    contenders = grouped(each for analysis in analyses for each in analysis.contenders.items())
    # If a contender's program differs from workload to workload, each text once.
    texts = {
        (name, column): ", ".join(dict.fromkeys(filter(None, map(text_of, planned))))
        for name, planned in contenders.items()
        for column, text_of in _COLUMNS.items()
    }
    columns = [column for column in _COLUMNS if any(texts[name, column] for name in contenders)]
    rows: list[Row] = [
        [("contender", name), *((column, one_line(texts[name, column], _MAX_TEXT)) for column in columns)]
        for name in contenders
    ]
    return table("Contenders", rows)


def failure_table(analysis: RunAnalysis) -> TableData | None:
    """Cells that lack trials or figures: the reason, the first stderr, how to repeat. None without any."""
    rows: list[Row] = []
    notes: dict[str, tuple[str, ...]] = {}
    for cell in analysis.cells.values():
        if cell.outcomes and not cell.failures and not cell.missing:
            continue
        name, otherwise = cell.cell.contender, "figures missing" if cell.missing else "none measured"
        counts = ", ".join(f"{n} × {outcome}" for outcome, n in cell.failures.items()) or otherwise
        label = analysis.label(cell.cell.point)
        rows.append([("contender", name), ("point", label), ("trials", counts), ("why", cell.reason)])
        notes[name] = notes.get(name) or command.failure_notes(analysis, cell)
    return table("Without figures", rows, notes=itertools.chain(*notes.values())) if rows else None


def overview_table(overview: Overview) -> TableData:
    """A row per contender, a column per problem: how many times the best headline. Without the floors."""
    rows: list[Row] = [
        [("program", name), *((column.label, _overview_cell(column, name)) for column in overview.columns)]
        for name in overview.names
        if not any(name == column.analysis.floor for column in overview.columns)
    ]
    title = "Times the best of each problem; * may be first"
    return table(title, rows, notes=map(_explanation, overview.columns))


def _overview_cell(column: OverviewColumn, name: str) -> TableCell:
    cell = column.cell(name)
    if cell is None:
        return TableCell("", "quiet")
    if cell.ratio is None:
        return TableCell(str(cell.outcome), "failed") if cell.outcome else cells.ABSENT
    ratio = "1" if cell.ratio == 1 else units.significant(cell.ratio, 2)
    may_be_first = cell.ranks and cell.ranks[0] == 1
    mark = f" {cell.other_class}" if cell.other_class else "*" if may_be_first else ""
    return TableCell(ratio + mark, "faster" if may_be_first else "number")


def _explanation(column: OverviewColumn) -> str:
    analysis = column.analysis
    best = analysis.rankings[analysis.headline.name, column.point].order[0]
    value = analysis.figure(best, column.point)
    amount = f"; best: {best}, {units.quantity(value.estimate, analysis.headline.unit)}" if value else ""
    return f"{column.label}: {analysis.headline.noun}{where(analysis, column.point)}{amount}"


# The kind of each answer's cell, and the answer of several claims where that reads otherwise.
_ANSWERS: dict[str, tuple[str, str]] = {
    Answer.CONFIRMED: ("faster", ""),
    Answer.REFUTED: ("slower", ""),
    Answer.OTHER_CONDITIONS: ("even", "hold under other conditions"),
    Answer.FAILS_OTHERWISE: ("even", "fail under other conditions"),
    TOO_CLOSE: ("even", ""),
    NO_VERDICT: ("quiet", ""),
    Answer.UNTESTABLE: ("quiet", "cannot be tested as they were"),
    Answer.NOT_TESTED: ("quiet", ""),
}


def claim_table(examined: Sequence[JudgedClaim]) -> TableData:
    """A row for each claim that was tested: its source, answer, deciding figure, and the measurement."""
    columns = ("source", "claim", "answer", "figure", "measured", "command")
    rows: list[Sequence[TableCell | str]] = []
    for each in examined:
        finding = each.finding
        if finding.answer is Answer.NOT_TESTED:
            continue
        figure = cells.interval(finding.figure, finding.unit)
        if finding.figure and not finding.unit:
            figure = TableCell(units.ratio(finding.figure))
        answer = TableCell(text := _answer_text(finding), _ANSWERS[text][0])
        texts = (each.source.name, each.claim.text, answer, figure, finding.sentence, each.command or "–")
        rows.append(texts)
    return plain_table("Claims", columns, rows, claim_summary(examined), narrow=("command", "source"))


def claim_summary(examined: Sequence[JudgedClaim]) -> str:
    """`3 confirmed, 4 refuted, 1 not tested here`."""
    counts = Counter(_answer_text(each.finding) for each in examined)
    found = {text: count for text in _ANSWERS if (count := counts[text])}
    each = (f"{count} {(count > 1 and _ANSWERS[text][1]) or text}" for text, count in found.items())
    return ", ".join(each) or "no claims"


def _answer_text(finding: ClaimResult) -> str:
    if finding.answer is not Answer.INCONCLUSIVE:
        return str(finding.answer)
    return TOO_CLOSE if finding.figure and finding.figure.low is not None else NO_VERDICT
