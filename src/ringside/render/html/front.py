"""The front of the page: the question, the answers, and of several runs the overview."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ringside import units
from ringside.analysis.overview import Overview, OverviewColumn, overview
from ringside.analysis.run import RunAnalysis
from ringside.model.results import Outcome
from ringside.render.answers import answers
from ringside.render.command import command
from ringside.render.html import facts

# The shares of a table's length at which a rank gets another tint.
_TINTS = 4


def front(analyses: Sequence[RunAnalysis]) -> dict[str, Any]:
    """What the template shows before the problems."""
    suites = {analysis.plan.suite["id"]: analysis.plan.suite for analysis in analyses if analysis.plan.suite}
    of_one_suite = len(suites) == 1 and all(analysis.plan.suite for analysis in analyses)
    single = analyses[0] if len(analyses) == 1 else None
    begun = min(analysis.run.started_at for analysis in analyses)
    return {
        "title": single.experiment.title if single else _title(analyses, of_one_suite),
        "question": single.experiment.note.strip() if single else "",
        "answers": [
            {
                "problem": "" if single else analysis.experiment.title,
                "anchor": f"run-{number}",
                "sentences": answers(analysis),
            }
            for number, analysis in enumerate(analyses, 1)
        ],
        "overview": None if single else _overview(overview(analyses)),
        "machines": list(dict.fromkeys(facts.machine(analysis.run.host) for analysis in analyses)),
        "commands": list(dict.fromkeys(command(analysis) for analysis in analyses)),
        "begun": begun[:16].replace("T", " "),
        "blocks": sum(analysis.blocks_done for analysis in analyses),
        "trials": sum(analysis.trial_count for analysis in analyses),
    }


def _title(analyses: Sequence[RunAnalysis], of_one_suite: bool) -> str:
    suite = analyses[0].plan.suite
    if of_one_suite and suite:
        return f"{str(suite['name'])[:1].upper()}{str(suite['name'])[1:]}: {len(analyses)} experiments"
    return f"{len(analyses)} experiments"


def _overview(of: Overview) -> dict[str, Any]:
    kinds = {name: _kinds(of, name) for name in of.names}
    return {
        "columns": [
            {"label": column.label, "anchor": f"run-{number}", "explained": _explained(column)}
            for number, column in enumerate(of.columns, 1)
        ],
        "kinds": sorted({kind for each in kinds.values() for kind in each}),
        "rows": [
            {
                "name": name,
                "kinds": kinds[name],
                "cells": [_cell(column, name) for column in of.columns],
            }
            for name in of.names
        ],
    }


def _kinds(of: Overview, name: str) -> list[str]:
    """The classes that a contender has in these runs."""
    return sorted({column.analysis.kind(name) for column in of.columns if name in column.analysis.names})


def _explained(column: OverviewColumn) -> str:
    where = f" at {column.analysis.label(column.point)}" if len(column.analysis.points) > 1 else ""
    return f"{column.analysis.headline.noun}{where}"


def _cell(column: OverviewColumn, name: str) -> dict[str, Any]:
    """`sort`: by the ratio; cells without one are last. `tint`: from 0, the best ranks, to 3."""
    analysis = column.analysis
    if name not in analysis.names:
        return {"text": "", "small": "", "sort": 1e300, "tint": "none"}
    ranking = analysis.rankings[analysis.headline.name, column.point]
    ratio = column.behind(name)
    if ratio is None:
        outcomes = analysis.cell(name, column.point).outcomes
        failed = next((str(each) for each in outcomes if each is not Outcome.OK), "–")
        return {"text": failed, "small": "", "sort": 1e299, "tint": "failed"}
    if name not in ranking.ranks:
        return {
            "text": units.significant(ratio),
            "small": analysis.kind(name),
            "sort": ratio,
            "tint": "none",
        }
    low, high = ranking.ranks[name]
    last = max(each[1] for each in ranking.ranks.values())
    share = ((low + high) / 2 - 1) / max(1, last - 1)
    return {
        "text": "1" if name == ranking.order[0] else units.significant(ratio),
        "small": units.rank_interval((low, high)),
        "sort": ratio,
        "tint": "0" if low == 1 else str(min(_TINTS - 1, int(share * _TINTS))),
    }
