"""Runs on several machines of a cluster without Ray: all but the probe and the transport is real."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ringside.catalogue.loader import Catalogue
from ringside.cluster import campaign
from ringside.cluster.session import GroupPlacement
from ringside.cluster.worker import NodeWorker
from ringside.errors import ClusterError, ProbeError, StoreError, UsageError
from ringside.measure.runs.campaign import new_task, resumed_task
from ringside.model.results import REPEATABLE, Outcome, Run, Trial
from ringside.store import Store
from ringside.store.plans import Selection
from tests.support import stored_trials
from tests.support.fake_cluster import Driver, MakeSession, node, pretend
from tests.support.fake_cluster import session as session  # a fixture
from tests.support.fake_contenders import Add, edit, manifest_of
from tests.support.postgresql import Server
from tests.support.stored_trials import identities

BLOCKS = 6
NAMES = ("one", "two")


@pytest.fixture(autouse=True)
def _experiment(add_experiment: Add, monkeypatch: pytest.MonkeyPatch) -> None:
    add_experiment("pair", *NAMES, blocks=BLOCKS)
    pretend(monkeypatch)


@pytest.fixture
def store(workplace: Path) -> Iterator[Store]:
    opened = Store(workplace / "s.sqlite")
    yield opened
    opened.close()


def at_trial(driver: Driver, number: int, act: Callable[[], None]) -> Driver:
    """Something happens after so many trials."""
    driver.session.after_trial = lambda trials: act() if trials == number else None
    return driver


def begin(driver: Driver) -> None:
    driver.carry_out(new_task(Selection("pair", until="end", seed=1), Catalogue()))


def resume(driver: Driver) -> Run:
    driver.carry_out(resumed_task("latest", driver.store, Catalogue()))
    return driver.store.run()


def cut_off(driver: Driver, after: int) -> Run:
    """A run whose cluster is lost after so many trials."""

    def lose(number: int) -> None:
        driver.session.is_lost = number >= after

    driver.session.after_trial = lose
    with pytest.raises(ClusterError, match="the cluster ray://fake:10001 was lost: it does not answer"):
        begin(driver)
    run = driver.store.run()
    assert run.ended_at is None
    return run


def counted(store: Store) -> list[Trial]:
    return stored_trials.counted(store.trials(store.run()))


def assert_whole(store: Store) -> None:
    stored_trials.assert_whole(counted(store), BLOCKS)


# --- stores ---


def test_machines_share_the_blocks_in_any_store(where: str, session: MakeSession) -> None:
    store = Store(where)
    begin(Driver(session("alpha", "beta"), store))
    assert store.run().ended_at
    assert_whole(store)
    machines = {trial.machine for trial in counted(store)}
    assert machines == store.run().host["machines"].keys() == {"alpha", "beta"}
    store.close()


def test_a_postgresql_that_is_lost_while_machines_measure(postgresql: Server, session: MakeSession) -> None:
    with postgresql.database() as name:
        store = Store(postgresql.url(name))
        driver = at_trial(Driver(session("alpha", "beta"), store), 5, postgresql.stop)
        try:
            with pytest.raises(StoreError, match="the connection was lost"):
                begin(driver)
        finally:
            store.close()
            postgresql.start()
        # Nothing goes on without the driver.
        assert sorted(driver.session.killed) == ["alpha", "beta"]
        again = Store(postgresql.url(name))
        before = counted(again)
        assert len(before) == 4
        assert resume(Driver(session("alpha", "beta"), again)).ended_at
        assert_whole(again)
        assert identities(before) <= identities(counted(again))
        again.close()


def test_nothing_begins_after_the_deadline(workplace: Path, store: Store, session: MakeSession) -> None:
    """Nor do the trials that show how often a program repeats its work."""
    edit(manifest_of(workplace, "one"), ('"trace"]', '"trace", "repeats"]'))
    driver = Driver(session("alpha"), store)
    driver.carry_out(new_task(Selection("pair"), Catalogue()), time_limit_s=0)
    assert (driver.session.trials, driver.store.run().ended_at) == (0, None)


# --- resuming ---


def test_a_run_whose_cluster_was_lost_goes_on_where_it_was(store: Store, session: MakeSession) -> None:
    cut_off(Driver(session("alpha", "beta"), store), 5)
    before = counted(store)
    assert len(before) == 5
    assert resume(Driver(session("alpha", "beta", "gamma"), store)).ended_at
    assert_whole(store)
    assert identities(before) <= identities(counted(store))
    assert store.run().host["machines"].keys() == {"alpha", "beta", "gamma"}


def test_a_block_that_began_is_completed_on_its_machine_or_moved(store: Store, session: MakeSession) -> None:
    cut_off(Driver(session("alpha", "beta"), store), 3)
    begun = Counter((trial.block, trial.machine) for trial in counted(store))
    assert begun == {(1, "alpha"): 2, (2, "beta"): 1}
    assert resume(Driver(session("alpha"), store)).ended_at
    assert_whole(store)
    (moved,) = [trial for trial in store.trials(store.run()) if trial.outcome in REPEATABLE]
    assert (moved.block, moved.machine, moved.outcome) == (2, "beta", Outcome.INTERRUPTED)
    said = "beta was lost before the block had a pair there: carried out again on another machine"
    assert moved.detail == said
    assert {trial.machine for trial in counted(store)} == {"alpha"}


def test_a_block_that_had_begun_waits_for_its_own_machine(store: Store, session: MakeSession) -> None:
    cut_off(Driver(session("alpha", "beta"), store), 3)
    assert resume(Driver(session("gamma", "beta", "alpha"), store)).ended_at
    assert_whole(store)
    assert not [trial for trial in store.trials(store.run()) if trial.outcome in REPEATABLE]
    assert {trial.machine for trial in counted(store) if trial.block == 2} == {"beta"}


def test_a_run_of_one_machine_is_resumed_without_a_cluster(store: Store, session: MakeSession) -> None:
    run = cut_off(Driver(session("alpha"), store), 2)
    local = store.begin_run("pair", 1, run.plan, {"cpus": 1}, {})
    with pytest.raises(UsageError, match=f"run {local.id} began without --on: resume it on its machine"):
        Driver(session("alpha"), store).carry_out(resumed_task(local.id, store, Catalogue()))


def test_another_machine_of_a_known_name_is_refused(store: Store, session: MakeSession) -> None:
    run = cut_off(Driver(session("alpha", "beta"), store), 4)
    other = session("alpha", "beta", facts={"beta": {"kernel": "1.2.3"}})
    said = (
        rf"run {run.id} knows another machine as beta \(kernel .*, here 1\.2\.3\): give this one another "
        r"name \(ray start --node-name\)"
    )
    with pytest.raises(UsageError, match=said):
        resume(Driver(other, store))
    # By another name it may join.
    assert resume(Driver(session("alpha", "delta", facts={"delta": {"kernel": "1.2.3"}}), store)).ended_at
    assert_whole(store)


def test_a_runtime_that_has_changed_on_one_machine_is_refused(store: Store, session: MakeSession) -> None:
    run = cut_off(Driver(session("alpha", "beta"), store), 4)
    machines = run.host["machines"]
    receipts = machines["beta"]["contenders"]
    changed = {**receipts, "two": {**receipts["two"], "content": "0" * 64}}
    store.add_machine(run, "beta", {**machines["beta"], "contenders": changed})
    said = f"contender `two` has changed on beta since run {run.id} began: start a new run"
    with pytest.raises(UsageError, match=said):
        resume(Driver(session("alpha", "beta"), store))


def test_what_was_not_there_stays_unavailable(store: Store, session: MakeSession) -> None:
    run = cut_off(Driver(session("alpha", "beta"), store), 4)
    machines = run.host["machines"]
    missing = {"unavailable": "needs $THAT", "remedy": "install it"}
    receipts = {**machines["beta"]["contenders"], "two": missing}
    store.add_machine(run, "beta", {**machines["beta"], "contenders": receipts})
    resume(Driver(session("alpha", "beta"), store))
    rows = {(trial.machine, trial.cell.contender): trial for trial in counted(store) if trial.block > 2}
    assert rows["beta", "two"].outcome is Outcome.UNAVAILABLE
    assert rows["beta", "two"].detail == "needs $THAT; install it"
    assert rows["alpha", "two"].outcome is Outcome.OK


# --- losses ---


def test_the_block_of_a_lost_machine_moves(store: Store, session: MakeSession) -> None:
    nodes = session("alpha", "beta")
    driver = at_trial(Driver(nodes, store), 3, lambda: nodes.gone.add("beta"))
    begin(driver)
    assert store.run().ended_at
    assert_whole(store)
    (moved,) = [trial for trial in store.trials(store.run()) if trial.outcome in REPEATABLE]
    assert (moved.block, moved.machine) == (2, "beta")
    assert len([line for line in driver.said if line.startswith("beta is left out: lost in block 2")]) == 1


@pytest.mark.parametrize("repeats", [False, True])
def test_a_machine_that_never_answers_is_left_out(
    store: Store, session: MakeSession, workplace: Path, monkeypatch: pytest.MonkeyPatch, repeats: bool
) -> None:
    """In a block, or before the first one, where trials show how often work is repeated."""
    for name in NAMES if repeats else ():
        edit(manifest_of(workplace, name), ('"trace"]', '"trace", "repeats"]'))
    monkeypatch.setattr(campaign, "SILENCE_S", -299.8)
    driver = Driver(session("alpha", "beta"), store)
    ask = driver.session.ready

    def ready(refs: Sequence[Any], timeout_s: float) -> list[Any]:
        if any(call.method == "trial" and call.actor.node.name == "alpha" for call in refs):
            driver.session.silent.add("alpha")
        return ask(refs, timeout_s)

    monkeypatch.setattr(driver.session, "ready", ready)
    begin(driver)
    assert_whole(store)
    assert {trial.machine for trial in counted(store)} == {"beta"}
    where = "before the first block" if repeats else "in block 1, which goes to another machine"
    assert driver.said == [f"alpha is left out: lost {where}: it did not answer within 0 s"]


def test_a_run_with_no_machine_left_ends_in_a_line_and_is_resumed(store: Store, session: MakeSession) -> None:
    nodes = session("alpha")
    driver = at_trial(Driver(nodes, store, patience_s=0.2), 4, lambda: nodes.gone.add("alpha"))
    with pytest.raises(ClusterError, match="has no node that can run contenders, after 0 s: start one with"):
        begin(driver)
    assert resume(Driver(session("beta"), store)).ended_at
    assert_whole(store)
    assert {trial.machine for trial in counted(store)} == {"alpha", "beta"}


def test_a_machine_that_is_lost_after_the_last_trial_costs_nothing(
    store: Store, session: MakeSession, add_experiment: Add, add_suite: Add
) -> None:
    """The next part of the suite has another one."""
    add_experiment("again", *NAMES, blocks=BLOCKS)
    add_suite("both", "pair", "again")
    nodes = session("alpha")

    def replace() -> None:
        nodes.gone.add("alpha")
        nodes.there.append(node("beta"))

    driver = at_trial(Driver(nodes, store), 2 * BLOCKS, replace)
    driver.carry_out(new_task(Selection("both", until="end"), Catalogue()))
    ended = [(run.experiment, [*run.host["machines"]], bool(run.ended_at)) for run in store.runs()]
    assert ended == [("pair", ["alpha"], True), ("again", ["beta"], True)]


def test_ctrl_c_keeps_what_is_there(store: Store, session: MakeSession) -> None:
    driver = Driver(session("alpha", "beta"), store)

    def interrupt(number: int) -> None:
        if number == 3:
            raise KeyboardInterrupt

    driver.session.after_trial = interrupt
    with pytest.raises(KeyboardInterrupt):
        begin(driver)
    assert sorted(driver.session.killed) == ["alpha", "beta"]
    interrupted = [trial for trial in store.trials(store.run()) if trial.outcome in REPEATABLE]
    assert {trial.detail for trial in interrupted} == {"interrupted before the probe had reported"}
    # The trial that was finished just then is not lost.
    assert len(counted(store)) == 3
    assert resume(Driver(session("alpha", "beta"), store)).ended_at
    assert_whole(store)


def test_a_node_without_a_probe(store: Store, session: MakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
    engage = NodeWorker.engage

    def refuse(worker: NodeWorker, site: GroupPlacement) -> object:
        if worker.name == "beta":
            raise ProbeError("the probe p does not speak protocol 7 (it printed: 6): run `make setup`")
        return engage(worker, site)

    monkeypatch.setattr(NodeWorker, "engage", refuse)
    driver = Driver(session("alpha", "beta"), store)
    begin(driver)
    assert driver.said == [
        "beta is left out: the probe p does not speak protocol 7 (it printed: 6): run `make setup`"
    ]
    assert {trial.machine for trial in counted(store)} == {"alpha"}
