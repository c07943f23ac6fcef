"""The analysis of a run: everything that any form of output shows, computed when it is first used."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from ringside.analysis import distributions, plausibility
from ringside.analysis.answers import Conclusion, caveats, conclude
from ringside.analysis.diagnostics import MACHINE_CODES, diagnose, references, years_apart
from ringside.analysis.figures import RunFigures
from ringside.analysis.published import ThenAndNow, then_and_now
from ringside.analysis.scaling import analyse_breakdown, analyse_growth, analyse_slopes, over_cores
from ringside.model.design import Cell
from ringside.model.results import Diagnostic, Run, Timeline, Trial
from ringside.probe.protocol import Span
from ringside.store import Store
from ringside.store.plans import read_plan
from ringside.workloads import measurement as find_measurement


class RunAnalysis(RunFigures):
    """A whole run. `sources`: files' texts by hash, if stored; `is_held`: a process still works on it."""

    def __init__(
        self, run: Run, trials: Sequence[Trial], sources: Mapping[str, str] = {}, *, is_held: bool = False
    ) -> None:
        super().__init__(run, trials)
        self.sources, self.is_held = sources, is_held

    def program(self, contender: str) -> Mapping[str, str]:
        """The texts of a contender's files by path; without those that were not stored."""
        files = self.contenders[contender].files
        return {path: self.sources[digest] for path, digest in files.items() if digest in self.sources}

    # Other modules compute these, each on first use.
    machines = cached_property(distributions.analyse_machines)
    description = distributions.description
    descriptions = cached_property(distributions.descriptions)
    over_points = distributions.over_points
    load_totals = cached_property(distributions.load_totals)
    percentiles = cached_property(distributions.analyse_percentiles)
    slopes = cached_property(analyse_slopes)
    cores_scaling = cached_property(over_cores)
    growth = cached_property(analyse_growth)
    breakdown = cached_property(analyse_breakdown)
    warm_ups = cached_property(distributions.analyse_warm_ups)

    @property
    def modes(self) -> Mapping[Cell, tuple[float, float]]:
        """The cells whose headline has two modes, and these."""
        return self.examination.modes(self.headline.name)

    @cached_property
    def then_and_now(self) -> tuple[ThenAndNow, ...]:
        """The source's figures beside those of this run, where its experiment names one."""
        return then_and_now(self.plan.published, self) if self.plan.published else ()

    @cached_property
    def timelines(self) -> Mapping[Cell, Timeline]:
        """The timelines of the trials with the median headline; their samples are read from the store."""
        lines = {cell: self.measurement.timeline_of(trial) for cell, trial in self.median_trials.items()}
        return {cell: line for cell, line in lines.items() if line}

    @cached_property
    def spans(self) -> Mapping[Cell, tuple[Span, ...]]:
        """The spans of the trials with the median headline."""
        return {cell: trial.spans for cell, trial in self.median_trials.items() if trial.spans}

    @cached_property
    def _of_figures(self) -> tuple[Diagnostic, ...]:
        return (
            *plausibility.implausible(self, self.slopes),
            *plausibility.beyond_floor(self),
            *diagnose(self, self.modes, is_held=self.is_held),
            *years_apart(self.contenders.values()),
        )

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Implausible figures first, then weak points of figures, then other influences on the answer."""
        return (*self._of_figures, *caveats(self.conclusion))

    @property
    def own_diagnostics(self) -> tuple[Diagnostic, ...]:
        """The diagnostics without those of the machine, which are the same in every run of a suite."""
        return tuple(each for each in self.diagnostics if each.code not in MACHINE_CODES)

    @property
    def implausible(self) -> frozenset[str]:
        """The contenders with figures that no honest program can have."""
        flagged = (each for each in self._of_figures if each.code in plausibility.CODES)
        return frozenset(name for each in flagged for name in each.subjects)

    @cached_property
    def conclusion(self) -> Conclusion:
        return conclude(self, self._of_figures, self.warm_ups)

    @cached_property
    def references_ns(self) -> Mapping[str, Mapping[int, float]]:
        """By reference computation and block, how long it took."""
        return references(self.trials)


def analysis_of(store: Store, run: Run) -> RunAnalysis:
    plan = read_plan(run)
    needs_samples = find_measurement(plan.experiment.workload).timeline_view is not None
    hashes = {digest for contender in plan.contenders.values() for digest in contender.files.values()}
    analysis = RunAnalysis(
        run,
        store.trials(run, samples=needs_samples),
        store.sources(sorted(hashes)),
        is_held=run.ended_at is None and store.is_held(run.id),
    )
    # Samples can be read as long as the store is open, so timelines are made now.
    _ = analysis.timelines
    return analysis
