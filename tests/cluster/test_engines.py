"""Loads from several nodes of a real Ray cluster on this machine, at a real server on the loopback."""

import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ringside.cluster.engines import Engines, check_reach
from ringside.cluster.session import Node, Session, choose, connect
from ringside.errors import ClusterError, UsageError
from ringside.load import result
from ringside.probe.protocol import LoadRequest
from tests.support.command_line import RINGSIDE, captured, load_document, ringside
from tests.support.loads import plan_at
from tests.support.odd_server import secure, serving, when_loaded
from tests.support.ray_cluster import RayCluster, started


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with started(with_clients=True) as cluster, pytest.MonkeyPatch.context() as patch:
        for name in ("north", "south"):
            cluster.add(name)
        # Drivers on one of its machines need no client server, which takes seconds to start.
        patch.setenv("RAY_ADDRESS", cluster.cluster.address)
        yield cluster


@pytest.fixture(scope="module")
def session(cluster: RayCluster) -> Iterator[Session]:
    del cluster
    with connect("auto") as session:
        yield session


def silent(text: str) -> None:
    del text


@pytest.mark.integration
def test_engines_share_one_load_and_make_one_outcome(session: Session, http: str) -> None:
    nodes = session.nodes()
    assert [node.name for node in nodes] == ["north", "south"]
    with closing(Engines(session, nodes, silent)) as engines:
        load = LoadRequest(plan_at(f"{http}/", connections=5, requests=203))
        for _ in range(2):  # the same engines carry out one load after another
            whole = result.from_messages(engines.load(load))
            assert whole.figures.outcome == "ok"
            assert whole.figures.requests == whole.figures.histograms["latency"].count == 203
            assert sum(count for _, count in whole.counts["latency"]) == 203
            assert [part.figures.requests for part in engines.parts] == [122, 81]
            assert [part.started.connections for part in engines.parts] == [3, 2]
            assert (whole.started.connections, whole.started.threads) == (5, 2)
            assert 0 < engines.started_within_s < 60
        held = plan_at(
            f"stream+{http}/stream/{{id}}",
            connections=4,
            duration_s=1.0,
            first="Welcome: {id}",
            chunk="Chunk {k} for {id}",
            interval_s=0.1,
        )
        whole = result.from_messages(engines.load(LoadRequest(held)))
        # Each stream has its own number, on whichever engine.
        assert whole.figures.outcome == "ok"
        assert not any(whole.figures.sequence.values())
        assert whole.figures.streams.fed == 4
        assert whole.figures.series[0].open == 4
        refused = LoadRequest(plan_at("http://127.0.0.1:1/", connections=2, requests=9))
        whole = result.from_messages(engines.load(refused))
        assert whole.is_refused
        texts = [warning.text for warning in whole.figures.warnings if warning.code == "engine-failed"]
        assert [text.partition(":")[0] for text in texts] == ["north", "south"]
        with pytest.raises(UsageError, match=r"3 connections are too few for 2 engines with 2 threads each"):
            engines.load(LoadRequest(plan_at(f"{http}/", connections=3, threads=2, requests=9)))
        with pytest.raises(ClusterError, match=r"^(north|south): .*load: cpus: "):
            engines.load(LoadRequest(plan_at(f"{http}/", connections=2, cpus=(1000,), requests=9)))


@pytest.mark.integration
def test_a_signal_ends_the_load_and_all_report(session: Session) -> None:
    with (
        closing(Engines(session, session.nodes(), silent)) as engines,
        when_loaded(lambda: os.kill(os.getpid(), signal.SIGINT)) as url,
    ):
        load = LoadRequest(plan_at(url, connections=2, duration_s=300.0))
        whole = result.from_messages(engines.load(load))
    assert engines.interrupted
    assert whole.figures.outcome == "interrupted"
    assert [part.figures.outcome for part in engines.parts] == ["interrupted", "interrupted"]
    assert 0 < whole.figures.requests == sum(part.figures.requests for part in engines.parts)


@pytest.mark.integration
def test_a_node_that_dies_leaves_no_figures(cluster: RayCluster, session: Session, http: str) -> None:
    dying = cluster.add("west")
    named = {node.name: node for node in session.nodes()}
    with (
        closing(Engines(session, [named["north"], named["west"]], silent)) as engines,
        when_loaded(lambda: cluster.kill(dying)) as url,
        pytest.raises(ClusterError, match=r"^west was lost .*there are no figures"),
    ):
        engines.load(LoadRequest(plan_at(url, connections=2, duration_s=300.0)))
    # The other's engine has ended, or its node would be busy.
    with closing(Engines(session, [named["north"]], silent)) as engines:
        few = LoadRequest(plan_at(f"{http}/", connections=1, requests=5))
        whole = result.from_messages(engines.load(few))
    assert whole.figures.requests == 5


@pytest.mark.integration
def test_a_node_that_another_run_has(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringside.cluster.engines.PLACE_S", 4.0)
    said: list[str] = []
    north = session.nodes()[:1]
    with (
        closing(Engines(session, north, silent)),
        pytest.raises(ClusterError, match=r"north did not answer within 4 s: another run may have it"),
    ):
        Engines(session, north, said.append)
    assert said == ["waiting for north, up to 4 s"]


@pytest.mark.integration
def test_the_command(cluster: RayCluster, http: str) -> None:
    del cluster
    done = ringside(
        *("load", f"{http}/", "--from", "auto", "--engines", "2", "--connections", "5"),
        *("--duration", "0.5s", "--rate", "100"),
    )
    lines = done.stdout.splitlines()
    (title,) = (number for number, line in enumerate(lines) if line.startswith("Engines, latency"))
    table = [line.split()[:2] for line in lines[title + 2 : title + 8]]
    assert ["north", "3"] in table
    assert ["south", "2"] in table
    assert "50 of 50 intended" in done.stdout
    assert "The engines started within" in done.stdout


def from_cluster(where: str, *words: str) -> tuple[str, ...]:
    """The words of a small load from the nodes."""
    return ("--from", where, "--connections", "4", *words)


@pytest.mark.integration
def test_the_command_from_a_client_of_the_cluster(cluster: RayCluster, http: str) -> None:
    """By the client's port, as from a machine that is none of the cluster's."""
    load = load_document(f"{http}/", *from_cluster(cluster.address, "--requests", "90"))
    assert (load["requests"], load["errors"], load["threads"]) == (90, {}, 2)
    assert [(part["node"], part["connections"]) for part in load["engines"]] == [("north", 2), ("south", 2)]
    assert sum(part["requests"] for part in load["engines"]) == 90
    assert 0 < load["engines_started_within_ms"] < 60_000


@pytest.mark.integration
def test_two_targets_in_turn(cluster: RayCluster, http: str) -> None:
    del cluster
    some = from_cluster("auto", "--requests", "80", "--blocks", "2", "--engines", "south,north")
    compared = load_document(f"{http}/a", "--vs", f"{http}/b", *some)
    assert compared["engines"] == ["south", "north"]
    assert compared["engines_started_within_ms"] > 0
    # All engines of one load together: 80 requests in two blocks.
    loads = [(run["block"], run["name"], run["requests"], run["threads"]) for run in compared["runs"]]
    assert sorted(loads) == [(block, name, 40, 2) for block in (0, 1) for name in "AB"]
    assert "on other machines" not in str(compared["warnings"])
    assert {row["metric"] for row in compared["comparisons"]} == {"rate", "latency_p50", "latency_p99"}

    # Long lines are wrapped.
    shown = " ".join(ringside("load", f"{http}/a", "--vs", f"{http}/b", *some).stdout.split())
    assert "; engines on south, north, which started within " in shown
    # The machines are those of the engines, not the driver's.
    assert set(json.loads(ringside("show", "--json").stdout)["host"]["machines"]) == {"north", "south"}
    few = ("--requests", "8", "--blocks", "2", "--connections", "1")
    alone = " ".join(ringside("load", f"{http}/a", "--vs", f"{http}/b", *few).stdout.split())
    runs = [re.findall(r"; run ([^;\s]+)", text)[0] for text in (shown, alone)]
    refused = ringside("compare", *runs, status=2)
    assert "runs that are loaded from different places" in refused.stderr


def test_no_run_is_begun_where_there_is_no_cluster(http: str) -> None:
    words = ("--vs", f"{http}/b", "--from", "ray://127.0.0.1:1")
    refused = ringside("load", f"{http}/a", *words, status=2)
    assert "there is no cluster at ray://127.0.0.1:1" in refused.stderr
    assert "load-vs" not in ringside("list", "runs").stdout


@pytest.mark.integration
@pytest.mark.parametrize("by_client", [False, True])
def test_sent_certificates(cluster: RayCluster, certificates: Path, workplace: Path, by_client: bool) -> None:
    """The files are descriptors of the command: for every other process their names are of other files."""
    del workplace
    where = cluster.address if by_client else "auto"
    own, key = certificates / "own.pem", certificates / "own.key"
    with serving(secure(certificates)[1]) as port, own.open("rb") as file, key.open("rb") as key_file:
        target = f"https://localhost:{port}/"
        descriptors = [file.fileno(), key_file.fileno()]
        names = {"--cacert": descriptors[0], "--cert": descriptors[0], "--key": descriptors[1]}
        own_files = [word for name, number in names.items() for word in (name, f"/dev/fd/{number}")]
        words = from_cluster(where, "--requests", "40", *own_files, "--json")
        done = captured([*RINGSIDE, "load", target, *words], pass_fds=descriptors)
        assert done.returncode == 0, done.stderr
        load = json.loads(done.stdout)
        assert (load["requests"], load["errors"]) == (40, {})
        assert load["security"].startswith("TLSv1.3 ")
        assert [part["requests"] > 0 for part in load["engines"]] == [True, True]
        # Without the file, nobody knows who signed the certificate. Ray grants each client 30 s to start.
        refused = load_document(target, *from_cluster("auto", "--requests", "40"), status=1)
    assert set(refused["errors"]) == {"certificate"}


NODES = [Node(name, name, f"192.0.2.{number}", 2, True) for number, name in enumerate("abc", 1)]


def test_the_choice_of_nodes() -> None:
    assert choose(NODES, None) == NODES
    assert choose(NODES, 2) == NODES[:2]
    assert choose(NODES, ("c", "192.0.2.1")) == [NODES[2], NODES[0]]
    wanted: int | tuple[str, ...]
    for wanted, message in (
        (4, "--engines 4: the cluster has 3 nodes for them, a, b, c"),
        (("d",), "--engines: d is not a node"),
        (("a", "192.0.2.1"), "--engines: 192.0.2.1 is named twice"),
    ):
        with pytest.raises(UsageError, match=message):
            choose(NODES, wanted)
    with pytest.raises(ClusterError, match="no node for an engine"):
        choose([], None)


def test_the_loopback_is_no_target_for_other_machines() -> None:
    here = Node("here", "here", "127.0.0.1", 2, True)
    check_reach(["127.0.0.1:80", "[::1]:80"], [here])
    check_reach(["198.51.100.1:80"], [here, NODES[0]])
    with pytest.raises(UsageError, match=r"127.0.0.1:80 is another server on each machine: .* c reaches"):
        check_reach(["198.51.100.1:80", "127.0.0.1:80"], [here, NODES[2]])
