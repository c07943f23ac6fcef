"""The one loop over blocks: cells in random order, each trial kept before the next, until the stopping rule
is fulfilled. It serves `run`, `vs` and `load --vs`; `cluster/campaign.py` gives blocks to machines."""

import math
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, Protocol

from ringside.analysis.examination import RunExamination, by_class
from ringside.errors import ProbeError
from ringside.model.design import Cell, Experiment, Point
from ringside.model.results import REPEATABLE, Outcome, Run, Trial, counted
from ringside.stats.sequential import FIRST_LOOK
from ringside.stats.series import MIN_FOR_STEADY_STATE, SeriesKind, steady_state
from ringside.store import Store, now
from ringside.store.plans import read_plan
from ringside.workloads import measurement
from ringside.workloads.base import REPEATED, REPEATS, Measurement, Workload, repeats

# A cell that ended like this twice will not do better, and each try may cost the whole wall limit.
_HOPELESS = frozenset(
    {Outcome.TIMED_OUT, Outcome.OUT_OF_MEMORY, Outcome.FLOODED, Outcome.NEVER_READY, Outcome.PROBE_FAILED}
)
MAX_HOPELESS = 2
MAX_PROBE_FAILURES = 2
# Enough repeats to show a steady state, if they take at most this many times the least time. A program that
# gets faster, or did one repeat only, gets more: with few repeats it would be compared while it compiles. One
# that is still warming up gets this many times as many, up to a limit of its own.
_STEADY_TIMES = 5
_WARM_TIMES = 100
_WARMING_UP_TIMES, _MORE = 20, 3
# With too few repeats for a steady state, a program got faster if the later ones take less than this share.
_FALLS_TO = 0.95
# This many more repeats, since later trials may be faster than the one that was timed.
_RESERVE = 1.2
# The more repeats a runtime gets, the faster each is: correct the number this often, until it is this close.
_TRIES = 5
_CLOSE = 1.1


# Gets the events of preparing and measuring: a word, then what the event is about. `part`: the number of a
# suite's part that begins, and the name and time limit of each. `prepare`: the name of a contender;
# `prepared`: the Ready or Unavailable one. `wait`: another process measures here. `begin`: a Run, its
# StoppingRule, its cells, their Measurement. `warm-up`: a Cell. `trial`: the number of a block, and a Cell.
# `tick`: about a second has passed. `trial-end`: a Trial. `say`: a line. `load`: the number of a block, the
# name of a target, and its LoadPlan. `message`: an engine's message about a load.
Notify = Callable[..., None]


class Listener:
    """Takes events: calls its own method `on_trial_end`, say, where it has one."""

    def __call__(self, what: str, *about: Any) -> None:
        if method := getattr(self, f"on_{what.replace('-', '_')}", None):
            method(*about)


class DeadlineError(Exception):
    """The time limit of a run came during its warm-ups."""


class TrialMaker(Protocol):
    """Carries out trials of one kind: of contenders, of commands, of loads at targets."""

    def warm_up(self, notify: Notify) -> None:
        """Do what goes before the first block and does not count. KeyboardInterrupt passes through."""

    def trial(self, block: int, position: int, cell: Cell, *, first: bool) -> Trial:
        """One trial of a cell; `first`: of its block. Raises ProbeError if the probe failed."""

    def can_measure(self, cell: Cell) -> bool:
        """Whether the probe carries out a harmless program in the place of a cell's; here without a try."""
        return False


def attempt(maker: TrialMaker, block: int, position: int, cell: Cell, *, first: bool) -> Trial:
    begun = now()
    try:
        return maker.trial(block, position, cell, first=first)
    except ProbeError as error:
        return Trial(block, position, cell, Outcome.PROBE_FAILED, str(error), started_at=begun)


def uninterrupted(trial: Trial) -> Trial:
    """The trial. Raises KeyboardInterrupt if a signal ended it."""
    if trial.outcome is Outcome.INTERRUPTED:
        raise KeyboardInterrupt
    return trial


def blocks(
    points: Sequence[Point],
    contenders: Sequence[str],
    count: int,
    seed: int,
    is_needed: Callable[[Cell], bool] = lambda cell: True,
    *,
    is_drawn: bool = True,
) -> Iterator[list[Cell]]:
    """The cells of `count` blocks, those that are needed when each begins. In each the points come in a
    random order, and so do the contenders of a point, one after the other: drift affects them alike. The
    one that comes first at a point came last before: if it slows its successor, it slows itself as often as
    any other. So each block starts with the previous block's last point. For two contenders, the first is
    drawn anew for each two blocks: otherwise they would alternate in step with what happens at every fourth
    trial. The same seed gives the same order. Unless the order `is_drawn`, it is the given one."""
    if not is_drawn:
        yield from ([Cell(name, point) for point in points for name in contenders] for _ in range(count))
        return
    last = random.Random(f"{seed}/0").choice(contenders)
    last_point: list[Point] = []
    for index in range(1, count + 1):
        generator = random.Random(f"{seed}/{index}")
        cells: list[Cell] = []
        other_points = [each for each in generator.sample(points, len(points)) if each not in last_point]
        for point in (*last_point, *other_points):
            names = [name for name in contenders if is_needed(Cell(name, point))]
            names = generator.sample(names, len(names))
            is_new_pair = len(names) == 2 and index % 2 and not cells
            if last in names and not is_new_pair:
                names.remove(last)
                names.insert(0, last)
            cells += [Cell(name, point) for name in names]
            last = cells[-1].contender if cells else last
        last_point = [cells[-1].point] if cells else []
        yield cells


def enough(times_ns: Sequence[int], least_s: float) -> int:
    """How many repeats take `least_s` or more, and show a steady state unless that takes too long; by the
    median of the later half of `times_ns`."""
    typical_s = max(1.0, median(times_ns[len(times_ns) // 2 :])) / 1e9
    state = steady_state([max(1, each) for each in times_ns])
    may_warm = state.kind is not SeriesKind.STEADY if state else typical_s < _FALLS_TO * times_ns[0] / 1e9
    # As many repeats as it took to get warm; more where they were too few.
    settling = 0
    if state and state.kind is SeriesKind.WARM:
        settling = len(times_ns)
    elif state and state.since is None:
        settling = min(_MORE * len(times_ns), int(_WARMING_UP_TIMES * least_s / typical_s))
    most_s = (_WARM_TIMES if may_warm or len(times_ns) == 1 else _STEADY_TIMES) * least_s
    for_steady = min(MIN_FOR_STEADY_STATE, int(most_s / typical_s))
    for_time = math.ceil(_RESERVE * least_s / typical_s)
    return max(1, min(REPEATS.most, max(for_time, for_steady, settling)))


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """A run ends after `max_blocks` blocks, or once `time_s` seconds have passed and `min_timed_blocks` are
    done. Before that, but after `min_blocks` or more, where `decided`, as soon as the first place and every
    comparison of the headline are decided. No block begins after `deadline_s`: a run that decides as it goes,
    and had its first look, is over then; others can go on later."""

    max_blocks: int
    decided: bool = False
    min_blocks: int = 1
    time_s: float | None = None
    min_timed_blocks: int = FIRST_LOOK
    deadline_s: float | None = None

    @property
    def is_fixed(self) -> bool:
        """Whether the number of blocks is known beforehand."""
        return not (self.decided and self.max_blocks > FIRST_LOOK) and self.time_s is None


def rule_of(experiment: Experiment, deadline_s: float | None = None) -> StoppingRule:
    """The rule of an experiment."""
    return StoppingRule(
        max_blocks=experiment.blocks,
        decided=experiment.until_decided,
        time_s=experiment.time_s,
        deadline_s=deadline_s,
    )


@dataclass(eq=False)
class BlockProgress:
    """Whether a run in progress has reached its goal. It gets each whole block, in their order."""

    rule: StoppingRule
    experiment: Experiment
    measurement: Measurement
    points: Sequence[Point]
    classes: Sequence[Sequence[str]] | None = None

    def __post_init__(self) -> None:
        self._examination = RunExamination(self.experiment, self.measurement, self.points, self.classes)
        self.start()
        self._created = self._begun
        self.is_reached = False

    def start(self) -> None:
        """Start the clock of its times anew."""
        self._begun = time.monotonic()

    @property
    def blocks(self) -> int:
        """How many whole blocks there are."""
        return self._examination.blocks

    def add_block(self, trials: Iterable[Trial]) -> None:
        """Judge the next whole block by its trials."""
        is_look = self._examination.add_block(trials if self.rule.decided else ())
        # With a least number of blocks, what an earlier look decided ends the run once they are made.
        is_end = self.blocks == self.rule.min_blocks or (is_look and self.blocks > self.rule.min_blocks)
        is_decided = self.rule.decided and is_end and self._examination.is_decided
        self.is_reached = is_decided or self.blocks >= self.rule.max_blocks

    def is_needed(self, cell: Cell) -> bool:
        """Whether a comparison of this cell is still open, or the least number of blocks is not yet made."""
        return self.blocks < self.rule.min_blocks or self._examination.is_needed(cell)

    def is_over(self) -> bool:
        """Whether the time of the run is over."""
        enough = self.blocks >= min(self.rule.min_timed_blocks, self.rule.max_blocks)
        spent_s = time.monotonic() - self._begun
        return self.rule.time_s is not None and enough and spent_s >= self.rule.time_s

    def is_late(self) -> bool:
        """Whether no new warm-up or block is to begin, though the run is not over."""
        deadline_s = self.rule.deadline_s
        return deadline_s is not None and time.monotonic() - self._created >= deadline_s


@dataclass(eq=False)
class RunLoop(ABC):
    """The blocks of one run, as its plan has them: begun, kept and judged; subclasses carry them out.
    `unavailable`: the cells that cannot be measured, each with its reason. `done`: the stored trials that
    count, by block and cell. `unjudged`: trials of blocks that are not yet judged. `measured`: a planned cell
    as it is measured, with the number of its repeats. `is_late`: the deadline came before a block that had
    something left. `is_drawn`: see `blocks`."""

    run: Run
    rule: StoppingRule
    store: Store
    notify: Notify
    unavailable: Mapping[Cell, str] = field(default_factory=dict)
    is_drawn: bool = True

    def __post_init__(self) -> None:
        plan = read_plan(self.run)
        self.experiment, self.points = plan.experiment, plan.points
        self.measurement = measurement(self.experiment.workload, self.experiment.outputs)
        classes = by_class(self.experiment, lambda name: plan.contenders[name].kind)
        self.progress = BlockProgress(self.rule, self.experiment, self.measurement, self.points, classes)
        self.unjudged: dict[int, list[Trial]] = {}
        self.measured, self.is_late = plan.measured, False
        self.done: dict[tuple[int, Cell], Trial] = {}
        self._hopeless: dict[Cell, list[Outcome]] = {}
        # By machine, the cell that ran last, with its block.
        self._before: dict[str, tuple[int, Cell]] = {}
        # By machine, the contenders whose last trials there, all in a row, made the probe fail.
        self._failing: dict[str, list[str]] = {}

    def conduct(self) -> bool:
        """Carry out all trials that the store does not have yet; True when the run is over, False when its
        deadline came first and it can go on later. The caller has the lock of the machine.

        Raises UsageError if another process works on this run, ProbeError when the probe failed twice in a
        row, and with a harmless program too, ClusterError if no machine of a cluster is left;
        KeyboardInterrupt passes through. In each case all finished trials are in the store."""
        with self.store.hold(self.run.id):
            self._begin()
            # If the deadline comes during the warm-ups, the blocks that the store has are still judged.
            with suppress(DeadlineError):
                self.warm_up()
                workload = self.measurement
                if isinstance(workload, Workload) and any(map(workload.can_repeat, self.points)):
                    self._calibrate(workload)
            self.progress.start()
            self.measure()
            # A pair that is not decided by the deadline is inconclusive.
            has_look = self.rule.decided and self.progress.blocks >= FIRST_LOOK
            if self.is_late and not (self.is_over or has_look):
                return False
            self.store.end_run(self.run)
            return True

    def _calibrate(self, workload: Workload) -> None:
        """Set in the plan how often each cell's program repeats its work in one process, by trials before the
        first block, so that trials are long enough. The plan of a resumed run has it already."""
        plan = read_plan(self.run)
        if plan.repeats:
            return
        numbers: dict[str, list[int]] = {}
        for name in self.experiment.contenders:
            can_repeat = REPEATED.name in plan.contenders[name].capabilities
            numbers[name] = [
                self._repeats(cell, workload)
                if can_repeat and workload.can_repeat(cell.point) and cell not in self.unavailable
                else repeats(cell.point)
                for cell in (Cell(name, point) for point in plan.points)
            ]
        self.run = self.store.set_plan(self.run, {**self.run.plan, "repeats": numbers})
        self.measured = read_plan(self.run).measured

    def _repeats(self, cell: Cell, workload: Workload) -> int:
        """The repeats of a cell; of a trial that fails those before it, or 1, which the first block shows."""
        number = before = 1
        for _ in range(_TRIES):
            self.notify_in_time("warm-up", cell)
            trial = self.rehearse(replace(cell, point=cell.point.but(repeats=number)), cell)
            times_ns = trial.phases.get(workload.repeated_phase) if trial else None
            if trial is None or trial.outcome is not Outcome.OK or not times_ns:
                return before
            before, number = number, enough(times_ns, self.experiment.least_s)
            if number <= _CLOSE * before:
                break
        return number

    def _begin(self) -> None:
        """Note the stored trials, and add a row for each unavailable cell."""
        cells = [Cell(name, point) for point in self.points for name in self.experiment.contenders]
        self.notify("begin", self.run, self.rule, cells, self.measurement)
        self.done = {
            (trial.block, trial.cell): trial
            for trial in counted(self.store.trials(self.run))
            if trial.outcome not in REPEATABLE
        }
        for position, cell in enumerate(cells):
            if cell in self.unavailable and (0, cell) not in self.done:
                self.store.add_trial(self.run, row(0, position, cell, self.unavailable[cell]))
        for trial in self.done.values():
            self._note(trial)

    def notify_in_time(self, what: str, *about: Any) -> None:
        """Notify, unless the deadline has come and a warm-up is to begin: raises DeadlineError then."""
        if what == "warm-up" and self.progress.is_late():
            raise DeadlineError
        self.notify(what, *about)

    @abstractmethod
    def warm_up(self) -> None:
        """Do what goes before the first block and does not count."""

    @abstractmethod
    def rehearse(self, cell: Cell, planned: Cell) -> Trial | None:
        """A trial of a cell before the first block; None if unavailable. Raises KeyboardInterrupt."""

    @abstractmethod
    def measure(self) -> None:
        """Measure block after block, as they are planned."""

    def planned(self) -> Iterator[tuple[int, list[tuple[int, Cell]]]]:
        """The missing cells of each block, by their positions, until the run is over or late."""

        def is_needed(cell: Cell) -> bool:
            return cell not in self.unavailable and self.progress.is_needed(cell)

        what = (self.points, self.experiment.contenders, self.rule.max_blocks, self.run.seed, is_needed)
        for block, cells in enumerate(blocks(*what, is_drawn=self.is_drawn), 1):
            missing = [each for each in enumerate(cells) if (block, each[1]) not in self.done]
            self.is_late = bool(missing) and self.progress.is_late()
            if self.is_over or self.is_late:
                return
            yield block, missing

    def follows_another(self, block: int, cell: Cell, machine: str = "") -> bool:
        """Whether the next cell is the first of a point in a block, and another contender ran before it: it
        then gets a trial that does not count first, so that it follows itself."""
        before, last = self._before.get(machine, (block, cell))
        self._before[machine] = (block, cell)
        return last.contender != cell.contender and (before, last.point) != (block, cell.point)

    def leave_out(self, block: int, position: int, cell: Cell) -> bool:
        """Whether a cell is hopeless; adds a row that says so."""
        outcomes = self._hopeless.get(cell, [])
        if len(outcomes) < MAX_HOPELESS:
            return False
        reason = f"left out: {MAX_HOPELESS} trials of this cell were {outcomes[-1]}"
        self.add(row(block, position, cell, reason))
        return True

    def add(self, trial: Trial) -> None:
        self.store.add_trial(self.run, trial)
        self._note(trial)
        self.notify("trial-end", trial)

    def is_kept(self, trial: Trial) -> bool:
        """Whether the store has a trial that counts in the place of this one."""
        return any(
            (each.block, each.cell) == (trial.block, trial.cell) and each.outcome not in REPEATABLE
            for each in self.store.trials(self.run)
        )

    def _note(self, trial: Trial) -> None:
        """Note a trial: for the stopping rule if it counts, and if it cost much for nothing."""
        if trial.block > 0 and trial.outcome not in REPEATABLE:
            self.unjudged.setdefault(trial.block, []).append(trial)
        if trial.outcome in _HOPELESS:
            self._hopeless.setdefault(trial.cell, []).append(trial.outcome)

    def check_probe(self, trial: Trial, can_measure: Callable[[Cell], bool]) -> None:
        """Raise ProbeError if the probe of a machine fails again and again, whatever the program."""
        failing = self._failing.setdefault(trial.machine, [])
        if trial.outcome is not Outcome.PROBE_FAILED:
            failing.clear()
            return
        failing.append(trial.cell.contender)
        # One contender may be the cause, and so may two in a row: a harmless program is tried first.
        is_suspect = len(set(failing)) > 1 or len(self.experiment.contenders) == 1
        if len(failing) < MAX_PROBE_FAILURES or not is_suspect:
            return
        if not can_measure(trial.cell):
            raise ProbeError(f"the probe failed {len(failing)} times in a row, last: {trial.detail}")
        failing.clear()

    @property
    def is_over(self) -> bool:
        """Whether the blocks that are judged are enough."""
        return self.progress.is_reached or self.progress.is_over()


@dataclass(eq=False)
class BlockLoop(RunLoop):
    maker: TrialMaker = field(kw_only=True)

    def warm_up(self) -> None:
        self.maker.warm_up(self.notify_in_time)

    def rehearse(self, cell: Cell, planned: Cell) -> Trial:
        return uninterrupted(attempt(self.maker, 0, 0, cell, first=False))

    def measure(self) -> None:
        for index, missing in self.planned():
            is_first = True
            for position, cell in missing:
                if not self.leave_out(index, position, cell):
                    self._measure_cell(index, position, cell, is_first=is_first)
                    is_first = False
            self.progress.add_block(self.unjudged.pop(index, []))

    def _measure_cell(self, block: int, position: int, cell: Cell, *, is_first: bool) -> None:
        if self.is_drawn and self.follows_another(block, cell):
            # A block that has begun is completed, also after the deadline.
            self.notify("warm-up", cell)
            self.rehearse(self.measured(cell), cell)
        self.notify("trial", block, cell)
        trial = interrupted(block, position, cell)
        try:
            made = attempt(self.maker, block, position, self.measured(cell), first=is_first)
            trial = replace(made, cell=cell)
            self.add(trial)
        except KeyboardInterrupt:
            if not self.is_kept(trial):
                self.store.add_trial(self.run, trial)
            raise
        self.check_probe(uninterrupted(trial), self.maker.can_measure)


def row(block: int, position: int, cell: Cell, reason: str) -> Trial:
    return Trial(block, position, cell, Outcome.UNAVAILABLE, reason, started_at=now())


def interrupted(block: int, position: int, cell: Cell, machine: str = "") -> Trial:
    reason = "interrupted before the probe had reported"
    return Trial(block, position, cell, Outcome.INTERRUPTED, reason, started_at=now(), machine=machine)
