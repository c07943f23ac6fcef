"""Two-sided runs on a real Ray cluster of several nodes on this machine: the contender on one, engines on
others."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ringside.model.results import Outcome
from tests.support.cases import cases
from tests.support.command_line import ringside
from tests.support.fake_contenders import FAKES, PYTHON, write_server
from tests.support.processes import is_over
from tests.support.ray_cluster import RayCluster, started
from tests.support.stored_trials import STORE, assert_whole, begun, counted, has_trials, stored

pytestmark = pytest.mark.integration
NODES = ("alpha", "beta", "gamma")
# Contenders that need no build.
FIB = ("fib", "--only", "python-sync,python-threads", "--set", "seconds=1", "--blocks", "2", "--until", "end")


@pytest.fixture(scope="module")
def nodes() -> dict[str, Any]:
    """The nodes of the cluster, by name."""
    return {}


@pytest.fixture(scope="module")
def ray(nodes: dict[str, Any]) -> Iterator[RayCluster]:
    with started(with_clients=True) as cluster:
        for name in NODES:
            nodes[name] = add(cluster, name)
        yield cluster


def add(cluster: RayCluster, name: str) -> Any:
    return cluster.add(name, env={"XDG_CACHE_HOME": str(cluster.folder / name)})


@pytest.fixture(autouse=True)
def own_address(ray: RayCluster, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", ray.own)


def test_the_contender_is_on_one_node_and_its_load_comes_from_another(ray: RayCluster) -> None:
    only = ("--only", "python-asyncio,python-threads", "--set", "clients=4")
    done = ringside("run", *FIB[:1], *only, *FIB[3:], "--on", "auto", "--engines", "1")
    run, trials = stored(samples=True)
    assert run.ended_at
    assert [trial.outcome for trial in trials] == [Outcome.OK] * 4
    (place,) = {trial.machine for trial in trials}
    contender, engine = place.split(" ← ")
    assert {contender, engine} < {*NODES}
    for trial in trials:
        steps = [load.step for load in trial.loads]
        assert [steps[0], steps[1], steps[-1]] == ["first", "warm-up", "measured"]
        assert {load.engines for load in trial.loads} == {1}
        measured = trial.load("measured")
        assert measured.requests > 0
        assert measured.requests + measured.late_requests == measured.histograms["latency"].count
        assert measured.started_within_ns is not None
        # The contender's own node saw its CPU time and its memory.
        begin, end = trial.marks["begin measured"], trial.marks["end measured"]
        assert end.cpu_ns > begin.cpu_ns
        assert (end.pss_bytes or 0) > 0
    assert run.host["engines"] == 1
    (facts,) = run.host["machines"].values()
    assert facts["engines"][engine]["kernel"] == os.uname().release
    assert "load came from 1 engine on other machines" in done.stdout.replace("\n", " ")
    document = ringside("show", run.id, "--json").stdout
    assert '"code": "two-sided"' in document
    ringside("report", run.id, "-o", "page.html")
    page = Path("page.html").read_text()
    assert "--on auto --engines 1" in page
    assert f"engine {engine}: kernel" in page


def test_two_engines_share_what_they_can_of_each_step(ray: RayCluster) -> None:
    levels = ("connections=21", "ramp=100", "interval_ms=100", "seconds=2")
    settings = [word for level in levels for word in ("--set", level)]
    only = ("--only", "python-asyncio", "--blocks", "1")
    # By the client of Ray, as drivers elsewhere come.
    ringside("run", "feed", *only, *settings, "--on", ray.address, "--engines", "2")
    _, trials = stored()
    (trial,) = trials
    assert trial.outcome is Outcome.OK, trial.detail
    first, measured = trial.loads
    # A request cannot be shared.
    assert (first.engines, measured.engines) == (1, 2)
    assert measured.connections["opened"] == 21
    assert measured.streams.fed == 21
    assert not any(measured.sequence.values())
    assert trial.marks["ramped"].t_ns < trial.marks["held"].t_ns < trial.marks["end measured"].t_ns


def test_loads_at_the_same_time_and_engines_by_their_names(ray: RayCluster) -> None:
    mixed = ("--set", "load=mixed", "--set", "clients=2", "--set", "n=20", "--set", "seconds=1")
    only = ("--only", "python-threads", "--blocks", "1")
    ringside("run", "fib", *only, *mixed, "--on", "auto", "--engines", "gamma,alpha")
    _, (trial,) = stored()
    assert trial.machine == "beta ← gamma, alpha"
    assert trial.outcome is Outcome.OK, trial.detail
    shared = {(load.step, load.name): load.engines for load in trial.loads}
    assert shared["measured", "all"] == 2
    assert shared["measured", "long"] == 1


def test_a_gateway_that_computes_itself_has_no_upstreams(ray: RayCluster) -> None:
    only = ("--only", "python-asyncio", "--set", "kind=cpu", "--set", "requests=20", "--blocks", "1")
    ringside("run", "fanout", *only, "--on", ray.address, "--engines", "2")
    _, (trial,) = stored()
    assert trial.outcome is Outcome.OK, trial.detail
    assert {load.engines for load in trial.loads} == {1, 2}
    assert {load.upstreams for load in trial.loads} == {None}


def test_who_listens_on_the_loopback_only_is_unavailable(ray: RayCluster, workplace: Path) -> None:
    write_server(workplace / "contenders" / "near", "good")
    command = f"far={PYTHON} {FAKES / 'server.py'} plain host={{host}} port={{port}}"
    ringside(
        *("run", "fib", "--only", "near,far", "--with", command, "--set", "seconds=1", "--blocks", "1"),
        *("--on", "auto", "--engines", "1"),
        status=1,
    )
    _, trials = stored()
    by_name = {trial.cell.contender: trial for trial in trials}
    assert by_name["near"].outcome is Outcome.UNAVAILABLE
    assert "it listens on 127.0.0.1, where engines on other machines do not" in by_name["near"].detail
    assert by_name["far"].outcome is Outcome.OK, by_name["far"].detail


@pytest.mark.parametrize(("words", "line"), cases(__file__, "what_cannot_be_is_one_line"))
def test_what_cannot_be_is_one_line(words: tuple[str, ...], line: str) -> None:
    done = ringside("run", *words, status=2)
    assert line in done.stderr
    assert not STORE.exists()


def test_the_block_of_a_lost_engine_moves(ray: RayCluster, nodes: dict[str, Any]) -> None:
    process = begun(*FIB, "--blocks", "6", "--on", "auto", "--engines", "1")
    assert is_over(lambda: has_trials(3), 120)
    engine = stored()[1][0].machine.split(" ← ")[1]
    ray.kill(nodes[engine])
    try:
        _, said = process.communicate(timeout=300)
    finally:
        nodes[engine] = add(ray, engine)
    assert process.returncode == 0, said
    assert "is left out: lost in block" in said
    assert f"{engine} was lost" in said
    _, trials = stored()
    assert_whole(trials, 6)
    assert len({trial.machine for trial in counted(trials)}) == 2


def test_a_run_whose_driver_was_killed_goes_on_with_as_many_engines(ray: RayCluster) -> None:
    process = begun(*FIB, "--blocks", "4", "--on", ray.address, "--engines", "2")
    assert is_over(lambda: has_trials(3), 120)
    process.kill()
    process.communicate()
    assert is_over(lambda: not ray.contenders(), 60)
    run, _ = stored()
    refused = ringside("run", "--resume", run.id, "--on", "auto", "--engines", "1", status=2)
    assert "the run began with --engines 2: go on like that" in refused.stderr
    ringside("run", "--resume", run.id, "--on", "auto")
    run, after = stored()
    assert run.ended_at
    assert_whole(after, 4)


def test_ctrl_c_ends_contender_and_load(ray: RayCluster) -> None:
    process = begun("fib", "--only", "python-sync", "--set", "seconds=600", "--on", "auto", "--engines", "1")
    assert is_over(lambda: bool(ray.contenders()), 120)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=100)
    assert process.returncode == 130, said
    assert is_over(lambda: not ray.contenders(), 60)
