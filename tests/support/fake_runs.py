"""Runs through a fake executor: everything but the probe is real."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ringside.catalogue.loader import Catalogue
from ringside.measure.host import Capacity, Executor
from ringside.measure.runs import plan
from ringside.measure.runs.campaign import Campaign, LocalCampaign, Task
from ringside.measure.runs.inputs import Inputs
from ringside.measure.runs.loop import Listener
from ringside.measure.runs.plan import Prepared, check, contenders_of, prepare
from ringside.measure.toolchain.builds import Toolchain
from ringside.model.catalogue import Contender
from ringside.model.design import Cell, Experiment
from ringside.model.results import Run, Trial
from ringside.probe.protocol import TrialMessage, TrialOutcome, TrialRequest
from ringside.store import Store
from ringside.store.plans import Selection
from tests.support.fake_contenders import Add

Started = Callable[..., tuple[Prepared, Store, Run]]


class FakeExecutor(Executor):
    """Reports an outcome by the contender's `how` for each request; keeps the requests. From the request
    number `interrupt_after` on it is interrupted."""

    cores = 2
    most_descriptors = 20_000
    usable = (0, 1)

    def __init__(self, outcomes: Mapping[str, str] | None = None, interrupt_after: int | None = None) -> None:
        self.requests: list[TrialRequest] = []
        self.outcomes = outcomes or {}
        self.interrupt_after = interrupt_after

    def capacity(self) -> Capacity:
        return Capacity(self.cores, self.most_descriptors)

    def trial(self, request: TrialRequest) -> list[TrialMessage]:
        if self.interrupt_after is not None and len(self.requests) >= self.interrupt_after:
            raise KeyboardInterrupt
        self.requests.append(request)
        return [TrialOutcome(self.outcomes.get(argument(request, "how"), "ok"), wall_ns=1)]


class Quiet(Listener):
    """A listener that remembers."""

    def __init__(self) -> None:
        self.ended: list[Trial] = []
        self.warmed_up: list[Cell] = []

    def on_build(self, contender: Contender) -> None:
        pass

    def on_input(self, name: str, most_bytes: int) -> None:
        pass

    def on_warm_up(self, cell: Cell) -> None:
        self.warmed_up.append(cell)

    def on_trial_end(self, trial: Trial) -> None:
        self.ended.append(trial)


def argument(request: TrialRequest, name: str) -> str:
    """The value of `name=value` among a contender's arguments; of another program its name."""
    values = (word.removeprefix(f"{name}=") for word in request.argv if word.startswith(f"{name}="))
    return next(values, request.argv[0])


def campaign(
    workplace: Path, executor: Executor, task: Task | None = None, observer: Quiet | None = None
) -> Campaign:
    """A campaign on this machine, with the catalogue as it is now."""
    catalogue, observer = Catalogue(), observer or Quiet()
    tools = (Toolchain(workplace / "b"), Inputs(workplace / "i"))
    store, task = Store(workplace / "s.sqlite"), task or Task(selection=Selection("pair", seed=5))
    return LocalCampaign(task, catalogue, store, observer, *tools, executor)


def conduct(
    run: Run, prepared: Prepared, store: Store, executor: Executor, observer: Quiet | None = None
) -> bool:
    """Carry out what is left of a run, on this process's CPUs."""
    of = campaign(Path(str(store.where)).parent, executor, observer=observer)
    return of.conduct(run, {"": prepared}, None)


def resume(run: Run, workplace: Path, executor: FakeExecutor | None = None) -> Prepared:
    """The preparation with which a stored run continues."""
    task = Task(runs=[run], unfinished=[run])
    ((_, _, prepare),) = campaign(workplace, executor or FakeExecutor(), task).parts()
    return prepare()[""]


def start(
    workplace: Path, add_fake: Add, add_experiment: Add, executor: Executor, **changes: Any
) -> tuple[Prepared, Store, Run]:
    """A run of two contenders, whose `how` is their name, in three blocks."""
    for name in ("one", "two"):
        if not (workplace / "contenders" / name).exists():
            add_fake(name, name)
    add_experiment("pair", "one", "two", blocks=3)
    experiment = plan.with_settings(Catalogue().experiment("pair"), changes)
    task = Task([experiment], selection=Selection("pair", seed=5))
    prepared = prepared_of(experiment, workplace, executor)
    of = campaign(workplace, executor, task)
    return prepared, of.store, of.begin({"": prepared})


def prepared_of(
    experiment: Experiment, workplace: Path, executor: Executor, observer: Quiet | None = None
) -> Prepared:
    """An experiment checked and built on this machine, before there is a store."""
    catalogue = Catalogue()
    points = check(experiment, catalogue, executor.capacity())
    observer = observer or Quiet()
    tools = (Toolchain(workplace / "b", observer.on_build), Inputs(workplace / "i", observer.on_input))
    return prepare(experiment, points, contenders_of(experiment, catalogue), *tools, observer)
