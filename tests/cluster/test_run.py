"""Runs on a real Ray cluster of several nodes, each with a lock and a folder of its own, as machines have."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringside.model.results import Outcome
from tests.support.command_line import ringside
from tests.support.fake_contenders import Add
from tests.support.ray_cluster import RayCluster, started
from tests.support.stored_trials import assert_whole, stored

pytestmark = pytest.mark.integration


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


def test_a_missing_runtime_is_missing_there_only(ray: RayCluster, add_fake: Add, add_experiment: Add) -> None:
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
