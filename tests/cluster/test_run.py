"""Runs on a real Ray cluster of several nodes, each with a lock and a folder of its own, as machines have."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ringside.cluster.machines import Machines
from ringside.cluster.session import connect, upload
from ringside.errors import ClusterError
from ringside.measure.host import LOCK_VARIABLE, MachineLock
from ringside.model.results import REPEATABLE, Outcome
from tests.support.command_line import ringside
from tests.support.processes import is_over
from tests.support.ray_cluster import RayCluster, started
from tests.support.stored_trials import assert_whole, begun, has_trials, identities, stored

pytestmark = pytest.mark.integration
Add = Callable[..., None]


@pytest.fixture(scope="module")
def ray() -> Iterator[RayCluster]:
    with started() as cluster:
        for name in ("alpha", "beta"):
            # Only beta has the runtime of one of the contenders.
            more = {"ONLY_THERE": str(Path(sys.executable).parent)} if name == "beta" else {}
            cluster.add(name, env={"XDG_CACHE_HOME": str(cluster.folder / name), **more})
        yield cluster


@pytest.fixture(autouse=True)
def own_address(ray: RayCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", ray.own)


def test_machines_share_the_blocks_and_a_missing_runtime_is_missing_there_only(
    ray: RayCluster, add_fake: Add, add_experiment: Add
) -> None:
    for name in ("one", "two", "partly"):
        add_fake(name, "dawdles")
    manifest = Path("contenders/partly/contender.toml")
    text = manifest.read_text()
    manifest.write_text(
        "\n".join(
            'executable = ["$ONLY_THERE/python3"]' if line.startswith("executable") else line
            for line in text.splitlines()
            if not line.startswith("locate")
        )
    )
    add_experiment("mine", "one", "two", "partly", blocks=6)
    done = ringside("run", "mine", "--on", "auto", "--until", "end")
    run, trials = stored()
    assert run.ended_at
    assert_whole(trials, 6, 3, only_ok=False)
    assert {trial.machine for trial in trials} == {"alpha", "beta"}
    outcomes = {(trial.machine, trial.cell.contender, trial.outcome) for trial in trials}
    assert outcomes == {
        *((machine, name, Outcome.OK) for machine in ("alpha", "beta") for name in ("one", "two")),
        ("alpha", "partly", Outcome.UNAVAILABLE),
        ("beta", "partly", Outcome.OK),
    }
    machines = run.host["machines"]
    assert {name: facts["kernel"] for name, facts in machines.items()} == {
        "alpha": os.uname().release,
        "beta": os.uname().release,
    }
    assert "not found" in machines["alpha"]["contenders"]["partly"]["unavailable"]
    assert machines["beta"]["contenders"]["partly"]["version"]
    assert "partly on alpha: needs $ONLY_THERE/python3" in done.stderr
    refused = ringside("run", "--resume", run.id, status=0)
    assert "is finished: nothing is left" in refused.stderr


@pytest.fixture
def gamma(ray: RayCluster) -> Iterator[Any]:
    """A node more, for one test."""
    node = ray.add("gamma", env={"XDG_CACHE_HOME": str(ray.folder / "gamma")})
    yield node
    with suppress(Exception):  # It may be dead.
        ray.kill(node)


def test_the_block_of_a_node_that_dies_moves_and_nothing_counts_twice(
    ray: RayCluster, gamma: Any, add_fake: Add, add_experiment: Add
) -> None:
    names = ("one", "two", "three")
    for name in names:
        add_fake(name, "dawdles")
    add_experiment("mine", *names, blocks=14)
    process = begun("mine", "--on", "auto", "--until", "end")
    assert is_over(lambda: has_trials(7, "alpha", "gamma") or process.poll() is not None, 120)
    assert process.poll() is None
    ray.kill(gamma)
    _, said = process.communicate(timeout=200)
    assert process.returncode == 0, said
    assert "gamma is left out: lost in block" in said
    _, trials = stored()
    assert_whole(trials, 14, 3)
    assert all("gamma was lost" in trial.detail for trial in trials if trial.outcome in REPEATABLE)


def test_a_run_whose_driver_was_killed_is_resumed(
    ray: RayCluster, add_fake: Add, add_experiment: Add
) -> None:
    for name in ("one", "two"):
        add_fake(name, "dawdles")
    add_experiment("mine", "one", "two", blocks=8)
    process = begun("mine", "--on", "auto", "--until", "end")
    assert is_over(lambda: has_trials(3), 120)
    process.kill()
    process.communicate()
    run, before = stored()
    assert run.ended_at is None
    assert "began on a cluster: resume it with --on" in ringside("run", "--resume", run.id, status=2).stderr
    ringside("run", "--resume", run.id, "--on", "auto")
    run, after = stored()
    assert run.ended_at
    assert_whole(after, 8, 2)
    assert identities(before) <= identities(after)


def test_ctrl_c_ends_a_run_and_its_contenders(ray: RayCluster, add_fake: Add, add_experiment: Add) -> None:
    add_fake("one", "hangs")
    add_experiment("mine", "one", more="[limits]\nwall_s = 300\n")
    process = begun("mine", "--on", "auto")
    assert is_over(lambda: bool(ray.contenders()), 120)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=100)
    assert process.returncode == 130, said
    assert is_over(lambda: not ray.contenders(), 60)


def test_a_cluster_without_a_free_machine_is_an_error_after_a_while(
    ray: RayCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    locks = []
    for name in ("alpha", "beta"):
        monkeypatch.setenv(LOCK_VARIABLE, str(ray.folder / f"{name}.lock"))
        locks.append(MachineLock())
        assert locks[-1].take()
    begin = time.monotonic()
    with upload() as (folder, _), connect("auto", folder) as session:
        machines = Machines(session, said.append, lambda: None, patience_s=5)
        with pytest.raises(ClusterError, match="no machine .* can measure: .*it was busy for"):
            machines.engage()
    assert time.monotonic() - begin < 60
    assert len([line for line in said if "is left out: it was busy" in line]) == 2
