"""Cells: how their trials ended, and their metrics over the `ok` ones."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ringside.model.design import NS_OF, Cell
from ringside.model.results import Interval, Outcome, Trial
from ringside.stats.interval import is_positive_finite, median_interval
from ringside.stats.samples import MergedPercentile
from ringside.stats.series import SteadyState, steady_state
from ringside.workloads.base import Measurement
from ringside.workloads.process import FIRST_ANSWER, FIRST_OVER_STEADY, STEADY_AFTER

# A verdict over the remaining blocks would favour a contender that fails when it is slow.
MAX_FAILED_SHARE = 0.10


@dataclass(frozen=True, slots=True)
class CellAnalysis:
    """One cell. `metrics`: medians over blocks; `by_block`: their values. `reason`, `stderr`: of trials
    without figures; `missing`: why `ok` trials lack metrics. These three are hostile texts."""

    cell: Cell
    outcomes: Mapping[Outcome, int]
    metrics: Mapping[str, Interval]
    by_block: Mapping[str, Mapping[int, float]]
    reason: str = ""
    stderr: str = ""
    missing: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_figures(self) -> bool:
        return bool(self.metrics)

    def values(self, metric: str) -> Mapping[int, float]:
        """The metric by block."""
        return self.by_block.get(metric, {})

    @property
    def failures(self) -> Mapping[Outcome, int]:
        """How many trials ended in each outcome but `ok`."""
        return {outcome: count for outcome, count in self.outcomes.items() if outcome is not Outcome.OK}

    @property
    def often_failed(self) -> bool:
        """Whether enough trials failed that the remaining ones may be its fastest."""
        return sum(self.failures.values()) > MAX_FAILED_SHARE * sum(self.outcomes.values())


def trial_figures(trial: Trial, measurement: Measurement) -> dict[str, float]:
    """The finite metrics of an `ok` trial; the repeated one by its steady state, or its last third."""
    if trial.outcome is not Outcome.OK:
        return {}
    figures = {name: value for name, value in measurement.figures(trial).items() if math.isfinite(value)}
    headline, read_ns = measurement.repeated_metric, trial.read_ns.get(measurement.repeated_phase)
    if read_ns is not None:
        # The time until the work was first done, without the pauses in which the probe took samples.
        paused_ns = (trial.report and trial.report.paused_ns) or 0
        figures[FIRST_ANSWER.name] = answer_s = max(0, read_ns[0] - paused_ns) / 1e9
    if headline in figures and (state := repeats_state(trial, measurement)):
        figures[headline] = state.level
        if state.since is not None:
            figures[FIRST_OVER_STEADY.name] = state.first / state.level
            if read_ns is not None:
                # The probe's time from the first repeat to the last, divided as the program's times are.
                first_ns, last_ns = read_ns
                later = trial.repeats_ns(measurement.repeated_phase)[1:]
                share = sum(later[: state.since]) / max(1, sum(later))
                figures[STEADY_AFTER.name] = answer_s + (last_ns - first_ns) / 1e9 * share
    return figures


def repeats_state(trial: Trial, measurement: Measurement) -> SteadyState | None:
    """How the repeats of an `ok` trial behave; None if they are too few to tell."""
    repeats = measurement.repeats_of(trial) if trial.outcome is Outcome.OK else ()
    return steady_state(repeats) if repeats and all(map(is_positive_finite, repeats)) else None


def analyse_cell(
    cell: Cell,
    trials: Sequence[Trial],
    by_block: Mapping[str, Mapping[int, float]],
    measurement: Measurement,
    percentile: Callable[[str], MergedPercentile | None] = lambda _: None,
) -> CellAnalysis:
    """Analyse a cell by its trials and figures. `percentile`: by metric, of all requests together."""
    failed = [trial for trial in trials if trial.outcome is not Outcome.OK]
    reason, stderr = "" if trials else "no trial yet", ""
    if failed:
        outcome, detail = Counter((trial.outcome, trial.detail) for trial in failed).most_common(1)[0][0]
        reason = f"{outcome}: {detail}" if detail else str(outcome)
        tails = (trial.report.stderr_tail for trial in failed if trial.report)
        stderr = next(filter(None, tails), "")
    missing = _missing(trials, by_block, measurement)
    if missing and not reason:
        reason = "; ".join(dict.fromkeys(missing.values()))
    metrics = {name: median_interval(list(values.values())) for name, values in by_block.items()}
    for name in [each for each in metrics if each in measurement.percentiles]:
        merged = percentile(name)
        if merged and merged.is_supported:
            metrics[name] = merged.interval(unit=NS_OF[measurement.metric(name).unit])
        elif merged:
            del metrics[name]
    return CellAnalysis(
        cell=cell,
        outcomes=dict(Counter(trial.outcome for trial in trials)),
        metrics=metrics,
        by_block=by_block,
        reason=reason,
        stderr=stderr,
        missing=missing,
    )


def _missing(trials: Sequence[Trial], known: Collection[str], measurement: Measurement) -> dict[str, str]:
    """By metric that is made from a phase: why the `ok` trials have none. The last of them is shown."""
    last = next((trial for trial in reversed(trials) if trial.outcome is Outcome.OK), None)
    if last is None:
        return {}
    reported = ", ".join(f"`{name}`" for name in last.phases) or "none"
    return {
        metric: (
            f"`::phase name={phase}` was 0"
            if phase in last.phases
            else f"no `::phase name={phase}`; the phases reported: {reported}"
        )
        for metric, phase in measurement.phase_of.items()
        if metric not in known
    }
