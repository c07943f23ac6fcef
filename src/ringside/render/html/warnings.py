"""Warnings that several runs have, each once with what it says of each run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ringside.analysis.run import RunAnalysis
from ringside.render.diagnostics import for_pages


@dataclass(frozen=True, slots=True)
class WarningOfRun:
    """What a warning says of one run. `anchor`: of the run's section; `remedy`: empty where all have the
    same."""

    experiment: str
    anchor: str
    text: str
    remedy: str


@dataclass(frozen=True, slots=True)
class SharedWarning:
    """A warning of at least two runs. `remedy`: that of all of them; empty where they differ."""

    code: str
    remedy: str
    of_runs: tuple[WarningOfRun, ...]


def shared_warnings(analyses: Sequence[RunAnalysis]) -> list[SharedWarning]:
    """The warnings of more than one run, in the order in which they first occur."""
    by_code: dict[str, list[WarningOfRun]] = {}
    for number, analysis in enumerate(analyses, 1):
        for each in for_pages(analysis.own_diagnostics):
            row = WarningOfRun(analysis.experiment.name, f"run-{number}", each["text"], each["remedy"])
            by_code.setdefault(each["code"], []).append(row)
    return [_shared(code, rows) for code, rows in by_code.items() if len({each.anchor for each in rows}) > 1]


def _shared(code: str, rows: Sequence[WarningOfRun]) -> SharedWarning:
    remedies = {each.remedy for each in rows}
    if len(remedies) > 1:
        return SharedWarning(code, "", tuple(rows))
    of_runs = (WarningOfRun(each.experiment, each.anchor, each.text, "") for each in rows)
    return SharedWarning(code, remedies.pop(), tuple(of_runs))
