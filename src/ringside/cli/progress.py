"""What a run is doing, while it does it: a live line on a terminal, plain lines elsewhere. On stderr."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import fmean

from rich.console import Console
from rich.live import Live
from rich.text import Text

from ringside.measure.runs.events import Listener
from ringside.measure.runs.stopping import StoppingRule
from ringside.model.catalogue import Contender, Ready, Unavailable
from ringside.model.design import Cell
from ringside.model.results import Outcome, Run, Trial
from ringside.render.text.command import with_options, with_store
from ringside.store.plans import read_plan
from ringside.text import LOG_LINES, last_lines, one_line
from ringside.units import count, duration
from ringside.workloads.base import Measurement, Workload

# A doing that lasts longer gets its time shown.
_LONG_S = 2.0
# After this a log without a live line says what is waited for before the first block.
_WAIT_S = 10.0
# More blocks than these are no limit that anyone planned.
_PLANNED_BLOCKS = 10_000


class Estimate:
    """Estimates how long the rest of a run takes from the trials that it has."""

    def __init__(self, cells: Sequence[Cell], blocks: int, workload: Workload) -> None:
        self._left = dict.fromkeys(cells, blocks)
        # Cells that repeat their work take about as long as each other.
        self._work = {
            cell: 1 if workload.can_repeat(cell.point) else workload.work(cell.point) for cell in cells
        }
        self._seconds: dict[Cell, list[float]] = {}

    def on_trial_end(self, cell: Cell, seconds: float) -> None:
        self._left[cell] = max(0, self._left.get(cell, 0) - 1)
        self._seconds.setdefault(cell, []).append(seconds)

    def left_s(self) -> float | None:
        """Seconds left, or None before the first trial. A cell without a trial is taken to cost what its
        contender's nearest one cost, in proportion to the work."""
        if not self._seconds:
            return None
        return sum(count * self._cost_s(cell) for cell, count in self._left.items() if count)

    def _cost_s(self, cell: Cell) -> float:
        if cell in self._seconds:
            return fmean(self._seconds[cell])
        same = [other for other in self._seconds if other.contender == cell.contender] or list(self._seconds)
        nearest = min(same, key=lambda other: abs(self._work[other] - self._work[cell]))
        return fmean(self._seconds[nearest]) * max(1.0, self._work[cell] / max(1, self._work[nearest]))


class LiveProgress(Listener):
    """Shows what happens; where it is `quiet`, on the live line alone. Redraws at the ends of trials and
    once a second, no more often: nothing should run beside a measurement."""

    def __init__(self, console: Console, *, quiet: bool = False) -> None:
        self._console = console
        self._quiet = quiet
        self._is_live = console.is_terminal
        # No thread of its own: the line is drawn when something has changed.
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._doing, self._since = "", time.monotonic()
        self._block = self._announced = 0
        self._blocks = ""
        self._estimate: Estimate | None = None
        self._failed: set[Cell] = set()
        self._is_waiting = False
        # What `ringside repeat` needs: the run, and its contenders outside the catalogue.
        self._repeated: tuple[str, ...] = ()

    def __enter__(self) -> LiveProgress:
        if self._is_live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the terminal to other output meanwhile."""
        if self._is_live:
            self._live.update("", refresh=True)
        self._live.stop()
        yield
        if self._is_live:
            self._live.start()

    def on_prepare(self, contender: str) -> None:
        self._now(f"preparing {contender}")

    def on_build(self, contender: Contender) -> None:
        self._now(f"building {contender.name}", f"building {contender.name}")

    def on_prepared(self, contender: Ready | Unavailable) -> None:
        if isinstance(contender, Unavailable):
            remedy = f" ({contender.remedy})" if contender.remedy else ""
            self._print(f"{contender.contender.name}: {contender.reason}{remedy}")
            for line in last_lines(contender.log, LOG_LINES):
                self._print(f"  | {line}")

    def on_input(self, name: str, most_bytes: int) -> None:
        self._now(f"writing {name}", f"writing {name}, up to {most_bytes / 1e6:,.0f} MB")

    def on_say(self, text: str) -> None:
        """A line that is shown even where it is quiet."""
        self._console.print(Text(one_line(text, most=1000)))

    def on_wait(self) -> None:
        # Even where it is quiet: nothing else tells why nothing happens.
        self.on_say("another ringside is measuring on this machine: waiting for its end (Ctrl-C gives up)")

    def on_begin(self, run: Run, rule: StoppingRule, cells: Sequence[Cell], measurement: Measurement) -> None:
        self._block = self._announced = 0
        self._failed.clear()
        self._blocks, self._estimate, self._repeated = "", None, ()
        if isinstance(measurement, Workload):
            self._repeated = (run.id, *with_options(read_plan(run).chosen))
        # With a goal, or a time, the number of blocks is not known before.
        if rule.is_fixed:
            self._blocks = f" of {rule.max_blocks}"
            goal = f"in {count(rule.max_blocks, 'block')}"
            if isinstance(measurement, Workload):
                self._estimate = Estimate(cells, rule.max_blocks, measurement)
        else:
            goal = "until the time is over"
            if rule.decided:
                goal = "until all is decided"
            elif rule.until is not None:
                goal = f"until each interval is narrower than {rule.until:.3g} of its ratio"
            limits = [duration(rule.time_s)] if rule.time_s is not None else []
            limits += [count(rule.max_blocks, "block")] if rule.max_blocks <= _PLANNED_BLOCKS else []
            goal += f", {' or '.join(limits)} at most" if limits else ""
        self._print(f"run {run.id}: {count(len(cells), 'cell')} {goal}")

    def on_warm_up(self, cell: Cell) -> None:
        self._now(f"warming up {cell.contender}")
        self._is_waiting = True

    def on_trial(self, block: int, cell: Cell) -> None:
        self._block, self._is_waiting = block, False
        if not self._is_live and block != self._announced:
            self._announced = block
            self._print(f"block {block}{self._blocks}{self._left()}")
        self._now(f"{cell.contender}  {cell.point}".rstrip())

    def on_tick(self) -> None:
        if self._is_waiting and not self._is_live and time.monotonic() - self._since >= _WAIT_S:
            self._is_waiting = False
            self._print(f"{self._doing}: {duration(_WAIT_S)} so far")
        self._draw()

    def on_trial_end(self, trial: Trial, seconds: float) -> None:
        if self._estimate:
            self._estimate.on_trial_end(trial.cell, seconds)
        if trial.outcome is Outcome.OK:
            return
        cell = trial.cell
        where = f" at {cell.point}" if cell.point.levels else ""
        self._print(f"{cell.contender}{where}: {trial.outcome}: {trial.detail}")
        # At the first failure of a cell, the end of what the program wrote, and how to repeat its trial.
        if cell in self._failed or trial.report is None or trial.outcome is Outcome.INTERRUPTED:
            return
        for line in last_lines(trial.report.stderr_tail):
            self._print(f"  | {line}")
        if self._repeated and cell.contender not in {failed.contender for failed in self._failed}:
            run, *outside = self._repeated
            again = with_store("repeat", run, cell.contender, *outside)
            self._print(f"  all output of {cell.contender}: {again}")
        self._failed.add(cell)

    def _left(self) -> str:
        left = self._estimate.left_s() if self._estimate else None
        return "" if left is None else f", about {duration(left)} left"

    def _now(self, doing: str, line: str = "") -> None:
        """What is being done; `line`: what a log without a live line says of it."""
        self._doing, self._since = doing, time.monotonic()
        self._draw()
        if line and not self._is_live:
            self._print(line)

    def _draw(self) -> None:
        if not self._is_live:
            return
        spent = time.monotonic() - self._since
        block = f"block {self._block}{self._blocks}{self._left()}: " if self._block else ""
        lasting = f" ({duration(spent)})" if spent >= _LONG_S else ""
        line = Text(one_line(f"{block}{self._doing}{lasting}"), no_wrap=True, overflow="ellipsis")
        self._live.update(line, refresh=True)

    def _print(self, text: str) -> None:
        if not self._quiet:
            self._console.print(Text(one_line(text)))
