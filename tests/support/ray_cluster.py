"""A real Ray cluster of several nodes on this machine, in a folder of its own, so that it neither finds nor
disturbs another one here."""

import math
import os
import random
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringside.files import FileLock
from ringside.measure.host import LOCK_VARIABLE
from tests.support.processes import is_over, is_refused

_STORE_BYTES = 80_000_000
_STARTS = 4
# Neither those of workers nor those that the kernel gives to anybody, who would have it by the time that
# Ray takes it.
_CLIENT_PORTS = range(25_000, 32_000)
_CLIENT_S = 30.0
# Every cluster gives its clients servers of their own from port 23,000 on, whatever another one on this
# machine has taken: a client of the second one would find its server ended. So there is one at a time.
_CLIENTS_LOCK = Path(tempfile.gettempdir()) / "ringside-tests-ray-clients.lock"


def _patiently(start: Callable[[], Any]) -> Any:
    """Starts a node, again if it takes longer than the 30 s that Ray grants it: a busy machine."""
    handler = signal.getsignal(signal.SIGTERM)
    try:
        for _ in range(_STARTS - 1):
            with suppress(Exception):
                return start()
        return start()
    finally:
        # Each node puts one of Ray's in place, which other tests would meet.
        signal.signal(signal.SIGTERM, handler)


@dataclass
class RayCluster:
    """A head without CPUs, where drivers connect, and nodes. `address`: for clients, `--on`, empty without;
    `own`: for the machines of the cluster, RAY_ADDRESS with `--on auto`, by which a driver starts sooner."""

    cluster: Any
    address: str
    own: str
    folder: Path

    def add(self, name: str, *, advertises: bool = True, env: Mapping[str, str] = {}, **more: Any) -> Any:
        """Start a node. Each stands for a machine, so each has a lock of its own."""
        resources = {"ringside": 1} if advertises else {}
        lock = {LOCK_VARIABLE: str(self.folder / f"{name}.lock")}
        return _patiently(
            lambda: self.cluster.add_node(
                num_cpus=2,
                resources=resources,
                object_store_memory=_STORE_BYTES,
                node_name=name,
                env_vars={**lock, **env},
                **more,
            )
        )

    def kill(self, node: Any) -> None:
        """End a node as a power cut would."""
        self.cluster.remove_node(node, allow_graceful=False)

    def contenders(self) -> list[int]:
        """The processes of contenders that nodes run: their HOME is a build there."""
        pids = []
        for folder in Path("/proc").iterdir():
            try:
                environment = (folder / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if any(line.startswith(f"HOME={self.folder}".encode()) for line in environment):
                pids.append(int(folder.name))
        return pids


@contextmanager
def started(*, with_clients: bool = False) -> Iterator[RayCluster]:
    """A cluster that has only its head yet. `with_clients`: drivers can connect by `ray://`."""
    lock = FileLock(_CLIENTS_LOCK)
    if with_clients:
        lock.acquire(math.inf)
    try:
        yield from _started(with_clients)
    finally:
        lock.release()


def _started(with_clients: bool) -> Iterator[RayCluster]:
    names = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ADDRESS": ""}
    # The paths of its sockets are long, and the kernel takes 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="rs-", dir="/tmp"))
    names |= {"RAY_TMPDIR": str(folder)}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    from ray.cluster_utils import Cluster

    def start() -> tuple[Any, str]:
        head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": _STORE_BYTES}
        if not with_clients:
            return Cluster(initialize_head=True, head_node_args=head), ""
        port = random.SystemRandom().choice(_CLIENT_PORTS)
        cluster = Cluster(initialize_head=True, head_node_args=head | {"ray_client_server_port": port})
        # Until drivers can connect; where they cannot, Ray does not say so.
        if not is_over(lambda: not is_refused(port), _CLIENT_S):
            cluster.shutdown()
            raise ConnectionRefusedError(f"nobody listens on port {port}")
        return cluster, f"ray://127.0.0.1:{port}"

    cluster, address = _patiently(start)
    try:
        yield RayCluster(cluster, address, cluster.address, folder)
    finally:
        cluster.shutdown()
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        shutil.rmtree(folder, ignore_errors=True)
