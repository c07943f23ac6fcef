"""What weakens a run's figures: a closed list, each with why and what to do (docs/METHODOLOGY.md)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ringside.measure.plan import compared
from ringside.model.design import Cell, Experiment
from ringside.model.results import Comparison, Trial, Verdict, Warned
from ringside.stats.family import blocks_needed
from ringside.stats.humps import two_humps
from ringside.stats.interval import LEAST
from ringside.stats.ratio import usable
from ringside.stats.unpaired import drift
from ringside.store import Run
from ringside.workloads.base import Workload

if TYPE_CHECKING:
    from ringside.analysis.summary import CellSummary

# What a server may take to end, by the contract.
END_NS = 2_000_000_000
# Shares of time from which on others are said to be noisy.
_STOLEN, _FOREIGN, _PRESSED = 0.02, 0.10, 0.10
# Kernel ticks are too coarse for less than so much time on all CPUs together.
_LEAST_NS = 2_000_000_000
# The machine's own speed moved by more than this.
_DRIFT = 0.05
_NEAR_CAP = 0.8
# At most so many cells are named.
_NAMED = 3


def warned(
    run: Run,
    experiment: Experiment,
    workload: Workload,
    trials: Sequence[Trial],
    cells: Mapping[Cell, CellSummary],
) -> list[Warned]:
    """All warnings of a run, those that concern verdicts first."""
    measured = [trial for trial in trials if trial.outcome_line and trial.block > 0]
    return [
        *_blocks(run, experiment, trials),
        *noisy_neighbour(measured),
        *drifted(reference_by_block(measured).values()),
        *_humps(compared(experiment, workload)[0].name, cells),
        *generator_bound(measured),
        *cores_shared(run, measured),
        *memory_cap_near(measured),
        *_endings(measured),
        *_accounting(measured),
    ]


def reference_by_block(trials: Sequence[Trial]) -> dict[int, float]:
    """How long the fixed computation took in each block, in nanoseconds."""
    return {
        trial.block: float(found) for trial in trials if (found := trial.outcome_line.get("reference_ns"))
    }


def drifted(references: Iterable[float]) -> Iterator[Warned]:
    """`drift`: from the fixed computation's times."""
    moved = drift(list(references))
    if moved is not None and moved > math.log1p(_DRIFT):
        yield Warned(
            "drift",
            f"a fixed computation took up to {math.expm1(moved):.0%} longer in one block than in "
            "another: the machine's speed moved; pairs inside blocks stand it, medians do not",
            "trust the ratios; fix the clock frequency, or wait until the machine is quiet",
        )


def noisy_neighbour(trials: Sequence[Trial]) -> Iterator[Warned]:
    """`noisy-neighbour`: others took CPU time that the programs should have had."""
    told = [trial.outcome_line for trial in trials if trial.outcome_line.get("cpus")]
    total = busy = stolen = own = 0
    for line in told:
        for cpu in line["cpus"]:
            total += cpu["busy_ns"] + cpu["idle_ns"] + cpu["stolen_ns"]
            busy, stolen = busy + cpu["busy_ns"], stolen + cpu["stolen_ns"]
        own += line.get("cpu_user_ns", 0) + line.get("cpu_system_ns", 0)
    reasons = []
    if total >= _LEAST_NS:
        foreign = max(0, busy - own) / total
        if stolen / total > _STOLEN:
            reasons.append(f"the hypervisor kept {stolen / total:.0%} of the CPUs' time (steal)")
        if foreign > _FOREIGN:
            reasons.append(f"others used {foreign:.0%} of the CPUs that the programs ran on")
    wall = sum(trial.outcome_line.get("wall_ns", 0) for trial in trials)
    for name in ("memory", "io"):
        waited = sum((trial.outcome_line.get("pressure") or {}).get(f"{name}_ns") or 0 for trial in trials)
        if wall >= _LEAST_NS and waited / wall > _PRESSED:
            what = "memory" if name == "memory" else "the disk"
            reasons.append(f"somebody waited for {what} in {min(1.0, waited / wall):.0%} of the time")
    if reasons:
        yield Warned(
            "noisy-neighbour",
            f"{'; '.join(reasons)}: intervals are wider for it, and absolute figures too large",
            "end what else runs, or take a machine of one's own; `ringside doctor` tells how quiet it is",
        )


def _blocks(run: Run, experiment: Experiment, trials: Sequence[Trial]) -> Iterator[Warned]:
    blocks = max((trial.block for trial in trials), default=0)
    if blocks < LEAST:
        yield Warned(
            "too-few-blocks",
            f"{blocks} block{'s' * (blocks != 1)}: below {LEAST} no interval holds 95 %, so none "
            "is shown and no verdict is given",
            f"run it with --blocks {max(experiment.blocks, 7)}",
        )
    if run.ended_at is None:
        yield Warned(
            "unfinished",
            "the run was cut off: its figures stand on the blocks that were made",
            f"go on with `ringside run --resume {run.id}`",
        )


def undecided(comparisons: Sequence[Comparison], family: int) -> Iterator[Warned]:
    """`too-few-blocks`: what would be told apart by itself and is not among so many at a point."""
    held = [
        one
        for one in comparisons
        if one.verdict is Verdict.INDISTINGUISHABLE
        and one.ratio.low is not None
        and one.ratio.high is not None
        and not one.ratio.low <= 1 <= one.ratio.high
    ]
    if held:
        names = sorted({one.contender for one in held})
        # So many decide each that differs in every block; who had them needs more, by how much nobody knows.
        needed, had = blocks_needed(family), max(one.ratio.n for one in held)
        yield Warned(
            "too-few-blocks",
            f"{', '.join(names)}: an interval leaves out 1, but {family} comparisons at a point "
            "share an error rate of 5 %, so it stays indistinguishable",
            f"with --blocks {needed if had < needed else 2 * had} or more it may be decided",
        )


def _humps(headline: str, cells: Mapping[Cell, CellSummary]) -> Iterator[Warned]:
    found = []
    for cell, summary in cells.items():
        places = two_humps(list(summary.by_block.get(headline, {}).values()))
        if places:
            found.append(f"{cell.contender} ({places[1] / places[0]:.2f} times apart)")
    if found:
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        yield Warned(
            "two-humps",
            f"{', '.join(found[:_NAMED])}{more}: figures gather about two places; a median may be neither",
            "look at the single trials; often it is where the scheduler puts threads: compare with cores=1",
        )


def generator_bound(trials: Sequence[Trial]) -> Iterator[Warned]:
    bound = {
        trial.cell.contender
        for trial in trials
        for load in _last_loads(trial)
        for one in load.get("warnings", ())
        if one.get("code") == "generator-bound"
    }
    if bound:
        yield Warned(
            "generator-bound",
            f"{', '.join(sorted(bound))}: the load engine was the bottleneck, so the server can do more than "
            "its row says",
            "give the engine a CPU of its own, or take the row as a lower bound",
        )


def _last_loads(trial: Trial) -> list[Mapping[str, Any]]:
    """Those of the last step: what is measured, or of rising rates the one that was too high. An engine that
    was busy before and kept up held nobody back."""
    loads: Sequence[Mapping[str, Any]] = trial.outcome_line.get("loads") or []
    return [load for load in loads if load.get("step") == loads[-1].get("step")]


def cores_shared(run: Run, trials: Sequence[Trial]) -> Iterator[Warned]:
    here = set(run.host.get("cpus_usable") or [])
    if here and any(here <= set(trial.cpus) for trial in trials):
        yield Warned(
            "cores-shared",
            "some contenders had all CPUs, so the probe ran on one of theirs",
            "leave a CPU free with cores below the machine's number",
        )


def memory_cap_near(trials: Sequence[Trial]) -> Iterator[Warned]:
    near = {
        trial.cell.contender
        for trial in trials
        if (most := trial.outcome_line.get("memory_limit_bytes"))
        and usable(peak := float(trial.outcome_line.get("peak_pss_bytes") or 0))
        and peak > _NEAR_CAP * most
    }
    if near:
        yield Warned(
            "memory-cap-near",
            f"{', '.join(sorted(near))}: took more than {_NEAR_CAP:.0%} of the memory that a trial may have",
            "raise `memory_bytes` in the experiment's [limits], or take smaller levels",
        )


def _endings(trials: Sequence[Trial]) -> Iterator[Warned]:
    behind = sorted({trial.cell.contender for trial in trials if trial.outcome_line.get("left_behind")})
    if behind:
        yield Warned(
            "left-behind",
            f"{', '.join(behind)}: processes still ran after the program had ended, and were killed",
            "make the program wait for what it starts",
        )
    slow = {trial.cell.contender for trial in trials if (trial.outcome_line.get("ending_ns") or 0) > END_NS}
    if slow:
        yield Warned(
            "slow-end",
            f"{', '.join(sorted(slow))}: still ran more than 2 s after SIGTERM",
            "end at once on SIGTERM, whatever is open; no figure of the table depends on it",
        )


def _accounting(trials: Sequence[Trial]) -> Iterator[Warned]:
    missing = sorted({text for trial in trials for text in trial.missing})
    if missing:
        yield Warned(
            "accounting",
            "not available here: " + "; ".join(missing),
            "nothing need be done: what they would tell or hold is sampled from /proc instead",
        )
