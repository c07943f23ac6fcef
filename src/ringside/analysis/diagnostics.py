"""What weakens a run's figures: a closed list of codes (docs/METHODOLOGY.md), with the values that their
sentences need."""

from __future__ import annotations

import itertools
import math
import signal
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from ringside.analysis.figures import RunFigures
from ringside.model.design import Cell, Experiment
from ringside.model.results import REPEATABLE, Diagnostic, Obstacle, Outcome, Run, Trial, in_order
from ringside.probe.protocol import EngineWarning
from ringside.stats.interval import MIN_BLOCKS, is_positive_finite
from ringside.stats.samples import bimodality
from ringside.stats.unpaired import drift, shift
from ringside.workloads.base import Measurement, Workload

# Effects below this share do no harm that random order would not even out.
_WORTH_A_WARNING = 0.01
# With fewer trials after a contender, and after others, chance makes effects of this size.
_MIN_TRIALS = 10
# All predecessors of a run together are called falsely in 1 % of runs.
_ERROR_RATE = 0.01


def carried_over(values: Mapping[Cell, Mapping[int, float]], trials: Sequence[Trial]) -> dict[str, float]:
    """By contender, the share by which the headline of the trials right after it is larger (below 0: smaller)
    than after others, where that is more than 1 % and not chance. `values`: the headline of
    each cell by block.

    A trial's logarithm is taken relative to the median of its cell and to the others of its block, so that
    neither size nor drift counts. The effect of a contender is the Hodges-Lehmann shift between the trials of
    other contenders right after it and their trials after others (`unpaired.shift`), with intervals that hold
    for all contenders together. In random order it burdens all others alike, but never itself: the ratio of
    two contenders moves by up to the effect, by half of it where there are no others.
    """
    if not sees_carry_over(trials):
        # What one that is not tested does would be blamed on others.
        return {}
    relative = _relative(values)
    names = sorted(_contenders(trials))
    steps = [
        (before.cell.contender, trial.cell.contender, value)
        for before, trial in _successors(trials)
        if (value := relative.get((trial.block, trial.cell))) is not None
    ]
    effects: dict[str, float] = {}
    # The largest first: beside trials that it slowed, those after others would seem sped up.
    while sizes := {name: size for name in names if (size := _effect(name, steps, effects, len(names)))}:
        largest = max(sizes, key=lambda name: abs(sizes[name]))
        effects[largest] = math.expm1(sizes[largest])
    return dict(sorted(effects.items()))


def sees_carry_over(trials: Sequence[Trial]) -> bool:
    """Whether enough trials came after each contender for its effect on the next to be seen."""
    after = Counter(
        before.cell.contender
        for before, trial in _successors(trials)
        if before.cell.contender != trial.cell.contender
    )
    return all(after[name] >= _MIN_TRIALS for name in _contenders(trials))


def _contenders(trials: Sequence[Trial]) -> set[str]:
    return {trial.cell.contender for trial in trials if trial.outcome not in REPEATABLE}


def _successors(trials: Sequence[Trial]) -> Iterator[tuple[Trial, Trial]]:
    """Each trial that counts, and the next such one on its machine."""
    counted = [trial for trial in in_order(trials) if trial.outcome not in REPEATABLE]
    return (pair for pair in itertools.pairwise(counted) if pair[0].machine == pair[1].machine)


def _effect(
    name: str, steps: Sequence[tuple[str, str, float]], known: Mapping[str, float], family: int
) -> float | None:
    """The effect of a contender as a difference of logarithms, where it is clear and worth a warning; None of
    one that is known. `steps`: the contender before, that of the trial, and the trial's relative logarithm;
    those after known ones do not count."""
    if name in known:
        return None
    others = [(before, value) for before, own, value in steps if own != name and before not in known]
    after = [value for before, value in others if before == name]
    not_after = [value for before, value in others if before != name]
    if min(len(after), len(not_after)) < _MIN_TRIALS:
        return None
    effect = shift(after, not_after, confidence=1 - _ERROR_RATE / family)
    is_clear = effect.low is not None and effect.high is not None and not effect.low <= 0 <= effect.high
    return effect.estimate if is_clear and abs(effect.estimate) > _WORTH_A_WARNING else None


def _relative(values: Mapping[Cell, Mapping[int, float]]) -> dict[tuple[int, Cell], float]:
    """By block and cell: the logarithm of each positive value less the median of its cell, and less the
    median of such differences of the other cells of its block."""
    by_block: dict[int, dict[Cell, float]] = {}
    for cell, of_cell in values.items():
        logs = {block: math.log(value) for block, value in of_cell.items() if is_positive_finite(value)}
        usual = median(logs.values()) if logs else 0.0
        for block, value in logs.items():
            by_block.setdefault(block, {})[cell] = value - usual
    return {
        (block, cell): value - usual_of_others
        for block, of_block in by_block.items()
        for (cell, value), usual_of_others in zip(
            of_block.items(), medians_of_others(list(of_block.values())), strict=True
        )
    }


def medians_of_others(values: Sequence[float]) -> list[float]:
    """For each value the median of all others; 0 for one that is alone."""
    if len(values) == 1:
        return [0.0]
    order = sorted(range(len(values)), key=values.__getitem__)
    # The places of the middle among the others: one, or two.
    places = (len(values) - 2) // 2, (len(values) - 1) // 2
    medians = [0.0] * len(values)
    for rank, index in enumerate(order):
        low, high = (values[order[place if place < rank else place + 1]] for place in places)
        medians[index] = (low + high) / 2
    return medians


# Diagnostics of the machine: the same in every run of a suite.
MACHINE_CODES = frozenset({"accounting", "cores-shared"})
# What a server may take to end, by the contract.
MAX_ENDING_NS = 2_000_000_000
# Shares of time from which on the machine is not quiet.
_STOLEN, _OTHERS, _PRESSURE = 0.02, 0.10, 0.10
# Kernel ticks are too coarse for less than this time on all CPUs together.
_MIN_OBSERVED_NS = 2_000_000_000
# The machine's own speed changed by more than this.
_DRIFT = 0.05
_NEAR_MEMORY_LIMIT = 0.8
# Of the memory that is counted, the share from which on more that is not is worth a word.
_UNCOUNTED = 0.1
# `--blocks` of a run that has too few.
_USUAL_BLOCKS = 7
# Obstacles that concern some pairs only.
_EXPLAINED = (Obstacle.FAILED_BLOCKS, Obstacle.SAME_VALUES, Obstacle.NO_STEADY_STATE, Obstacle.WARMING_UP)


def diagnose(run: RunFigures, *, is_held: bool) -> tuple[Diagnostic, ...]:
    """All weak points of a run, those that concern verdicts first. `is_held`: a process is still at it."""
    measured = [trial for trial in run.trials if trial.block > 0 and (trial.report or trial.loads)]
    # Where no cell could be measured, more blocks would not help.
    is_hopeless = bool(run.trials) and all(trial.outcome is Outcome.UNAVAILABLE for trial in run.trials)
    is_cut_off = run.run.ended_at is None and run.measurement.resumable and not is_held
    # Without a contract, the user named the engines and chose the CPUs, and what the probe could not use
    # matters little.
    has_contract = isinstance(run.measurement, Workload)
    missing = tuple(sorted({text for trial in measured for text in trial.missing}))
    return (
        *(() if is_hopeless else _blocks(run)),
        *_obstacles(run),
        *([Diagnostic("unfinished", values={"run": run.run.id})] if is_cut_off else ()),
        *(two_sided(run.experiment, measured) if has_contract else ()),
        *noisy_neighbour(measured),
        *_drifted(measured),
        *_carried_over(run, measured),
        *_bimodal(run, measured),
        *engine_warnings(run.measurement, measured),
        *(cores_shared(run.run, measured) if has_contract else ()),
        *_of_programs(measured),
        *([Diagnostic("accounting", values={"missing": missing})] if has_contract and missing else ()),
        *run.measurement.diagnostics(measured),
    )


def references(trials: Sequence[Trial]) -> dict[str, dict[int, float]]:
    """By reference computation (`computing`, `memory`) and block: how long it took, in nanoseconds."""
    reports = [(trial.block, trial.report) for trial in trials if trial.report]
    times_ns = {
        "computing": {block: float(each.reference_ns) for block, each in reports if each.reference_ns},
        "memory": {
            block: float(each.memory_reference_ns) for block, each in reports if each.memory_reference_ns
        },
    }
    return {name: by_block for name, by_block in times_ns.items() if by_block}


def drifted(references: Iterable[float]) -> Iterator[Diagnostic]:
    """`drift`: the machine's speed changed between blocks."""
    change = drift(list(references))
    if change is not None and change > math.log1p(_DRIFT):
        yield Diagnostic("drift", values={"share": math.expm1(change)})


def _drifted(trials: Sequence[Trial]) -> Iterator[Diagnostic]:
    """Of several machines, the one whose speed changed most: they need not be alike."""
    by_machine: dict[str, list[Trial]] = {}
    for trial in trials:
        by_machine.setdefault(trial.machine, []).append(trial)
    drifts = [
        each for own in by_machine.values() for each in drifted(references(own).get("computing", {}).values())
    ]
    if drifts:
        yield max(drifts, key=lambda each: float(each.values["share"]))


def noisy_neighbour(trials: Sequence[Trial]) -> Iterator[Diagnostic]:
    """`noisy-neighbour`: others took CPU time that the programs should have had, or the host waited."""
    reports = [trial.report for trial in trials if trial.report]
    total = busy = stolen = own = 0
    for report in (each for each in reports if each.cpus):
        for cpu in report.cpus:
            total += cpu.busy_ns + cpu.idle_ns + cpu.stolen_ns
            busy, stolen = busy + cpu.busy_ns, stolen + cpu.stolen_ns
        own += (report.cpu_user_ns or 0) + (report.cpu_system_ns or 0)
        own += report.probe_shared_cpu_ns + report.driver_cpu_ns
    shares: dict[str, float] = {}
    if total >= _MIN_OBSERVED_NS:
        others = max(0, busy - own) / total
        if stolen / total > _STOLEN:
            shares["steal"] = stolen / total
        if others > _OTHERS:
            shares["others"] = others
    # Of short commands most have none.
    observed = [report for report in reports if report.pressure and report.pressure.io_ns is not None]
    wall = sum(report.wall_ns or 0 for report in observed)
    pressures = [report.pressure for report in observed if report.pressure]
    waits = {
        "memory_pressure": sum(pressure.memory_ns or 0 for pressure in pressures),
        "io_pressure": sum(pressure.io_ns or 0 for pressure in pressures),
    }
    for name, waited in waits.items():
        if wall >= _MIN_OBSERVED_NS and waited / wall > _PRESSURE:
            shares[name] = min(1.0, waited / wall)
    if shares:
        yield Diagnostic("noisy-neighbour", values=shares)


def _blocks(run: RunFigures) -> Iterator[Diagnostic]:
    if run.blocks_done < MIN_BLOCKS:
        experiment = run.experiment
        # The blocks of a run that can end early are a limit, not a plan.
        is_open = experiment.until_decided or experiment.until is not None or experiment.time_s is not None
        needed = _USUAL_BLOCKS if is_open else max(experiment.blocks, _USUAL_BLOCKS)
        # `vs` has two, which exclude each other.
        option = "--runs" if "--runs" in run.plan.options else "--blocks"
        values = {"blocks": run.blocks_done, "needed": needed, "option": option}
        yield Diagnostic("too-few-blocks", values=values)


def _obstacles(run: RunFigures) -> Iterator[Diagnostic]:
    """Pairs without a verdict whatever their intervals. That some other metric than the headline was not
    observed, as the memory of a program that ends at once, is no failure."""
    subjects: dict[Obstacle, list[str]] = {}
    for comparison in (each for pairs in run.comparisons.values() for each in pairs.values()):
        names = (comparison.contender, comparison.baseline)
        nothing_failed = all(set(run.outcomes(name, comparison.point)) <= {Outcome.OK} for name in names)
        is_unobserved = comparison.obstacle is Obstacle.FAILED_BLOCKS and nothing_failed
        if comparison.obstacle in _EXPLAINED and not (
            is_unobserved and comparison.metric != run.headline.name
        ):
            subjects.setdefault(comparison.obstacle, []).append(" / ".join(names))
    for obstacle, pairs in subjects.items():
        yield Diagnostic(str(obstacle), tuple(dict.fromkeys(pairs)))


def _headlines(run: RunFigures) -> dict[Cell, Mapping[int, float]]:
    return {cell: analysis.values(run.headline.name) for cell, analysis in run.cells.items()}


def _carried_over(run: RunFigures, trials: Sequence[Trial]) -> Iterator[Diagnostic]:
    if effects := carried_over(_headlines(run), trials):
        yield Diagnostic("carry-over", subjects=tuple(effects), values={"effects": effects})


def _bimodal(run: RunFigures, trials: Sequence[Trial]) -> Iterator[Diagnostic]:
    """`bimodal`: two modes of the values, and of what is left of them without what their blocks share: a
    machine with two speeds makes the former alone, other cells' modes the latter."""
    machines = {(trial.block, trial.cell): trial.machine for trial in trials}
    values = _headlines(run)
    relative = _relative(values)
    ratios: dict[str, float] = {}
    for cell, of_cell in values.items():
        by_machine: dict[str, list[int]] = {}
        for block in of_cell:
            if (block, cell) in relative:
                by_machine.setdefault(machines.get((block, cell), ""), []).append(block)
        for blocks in by_machine.values():
            modes = bimodality([of_cell[block] for block in blocks])
            if modes and bimodality([math.exp(relative[block, cell]) for block in blocks]):
                ratios[cell.contender] = max(ratios.get(cell.contender, 0.0), modes[1] / modes[0])
    if ratios:
        yield Diagnostic("bimodal", subjects=tuple(ratios), values={"ratios": ratios})


def engine_warnings(measurement: Measurement, trials: Sequence[Trial]) -> Iterator[Diagnostic]:
    """`generator-bound`: the load engine was the bottleneck, not the server. `engine-…`: each other kind of
    warning that the load engine gave, by contender, in its words of the trial that had it first."""
    by_code: dict[str, dict[str, EngineWarning]] = {}
    for trial in trials:
        for load in measurement.decisive_loads(trial):
            for warning in load.warnings:
                is_expected = measurement.expects_warning(trial, warning.code)
                if warning.code == "generator-bound" or not is_expected:
                    by_code.setdefault(warning.code, {}).setdefault(trial.cell.contender, warning)
    yield from _named("generator-bound", by_code.pop("generator-bound", ()))
    for code, warnings in by_code.items():
        texts = tuple(f"{name} ({warning.text})" for name, warning in warnings.items())
        remedy = next(iter(warnings.values())).remedy
        text = f"the load engine reported: {', '.join(texts)}"
        yield Diagnostic(f"engine-{code}", texts, text=text, remedy=remedy)


def two_sided(experiment: Experiment, trials: Sequence[Trial]) -> Iterator[Diagnostic]:
    """`two-sided`: the load came from engines on other machines; `within_ns`: how far apart those of
    one load started at most."""
    if experiment.engines:
        within = [load.started_within_ns or 0 for trial in trials for load in trial.loads]
        values = {"engines": experiment.engines, "within_ns": max(within, default=0)}
        yield Diagnostic("two-sided", values=values)


def cores_shared(run: Run, trials: Sequence[Trial]) -> Iterator[Diagnostic]:
    """`cores-shared`: the probe had no CPU of its own."""
    machines = run.host.get("machines", {})

    def has_all(trial: Trial) -> bool:
        usable = machines.get(trial.machine, run.host).get("cpus_usable") or []
        return bool(usable) and set(usable) <= set(trial.cpus)

    if any(map(has_all, trials)):
        yield Diagnostic("cores-shared")


def _of_programs(trials: Sequence[Trial]) -> Iterator[Diagnostic]:
    """`memory-cap-near`: a trial took most of the memory that it may have. `uncounted-memory`: much memory
    was in files that no process had mapped, which is in no figure. `left-behind`, `left-files`: processes and
    files that were there at the end. `interference`: acts on the probe. `slow-end`."""
    near, left_behind, slow = set(), set(), set()
    sizes, files = Counter[str](), Counter[str]()
    interfering: list[str] = []
    for trial in trials:
        if not (report := trial.report):
            continue
        name, peak_bytes = trial.cell.contender, report.peak_pss_bytes or 0
        if trial.memory_limit_bytes and peak_bytes > _NEAR_MEMORY_LIMIT * trial.memory_limit_bytes:
            near.add(name)
        unmapped_bytes = report.unmapped_bytes or 0
        if unmapped_bytes > _UNCOUNTED * peak_bytes:
            sizes[name] = max(sizes[name], unmapped_bytes)
        if report.left_behind:
            left_behind.add(name)
        # Who was killed could not remove them.
        if report.left_files and report.signal != signal.SIGKILL:
            files[name] = max(files[name], report.left_files)
        if report.interference:
            interfering.append(f"{name} ({'; '.join(report.interference)})")
        if (report.ending_ns or 0) > MAX_ENDING_NS:
            slow.add(name)
    yield from _named("memory-cap-near", near, share=_NEAR_MEMORY_LIMIT)
    yield from _named("uncounted-memory", sizes, sizes=dict(sorted(sizes.items())))
    yield from _named("left-behind", left_behind)
    yield from _named("left-files", files, counts=dict(sorted(files.items())))
    if interfering:
        yield Diagnostic("interference", tuple(dict.fromkeys(interfering)))
    yield from _named("slow-end", slow)


def _named(code: str, contenders: Iterable[str], **values: Any) -> Iterator[Diagnostic]:
    """That of these contenders, if there are any."""
    if names := tuple(sorted(contenders)):
        yield Diagnostic(code, names, values)
