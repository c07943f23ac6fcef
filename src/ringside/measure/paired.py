"""The paired benchmark: blocks of cells in random order, each trial kept before the next, until the stopping
rule is fulfilled. It serves `run`, `vs` and `load --vs`."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Protocol

from ringside.errors import ProbeError
from ringside.measure.blocks import blocks
from ringside.measure.exclusive import alone
from ringside.measure.stopping import Progress, StoppingRule
from ringside.model.design import Cell, Experiment, Point
from ringside.model.results import REPEATABLE, Outcome, Run, Trial
from ringside.stats.sequential import FIRST_LOOK
from ringside.store import Store, now
from ringside.workloads.base import Measurement

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


class TrialMaker(Protocol):
    """Carries out trials of one kind: of contenders, of commands, of loads at targets."""

    def warm_up(self, observer: RunObserver) -> None:
        """What goes before the first block and does not count. KeyboardInterrupt passes through."""
        ...

    def trial(self, block: int, position: int, cell: Cell, *, first: bool, tick: Callable[[], None]) -> Trial:
        """One trial of a cell; `first`: of its block. Raises ProbeError where the probe failed."""
        ...

    def can_measure(self, cell: Cell) -> bool:
        """Whether the probe carries out a harmless program in the place of a cell's. KeyboardInterrupt passes
        through."""
        ...


class RunObserver(Protocol):
    """Is called when something happens in a run, to show it."""

    def on_begin(
        self, run: Run, rule: StoppingRule, cells: Sequence[Cell], measurement: Measurement
    ) -> None: ...

    def on_wait(self) -> None:
        """Another process measures on this machine."""
        ...

    def on_warm_up(self, cell: Cell) -> None: ...

    def on_trial_begin(self, block: int, cell: Cell) -> None: ...

    def on_tick(self) -> None: ...

    def on_trial_end(self, trial: Trial, seconds: float) -> None: ...


class SilentObserver:
    """Shows nothing."""

    def on_begin(self, run: Run, rule: StoppingRule, cells: Sequence[Cell], measurement: Measurement) -> None:
        pass

    def on_wait(self) -> None:
        pass

    def on_warm_up(self, cell: Cell) -> None:
        pass

    def on_trial_begin(self, block: int, cell: Cell) -> None:
        pass

    def on_tick(self) -> None:
        pass

    def on_trial_end(self, trial: Trial, seconds: float) -> None:
        pass


@dataclasses.dataclass(frozen=True, slots=True)
class PairedBenchmark:
    """One run. `unavailable`: the cells that cannot be measured, with the reason of each."""

    run: Run
    experiment: Experiment
    measurement: Measurement
    points: tuple[Point, ...]
    rule: StoppingRule
    maker: TrialMaker
    store: Store
    observer: RunObserver
    unavailable: dict[Cell, str] = dataclasses.field(default_factory=dict)

    def conduct(self, *, is_alone: bool = False) -> bool:
        """Carry out all trials that the store does not have yet; True when the run is over, False when its
        deadline came first and it can go on later. Raises UsageError where another process works on this
        run, ProbeError when the probe failed twice in a row, and with a harmless program too;
        KeyboardInterrupt passes through. In each case all finished trials are in the store. `is_alone`: this
        process has the lock of the machine already."""
        lock = nullcontext() if is_alone else alone(self.observer.on_wait)
        with self.store.hold(self.run), lock:
            return self._conduct()

    def _conduct(self) -> bool:
        names = self.experiment.contenders
        # Trials of earlier goings count; the last of those that were carried out again.
        kept = self.store.trials(self.run)
        done = {(trial.block, trial.cell) for trial in kept if trial.outcome not in REPEATABLE}
        cells = [Cell(name, point) for point in self.points for name in names]
        self.observer.on_begin(self.run, self.rule, cells, self.measurement)
        for position, cell in enumerate(cells):
            if cell in self.unavailable and (0, cell) not in done:
                self._keep(unavailable_row(0, position, cell, self.unavailable[cell]))
        self.maker.warm_up(self.observer)
        progress = Progress(self.rule, self.experiment, self.measurement, self.points)
        hopeless: dict[Cell, list[Outcome]] = {}
        for trial in kept:
            progress.add(trial)
            if trial.outcome not in REPEATABLE:
                note_hopeless(trial, hopeless)
        # Contenders whose last trials, all in a row, made the probe fail.
        failing: list[str] = []
        for block in blocks(self.points, names, self.rule.max_blocks, self.run.seed):
            whole = block.index - 1
            if progress.is_reached(whole) or progress.is_over(whole):
                break
            missing = [
                (position, cell)
                for position, cell in enumerate(block.cells)
                if cell not in self.unavailable
                and (block.index, cell) not in done
                and progress.is_needed(cell)
            ]
            if missing and progress.is_late():
                if not self.rule.decided or whole < FIRST_LOOK:
                    return False
                # What is not decided by now is inconclusive.
                break
            first = True
            for position, cell in missing:
                self.observer.on_trial_begin(block.index, cell)
                begun = time.monotonic()
                is_left_out = len(hopeless.get(cell, ())) >= MAX_HOPELESS
                if is_left_out:
                    last = hopeless[cell][-1]
                    detail = f"left out: {MAX_HOPELESS} trials of this cell were {last}"
                    trial = unavailable_row(block.index, position, cell, detail)
                else:
                    trial = self._trial(block.index, position, cell, first=first)
                    first = False
                self._keep(trial)
                progress.add(trial)
                note_hopeless(trial, hopeless)
                self.observer.on_trial_end(trial, time.monotonic() - begun)
                if trial.outcome is Outcome.INTERRUPTED:
                    raise KeyboardInterrupt
                if trial.outcome is Outcome.PROBE_FAILED:
                    failing.append(cell.contender)
                elif not is_left_out:
                    failing.clear()
                # One contender among others may be the one that does it; so may two, one after the other.
                is_suspect = len(set(failing)) > 1 or len(names) == 1
                if len(failing) < MAX_PROBE_FAILURES or not is_suspect:
                    continue
                if not self.maker.can_measure(cell):
                    raise ProbeError(f"the probe failed {len(failing)} times in a row, last: {trial.detail}")
                failing.clear()
        self.store.end_run(self.run)
        return True

    def _trial(self, block: int, position: int, cell: Cell, *, first: bool) -> Trial:
        begun = now()
        try:
            return self.maker.trial(block, position, cell, first=first, tick=self.observer.on_tick)
        except ProbeError as error:
            return Trial(block, position, cell, Outcome.PROBE_FAILED, str(error), started_at=begun)
        except KeyboardInterrupt:
            detail = "interrupted before the probe had reported"
            self._keep(Trial(block, position, cell, Outcome.INTERRUPTED, detail, started_at=begun))
            raise

    def _keep(self, trial: Trial) -> None:
        self.store.add_trial(self.run, trial)


def unavailable_row(block: int, position: int, cell: Cell, reason: str) -> Trial:
    """The row of a cell that is not measured, with the reason."""
    return Trial(block, position, cell, Outcome.UNAVAILABLE, reason, started_at=now())


def note_hopeless(trial: Trial, hopeless: dict[Cell, list[Outcome]]) -> None:
    """Note the outcome of a trial that costs much and says nothing; with `MAX_HOPELESS` of them, a cell is
    left out."""
    if trial.outcome in _HOPELESS:
        hopeless.setdefault(trial.cell, []).append(trial.outcome)
