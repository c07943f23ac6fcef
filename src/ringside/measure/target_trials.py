"""Trials of loads at servers that are there already, for `ringside load --vs`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from ringside.measure.places import RunObserver
from ringside.measure.trials import outcome_of
from ringside.model.design import Cell, Point
from ringside.model.results import Outcome, Trial
from ringside.probe.protocol import (
    EngineMessage,
    LoadFigures,
    LoadMessage,
    LoadOutcome,
    LoadPlan,
    LoadRequest,
    Started,
)
from ringside.store import now

# All targets of a run are at one point without factors.
POINT = Point(())
STEP, LOAD = "measured", "all"


class LoadObserver(Protocol):
    """Is called with what one load at a target reports while it runs."""

    def on_load(self, block: int, target: str, plan: LoadPlan) -> None: ...

    def on_message(self, message: EngineMessage) -> None: ...


class LoadDriver(Protocol):
    """Carries out loads: a probe, or engines on several machines. `interrupted`: a signal ended one.
    `started_within_s`: how far apart the engines of the last load started at most; None of a probe."""

    interrupted: bool

    @property
    def started_within_s(self) -> float | None: ...

    def load(
        self, request: LoadRequest, on_message: Callable[[EngineMessage], None] | None = None
    ) -> list[EngineMessage]: ...


class TargetTrials:
    """Carries out loads at targets, one after another. `plans`: by target the plan of a block (0 is the
    warm-up)."""

    def __init__(
        self, plans: Mapping[str, Callable[[int], LoadPlan]], driver: LoadDriver, observer: LoadObserver
    ) -> None:
        self._plans = plans
        self._driver = driver
        self._observer = observer

    def warm_up(self, observer: RunObserver) -> None:
        """One load at each target."""
        for name in self._plans:
            cell = Cell(name, POINT)
            observer.on_warm_up(cell)
            trial = self.trial(0, 0, cell, first=False, tick=observer.on_tick)
            if trial.outcome is Outcome.INTERRUPTED:
                raise KeyboardInterrupt

    def trial(self, block: int, position: int, cell: Cell, *, first: bool, tick: Callable[[], None]) -> Trial:
        """One load. Without a reference computation: the engine and the server share the machine."""
        del first, tick
        plan = self._plans[cell.contender](block)
        begun = now()
        self._observer.on_load(block, cell.contender, plan)
        messages = self._driver.load(LoadRequest(plan), self._observer.on_message)
        started = next((message for message in messages if isinstance(message, Started)), None)
        outcome = messages[-1]
        assert isinstance(outcome, LoadOutcome)
        if self._driver.interrupted or outcome.outcome == "interrupted":
            # A load that was cut short is not comparable.
            return Trial(block, position, cell, Outcome.INTERRUPTED, outcome.detail, started_at=begun)
        return Trial(
            block,
            position,
            cell,
            outcome_of(outcome),
            outcome.detail,
            started_at=begun,
            loads=(load_message(outcome, started, self._driver.started_within_s),),
            missing=started.missing if started else (),
        )

    def can_measure(self, cell: Cell) -> bool:
        """Not worth a try: a target is no program of the engine's, and cannot reach it."""
        del cell
        return False


def load_message(
    outcome: LoadOutcome, started: Started | None, started_within_s: float | None = None
) -> LoadMessage:
    """What a load by itself showed, as the load of a trial. `started_within_s`: how far apart its engines
    started at most; None of one."""
    figures = {name: getattr(outcome, name) for name in LoadFigures.__struct_fields__}
    within_ns = None if started_within_s is None else round(started_within_s * 1e9)
    io = started.io if started else ""
    return LoadMessage(**figures, step=STEP, name=LOAD, io=io, started_within_ns=within_ns)
