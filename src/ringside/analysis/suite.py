"""The analysis of several runs that are shown together, and of one as the only part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ringside.analysis.claims import ExaminedClaim, examine, sources_of
from ringside.analysis.diagnostics import MACHINE_CODES
from ringside.analysis.overview import Overview, overview
from ringside.analysis.run import RunAnalysis
from ringside.model.results import Diagnostic


@dataclass(frozen=True, slots=True)
class SuiteAnalysis:
    """At least one run. `machine_diagnostics`: those that concern the machine, each once, as the first run
    that has it has it. `claims`: of the sources of these runs, tested with them."""

    runs: tuple[RunAnalysis, ...]
    overview: Overview
    machine_diagnostics: tuple[Diagnostic, ...]
    claims: tuple[ExaminedClaim, ...]


def analyse_suite(runs: Sequence[RunAnalysis]) -> SuiteAnalysis:
    """The analysis of runs, at least one, in the order in which they are shown."""
    of_machine: dict[str, Diagnostic] = {}
    for run in runs:
        for each in run.diagnostics:
            if each.code in MACHINE_CODES:
                of_machine.setdefault(each.code, each)
    return SuiteAnalysis(
        tuple(runs), overview(runs), tuple(of_machine.values()), examine(sources_of(runs), runs)
    )
