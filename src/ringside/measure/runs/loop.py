"""The one loop over blocks: cells in random order, each trial kept before the next, until the stopping rule
is fulfilled. It serves `run`, on this machine or on those of a cluster, `vs` and `load --vs`.

A block goes to one place, a machine that measures, so that pairs inside blocks are of one machine; a place
has one block at a time. Only the loop writes to the store. Blocks end in any order. The stopping rule judges
them in the order of their numbers, so that which blocks count does not depend on how fast they were: after
block n, once blocks 1 … n are whole. No block begins once the run has reached its goal; those that have begun
are completed, and count.
"""

from __future__ import annotations

import random
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from operator import itemgetter

from ringside.errors import ClusterError, ProbeError
from ringside.measure.runs.calibration import calibrated
from ringside.measure.runs.events import TICK, Event, Notify
from ringside.measure.runs.runners import TrialRunner
from ringside.measure.runs.stopping import Progress, StoppingRule
from ringside.model.design import Block, Cell, Experiment, Point
from ringside.model.results import REPEATABLE, Outcome, Run, Trial, counted
from ringside.stats.sequential import FIRST_LOOK
from ringside.store import Store, now
from ringside.store.plans import read_plan
from ringside.workloads.base import Measurement, Workload

# A cell that ended like this twice will not do better, and each try may cost the whole wall limit.
_HOPELESS = frozenset(
    {
        Outcome.TIMED_OUT,
        Outcome.OUT_OF_MEMORY,
        Outcome.FLOODED,
        Outcome.NEVER_READY,
        Outcome.PROBE_FAILED,
    }
)
MAX_HOPELESS = 2
MAX_PROBE_FAILURES = 2
_INTERRUPTED = "interrupted before the probe had reported"


def blocks(points: Sequence[Point], contenders: Sequence[str], count: int, seed: int) -> Iterator[Block]:
    """`count` blocks, counted from 1. In each the points come in a random order, and the contenders of a
    point stand next to each other, in a random order too: drift of the machine then affects them alike. The
    first at a point is the contender that came last: so one that slows its successor does so to itself as
    often as to any other, and no ratio moves. A block begins with the point that ended the one before, too:
    so the last cell of a block comes twice in a row, beside itself. The same seed gives the same order, so
    that an unfinished run can be resumed."""
    last = random.Random(f"{seed}/0").choice(contenders)
    last_point: list[Point] = []
    for index in range(1, count + 1):
        generator = random.Random(f"{seed}/{index}")
        cells: list[Cell] = []
        other_points = [each for each in generator.sample(points, len(points)) if each not in last_point]
        for point in (*last_point, *other_points):
            others = [name for name in generator.sample(contenders, len(contenders)) if name != last]
            cells += [Cell(name, point) for name in (last, *others)]
            last = cells[-1].contender
        last_point = [cells[-1].point]
        yield Block(index, tuple(cells))


@dataclass(slots=True)
class _Share:
    """What a place does of a block: cells by their positions, in order. `place`: where trials of it are
    already, whose pairs are missing; None for any. `asked`: what is not yet answered; the first is under way
    `since` then."""

    block: int
    cells: list[tuple[int, Cell]]
    place: str | None = None
    asked: deque[tuple[int, Cell]] = field(default_factory=deque)
    since: float = 0.0


class BlockLoop:
    """The blocks of one run."""

    def __init__(
        self,
        run: Run,
        experiment: Experiment,
        measurement: Measurement,
        points: Sequence[Point],
        rule: StoppingRule,
        runner: TrialRunner,
        store: Store,
        notify: Notify,
    ) -> None:
        self._run = run
        self._experiment = experiment
        self._measurement = measurement
        self._points = points
        self._rule = rule
        self._runner = runner
        self._store = store
        self._notify = notify
        self._hopeless: dict[Cell, list[Outcome]] = {}
        # By place, the contenders whose last trials there, all in a row, made the probe fail.
        self._failing: dict[str, list[str]] = {}
        self._busy: dict[str, _Share] = {}
        # Shares of blocks that a place did not complete.
        self._moved: deque[_Share] = deque()
        # Trials of blocks that are not judged yet, and how many shares of a block are not done.
        self._unjudged: dict[int, list[Trial]] = {}
        self._open: Counter[int] = Counter()
        self._begun = 0
        self._progress = Progress(rule, experiment, measurement, points)
        self._is_over = False
        self._is_late = False
        # A planned cell as it is measured: with the number of its repeats.
        self._measured: Callable[[Cell], Cell] = lambda cell: cell

    def conduct(self) -> bool:
        """Carry out all trials that the store does not have yet; True when the run is over, False when its
        deadline came first and it can go on later. Raises UsageError where another process works on this run,
        ProbeError when the probe failed twice in a row, and with a harmless program too, ClusterError where
        no place is left; KeyboardInterrupt passes through. In each case all finished trials are in the
        store. Who calls it has the lock of the machine."""
        with self._store.hold(self._run):
            done = self._begin()
            self._runner.warm_up()
            self._calibrate()
            self._progress.start()
            planned = self._planned(done)
            try:
                self._hand_out(planned)
                while self._busy:
                    self._gather()
                    self._hand_out(planned)
            except KeyboardInterrupt:
                self._keep_what_is_there()
                raise
            # What is not decided by the deadline is inconclusive.
            is_over = self._is_over or (self._rule.decided and self._progress.blocks >= FIRST_LOOK)
            if self._is_late and not is_over:
                return False
            self._store.end_run(self._run)
            return True

    def _begin(self) -> dict[tuple[int, Cell], Trial]:
        """The trials of earlier goings that count, by block and cell, and rows of the cells that cannot be
        measured."""
        cells = [Cell(name, point) for point in self._points for name in self._experiment.contenders]
        self._notify(Event("begin", self._run, self._rule, cells, self._measurement))
        done = {
            (trial.block, trial.cell): trial
            for trial in counted(self._store.trials(self._run))
            if trial.outcome not in REPEATABLE
        }
        for position, cell in enumerate(cells):
            if (reason := self._everywhere(cell)) and (0, cell) not in done:
                self._keep(_row(0, position, cell, reason))
        for trial in done.values():
            self._note(trial)
        return done

    def _calibrate(self) -> None:
        """Find how often each cell's work is repeated, or read it from the plan of a run that goes on."""
        workload = self._measurement
        if isinstance(workload, Workload) and any(map(workload.can_repeat, self._points)):
            self._run = calibrated(self._run, workload, self._runner, self._store, self._notify)
            self._measured = read_plan(self._run).measured

    def _everywhere(self, cell: Cell) -> str | None:
        """Why a cell can be measured at no place: the first one's reason."""
        reasons = [each.get(cell) for each in self._runner.unavailable().values()]
        return reasons[0] if reasons and all(reasons) else None

    def _planned(self, done: Mapping[tuple[int, Cell], Trial]) -> Iterator[_Share]:
        """What is missing, block by block, as long as more is to be done."""
        names = self._experiment.contenders
        for block in blocks(self._points, names, self._rule.max_blocks, self._run.seed):
            self._judge()
            if self._is_over:
                return
            self._begun = block.index
            missing = [
                (position, cell)
                for position, cell in enumerate(block.cells)
                if not self._everywhere(cell)
                and (block.index, cell) not in done
                and self._progress.is_needed(cell)
            ]
            if not missing:
                continue
            if self._progress.is_late():
                self._is_late = True
                self._begun = block.index - 1
                return
            shares = self._shares(block.index, missing, done)
            self._open[block.index] = len(shares)
            yield from shares

    def _shares(
        self, block: int, missing: list[tuple[int, Cell]], done: Mapping[tuple[int, Cell], Trial]
    ) -> list[_Share]:
        """What is missing of a block, of which trials may be there: a point that has some is completed at
        their place, or measured again where that one is gone."""
        by_place: dict[str | None, list[tuple[int, Cell]]] = {}
        for point in dict.fromkeys(cell.point for _, cell in missing):
            there = [
                trial
                for name in self._experiment.contenders
                if (trial := done.get((block, Cell(name, point)))) and trial.machine
            ]
            cells = [each for each in missing if each[1].point == point]
            place = there[0].machine if there else None
            if place is not None and place not in self._runner.names():
                cells += self._set_aside(block, there, place)
                place = None
            by_place.setdefault(place, []).extend(cells)
        return [_Share(block, sorted(cells, key=itemgetter(0)), place) for place, cells in by_place.items()]

    def _set_aside(self, block: int, trials: Sequence[Trial], place: str) -> list[tuple[int, Cell]]:
        """Trials whose pairs can no more be completed: they are carried out again, at one place."""
        reason = f"{place} was lost before the block had a pair there: carried out again on another machine"
        self._store.set_aside(self._run, block, [trial.cell for trial in trials], reason)
        gone = {trial.cell for trial in trials}
        self._unjudged[block] = [each for each in self._unjudged.get(block, []) if each.cell not in gone]
        return [(trial.position, trial.cell) for trial in trials]

    def _hand_out(self, planned: Iterator[_Share]) -> None:
        """Give every idle place something to do, if there is anything for it."""
        if not self._runner.names():
            self._runner.engage()
        for place in self._runner.names():
            while place not in self._busy:
                share = self._next(place, planned)
                if share is None:
                    break
                self._start(place, share)

    def _next(self, place: str, planned: Iterator[_Share]) -> _Share | None:
        for share in list(self._moved):
            if share.place in (None, place) or share.place not in self._runner.names():
                self._moved.remove(share)
                return share
        for share in planned:
            if share.place in (None, place):
                return share
            self._moved.append(share)
        return None

    def _start(self, place: str, share: _Share) -> None:
        """Ask for all trials of a share: the place goes from one to the next by itself."""
        missing = self._runner.unavailable()[place]
        first = True
        for position, cell in share.cells:
            if cell in missing:
                # Its contender may be there at others.
                self._add(replace(_row(share.block, position, cell, missing[cell]), machine=place), 0.0)
            elif len(outcomes := self._hopeless.get(cell, [])) >= MAX_HOPELESS:
                reason = f"left out: {MAX_HOPELESS} trials of this cell were {outcomes[-1]}"
                self._add(_row(share.block, position, cell, reason), 0.0)
            else:
                self._runner.ask(place, share.block, position, self._measured(cell), first=first)
                share.asked.append((position, cell))
                first = False
        if share.asked:
            self._busy[place] = share
            self._next_trial(share)
        else:
            self._close(share)

    def _next_trial(self, share: _Share) -> None:
        share.since = time.monotonic()
        self._notify(Event("trial", share.block, share.asked[0][1]))

    def _gather(self) -> None:
        """Wait for trials, a second at most, and keep them."""
        nothing = True
        for place, answer in self._runner.answers():
            nothing = False
            if isinstance(answer, str):
                self._lose(place, answer)
            else:
                self._take(place, answer)
        if nothing:
            self._notify(TICK)

    def _take(self, place: str, trial: Trial) -> None:
        share = self._busy[place]
        trial = replace(trial, cell=share.asked[0][1])
        self._add(trial, time.monotonic() - share.since)
        if trial.outcome is Outcome.INTERRUPTED:
            if self._runner.are_here:
                del self._busy[place]
                raise KeyboardInterrupt
            self._lose(place, "it was interrupted")
            return
        share.asked.popleft()
        if not share.asked:
            del self._busy[place]
        self._check_probe(place, trial)
        if share.asked:
            self._next_trial(share)
        else:
            self._close(share)

    def _add(self, trial: Trial, seconds: float) -> None:
        self._keep(trial)
        self._note(trial)
        # A listener's estimate of the time left knows of one machine.
        self._notify(Event("trial-end", trial, seconds / max(1, len(self._runner.names()))))

    def _note(self, trial: Trial) -> None:
        """Remember a trial: for the stopping rule where it counts, and where it cost much for nothing."""
        if trial.block > 0 and trial.outcome not in REPEATABLE:
            self._unjudged.setdefault(trial.block, []).append(trial)
        if trial.outcome in _HOPELESS:
            self._hopeless.setdefault(trial.cell, []).append(trial.outcome)

    def _keep(self, trial: Trial) -> None:
        self._store.add_trial(self._run, trial)

    def _check_probe(self, place: str, trial: Trial) -> None:
        """Raise ProbeError where the probe of a place fails again and again, whatever the program."""
        failing = self._failing.setdefault(place, [])
        if trial.outcome is not Outcome.PROBE_FAILED:
            failing.clear()
            return
        failing.append(trial.cell.contender)
        # One contender among others may be the one that does it; so may two, one after the other.
        is_suspect = len(set(failing)) > 1 or len(self._experiment.contenders) == 1
        if len(failing) < MAX_PROBE_FAILURES or not is_suspect:
            return
        if not self._runner.can_measure(place, trial.cell):
            raise ProbeError(f"the probe failed {len(failing)} times in a row, last: {trial.detail}")
        failing.clear()

    def _lose(self, place: str, reason: str) -> None:
        """Go on without a place: what it did not complete moves to another. Points of which it has all trials
        stay as they are."""
        share = self._busy.pop(place)
        left = list(share.asked)
        missing = {cell.point for _, cell in left}
        mine = [
            trial
            for trial in self._unjudged.get(share.block, [])
            if trial.cell.point in missing and trial.machine == place
        ]
        left += self._set_aside(share.block, mine, place)
        self._runner.lose(place, f"lost in block {share.block}, which goes to another machine: {reason}")
        self._moved.append(_Share(share.block, sorted(left, key=itemgetter(0))))

    def _close(self, share: _Share) -> None:
        """A share is done; its block is, unless another share has a part of it."""
        self._open[share.block] -= 1
        self._judge()

    def _judge(self) -> None:
        """Count the blocks that are whole, in their order."""
        judged = self._progress.blocks
        while not self._is_over and judged < self._begun and not self._open[judged + 1]:
            judged += 1
            self._progress.add_block(self._unjudged.pop(judged, []))
            self._is_over = self._progress.is_reached or self._progress.is_over()

    def _keep_what_is_there(self) -> None:
        """After Ctrl-C: keep the trials that were finished, and a row of each that was under way."""
        finished: list[Trial] = []
        # Where the cluster is lost meanwhile, the wish to stop is more important.
        with suppress(ClusterError):
            finished = self._runner.finished()
        kept = {
            (trial.block, trial.cell)
            for trial in self._store.trials(self._run)
            if trial.outcome not in REPEATABLE
        }
        by_position = {(trial.block, trial.position): trial for trial in finished}
        for place, share in self._busy.items():
            for position, cell in share.asked:
                if (share.block, cell) in kept:
                    continue
                if trial := by_position.get((share.block, position)):
                    self._keep(replace(trial, cell=cell))
                    continue
                row = Trial(
                    *(share.block, position, cell, Outcome.INTERRUPTED, _INTERRUPTED),
                    started_at=now(),
                    machine=place,
                )
                self._keep(row)
                break


def _row(block: int, position: int, cell: Cell, reason: str) -> Trial:
    """The row of a cell that is not measured, with the reason."""
    return Trial(block, position, cell, Outcome.UNAVAILABLE, reason, started_at=now())
