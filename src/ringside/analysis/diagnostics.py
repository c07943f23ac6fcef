"""The weaknesses of a run's figures: codes (docs/RULES.md) with the values of their sentences."""

import math
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import NormalDist, median
from typing import Any

from ringside.analysis.examination import Observations
from ringside.analysis.figures import RunFigures
from ringside.model.design import Cell, Experiment, grouped
from ringside.model.results import Diagnostic, Obstacle, Outcome, Run, Trial, Verdict
from ringside.probe.protocol import EngineWarning
from ringside.stats.interval import MIN_BLOCKS
from ringside.stats.unpaired import drift, is_beyond_runs
from ringside.store.plans import PlannedContender
from ringside.workloads.base import Measurement, Workload

# Effects below this share matter little.
_WORTH_A_WARNING = 0.01
# All contenders of a run together are called falsely in 1 % of runs.
_ERROR_RATE = 0.01


def carried_over(observations: Observations, metric: str) -> dict[str, float]:
    """By contender, the share by which it makes the next trial's figure larger (below 0: smaller) than the
    median contender does (of two: than the other one does); only shares above 1 % that are not chance."""
    if (effect := observations.carry_over(metric, memory=0.0)) is None:
        return {}
    size = len(effect.names)
    usual = sorted(range(size), key=effect.effects.__getitem__)[(size - 1) // 2]
    quantile = NormalDist().inv_cdf(1 - _ERROR_RATE / 2 / size)
    shares: dict[str, float] = {}
    for place, name in enumerate(effect.names):
        more = float(effect.effects[place] - effect.effects[usual])
        both = [place, usual]
        (one, mixed), (_, other) = effect.covariance[both][:, both].tolist()
        error = math.sqrt(max(0.0, one + other - 2 * mixed))
        if abs(more) > max(_WORTH_A_WARNING, quantile * error):
            shares[name] = math.expm1(more)
    return shares


# Diagnostics of the machine: the same in every run of a suite.
MACHINE_CODES = frozenset({"accounting", "cores-shared"})
# Shares of time from which on the machine is not quiet.
_STOLEN, _OTHERS, _PRESSURE = 0.02, 0.10, 0.10
# A program that uses more of a CPU than this does so with several threads or processes.
_SEVERAL_CPUS = 1.1
# Kernel ticks are too coarse for less than this time on all CPUs together.
_MIN_OBSERVED_NS = 2_000_000_000
# Runtimes that are this many years apart belong to different times.
_YEARS_APART = 2
# The machine's own speed changed by more than this.
_DRIFT = 0.05
_NEAR_MEMORY_LIMIT = 0.8
# Above this share of the counted memory, uncounted memory gives a warning.
_UNCOUNTED = 0.1
# `--blocks` of a run that has too few.
_USUAL_BLOCKS = 7
# Obstacles that concern some pairs only.
_EXPLAINED = (Obstacle.FAILED_BLOCKS, Obstacle.SAME_VALUES, Obstacle.NO_STEADY_STATE, Obstacle.WARMING_UP)


def diagnose(
    run: RunFigures, modes: Mapping[Cell, tuple[float, float]], *, is_held: bool
) -> tuple[Diagnostic, ...]:
    """All weak points of a run, those about verdicts first. `is_held`: a process still works on the run."""
    measured = [trial for trial in run.trials if trial.block > 0 and (trial.report or trial.loads)]
    # If no cell could be measured, more blocks would not help.
    is_hopeless = bool(run.trials) and all(trial.outcome is Outcome.UNAVAILABLE for trial in run.trials)
    is_cut_off = run.run.ended_at is None and run.measurement.resumable and not is_held
    # Without a contract, the user named the engines and chose the CPUs.
    has_contract = isinstance(run.measurement, Workload)
    effects = carried_over(run.examination.observations, run.headline.name)
    # Limits by controllers only come before those of the samples.
    missing = {text for trial in measured for text in trial.missing if not text.endswith("not delegated")}
    ratios = sorted((high / low, cell.contender) for cell, (low, high) in modes.items())
    apart = {name: ratio for ratio, name in ratios}
    unfinished = {"run": run.run.id, "done": run.blocks_done, "planned": run.experiment.blocks}
    return (
        # An unfinished run measures the missing trials when it is resumed.
        *(() if is_hopeless or is_cut_off else _blocks(run)),
        *_obstacles(run),
        *([Diagnostic("unfinished", values=unfinished)] if is_cut_off else ()),
        *(two_sided(run.experiment, measured) if has_contract else ()),
        *noisy_neighbour(measured),
        *drifted(measured),
        *([Diagnostic("given-order")] if "given" in run.plan.options.get("--order", ()) else ()),
        *([Diagnostic("carry-over", tuple(effects), {"effects": effects})] if effects else ()),
        *([Diagnostic("bimodal", tuple(apart), {"ratios": apart})] if apart else ()),
        *engine_warnings(run.measurement, measured),
        *(cores_shared(run.run, measured) if has_contract else ()),
        *_of_programs(measured),
        *([Diagnostic("accounting", values={"missing": tuple(sorted(missing))})] if missing else ()),
        *run.measurement.diagnostics(measured),
    )


def references(trials: Sequence[Trial]) -> dict[str, dict[int, float]]:
    """By reference computation (`computing`, `memory`) and block: how long it took, in nanoseconds."""
    reports = [(trial.block, trial.report) for trial in trials if trial.report]
    times_ns: dict[str, dict[int, float]] = {}
    for block, report in reports:
        for name, ns in (("computing", report.reference_ns), ("memory", report.memory_reference_ns)):
            if ns:
                times_ns.setdefault(name, {})[block] = float(ns)
    return times_ns


def drifted(trials: Sequence[Trial]) -> Iterator[Diagnostic]:
    """`drift`: the machine's speed changed between blocks. With several machines: the largest change."""
    by_machine = grouped((trial.machine, trial) for trial in trials)
    drifts = (drift([*references(own).get("computing", {}).values()]) for own in by_machine.values())
    most = max(filter(None, drifts), default=0.0)
    if most > math.log1p(_DRIFT):
        yield Diagnostic("drift", values={"share": math.expm1(most)})


def noisy_neighbour(trials: Sequence[Trial]) -> Iterator[Diagnostic]:
    """`noisy-neighbour`: other programs or guests took CPU time from the measured programs, or the host
    waited. Names the programs that used several CPUs, which lose most."""
    reports = [trial.report for trial in trials if trial.report]
    watched = [each for each in reports if each.cpus]
    cpus = [cpu for each in watched for cpu in each.cpus]
    busy, stolen = sum(cpu.busy_ns for cpu in cpus), sum(cpu.stolen_ns for cpu in cpus)
    total = busy + stolen + sum(cpu.idle_ns for cpu in cpus)
    own = sum(each.cpu_ns + each.probe_shared_cpu_ns + each.driver_cpu_ns for each in watched)
    # Most short commands have no figure of pressure.
    waited = [(each.wall_ns or 0, each.pressure) for each in reports if each.pressure]
    pressures = [(wall_ns, pressure) for wall_ns, pressure in waited if pressure.io_ns is not None]
    wall = sum(wall_ns for wall_ns, _ in pressures)
    parts = (
        ("steal", stolen, total, _STOLEN),
        ("others", max(0, busy - own), total, _OTHERS),
        ("memory_pressure", sum(pressure.memory_ns or 0 for _, pressure in pressures), wall, _PRESSURE),
        ("io_pressure", sum(pressure.io_ns or 0 for _, pressure in pressures), wall, _PRESSURE),
    )
    shares = {
        name: min(1.0, part / whole)
        for name, part, whole, most in parts
        if whole >= _MIN_OBSERVED_NS and part / whole > most
    }
    if shares:
        used = grouped(
            (trial.cell.contender, trial.report.cpu_ns / trial.report.wall_ns)
            for trial in trials
            if trial.report and trial.report.wall_ns
        )
        parallel = tuple(name for name, cpus in used.items() if median(cpus) > _SEVERAL_CPUS)
        yield Diagnostic("noisy-neighbour", parallel, shares)


def _blocks(run: RunFigures) -> Iterator[Diagnostic]:
    if run.blocks_done < MIN_BLOCKS:
        experiment = run.experiment
        # In a run that can end early, the number of blocks is a limit, not a plan.
        is_open = experiment.until_decided or experiment.time_s is not None
        needed = _USUAL_BLOCKS if is_open else max(experiment.blocks, _USUAL_BLOCKS)
        # `vs` has three: --runs excludes the others, --blocks leads beyond no --time.
        options = {"--runs": "--runs", "--time": "--min-runs"}
        option = next((options[name] for name in options if name in run.plan.options), "--blocks")
        values = {"blocks": run.blocks_done, "needed": needed, "option": option}
        yield Diagnostic("too-few-blocks", values=values)


def _obstacles(run: RunFigures) -> Iterator[Diagnostic]:
    """Pairs without a verdict whatever their intervals, but for unobserved metrics besides the headline;
    `one-session`: differences no larger than those of other builds or boots."""
    subjects: dict[str, list[str]] = {}
    for comparison in (each for pairs in run.comparisons.values() for each in pairs.values()):
        names = (comparison.contender, comparison.baseline)
        nothing_failed = all(set(run.cell(name, comparison.point).outcomes) <= {Outcome.OK} for name in names)
        is_unobserved = comparison.obstacle is Obstacle.FAILED_BLOCKS and nothing_failed
        is_headline = comparison.metric == run.headline.name
        if comparison.obstacle in _EXPLAINED and (is_headline or not is_unobserved):
            subjects.setdefault(comparison.obstacle, []).append(" / ".join(names))
        is_claim = comparison.verdict in (Verdict.FASTER, Verdict.SLOWER)
        if is_claim and is_headline and not is_beyond_runs(comparison.ratio):
            subjects.setdefault("one-session", []).append(" / ".join(names))
    for obstacle, pairs in subjects.items():
        yield Diagnostic(str(obstacle), tuple(dict.fromkeys(pairs)))


def years_apart(contenders: Iterable[PlannedContender]) -> Iterator[Diagnostic]:
    """`years-apart`: runtimes were released years apart."""
    released = {each.released: each for each in contenders if each.released}
    if released and (max(released) - min(released)).days >= _YEARS_APART * 365:
        ends = {"oldest": released[min(released)].described, "newest": released[max(released)].described}
        yield Diagnostic("years-apart", values=ends)


def engine_warnings(measurement: Measurement, trials: Sequence[Trial]) -> Iterator[Diagnostic]:
    """`generator-bound`: the load engine was the bottleneck, not the server. `engine-…`: each other kind of
    warning that the load engine gave, in the words of the first trial that had it."""
    by_code: dict[str, dict[str, EngineWarning]] = {}
    for trial in trials:
        for load in () if trial.outcome is Outcome.INTERRUPTED else measurement.decisive_loads(trial):
            for warning in load.warnings:
                is_expected = measurement.expects_warning(trial, warning.code)
                if warning.code == "generator-bound" or not is_expected:
                    by_code.setdefault(warning.code, {}).setdefault(trial.cell.contender, warning)
    yield from _named("generator-bound", by_code.pop("generator-bound", ()))
    for code, warnings in by_code.items():
        (name, first), *others = warnings.items()
        also = f"; also with {', '.join(other for other, _ in others)}" if others else ""
        text = f"with {name} the load engine reported: {first.text}{also}"
        yield Diagnostic(f"engine-{code}", tuple(warnings), text=text, remedy=first.remedy)


def two_sided(experiment: Experiment, trials: Sequence[Trial]) -> Iterator[Diagnostic]:
    """`two-sided`: engines on other machines sent the load. `within_ns`: how far apart they started."""
    if experiment.engines:
        within = [load.started_within_ns or 0 for trial in trials for load in trial.loads]
        values = {"engines": experiment.engines, "within_ns": max(within, default=0)}
        yield Diagnostic("two-sided", values=values)


def cores_shared(run: Run, trials: Sequence[Trial]) -> Iterator[Diagnostic]:
    """`cores-shared`: the probe had no CPU of its own."""
    machines = run.host.get("machines", {})
    usable = ((trial, machines.get(trial.machine, run.host).get("cpus_usable")) for trial in trials)
    if any(cpus and set(cpus) <= set(trial.cpus) for trial, cpus in usable):
        yield Diagnostic("cores-shared")


def _of_programs(trials: Sequence[Trial]) -> Iterator[Diagnostic]:
    """`memory-cap-near`: a trial used most of its memory. `uncounted-memory`: much was in unmapped files.
    `left-behind`, `left-files`: what was there at the end. `interference`: with the probe."""
    reports = [(each.cell.contender, each.report, each.memory_limit_bytes) for each in trials if each.report]
    peaks = [(name, each.peak_pss_bytes or 0, each.unmapped_bytes or 0, most) for name, each, most in reports]
    near = {name for name, peak, _, most in peaks if most and peak > _NEAR_MEMORY_LIMIT * most}
    sizes = grouped((name, unmapped) for name, peak, unmapped, _ in peaks if unmapped > _UNCOUNTED * peak)
    # A killed program could not remove them.
    ended = ((name, each.left_files) for name, each, _ in reports if each.signal != signal.SIGKILL)
    files = grouped((name, count) for name, count in ended if count)
    told = [f"{name} ({'; '.join(each.interference)})" for name, each, _ in reports if each.interference]
    yield from _named("memory-cap-near", near, share=_NEAR_MEMORY_LIMIT)
    yield from _named("uncounted-memory", sizes, sizes={name: max(sizes[name]) for name in sorted(sizes)})
    yield from _named("left-behind", {name for name, each, _ in reports if each.left_behind})
    yield from _named("left-files", files, counts={name: max(files[name]) for name in sorted(files)})
    if told:
        yield Diagnostic("interference", tuple(dict.fromkeys(told)))


def _named(code: str, contenders: Iterable[str], **values: Any) -> Iterator[Diagnostic]:
    if names := tuple(sorted(contenders)):
        yield Diagnostic(code, names, values)
