"""The front of the page: the question, the answers, and of several runs the overview."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import Overview, OverviewColumn, SuiteAnalysis
from ringside.render.html.pictures import questions_of_page
from ringside.render.text import heading
from ringside.render.text.answers import answers
from ringside.render.text.command import command, own_command
from ringside.render.text.words import listed, where
from ringside.store.plans import KeptSelection
from ringside.text import capitalised, minute

# The shares of a table's length at which a rank gets another tint.
_TINTS = 4


def front(suite: SuiteAnalysis) -> dict[str, Any]:
    """What the template shows before the problems."""
    analyses, is_single = suite.runs, len(suite.runs) == 1
    note = analyses[0].experiment.note.strip() if is_single else _note(analyses)
    return {
        "title": title(analyses),
        "question": note.split("\n\n"),
        "answers": [
            {
                "problem": "" if is_single else analysis.experiment.title,
                "anchor": f"run-{number}",
                "sentences": answers(analysis),
            }
            for number, analysis in enumerate(analyses, 1)
        ],
        "questions": questions_of_page(suite.answers),
        "overview": None if is_single else _overview(suite.overview),
        "machines": list(dict.fromkeys(heading.machine(analysis.run.host) for analysis in analyses)),
        "commands": commands(analyses),
        "begun": minute(min(analysis.run.started_at for analysis in analyses)),
        "trials": sum(analysis.trial_count for analysis in analyses),
    }


def title(analyses: Sequence[RunAnalysis]) -> str:
    """The title of one run, or of several: that of their suite or experiment, where they have one."""
    suite = _suite(analyses) if len(analyses) > 1 else None
    if suite and (own := suite.get("title", "")):
        return own
    titles = {analysis.experiment.title for analysis in analyses}
    if len(titles) == 1:
        return titles.pop() + (f", {len(analyses)} runs" if len(analyses) > 1 else "")
    name = f"{capitalised(Path(suite['name']).stem)}: " if suite else ""
    return f"{name}{len(analyses)} experiments"


def commands(analyses: Sequence[RunAnalysis]) -> list[str]:
    """The commands that make these runs again, each once."""
    if len(analyses) == 1:
        return [own_command(analyses[0])]
    return list(dict.fromkeys(command(analysis) for analysis in analyses))


def _suite(analyses: Sequence[RunAnalysis]) -> KeptSelection | None:
    """The suite of which all of these runs are parts."""
    suites = [analysis.plan.suite for analysis in analyses]
    first = suites[0]
    return first if first and all(each and each["id"] == first["id"] for each in suites) else None


def _note(analyses: Sequence[RunAnalysis]) -> str:
    """What several runs answer: the note of their suite; of runs that have none, what they compare."""
    suite = _suite(analyses)
    if suite and (note := suite.get("note", "").strip()):
        return note
    problems = list(dict.fromkeys(analysis.measurement.name for analysis in analyses))
    names = {name for analysis in analyses for name in analysis.names}
    return f"What does each of {units.count(len(names), 'contender')} cost in {listed(problems, most=None)}?"


def _overview(overview: Overview) -> dict[str, Any]:
    # The classes that each contender has in these runs.
    kinds = {
        name: sorted({each.analysis.kind(name) for each in overview.columns if name in each.analysis.names})
        for name in overview.names
    }
    return {
        "columns": [
            {
                "label": each.label,
                "anchor": f"run-{number}",
                "explained": f"{each.analysis.headline.noun}{where(each.analysis, each.point)}",
            }
            for number, each in enumerate(overview.columns, 1)
        ],
        "kinds": sorted(set().union(*kinds.values())),
        "rows": [
            {"name": name, "kinds": kinds[name], "cells": [_cell(each, name) for each in overview.columns]}
            for name in overview.names
        ],
    }


def _cell(column: OverviewColumn, name: str) -> dict[str, Any]:
    """`sort`: by the ratio; cells without one are last. `tint`: from 0, the best ranks, to 3."""
    cell = column.cell(name)
    if cell is None:
        return {"text": "", "small": "", "sort": 1e300, "tint": "none"}
    if cell.ratio is None:
        return {"text": str(cell.outcome or "–"), "small": "", "sort": 1e299, "tint": "failed"}
    return {
        "text": "1" if cell.is_best else units.significant(cell.ratio),
        "small": units.rank_interval(cell.ranks) if cell.ranks else cell.other_class,
        "sort": cell.ratio,
        "tint": _tint(column, cell.ranks, cell.ratio) if cell.ranks else "none",
    }


def _tint(column: OverviewColumn, ranks: tuple[int, int], ratio: float) -> str:
    """That of a rank; none for a difference within the margin, whatever its rank."""
    low, high = ranks
    if low > 1 and ratio <= 1 + column.analysis.experiment.margin:
        return "none"
    of_all = column.analysis.rankings[column.analysis.headline.name, column.point].ranks.values()
    share = ((low + high) / 2 - 1) / max(1, max(last for _, last in of_all) - 1)
    return "0" if low == 1 else str(min(_TINTS - 1, int(share * _TINTS)))
