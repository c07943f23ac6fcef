"""Which machines of a cluster take part, and the messages about the others: without Ray."""

from pathlib import Path
from typing import Any

import pytest

from ringside.cluster import machines
from ringside.cluster import session as connection
from ringside.cluster.machines import GroupEngines, Machines
from ringside.cluster.session import GroupPlacement, Node
from ringside.errors import ClusterError
from ringside.probe.process import TRIALS, find_probe
from tests.support.fake_cluster import FakeSession, MakeSession, node, pretend
from tests.support.fake_cluster import session as session  # a fixture
from tests.support.toolchains import script


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("WORD_AFTER_S", 0.0), ("OTHERS_AFTER_S", 0.1), ("_POLL_S", 0.01)):
        monkeypatch.setattr(machines, name, seconds)
    pretend(monkeypatch)


def engaging(session: FakeSession, patience_s: float = 60, **more: Any) -> tuple[Machines, list[str]]:
    """Machines, and the lines that they will say."""
    said: list[str] = []
    return Machines(session, said.append, lambda: None, patience_s, **more), said


def names(there: Machines) -> list[str]:
    """The names of engaged machines."""
    there.engage()
    return [machine.name for machine in there]


# --- nodes ---


def test_no_node_that_can_run_contenders(session: MakeSession) -> None:
    waiting, said = engaging(session(), 0.05)
    with pytest.raises(ClusterError, match=r"has no node that can run contenders, after 0 s: start one with"):
        waiting.engage()
    assert len(said) == 1
    assert said[0].startswith("waiting for a node, 0 s at most: ray start")


def test_a_node_that_comes_late_is_engaged(session: MakeSession) -> None:
    cluster = session()
    waiting, _ = engaging(cluster)
    waiting.tick = lambda: cluster.there.append(node("late")) if not cluster.there else None
    assert names(waiting) == ["late"]


def test_a_cluster_that_does_not_answer(session: MakeSession) -> None:
    waiting, _ = engaging(session("alpha", is_lost=True))
    with pytest.raises(ClusterError, match="the cluster ray://fake:10001 was lost: it does not answer"):
        waiting.engage()


def test_nodes_without_the_resource_are_used_with_a_word(session: MakeSession) -> None:
    there, said = engaging(session(node("alpha", has_resource=False)))
    assert names(there) == ["alpha"]
    assert "no node advertises the resource `ringside`, so another user's run may measure" in said[0]


# --- busy nodes ---


def test_others_go_on_without_a_node_whose_resource_another_run_has(session: MakeSession) -> None:
    cluster = session("alpha", node("beta"))
    # Ray does not start an actor for which there is no resource.
    cluster.silent.add("beta")
    there, said = engaging(cluster)
    assert names(there) == ["alpha"]
    assert said[0].startswith("waiting for beta")
    assert said[0].endswith(": another run may measure there (Ctrl-C gives up)")
    assert said[1].startswith("beta is left out: it was busy for")
    assert cluster.killed == ["beta"]
    there.close()
    assert cluster.killed == ["beta", "alpha"]


def test_no_node_whose_resource_is_free(session: MakeSession) -> None:
    there, said = engaging(session("alpha", node("beta"), silent={"alpha", "beta"}), 0.1)
    said_last = (
        r"no machine of the cluster ray://fake:10001 can measure: alpha: it was busy for 0 s; beta: it"
    )
    with pytest.raises(ClusterError, match=said_last):
        there.engage()
    assert [line.partition(" is left out")[0] for line in said[1:]] == ["alpha", "beta"]


def test_a_machine_whose_lock_another_process_has(session: MakeSession) -> None:
    first, _ = engaging(session("alpha"))
    first.engage()
    second, _ = engaging(session("alpha"), 0.1)
    with pytest.raises(ClusterError, match="can measure: alpha: it was busy for"):
        second.engage()
    first.close()
    third, _ = engaging(session("alpha"))
    assert names(third) == ["alpha"]


def test_a_node_that_dies_while_it_is_asked(session: MakeSession) -> None:
    cluster = session("alpha", node("beta"))
    there, said = engaging(cluster)
    there.engage()
    cluster.gone.add("beta")
    site = GroupPlacement(node("alpha"))
    answers = there.ask(lambda worker: worker.engage.remote(site))
    assert answers.keys() == {"alpha"}
    assert said[-1] == "beta is left out: beta died"
    cluster.gone.add("alpha")
    with pytest.raises(ClusterError, match="no machine of the cluster ray://fake:10001 is left: alpha died"):
        there.ask(lambda worker: worker.engage.remote(site))


# --- groups ---


class Reserved:
    """A placement group that is never placed, or at once."""

    def __init__(self, site: GroupPlacement | None) -> None:
        self._site = site
        self.is_cancelled = False

    def site(self, nodes: object) -> GroupPlacement | None:
        return self._site

    def is_possible(self, nodes: object) -> bool:
        return True

    def cancel(self) -> None:
        self.is_cancelled = True


@pytest.fixture
def reserved(monkeypatch: pytest.MonkeyPatch) -> list[Reserved]:
    """The reservations that are made, none of which is placed."""
    made: list[Reserved] = []

    def make(*words: object) -> Reserved:
        made.append(Reserved(None))
        return made[-1]

    monkeypatch.setattr(machines, "Reservation", make)
    return made


def test_no_group_of_nodes_is_free(session: MakeSession, reserved: list[Reserved]) -> None:
    nodes = [node(name) for name in ("alpha", "beta", "gamma", "delta")]
    there, said = engaging(session(*nodes), 0.1, wanted=1)
    with pytest.raises(ClusterError, match="no 2 nodes of the cluster ray://fake:10001 were free within 0 s"):
        there.engage()
    assert said == ["waiting for 2 nodes that are free: another run may measure there (Ctrl-C gives up)"]
    # Nothing that comes later is kept for a run that is over.
    assert [each.is_cancelled for each in reserved] == [True, True]


def test_no_group_is_waited_for_where_nodes_are_gone(session: MakeSession, reserved: list[Reserved]) -> None:
    cluster = session("alpha", node("beta"))
    there, _ = engaging(cluster, wanted=1)
    there.tick = lambda: cluster.gone.add("beta")
    with pytest.raises(ClusterError, match=r"needs 2 nodes .* and the cluster has 1: alpha"):
        there.engage()


@pytest.mark.parametrize(
    ("nodes", "wanted", "said"),
    [
        ([node("a", has_resource=False)] * 2, 1, "needs nodes that advertise the resource `ringside`"),
        ([node("a"), node("b")], 2, r"needs 3 nodes .* 2 for engines, and the cluster has 2: a, b"),
        ([node("a"), node("b")], ("c",), "c is not a node; the cluster has a, b"),
    ],
)
def test_too_few_nodes_for_engines(nodes: list[Node], wanted: GroupEngines, said: str) -> None:
    with pytest.raises(ClusterError, match=said):
        machines.most_sites(nodes, wanted)


def test_as_many_sites_as_there_is_room_for() -> None:
    nodes = [node(name) for name in "abcde"]
    assert machines.most_sites(nodes, 1) == 2
    assert machines.most_sites(nodes, 4) == 1
    # Named nodes are there once.
    assert machines.most_sites(nodes, ("a",)) == 1


def test_a_contender_on_a_loopback_is_not_reached_from_elsewhere() -> None:
    near, far = node("near", "127.0.0.1"), node("far", "192.0.2.2")
    with pytest.raises(ClusterError, match=r"near has the address 127\.0\.0\.1, which far does not reach"):
        machines.check_reach(GroupPlacement(near, (far,)))
    machines.check_reach(GroupPlacement(far, (near,)))
    # Nodes of one machine.
    machines.check_reach(GroupPlacement(near, (node("other", "127.0.0.1"),)))


# --- versions ---


def test_a_probe_that_does_not_start_on_a_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As one of another architecture.
    other = script(tmp_path / "bin" / "ringside-probe", "exit 126")
    monkeypatch.setattr(connection, "uploaded", lambda path: other)
    assert connection.uploaded_probe().path == find_probe(TRIALS)
    own = script(tmp_path / "own", f'exec {find_probe()} "$@"')
    monkeypatch.setattr(connection, "uploaded", lambda path: own)
    assert connection.uploaded_probe().path == str(own)
