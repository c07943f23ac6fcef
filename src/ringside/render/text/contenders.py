"""Tables of contenders, problems × contenders, and claims with their answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date

from ringside import units
from ringside.analysis.answers import YEARS_APART
from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import JudgedClaim, Overview, OverviewColumn
from ringside.model.design import Cell
from ringside.model.results import Answer, ClaimResult, Outcome
from ringside.render.text import cells, command
from ringside.render.text.answers import platform
from ringside.render.text.cells import TableCell, TableData
from ringside.render.text.heading import headline
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
# Characters of a text that a manifest has; plans of earlier versions have no bound.
_MAX_TEXT = 200


def contender_table(*analyses: RunAnalysis) -> TableData:
    """What the contenders of some runs are: their model, queue, scheduler and version. Columns in which no
    contender has text are left out."""
    contenders = {name: contender for analysis in analyses for name, contender in analysis.contenders.items()}
    columns = [column for column, text_of in _COLUMNS.items() if any(map(text_of, contenders.values()))]

    def text_of(column: str, name: str) -> str:
        """Of a contender whose program differs from workload to workload, each text once."""
        texts = (
            _COLUMNS[column](analysis.contenders[name])
            for analysis in analyses
            if name in analysis.contenders
        )
        return one_line(", ".join(dict.fromkeys(filter(None, texts))), _MAX_TEXT)

    rows = tuple(
        (cells.text(name), *(cells.text(text_of(column, name)) for column in columns)) for name in contenders
    )
    return TableData(
        "Contenders",
        ("contender", *columns),
        rows,
        notes=_years_apart(contenders.values()),
        extra=tuple(column for column in _DETAILS if column != "model" or "family" in columns),
    )


def _years_apart(contenders: Iterable[PlannedContender]) -> tuple[str, ...]:
    """A note where runtimes are of different times."""
    released = {each.release.day: platform(each) for each in contenders if each.release}
    oldest, newest = min(released, default=date.max), max(released, default=date.max)
    if (newest - oldest).days < YEARS_APART:
        return ()
    return (f"The runtimes are of different times, {released[oldest]} to {released[newest]}.",)


def failure_table(analysis: RunAnalysis) -> TableData | None:
    """Cells that have trials without figures, or lack some, with the reason; below, what the first such
    trial of each contender wrote to stderr, and how to repeat it. None where there are none."""
    rows = []
    notes: dict[str, tuple[str, ...]] = {}
    for point in analysis.points:
        for name in analysis.names:
            cell = analysis.cells[Cell(name, point)]
            failed = {outcome: n for outcome, n in cell.outcomes.items() if outcome is not Outcome.OK}
            if failed or not cell.outcomes or cell.missing:
                counts = ", ".join(f"{n} × {outcome}" for outcome, n in failed.items())
                if not failed:
                    counts = "figures missing" if cell.missing else "none measured"
                rows.append(tuple(map(cells.text, (name, analysis.label(point), counts, cell.reason))))
                if name not in notes and (lines := command.failure_notes(analysis, cell)):
                    notes[name] = lines
    if not rows:
        return None
    return TableData(
        "Without figures",
        ("contender", "point", "trials", "why"),
        tuple(rows),
        notes=tuple(line for lines in notes.values() for line in lines),
    )


def overview_table(overview: Overview) -> TableData:
    """A row for each contender, a column for each problem: times the best one's headline, and the rank."""
    return TableData(
        "Overview",
        ("contender", *(column.label for column in overview.columns)),
        tuple(
            (cells.text(name), *(_overview_cell(column, name) for column in overview.columns))
            for name in overview.names
        ),
        subtitle="how many times worse than the best of each problem, and in brackets the ranks it can have; "
        "a contender of another class than the baseline has its class there",
        notes=tuple(_explanation(column) for column in overview.columns),
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
    amount = f"; best: {best}, {units.metric_estimate(value, analysis.headline)}" if value else ""
    return f"{column.label}: {headline(column)}{amount}"


_ANSWER_KINDS = {
    Answer.CONFIRMED: "faster",
    Answer.REFUTED: "slower",
    Answer.OTHER_CONDITIONS: "even",
    Answer.INCONCLUSIVE: "even",
    Answer.UNTESTABLE: "quiet",
    Answer.NOT_TESTED: "quiet",
}


def claim_table(examined: Sequence[JudgedClaim]) -> TableData:
    """A row for each claim: who made it, its answer, the figure that decides, and what was measured."""
    return TableData(
        "Claims",
        ("source", "claim", "answer", "figure", "measured", "command"),
        tuple(
            (
                cells.text(each.source.name),
                cells.text(each.claim.text),
                TableCell(str(each.finding.answer), _ANSWER_KINDS[each.finding.answer]),
                _claim_figure(each.finding),
                cells.text(each.finding.sentence),
                cells.text(each.command),
            )
            for each in examined
        ),
        subtitle=claim_summary(examined),
        narrow=("command", "source"),
    )


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


def _claim_figure(finding: ClaimResult) -> TableCell:
    if finding.figure is None:
        return cells.ABSENT
    if finding.unit:
        return TableCell(units.with_interval(finding.figure, finding.unit))
    return TableCell(units.ratio(finding.figure))
