"""What is going on, while it goes on: a live view on a terminal, plain lines elsewhere. On stderr."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Console
from rich.live import Live
from rich.text import Text

from ringside.model.catalogue import Ready, Unavailable
from ringside.model.design import Cell
from ringside.model.results import Outcome, Trial
from ringside.store import Run
from ringside.text import one_line
from ringside.workloads.base import Workload


class Estimate:
    """Guesses how long the rest of a run takes from the trials that have been made."""

    def __init__(self, cells: Sequence[Cell], blocks: int, workload: Workload) -> None:
        self._left = dict.fromkeys(cells, blocks)
        self._work = {cell: workload.work(cell.point) for cell in cells}
        self._seconds: dict[Cell, list[float]] = {}

    def ended(self, cell: Cell, seconds: float) -> None:
        self._left[cell] = max(0, self._left.get(cell, 0) - 1)
        self._seconds.setdefault(cell, []).append(seconds)

    def drop(self, cell: Cell) -> None:
        """This cell will make no more trials."""
        self._left[cell] = 0

    def left_s(self) -> float | None:
        """Seconds left, or None while there is nothing to guess from. A cell that was not seen yet is
        taken to cost what its contender's nearest one cost, in proportion to the work."""
        if not self._seconds:
            return None
        total = 0.0
        for cell, count in self._left.items():
            if count:
                total += count * self._guess(cell)
        return total

    def _guess(self, cell: Cell) -> float:
        if cell in self._seconds:
            return _mean(self._seconds[cell])
        kin = [other for other in self._seconds if other.contender == cell.contender] or list(self._seconds)
        nearest = min(kin, key=lambda other: abs(self._work[other] - self._work[cell]))
        return _mean(self._seconds[nearest]) * max(1.0, self._work[cell] / max(1, self._work[nearest]))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def duration(seconds: float) -> str:
    """`45 s`, `3 min 20 s`, `2 h 05 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


class Progress:
    """A `Watcher` that shows. Redraws at the edges of trials and once a second, no more: nothing should
    run beside a measurement."""

    def __init__(self, console: Console) -> None:
        self._console = console
        # No thread of its own: a line is drawn when there is something to say.
        self._live = (
            Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        )
        self._doing = ""
        self._since = time.monotonic()
        self._blocks = ""
        self._block = 0
        self._estimate: Estimate | None = None
        self._announced = 0

    def __enter__(self) -> Progress:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def preparing(self, contender: str) -> None:
        self._now(f"preparing {contender}")

    def prepared(self, found: Ready | Unavailable) -> None:
        if isinstance(found, Unavailable):
            self._say(f"{found.contender.name}: {found.reason}" + f" ({found.remedy})" * bool(found.remedy))
            for line in found.log.rstrip().splitlines()[-15:]:
                self._say(f"  | {one_line(line)}")

    def making(self, name: str, most_bytes: int) -> None:
        self._now(f"writing {name}")
        if not self._live:
            self._say(f"writing {name}, up to {most_bytes / 1e6:,.0f} MB")

    def begins(self, run: Run, blocks: int, cells: Sequence[Cell], workload: Workload) -> None:
        goal = run.plan.get("experiment", {}).get("until")
        # How many it takes until intervals are narrow is not known before.
        self._blocks = f" of {blocks}" if goal is None else ""
        self._estimate = Estimate(cells, blocks, workload) if goal is None else None
        many = f"{blocks} blocks" if goal is None else f"blocks until intervals are narrower than {goal:.3%}"
        self._say(f"run {run.id}: {len(cells)} cells in {many}")

    def rehearses(self, cell: Cell) -> None:
        self._now(f"rehearsing {cell.contender}")

    def trial_begins(self, block: int, cell: Cell) -> None:
        self._block = block
        if not self._live and block != self._announced:
            self._announced = block
            self._say(f"block {block}{self._blocks}{self._left()}")
        self._now(f"{cell.contender}  {cell.point}")

    def tick(self) -> None:
        self._draw()

    def trial_ended(self, trial: Trial, seconds: float) -> None:
        if self._estimate:
            self._estimate.ended(trial.cell, seconds)
        if trial.outcome is not Outcome.OK:
            self._say(f"{trial.cell.contender} at {trial.cell.point}: {trial.outcome}: {trial.detail}")

    def _left(self) -> str:
        left = self._estimate.left_s() if self._estimate else None
        return "" if left is None else f", about {duration(left)} left"

    def _now(self, doing: str) -> None:
        self._doing, self._since = doing, time.monotonic()
        self._draw()

    def _draw(self) -> None:
        if not self._live:
            return
        spent = time.monotonic() - self._since
        block = f"block {self._block}{self._blocks}{self._left()}: " if self._block else ""
        for_so_long = f" ({duration(spent)})" if spent >= 2 else ""
        line = Text(one_line(f"{block}{self._doing}{for_so_long}"), no_wrap=True, overflow="ellipsis")
        self._live.update(line, refresh=True)

    def _say(self, text: str) -> None:
        self._console.print(Text(one_line(text)))
