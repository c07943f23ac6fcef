"""Where the trials of a run are carried out, and who carries them out: what the loop over blocks asks of this
machine and of those of a cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Protocol

from ringside.errors import ProbeError
from ringside.measure.runs.events import TICK, Notify
from ringside.model.design import Cell
from ringside.model.results import Outcome, Trial
from ringside.store import now


class TrialMaker(Protocol):
    """Carries out trials of one kind: of contenders, of commands, of loads at targets."""

    def warm_up(self, notify: Notify) -> None:
        """What goes before the first block and does not count. KeyboardInterrupt passes through."""
        ...

    def trial(self, block: int, position: int, cell: Cell, *, first: bool, tick: Callable[[], None]) -> Trial:
        """One trial of a cell; `first`: of its block. Raises ProbeError where the probe failed."""
        ...

    def can_measure(self, cell: Cell) -> bool:
        """Whether the probe carries out a harmless program in the place of a cell's. KeyboardInterrupt passes
        through."""
        ...


def attempt(
    maker: TrialMaker, block: int, position: int, cell: Cell, *, first: bool, tick: Callable[[], None]
) -> Trial:
    """One trial of a cell; one whose probe failed says so."""
    begun = now()
    try:
        return maker.trial(block, position, cell, first=first, tick=tick)
    except ProbeError as error:
        return Trial(block, position, cell, Outcome.PROBE_FAILED, str(error), started_at=begun)


class TrialRunner(Protocol):
    """The machines that measure, by the names that trials carry. Each does what it is asked for in that
    order, one trial at a time. `are_here`: they are this machine alone, whose trials Ctrl-C interrupts."""

    are_here: bool

    def names(self) -> list[str]:
        """Those that are there."""
        ...

    def unavailable(self) -> Mapping[str, Mapping[Cell, str]]:
        """By place, the cells that cannot be measured there, each with its reason. Those that were lost are
        among them."""
        ...

    def engage(self) -> None:
        """Find other places where none is left. Raises ClusterError."""
        ...

    def warm_up(self) -> None:
        """What goes before the first block and does not count."""
        ...

    def ask(self, place: str, block: int, position: int, cell: Cell, *, first: bool) -> None:
        """Ask for a trial. Raises nothing: a place that is lost answers so."""
        ...

    def answers(self) -> Iterator[tuple[str, Trial | str]]:
        """What places answer to the first thing that they were asked for, as soon as one does, or after a
        second: the trial, or why the place is lost."""
        ...

    def finished(self) -> list[Trial]:
        """Trials whose answers were not taken to the end, and those that are there now."""
        ...

    def can_measure(self, place: str, cell: Cell) -> bool:
        """As `TrialMaker.can_measure`, of a place."""
        ...

    def lose(self, place: str, reason: str) -> None:
        """Do without a place from now on."""
        ...


class LocalRunner:
    """This machine as the only place: a trial is carried out when its answer is asked for."""

    are_here = True

    def __init__(
        self, maker: TrialMaker, notify: Notify, unavailable: Mapping[Cell, str] | None = None
    ) -> None:
        self._maker = maker
        self._notify = notify
        self._unavailable = unavailable or {}
        self._asked: deque[tuple[int, int, Cell, bool]] = deque()
        self._finished: list[Trial] = []

    def names(self) -> list[str]:
        return [""]

    def unavailable(self) -> Mapping[str, Mapping[Cell, str]]:
        return {"": self._unavailable}

    def engage(self) -> None:
        raise AssertionError("this machine is there")

    def warm_up(self) -> None:
        self._maker.warm_up(self._notify)

    def ask(self, place: str, block: int, position: int, cell: Cell, *, first: bool) -> None:
        self._asked.append((block, position, cell, first))

    def answers(self) -> Iterator[tuple[str, Trial | str]]:
        block, position, cell, first = self._asked.popleft()
        tick = partial(self._notify, TICK)
        self._finished = [attempt(self._maker, block, position, cell, first=first, tick=tick)]
        yield "", self._finished[0]
        self._finished = []

    def finished(self) -> list[Trial]:
        return self._finished

    def can_measure(self, place: str, cell: Cell) -> bool:
        return self._maker.can_measure(cell)

    def lose(self, place: str, reason: str) -> None:
        raise AssertionError("this machine is there")
