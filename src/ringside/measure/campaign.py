"""Several runs, one after another: what is left of runs in the store, and new runs of experiments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from ringside.catalogue.loader import Catalogue
from ringside.measure import runner
from ringside.measure.executor import Executor, keep_off_contender_cpus
from ringside.measure.inputs import Inputs
from ringside.measure.suites import Selection, experiments, kept_suite, selection_of
from ringside.measure.toolchain import Toolchain
from ringside.model.design import Experiment
from ringside.model.results import REPEATABLE, Run
from ringside.store import Store, stamp
from ringside.store.runs import runs_of


@dataclass(frozen=True, slots=True)
class Task:
    """What a campaign is to do: complete the `unfinished` ones of the `runs` that have begun, then make a run
    of each of the `experiments`. `selection`: how the command line chose them; `suite_id`: the id under which
    their runs are kept together."""

    experiments: Sequence[Experiment] = ()
    runs: Sequence[Run] = ()
    unfinished: Sequence[Run] = ()
    selection: Selection | None = None
    suite_id: str | None = None

    @property
    def is_empty(self) -> bool:
        return not self.experiments and not self.unfinished


def new_task(selection: Selection, catalogue: Catalogue) -> Task:
    """A run of the selected experiment, or one of each of a suite. Raises UsageError, CatalogueError."""
    chosen = experiments(catalogue, selection)
    is_suite = catalogue.suite(selection.name) is not None
    suite_id = f"{stamp()}-{Path(selection.name).stem}" if is_suite else None
    return Task(chosen, selection=selection, suite_id=suite_id)


def resumed_task(name: str, store: Store, catalogue: Catalogue) -> Task:
    """What is left of a run, or of a suite, whose experiments that had not begun follow. Raises UsageError
    where the store has no run of that name."""
    runs = runs_of(store, name)
    unfinished = [run for run in runs if not _is_finished(store, run)]
    suite_id = runs[0].suite.get("id")
    if suite_id is None:
        return Task(runs=runs, unfinished=unfinished)
    selection = selection_of(runs[0].suite)
    begun = {run.experiment for run in runs}
    missing = [each for each in experiments(catalogue, selection) if each.name not in begun]
    return Task(missing, runs, unfinished, selection, suite_id)


def _is_finished(store: Store, run: Run) -> bool:
    """Whether a run has ended, and every trial that was interrupted, or whose probe failed, was carried out
    again."""
    if run.ended_at is None:
        return False
    trials = store.trials(run)
    done = {(trial.block, trial.cell) for trial in trials if trial.outcome not in REPEATABLE}
    return all((trial.block, trial.cell) in done for trial in trials)


@dataclass
class Campaign:
    """Carries out a task. `runs`: those of it that have begun."""

    task: Task
    catalogue: Catalogue
    toolchain: Toolchain
    inputs: Inputs
    executor: Executor
    store: Store
    observer: runner.Observer
    runs: list[Run] = field(init=False)

    def __post_init__(self) -> None:
        self.runs = list(self.task.runs)

    def carry_out(
        self, time_limit_s: float | None = None, on_run_end: Callable[[Run], None] | None = None
    ) -> None:
        """Prepare everything, then measure; `on_run_end` gets each run that is over. Raises UsageError,
        before anything is measured unless another process works on one of the runs. ProbeError and
        KeyboardInterrupt pass through; all finished trials are in the store then."""
        for begun in self.task.unfinished:
            self.store.refuse_held(begun)  # before anything is built
        tools = (self.catalogue, self.toolchain, self.inputs, self.executor, self.observer)
        prepared: list[tuple[Run | None, runner.Prepared]] = [
            *((run, runner.resume(run, *tools)) for run in self.task.unfinished),
            *((None, runner.prepare(experiment, *tools)) for experiment in self.task.experiments),
        ]
        keep_off_contender_cpus(self.executor)
        start = monotonic()
        for number, (run, ready) in enumerate(prepared):
            left_s = None if time_limit_s is None else time_limit_s - (monotonic() - start)
            if number and left_s is not None and left_s <= 0:
                break
            if run is None:
                run = self._begin(ready)
                self.runs.append(run)
            tools_of_run = (self.store, self.executor, self.observer)
            is_over = runner.conduct(run, ready, *tools_of_run, deadline_s=left_s)
            if is_over and on_run_end:
                on_run_end(self.store.run(run.id))

    def _begin(self, prepared: runner.Prepared) -> Run:
        selection, suite_id = self.task.selection, self.task.suite_id
        assert selection
        suite = kept_suite(selection, suite_id, self.catalogue) if suite_id else None
        return runner.begin(
            prepared,
            self.store,
            self.catalogue,
            self.executor,
            selection.seed,
            suite=suite,
            selection=None if suite else selection.kept(),
        )
