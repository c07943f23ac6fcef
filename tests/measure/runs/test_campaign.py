"""Several runs, one after another, in this process: all but the probe is real."""

import os
import re
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from unittest.mock import Mock

import pytest

from ringside.catalogue.loader import Catalogue
from ringside.errors import UsageError
from ringside.files import FileLock
from ringside.measure.host import LOCK_VARIABLE
from ringside.measure.runs.campaign import Campaign, LocalCampaign, Task, new_task, resumed_task
from ringside.model.design import Cell, Point
from ringside.model.results import Outcome, Run, Trial
from ringside.probe.protocol import Service, Step, TrialMessage, TrialRequest
from ringside.store import Store
from ringside.store.database import runs_of
from ringside.store.plans import Selection, SuiteSelection, read_plan
from ringside.workloads.ring.workload import Ring
from tests.support.errors import error_of
from tests.support.fake_contenders import Add, add_build, change_workload, manifest_of
from tests.support.fake_runs import FakeExecutor, Quiet, argument, campaign


@pytest.fixture
def catalogue(add_fake: Add, add_experiment: Add, add_suite: Add) -> Catalogue:
    """A suite of two experiments of one contender, which differ by its arguments."""
    add_fake("one", "one")
    add_fake("two", "two")
    add_experiment("first", "one", blocks=2)
    add_experiment("second", "two", blocks=3)
    add_suite("both", "first", "second", more='note = "Why?"\n')
    return Catalogue()


@pytest.fixture
def store(workplace: Path) -> Store:
    return Store(workplace / "s.sqlite")


@pytest.fixture(autouse=True)
def _affinity() -> Iterator[None]:
    """A campaign moves its process to other CPUs."""
    here = os.sched_getaffinity(0)
    yield
    os.sched_setaffinity(0, here)


class CpuExecutor(FakeExecutor):
    """Gives contenders all CPUs but the first, and notes which are Ringside's own during trials."""

    def __init__(self, interrupt_after: int | None = None) -> None:
        super().__init__(interrupt_after=interrupt_after)
        self.own: list[set[int]] = []
        self.own_at_loads: list[set[int]] = []
        self.probe = Mock(need_loads=lambda: self.own_at_loads.append(os.sched_getaffinity(0)))

    def trial(self, request: TrialRequest) -> list[TrialMessage]:
        self.own.append(os.sched_getaffinity(0))
        return super().trial(request)

    def cpus(self, cores: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return (1,), (min(os.sched_getaffinity(0)),)


def campaign_of(
    task: Task, workplace: Path, executor: FakeExecutor | None = None, observer: Quiet | None = None
) -> Campaign:
    return campaign(workplace, executor or CpuExecutor(), task, observer)


def interrupted(selection: Selection, workplace: Path, after: int) -> Campaign:
    """A campaign that Ctrl-C ended after so many requests."""
    cut_off = campaign_of(new_task(selection, Catalogue()), workplace, CpuExecutor(interrupt_after=after))
    with pytest.raises(KeyboardInterrupt):
        cut_off.carry_out()
    return cut_off


# --- tasks ---


def test_a_task_of_a_suite_has_its_id(catalogue: Catalogue) -> None:
    task = new_task(Selection("both"), catalogue)
    assert [each.name for each in task.experiments] == ["first", "second"]
    assert re.fullmatch(r"\d{8}-\d{6}-both", task.suite_id or ""), task.suite_id
    by_path = new_task(Selection("experiments/both.toml"), catalogue)
    assert (by_path.suite_id or "").endswith("-both")


def test_ids_of_one_second(catalogue: Catalogue, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringside.measure.runs.campaign.stamp", lambda: "20260102-030405")
    ids = []
    for _ in range(3):
        campaign = campaign_of(new_task(Selection("both", blocks=1), catalogue), workplace)
        campaign.carry_out()
        ids.append(campaign.task.suite_id)
        assert [run.suite["id"] for run in runs_of(campaign.store, "both")] == [ids[-1]] * 2
    assert ids == [f"20260102-030405-both{number}" for number in ("", ".2", ".3")]


def test_sessions_are_runs_of_one_suite(catalogue: Catalogue, store: Store, workplace: Path) -> None:
    add_build(workplace / "contenders" / "one", "sh", "-c", f"echo built >> {workplace}/builds")
    executor = CpuExecutor(interrupt_after=5)
    made = campaign_of(new_task(Selection("first", seed=7, sessions=3), Catalogue()), workplace, executor)
    with pytest.raises(KeyboardInterrupt):
        made.carry_out()
    suite = made.task.suite_id or ""
    assert [run.seed for run in runs_of(store, suite)] == [7, 8]
    again = resumed_task(suite, store, Catalogue())
    assert [each.name for each in again.experiments] == ["first"]
    executor.interrupt_after = None
    campaign_of(again, workplace, executor).carry_out()
    runs = runs_of(store, "first")
    assert [(run.seed, run.suite["id"], bool(run.ended_at)) for run in runs] == [
        (seed, suite, True) for seed in (7, 8, 9)
    ]
    assert (workplace / "builds").read_text() == "built\n" * 3
    assert resumed_task(suite, store, catalogue).is_empty


def test_each_session_has_its_time_when_it_goes_on(
    catalogue: Catalogue, store: Store, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut off in the second part of the first session, whose rest takes all of its time."""
    cut_off = interrupted(Selection("both", sessions=2, seed=1, blocks=1), workplace, 3)
    rest = resumed_task(cut_off.task.suite_id or "", store, catalogue)
    assert [[each.experiment for each in rest.unfinished], len(rest.experiments)] == [["second"], 2]
    monkeypatch.setattr("ringside.measure.runs.campaign.monotonic", count(step=60).__next__)
    campaign_of(rest, workplace).carry_out(time_limit_s=50)
    assert [run.experiment for run in store.runs()] == ["first", "second", "first"]


# --- runs ---


def test_a_suite_is_a_run_of_each_experiment(catalogue: Catalogue, store: Store, workplace: Path) -> None:
    selection = Selection("both", seed=7)
    task = new_task(selection, catalogue)
    executor, ended, cpus = CpuExecutor(), list[Run](), os.sched_getaffinity(0)
    made = campaign_of(task, workplace, executor)
    assert made.runs == []
    made.carry_out(on_run_end=ended.append)
    assert [run.experiment for run in made.runs] == ["first", "second"]
    assert [run.id for run in ended] == [run.id for run in made.runs] == [run.id for run in store.runs()]
    # Each as it is in the store when it is over.
    assert all(run.ended_at for run in ended)
    assert [len(store.trials(run)) for run in ended] == [2, 3]
    assert [run.seed for run in ended] == [7, 7]
    for run in ended:
        assert task.suite_id
        kept = SuiteSelection("both", seed=7, id=task.suite_id, title="Both", note="Why?")
        assert read_plan(run).suite == kept
        assert read_plan(run).selection is None
    # Only while trials go on is there a CPU for them alone.
    assert {len(own) for own in executor.own} == {1}
    assert os.sched_getaffinity(0) == cpus


def test_a_run_by_itself_keeps_how_it_was_chosen(catalogue: Catalogue, store: Store, workplace: Path) -> None:
    made = campaign_of(new_task(Selection("first", seed=3), catalogue), workplace)
    made.carry_out()
    (run,) = made.runs
    kept = read_plan(run)
    assert kept.suite is None
    assert kept.selection == Selection("first", seed=3)
    assert "id" not in run.plan["selection"]


def test_what_is_left_of_a_suite(catalogue: Catalogue, store: Store, workplace: Path) -> None:
    """Interrupted in its first run; resumed, that run is completed, and the other follows."""
    selection = Selection("both", seed=7, blocks=4)
    made = interrupted(selection, workplace, 3)
    (begun,) = made.runs
    suite_id = made.task.suite_id
    assert suite_id
    again = resumed_task(suite_id, store, catalogue)
    assert [run.id for run in again.runs] == [run.id for run in again.unfinished] == [begun.id]
    assert [each.name for each in again.experiments] == ["second"]
    assert (again.selection, again.suite_id) == (selection, suite_id)
    assert not again.is_empty
    executor, ended = CpuExecutor(), list[Run]()
    resumed = campaign_of(again, workplace, executor)
    assert [run.id for run in resumed.runs] == [begun.id]
    resumed.carry_out(on_run_end=ended.append)
    assert [run.experiment for run in resumed.runs] == ["first", "second"]
    assert [run.id for run in ended] == [run.id for run in resumed.runs]
    assert [argument(request, "how") for request in executor.requests] == [
        # Two of its trials are done already.
        *["one"] * (1 + 2),
        *["two"] * (1 + 4),
    ]
    finished = resumed_task(suite_id, store, catalogue)
    assert finished.is_empty
    assert [run.id for run in finished.runs] == [run.id for run in ended]


def test_a_suites_run_is_completed_by_its_own_id(catalogue: Catalogue, store: Store, workplace: Path) -> None:
    """As the warning of an unfinished run advises: the rest of the suite is left alone."""
    made = interrupted(Selection("both"), workplace, 5)
    first, second = made.runs
    task = resumed_task(second.id, store, catalogue)
    assert ([run.id for run in task.unfinished], task.experiments) == ([second.id], ())
    campaign_of(task, workplace).carry_out()
    assert [run.id for run in store.runs()] == [first.id, second.id]
    assert all(run.ended_at for run in store.runs())
    assert resumed_task(first.id, store, catalogue).is_empty


def test_two_that_resume_a_suite_begin_it_once(catalogue: Catalogue, store: Store, workplace: Path) -> None:
    made = interrupted(Selection("both"), workplace, 2)
    assert made.task.suite_id
    executor = CpuExecutor()
    second = campaign_of(resumed_task(made.task.suite_id, store, catalogue), workplace, executor)

    class Other(CpuExecutor):
        """While the first one measures, the second begins."""

        def trial(self, request: TrialRequest) -> list[TrialMessage]:
            if not self.requests:
                assert "is in progress in another process" in error_of(UsageError, second.carry_out)
                assert not executor.requests
            return super().trial(request)

    task = resumed_task(made.task.suite_id, store, catalogue)
    campaign_of(task, workplace, Other()).carry_out()
    assert [run.experiment for run in store.runs()] == ["first", "second"]
    # It has nothing left to begin when it is tried again.
    assert resumed_task(made.task.suite_id, store, catalogue).is_empty


@pytest.mark.parametrize("has_service", [False, True])
def test_the_load_engine_is_built_before_anything_is_measured(
    catalogue: Catalogue, workplace: Path, monkeypatch: pytest.MonkeyPatch, has_service: bool
) -> None:
    """While this process still has all CPUs; and only for workloads that need it."""
    service = Service(1, 0, steps=(Step("all", ()),)) if has_service else None
    monkeypatch.setattr(Ring, "service", lambda ring, point, seed: service)
    executor, whole = CpuExecutor(), os.sched_getaffinity(0)
    campaign_of(new_task(Selection("first"), catalogue), workplace, executor).carry_out()
    assert executor.own_at_loads == [whole] * has_service
    assert executor.own


class Waiting(Quiet):
    """Another process has the lock of the machine; `waited` is called when a campaign waits for it."""

    def __init__(self, waited: Callable[[], None]) -> None:
        super().__init__()
        self.on_wait = waited


def test_ctrl_c_while_another_process_measures_leaves_no_run(
    catalogue: Catalogue, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workplace: Path
) -> None:
    monkeypatch.setenv(LOCK_VARIABLE, str(tmp_path / "lock"))

    def give_up() -> None:
        raise KeyboardInterrupt

    made = campaign_of(new_task(Selection("first"), catalogue), workplace, observer=Waiting(give_up))
    other = FileLock(tmp_path / "lock")
    assert other.acquire()
    with pytest.raises(KeyboardInterrupt):
        made.carry_out()
    assert (made.runs, store.runs()) == ([], [])


def test_memory_is_limited_by_what_is_there_once_nobody_else_measures(
    catalogue: Catalogue, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workplace: Path
) -> None:
    monkeypatch.setenv(LOCK_VARIABLE, str(tmp_path / "lock"))
    available = [1_000_000]
    monkeypatch.setattr("ringside.measure.runs.trials.memory_available_bytes", lambda: available[0])
    other, executor = FileLock(tmp_path / "lock"), CpuExecutor()

    def end_other() -> None:
        assert not executor.requests
        available[0] = 4_000_000
        other.release()

    task = new_task(Selection("first"), catalogue)
    assert other.acquire()
    campaign_of(task, workplace, executor, Waiting(end_other)).carry_out()
    assert {request.limits.memory_bytes for request in executor.requests} == {3_000_000}


def test_a_run_by_itself_is_resumed_by_itself(catalogue: Catalogue, store: Store, workplace: Path) -> None:
    made = interrupted(Selection("first"), workplace, 2)
    (begun,) = made.runs
    task = resumed_task("latest", store, catalogue)
    assert [run.id for run in task.unfinished] == [run.id for run in task.runs] == [begun.id]
    assert (task.experiments, task.selection, task.suite_id) == ((), None, None)
    campaign_of(task, workplace).carry_out()
    finished = resumed_task(begun.id, store, catalogue)
    assert finished.is_empty
    assert finished.runs == [store.run(begun.id)]
    assert "there is no run `other`" in error_of(UsageError, resumed_task, "other", store, catalogue)


@pytest.mark.parametrize("outcome", [Outcome.INTERRUPTED, Outcome.PROBE_FAILED])
def test_when_an_ended_run_is_finished(catalogue: Catalogue, store: Store, outcome: Outcome) -> None:
    run = store.begin_run("x", 1, {}, {}, {})

    def is_finished() -> bool:
        return resumed_task(run.id, store, catalogue).is_empty

    def add(block: int, outcome: Outcome) -> None:
        store.add_trial(run, Trial(block, 0, Cell("one", Point((("nodes", 1),))), outcome, ""))

    add(1, Outcome.OK)
    assert not is_finished()
    store.end_run(run)
    assert is_finished()
    add(2, outcome)
    assert not is_finished()
    # A trial of another block does not replace it.
    add(3, Outcome.OK)
    assert not is_finished()
    add(2, Outcome.CRASHED)
    assert is_finished()


def test_no_run_begins_after_the_time(catalogue: Catalogue, store: Store, workplace: Path) -> None:
    made = campaign_of(new_task(Selection("both"), catalogue), workplace)
    ended: list[Run] = []
    made.carry_out(0.0, ended.append)
    # The first one begins in any case, and makes no block.
    assert [run.experiment for run in made.runs] == ["first"]
    assert (store.trials(made.runs[0]), ended) == ([], [])
    assert made.runs[0].ended_at is None


def test_the_time_is_that_of_all_runs(
    catalogue: Catalogue, store: Store, monkeypatch: pytest.MonkeyPatch, workplace: Path
) -> None:
    """The time for building contenders between them does not count."""
    deadlines: list[float | None] = []
    instants: Iterator[float] = iter(())

    def conduct(self: Campaign, run: Run, prepared: object, deadline_s: float | None) -> bool:
        deadlines.append(deadline_s)
        return True

    monkeypatch.setattr("ringside.measure.runs.campaign.monotonic", lambda: next(instants))
    monkeypatch.setattr(LocalCampaign, "conduct", conduct)
    for clock_s, time_s, kept in (
        ((100.0, 103.0, 150.0, 151.0), 10.0, [10.0, 7.0]),
        ((100.0, 110.0), 10.0, [10.0]),
        ((100.0, 103.0, 150.0, 151.0), None, [None, None]),
    ):
        instants = iter(clock_s)
        campaign_of(new_task(Selection("both"), catalogue), workplace).carry_out(time_s)
        assert deadlines == kept
        deadlines.clear()


def test_all_is_prepared_before_the_first_trial(catalogue: Catalogue, store: Store, workplace: Path) -> None:
    task = new_task(Selection("both"), catalogue)
    change_workload(manifest_of(workplace, "two"), "jobs")
    executor = CpuExecutor()
    assert "takes no part" in error_of(UsageError, campaign_of(task, workplace, executor).carry_out)
    assert (executor.requests, store.runs()) == ([], [])
