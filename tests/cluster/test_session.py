"""Connecting to a real Ray, and which of its nodes can run contenders."""

import importlib
import io
import re
import socket
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

import ringside
from ringside.cluster import session
from ringside.cluster.session import PROBE, connect, upload, uploaded
from ringside.errors import ClusterError, UsageError
from ringside.probe.process import Probe
from tests.support.cases import cases
from tests.support.errors import error_of
from tests.support.ray_cluster import RayCluster, started


@pytest.fixture(scope="module")
def ray() -> Iterator[RayCluster]:
    with started(with_clients=True) as cluster:
        cluster.add("plain", advertises=False)
        yield cluster


# A module that the folder brings: actors are sent by the name of their class.
PLACE = """
import os
from pathlib import Path

class Place:
    def __init__(self, number):
        self.number = number

    def read(self):
        return self.number, Path("note").read_text(), os.environ["RINGSIDE_LOCK"]
"""


@pytest.mark.integration
def test_nodes_without_the_resource(ray: RayCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cluster_place.py").write_text(PLACE)
    monkeypatch.syspath_prepend(tmp_path)
    kind = importlib.import_module("cluster_place").Place
    (tmp_path / "note").write_text("sent")
    with connect(ray.address, tmp_path) as session:
        nodes = session.nodes()
        assert [(node.name, node.cpus, node.has_resource) for node in nodes] == [("plain", 2, False)]
        place = session.actor(kind, nodes[0]).remote(7)
        assert session.ray.get(place.read.remote(), timeout=60) == (7, "sent", str(ray.folder / "plain.lock"))
        added = ray.add("alpha"), ray.add("alpha")
        try:
            assert [node.name for node in session.nodes()] == ["alpha", "alpha#2"]
        finally:
            for node in added:
                ray.kill(node)


@pytest.mark.parametrize("where", ["ray://", "http://host:1", "ray://host:99999", "somewhere", ""])
def test_what_is_no_address_is_refused(where: str) -> None:
    with pytest.raises(UsageError, match="write auto, local or ray://HOST:PORT"), connect(where):
        pass


def test_an_address_where_nobody_listens_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        monkeypatch.setenv("RAY_ADDRESS", address)
        for where, shown in ((f"ray://{address}", f"ray://{address}"), ("auto", address)):
            said = f"there is no cluster at {shown}: .*ray start --head"
            with pytest.raises(ClusterError, match=said), connect(where):
                pass


def test_another_server_of_grpc_is_one_line_without_rays_warnings(
    monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder, capfd: pytest.CaptureFixture[str]
) -> None:
    from ray.util.client import worker

    grpc = importlib.import_module("grpc")

    for name in ("INITIAL_TIMEOUT_SEC", "MAX_TIMEOUT_SEC"):
        monkeypatch.setattr(worker, name, 0.1)
    server = grpc.server(ThreadPoolExecutor(1))
    where = f"ray://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        with pytest.raises(ClusterError, match=f"{where} cannot be used: .*timeout"), connect(where):
            pass
    finally:
        server.stop(None)
    assert not [each for each in recwarn if "ray" in each.filename]
    assert "Warning" not in capfd.readouterr().err


def test_a_cluster_that_has_ended_without_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ray._private import services

    # Servers of other tests do not belong to this machine.
    monkeypatch.setattr(services, "find_gcs_addresses", set)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    (tmp_path / "ray").mkdir()
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        (tmp_path / "ray" / "ray_current_cluster").write_text(address)
        with pytest.raises(ClusterError, match=f"{address}, does not answer .*--on local"), connect("auto"):
            pass


# --- what Ray says ---


@dataclass
class FakeRay:
    """A Ray that fails in this way."""

    error: Exception
    inits: int = 0

    def init(self, **options: object) -> None:
        self.inits += 1
        raise self.error

    def shutdown(self) -> None:
        pass


def mismatch(**versions: str) -> Exception:
    """Ray's own error for a cluster of these versions."""
    from ray._private import utils

    ours = utils.compute_version_info()
    with pytest.raises(RuntimeError) as caught:
        utils.check_version_info(
            {"ray_version": ours[0], "python_version": ours[1], **versions},
            "Ray Client",
            python_version_match_level="minor",
        )
    return caught.value


@pytest.mark.parametrize(
    ("versions", "says"),
    [
        ({"ray_version": "2.9.0"}, r"it has Ray 2\.9\.0 and Python 3\..*, this machine Ray [1-9.]*"),
        ({"python_version": "3.8.1"}, r"it has Ray .* and Python 3\.8\.1, this machine Ray .* and Python 3"),
    ],
)
@pytest.mark.parametrize("where", ["auto", "ray://h:1"])
def test_another_version_is_named_in_one_line(
    versions: dict[str, str], says: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_refuse_ended", lambda ray: None)
    for error in (mismatch(**versions), RuntimeError(f"Traceback (most):\n{mismatch(**versions)}\nmore")):
        said = error_of(ClusterError, session.connect_to, FakeRay(error), where, where, {})
        assert re.search(rf"the cluster {where} cannot be used: {says}", said)
        assert said.endswith(": install the cluster's here")


@pytest.mark.parametrize(("text", "says"), cases(__file__, "the_telling_line_of_a_long_error"))
def test_the_telling_line_of_a_long_error(text: str, says: str) -> None:
    assert session.telling_line(ValueError(text)) == says


def test_a_client_that_ends_at_once_tries_again_a_slow_one_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeRay(ConnectionAbortedError("gone"))
    for quick_s, inits in ((12.0, 2), (-1.0, 3)):
        monkeypatch.setattr(session, "_QUICK_FAILURE_S", quick_s)
        with pytest.raises(ClusterError, match="cannot be used: gone"):
            session.connect_to(ray, "ray://h:1", "ray://h:1", {})
        assert ray.inits == inits


class Waits:
    """A Ray of which nothing is ready."""

    def wait(self, refs: list[object], **options: object) -> tuple[list[object], list[object]]:
        return [], refs


def test_a_head_that_is_gone_is_noticed_and_its_return_is_forgiven(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10_000, 6))
    monkeypatch.setattr(session, "monotonic", lambda: next(clock))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        session.Session(Waits(), "auto").ready([], 0)
        watched = session.Session(Waits(), "auto", address)
        watched.ready([], 0)
    watched.ready([], 0)
    host, _, port = address.rpartition(":")
    with socket.create_server((host, int(port))):
        # Longer than the silence that the end is known by.
        deque(watched.ready([], 0) for _ in range(9))
    with pytest.raises(ClusterError, match="the cluster auto was lost: .*Connection refused"):
        deque(watched.ready([], 0) for _ in range(9))


def test_ray_does_not_print_among_the_data() -> None:
    import ray

    session.quieten(ray)
    worker = importlib.import_module("ray._private.worker")
    with redirect_stdout(io.StringIO()) as shown:
        lines = {"lines": ["Raylet is terminated."], "pid": "raylet", "is_err": False, "ip": "192.0.2.1"}
        worker.print_worker_logs({**lines, "job": None}, shown)
    assert shown.getvalue() == ""


# --- what is sent to nodes, and where it is there ---


def test_the_folder_has_what_nodes_need_and_is_gone_at_the_end() -> None:
    with upload() as (folder, contenders):
        assert contenders == {}
        assert (folder / "ringside" / "cluster" / "session.py").is_file()
        assert Probe(str(folder / PROBE))
    assert not folder.exists()


def test_it_is_found_without_a_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.setattr(ringside, "__file__", str(tmp_path / "ringside" / "__init__.py"))
    assert uploaded(PROBE) == tmp_path / "bin" / "ringside-probe"
    # A contender of this machine, which was not sent.
    assert uploaded(Path("/opt/own")) == Path("/opt/own")
