"""The claims of sources, tested with the analyses of runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ringside.analysis.run import RunAnalysis
from ringside.model.catalogue import Claim, Published
from ringside.model.claims import Finding
from ringside.workloads import WORKLOADS
from ringside.workloads.claims import AnalysedRun, not_tested


@dataclass(frozen=True, slots=True)
class ExaminedClaim:
    """A claim of a source and its answer."""

    source: Published
    claim: Claim
    finding: Finding

    @property
    def command(self) -> str:
        """What tests the claim; empty where nothing can."""
        return f"ringside run {self.finding.experiment}" if self.finding.experiment else ""


def examine(sources: Iterable[Published], runs: Sequence[AnalysedRun]) -> tuple[ExaminedClaim, ...]:
    """All claims of the sources, in their order."""
    return tuple(
        ExaminedClaim(source, claim, _test(source, claim, runs))
        for source in sources
        for claim in source.claims
        if claim.id  # Plans of earlier versions have claims in words alone.
    )


def sources_of(analyses: Iterable[RunAnalysis]) -> tuple[Published, ...]:
    """The sources of runs, as they were when the runs were made, each once."""
    sources = {
        analysis.plan.published.name: analysis.plan.published
        for analysis in analyses
        if analysis.plan.published is not None
    }
    return tuple(sources[name] for name in sorted(sources))


def _test(source: Published, claim: Claim, runs: Sequence[AnalysedRun]) -> Finding:
    tests = WORKLOADS[claim.workload].claims if claim.workload in WORKLOADS else {}
    test = tests.get(f"{source.name}/{claim.id}")
    # A claim of a run that another version made; the catalogue's own all have tests.
    return test(runs) if test else not_tested("this ringside has no test of it")
