"""Connecting to a real Ray, and which of its nodes can run contenders."""

from __future__ import annotations

import importlib
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from ringside.cluster import session
from ringside.cluster.session import connect
from ringside.errors import ClusterError, UsageError
from tests.ray_cluster import RayCluster, started


@pytest.fixture(scope="module")
def ray() -> Iterator[RayCluster]:
    with started() as cluster:
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
def test_nodes_without_the_resource_are_used_where_none_has_it_and_an_actor_finds_the_folder(
    ray: RayCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cluster_place.py").write_text(PLACE)
    monkeypatch.syspath_prepend(tmp_path)
    kind = importlib.import_module("cluster_place").Place
    (tmp_path / "note").write_text("sent")
    with connect(ray.address, tmp_path) as session:
        nodes = session.nodes()
        assert [(node.name, node.cpus, node.has_resource) for node in nodes] == [("plain", 2, False)]
        place = session.actor(kind, nodes[0]).remote(7)
        assert session.ray.get(place.read.remote(), timeout=60) == (
            7,
            "sent",
            str(ray.folder / "plain.lock"),
        )
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


def test_an_address_where_nobody_listens_is_refused_at_once() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        where = f"ray://127.0.0.1:{unused.getsockname()[1]}"
        said = f"there is no cluster at {where}: .*ray start --head"
        with pytest.raises(ClusterError, match=said), connect(where):
            pass


@contextmanager
def listening(answer: bytes | None) -> Iterator[str]:
    """Where somebody listens who answers everybody with these bytes and the end, or with nothing at all."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            # It may be gone before it has read all.
            with connection, suppress(OSError):
                if answer is not None:
                    connection.sendall(answer)
                    connection.shutdown(socket.SHUT_WR)
                while connection.recv(1000):
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"ray://127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


@pytest.mark.parametrize(
    "answer",
    [
        None,
        b"",
        b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
        b"SSH-2.0-x\r\n",
        # Frames of HTTP/2 that are no settings, of a stream, and too short.
        bytes([0, 0, 8, 6, 0, 0, 0, 0, 0]),
        bytes([0, 0, 0, 4, 0, 0, 0, 0, 1]),
        bytes([0, 0, 0, 4]),
    ],
)
def test_who_is_not_ray_is_refused_without_ray(answer: bytes | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_ANSWER_TIMEOUT_S", 0.2)
    with listening(answer) as where:
        said = f"there is no cluster at {where}: what listens there is not Ray; .*ray start --head"
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


def test_auto_takes_the_cluster_that_ray_address_names(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{unused.getsockname()[1]}")
        with pytest.raises(ClusterError, match="there is no cluster at 127.0.0.1:"), connect("auto"):
            pass


def test_a_cluster_that_has_ended_without_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ray._private import services

    # Those of other tests are not this machine's.
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
