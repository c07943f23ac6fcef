"""Two targets under the same load in turn: the run that `ringside load --vs` makes of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from msgspec.structs import asdict, replace

from ringside.analysis.run import RunAnalysis
from ringside.load import summary
from ringside.load.document import as_document
from ringside.load.result import LoadResult, failure, from_messages
from ringside.load.target import Target
from ringside.measure import host
from ringside.measure.runs.loop import BlockLoop, Notify, StoppingRule, TrialMaker, uninterrupted
from ringside.measure.runs.trials import outcome_of
from ringside.model.design import Cell, Experiment, Point, Show
from ringside.model.results import Outcome, Run, Trial
from ringside.probe import protocol as ipc
from ringside.probe.process import Probe
from ringside.render.export import documents
from ringside.store import Store, now
from ringside.store.plans import KeptOptions, PlannedContender, RunPlan, read_plan
from ringside.text import one_line
from ringside.units import count, quantity
from ringside.workloads.target import STEP, TARGET

# A shorter run measures its own beginning more than the server.
_MIN_RUN_S = 0.5
_REFERENCE_LIMIT_S = 10.0
# All targets of a run are at one point without factors.
POINT = Point(())
LOAD = "all"


@dataclass(eq=False)
class TargetTrials(TrialMaker):
    """Loads at targets in turn, by a probe or several engines. `plans`: by target, a block's plan (0:
    warm-up). `references`: time the reference computations in each block."""

    plans: Mapping[str, Callable[[int], ipc.LoadPlan]]
    driver: Probe
    notify: Notify
    references: bool = False

    def warm_up(self, notify: Notify) -> None:
        for name in self.plans:
            cell = Cell(name, POINT)
            notify("warm-up", cell)
            uninterrupted(self.trial(0, 0, cell, first=False))

    def trial(self, block: int, position: int, cell: Cell, *, first: bool) -> Trial:
        report = self._reference() if first and self.references else None
        plan = self.plans[cell.contender](block)
        begun = now()
        self.notify("load", block, cell.contender, plan)
        messages = self.driver.load(ipc.LoadRequest(plan), partial(self.notify, "message"))
        result = from_messages(messages, plan)
        figures = result.figures
        if self.driver.interrupted or figures.outcome == "interrupted":
            # A load that was cut short is not comparable.
            return Trial(block, position, cell, Outcome.INTERRUPTED, figures.detail, started_at=begun)
        ended, detail = outcome_of(figures), figures.detail
        if ended is Outcome.OK and (why := failure(figures)):
            ended, detail = Outcome.LOAD_FAILED, why
        loads = (load_message(figures, self.driver.started_within_s),)
        missing = result.started.missing if result.started else ()
        what = (block, position, cell, ended, detail, (), begun, report)
        return Trial(*what, loads=loads, missing=missing)

    def _reference(self) -> ipc.TrialOutcome:
        limits = ipc.Limits(_REFERENCE_LIMIT_S, 1 << 30, 1 << 20, 100)
        request = ipc.TrialRequest(("true",), "/", {}, limits, plain=True, reference=True)
        outcome = self.driver.trial(request)[-1]
        assert isinstance(outcome, ipc.TrialOutcome)
        memory_ns = outcome.memory_reference_ns
        return ipc.TrialOutcome("ok", reference_ns=outcome.reference_ns, memory_reference_ns=memory_ns)


def load_message(figures: ipc.LoadFigures, started_within_s: float | None = None) -> ipc.LoadMessage:
    """A load by itself as the load of a trial. `started_within_s`: of several engines, how far apart."""
    within_ns = None if started_within_s is None else round(started_within_s * 1e9)
    return ipc.LoadMessage(**asdict(figures), step=STEP, name=LOAD, started_within_ns=within_ns)


def part(plan: ipc.LoadPlan, blocks: int, block: int) -> ipc.LoadPlan:
    """The load of one block, with a schedule of its own where that is random."""
    schedule = plan.pacing
    if isinstance(schedule, ipc.PoissonRate):
        schedule = replace(schedule, seed=schedule.seed + block)
    return replace(
        plan,
        pacing=schedule,
        duration_s=None if plan.duration_s is None else max(_MIN_RUN_S, plan.duration_s / blocks),
        requests=None if plan.requests is None else max(1, plan.requests // blocks),
    )


def begin(
    targets: Mapping[str, Target],
    plan: ipc.LoadPlan,
    blocks: int,
    margin: float,
    seed: int,
    store: Store,
    engines: Mapping[str, Mapping[str, Any]] = {},
    options: KeptOptions | None = None,
) -> Run:
    """A new run of targets; the first is the baseline. `engines`: facts of other machines that load."""
    names = tuple(targets)
    # The rate of an open loop is given.
    metrics = () if plan.is_open_loop else ("rate",)
    metrics = (*metrics, "latency_p50", "latency_p99")
    experiment = Experiment(
        name="load-vs",
        title=" / ".join(one_line(target.text, 80) for target in targets.values()),
        workload=TARGET.name,
        contenders=names,
        factors={},
        baseline=names[0],
        blocks=blocks,
        margin=margin,
        show=Show(metrics=("lateness_p50", "lateness_p99") if plan.protocol == "stream" else metrics),
        engines=len(engines),
    )
    contenders = {name: PlannedContender(title=target.text) for name, target in targets.items()}
    values = RunPlan(experiment, (POINT,), contenders, options=options or {}).values()
    run = store.begin_run(experiment.name, seed, values, {} if engines else host.facts(), {})
    for name, facts in engines.items():
        run = store.add_machine(run, name, facts)
    return run


def conduct(run: Run, plans: Mapping[str, ipc.LoadPlan], store: Store, driver: Probe, notify: Notify) -> None:
    """Carry out all blocks. `plans`: whole loads by target. KeyboardInterrupt leaves whole loads stored."""
    blocks = read_plan(run).experiment.blocks
    parts = {name: partial(part, replace(plan, counts=True), blocks) for name, plan in plans.items()}
    maker = TargetTrials(parts, driver, notify, references=isinstance(driver, Probe))
    BlockLoop(run, StoppingRule(blocks), store, notify, maker=maker).conduct()


def _results(analysis: RunAnalysis, plan: ipc.LoadPlan) -> list[tuple[Trial, LoadResult]]:
    """The loads of a run that were not cut short, in the order in which they were carried out."""
    threads = plan.threads * (analysis.experiment.engines or 1)
    started = partial(ipc.Started, ipc.VERSION, threads=threads)
    loads = ((trial, load) for trial in analysis.trials for load in trial.loads)
    return [(trial, LoadResult(load, {}, started(missing=trial.missing))) for trial, load in loads]


def _engines(analysis: RunAnalysis) -> tuple[list[str], int]:
    """The engines on other machines, and how far apart those of a load started at most, in nanoseconds."""
    within = [load.started_within_ns or 0 for trial in analysis.trials for load in trial.loads]
    return list(analysis.run.host.get("machines", ())), max(within, default=0)


def document(analysis: RunAnalysis, targets: Mapping[str, Target], plan: ipc.LoadPlan) -> dict[str, Any]:
    """The document of `load --vs --json`: of each load its block (from 0) and the name of its target too."""
    blocks, (engines, within_ns) = analysis.experiment.blocks, _engines(analysis)
    facts: dict[str, Any] = {"blocks": blocks, "margin": analysis.experiment.margin}
    facts |= {"seed": analysis.run.seed, "duration_s": part(plan, blocks, 0).duration_s}
    if engines:
        facts |= {"engines": engines, "engines_started_within_ms": within_ns / 1e6}
    loads = []
    for trial, result in _results(analysis, plan):
        name, load = trial.cell.contender, part(plan, blocks, trial.block)
        loads.append({"block": trial.block - 1, "name": name, **as_document(targets[name], load, result)})
    return documents.load_document(analysis, facts, loads)


def how(analysis: RunAnalysis, targets: Mapping[str, Target], plans: Mapping[str, ipc.LoadPlan]) -> str:
    """The load of each block, the blocks, and the nodes of engines elsewhere, in one line."""
    plan, blocks, done = plans["A"], analysis.experiment.blocks, analysis.blocks_done
    parts, differs = [], any(each.http2 != plan.http2 for each in plans.values())
    if loads := _results(analysis, plan):
        load = part(plan, blocks, 0)
        load = replace(load, http2=None) if differs else load
        parts.append(f"each load: {summary.how(targets['A'], load, loads[0][1])}")
    whole = count(blocks, "block") if done == blocks else f"{done} of {blocks} blocks"
    parts.append(f"{whole} in random order, seed {analysis.run.seed}; run {analysis.run.id}")
    engines, within_ns = _engines(analysis)
    if engines:
        names = one_line(", ".join(engines), 200)
        within = quantity(within_ns, "ns")
        parts.append(f"engines on {names}, which started within {within} of each other")
    if loads and differs:
        parts.append(", ".join(f"{name}: {summary.version(plans[name])}" for name in targets))
    return "; ".join(parts)
