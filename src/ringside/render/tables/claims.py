"""The table of claims and their answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ringside import units
from ringside.analysis.suite import ExaminedClaim
from ringside.model.claims import Answer, Finding
from ringside.render.table import TableCell, TableData
from ringside.render.tables import cells

_KINDS = {
    Answer.CONFIRMED: "faster",
    Answer.REFUTED: "slower",
    Answer.INCONCLUSIVE: "even",
    Answer.NOT_TESTED: "quiet",
}


def table(examined: Sequence[ExaminedClaim]) -> TableData:
    """A row for each claim: who made it, its answer, the figure that decides, and what was measured."""
    return TableData(
        "Claims",
        ("source", "claim", "answer", "figure", "measured", "command"),
        tuple(
            (
                cells.text(each.source.name),
                cells.text(each.claim.text),
                TableCell(str(each.finding.answer), _KINDS[each.finding.answer]),
                _figure(each.finding),
                cells.text(each.finding.sentence),
                cells.text(each.command),
            )
            for each in examined
        ),
        subtitle=summary(examined),
        narrow=("command", "source"),
    )


def summary(examined: Sequence[ExaminedClaim]) -> str:
    """`3 confirmed, 4 refuted, 1 not tested here`."""
    counts = Counter(each.finding.answer for each in examined)
    return ", ".join(f"{counts[answer]} {answer}" for answer in Answer if counts[answer]) or "no claims"


def _figure(finding: Finding) -> TableCell:
    if finding.figure is None:
        return cells.ABSENT
    if finding.unit:
        return TableCell(units.with_interval(finding.figure, finding.unit))
    return TableCell(units.ratio(finding.figure))
