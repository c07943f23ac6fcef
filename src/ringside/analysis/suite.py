"""Runs that are shown together: overview, claims of their sources, what they have in common."""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import stdev
from typing import NamedTuple

from ringside.analysis.diagnostics import MACHINE_CODES
from ringside.analysis.families import QuestionAnswer, answer
from ringside.analysis.figures import verdict_of
from ringside.analysis.run import RunAnalysis
from ringside.model.catalogue import Claim, Published, Question
from ringside.model.design import Metric, Point, grouped
from ringside.model.results import ClaimResult, Comparison, Diagnostic, Obstacle, Outcome, Verdict
from ringside.stats.interval import exponential
from ringside.stats.sequential import ERROR_RATE
from ringside.stats.unpaired import shift_of_runs
from ringside.workloads.claims import AnalysedRun, evaluate


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """A claim of a source and its answer."""

    source: Published
    claim: Claim
    finding: ClaimResult

    @property
    def command(self) -> str:
        """The command that tests the claim; empty if nothing can."""
        return f"ringside run {self.finding.experiment}" if self.finding.experiment else ""


def judge_claims(sources: Iterable[Published], runs: Sequence[AnalysedRun]) -> tuple[JudgedClaim, ...]:
    """All claims of the sources, in their order."""
    return tuple(
        JudgedClaim(source, claim, evaluate(claim.test, source.name, claim.workload, runs))
        for source in sources
        for claim in source.claims
    )


def sources_of(analyses: Iterable[RunAnalysis]) -> tuple[Published, ...]:
    """The sources of runs, as they were when the runs were made, each once."""
    sources = {source.name: source for each in analyses if (source := each.plan.published)}
    return tuple(sources[name] for name in sorted(sources))


@dataclass(frozen=True, slots=True)
class OverviewCell:
    """A contender in a problem. `ratio`: see `times_worse`. `ranks`: first and last possible one; None
    without a figure and in another class, which `other_class` names. `outcome`: of its first failure."""

    ratio: float | None
    ranks: tuple[int, int] | None
    other_class: str
    outcome: Outcome | None


@dataclass(frozen=True, slots=True)
class OverviewColumn:
    """A run at its overview point. `label`: the problem, or the experiment if two have the same problem."""

    label: str
    analysis: RunAnalysis
    point: Point

    def cell(self, name: str) -> OverviewCell | None:
        """The facts known about a contender; None if it does not take part."""
        if name not in self.analysis.names:
            return None
        ranking = self.analysis.rankings[self.analysis.headline.name, self.point]
        kind = self.analysis.kind(name)
        is_other = kind != self.analysis.kind(ranking.order[0])
        return OverviewCell(
            ratio=self.analysis.times_worse(name, self.point),
            ranks=None if is_other else ranking.ranks.get(name),
            other_class=kind if is_other else "",
            outcome=next(iter(self.analysis.cell(name, self.point).failures), None),
        )


@dataclass(frozen=True, slots=True)
class Overview:
    """All contenders of some runs, in the order in which they are first named."""

    columns: tuple[OverviewColumn, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for column in self.columns for name in column.analysis.names))

    @property
    def kinds(self) -> dict[str, list[str]]:
        """The classes that each contender has in these runs."""
        runs = [column.analysis for column in self.columns]
        return {name: sorted({run.kind(name) for run in runs if name in run.names}) for name in self.names}


def overview(analyses: Sequence[RunAnalysis]) -> Overview:
    """The overview of some runs, at least one."""
    problems = [analysis.measurement.name for analysis in analyses]
    distinct = len(set(problems)) == len(problems)
    labels = problems if distinct else [analysis.experiment.name for analysis in analyses]
    pairs = zip(labels, analyses, strict=True)
    return Overview(tuple(OverviewColumn(label, each, each.overview_point) for label, each in pairs))


class SessionRatio(NamedTuple):
    """A pair over several sessions, the ratio in each, and the share by which the ratios differ."""

    metric: Metric
    over: Comparison
    ratios: Sequence[float]
    deviation: float


def sessions_of(runs: Iterable[RunAnalysis]) -> list[list[RunAnalysis]]:
    of_sessions = (run for run in runs if run.is_over and run.pairs and run.run.suite.get("sessions", 1) > 1)
    by_name = grouped((run.experiment.name, run) for run in of_sessions)
    return [each for each in by_name.values() if len(each) > 1]


def over_sessions(runs: Sequence[RunAnalysis]) -> Iterator[SessionRatio]:
    """Each pair in each metric over an experiment's sessions: the mean of log ratios with Student's interval,
    Bonferroni-corrected for a metric's pairs; without pairs of one session."""
    first = runs[0]
    pairs = [*itertools.product(first.points, first.pairs)]
    for metric, (point, pair) in itertools.product(first.metrics, pairs):
        each = [comparison for run in runs if (comparison := run.comparison(metric, *pair, point))]
        ratios = [comparison.ratio.estimate for comparison in each]
        if len(ratios) < 2:
            continue
        logs = [*map(math.log, ratios)]
        ratio = exponential(shift_of_runs(logs, confidence=1 - ERROR_RATE / len(pairs)))
        own = {comparison.obstacle for comparison in each} - {Obstacle.TOO_FEW_BLOCKS, Obstacle.SAME_VALUES}
        obstacle = next((each for each in Obstacle if each in own), None)
        if len(each) < len(runs) or len({*ratios}) == 1:
            obstacle = Obstacle.SAME_VALUES if len(each) == len(runs) else Obstacle.FAILED_BLOCKS
        verdict = Verdict.INCONCLUSIVE if obstacle else verdict_of(ratio, metric, first.experiment.margin)
        over = Comparison(point, metric.name, *pair, ratio, verdict, 1.0, obstacle)
        yield SessionRatio(metric, over, ratios, math.expm1(stdev(logs)))


@dataclass(frozen=True, slots=True)
class SuiteAnalysis:
    """At least one run. `machine_diagnostics`: warnings about the machine, each once, of the first run
    that has it. `claims`: of the runs' sources, tested by these runs. `sessions`: for each experiment with
    several, its first run, and the ratios over all of them."""

    runs: tuple[RunAnalysis, ...]
    overview: Overview
    machine_diagnostics: tuple[Diagnostic, ...]
    claims: tuple[JudgedClaim, ...]
    answers: tuple[QuestionAnswer, ...]
    sessions: tuple[tuple[RunAnalysis, tuple[SessionRatio, ...]], ...] = ()


def analyse_suite(runs: Sequence[RunAnalysis], questions: Iterable[Question] = ()) -> SuiteAnalysis:
    """The analysis of runs, at least one, in the order in which they are shown."""
    own = (each for run in runs for each in run.diagnostics if each.code in MACHINE_CODES)
    of_machine = grouped((each.code, each) for each in own)
    return SuiteAnalysis(
        tuple(runs),
        overview(runs),
        tuple(first for first, *_ in of_machine.values()),
        judge_claims(sources_of(runs), runs),
        answer(questions, runs),
        tuple((sessions[0], tuple(over_sessions(sessions))) for sessions in sessions_of(runs)),
    )
