"""The connection to a Ray cluster, the nodes of it that can run contenders, and what is sent to every node:
this Ringside, its probe, and the contenders' sources. Ray's runtime environment brings the folder there, once
for the same content. Ray is an extra (`ringside[cluster]`), imported by `connect` only."""

import itertools
import os
import re
import shutil
import signal
import socket
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from msgspec import structs

import ringside
from ringside.errors import ClusterError, ProbeError, RingsideError, UsageError
from ringside.measure.toolchain.builds import source_paths
from ringside.model.catalogue import Contender
from ringside.probe.process import Probe, find_probe
from ringside.text import one_line
from ringside.units import count

# A node has one for each run that it can carry out at a time: one.
RESOURCE = "ringside"
ADVERTISE = f"""ray start … --resources='{{"{RESOURCE}": 1}}'"""
# Ray names its actors and keeps clients apart by this.
_NAMESPACE = "ringside"
_CLIENT_PORT = 10001
_REACH_TIMEOUT_S = 5.0
# Ray ends the process of a driver that has not reached the cluster's head for a minute.
_LOOK_S = 5.0
_HEAD_PATIENCE_S = 20.0
# Ray itself tries three times, each time longer: half a minute in all.
_ATTEMPT_S = 5
_QUICK_FAILURE_S = 12.0
# Results of trials pass through it; they are small. Ray's own default is a third of the memory.
_LOCAL_OBJECT_STORE_BYTES = 100_000_000
# How Ray words that the versions differ: the cluster's, then this process's.
_PAIR = r"Ray: (\S+)\s+Python: (\S+)"
_VERSIONS = re.compile(rf"ersion mismatch: .*?{_PAIR}.*?{_PAIR}", re.DOTALL)
FORMS = "auto, local or ray://HOST:PORT"
PROBE = Path("bin", "ringside-probe")
# The wheel has the whole catalogue inside the package; only what takes part is sent.
_NOT_SENT = shutil.ignore_patterns("__pycache__", "*.pyc", "bundled")


class NodeLostError(ClusterError):
    """A node, or the actor on it, ended before it answered."""


@dataclass(frozen=True, slots=True)
class Node:
    """A machine of the cluster that is alive. `name`: from `ray start --node-name`, else its host name; nodes
    of one name are numbered. `address`: its IP address. `has_resource`: it advertises `ringside`."""

    id: str
    name: str
    address: str
    cpus: int
    has_resource: bool
    # The placement group, and the bundle of it, in which actors are started there; else by the node's id.
    group: Any = field(default=None, compare=False)
    bundle: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class GroupPlacement:
    """`node`: the contender's. `engines`: the nodes that load it; none if the contender's own does."""

    node: Node
    engines: tuple[Node, ...] = ()

    @property
    def name(self) -> str:
        """The name of the machine in its trials: another set of engines counts as another machine."""
        if not self.engines:
            return self.node.name
        return one_line(f"{self.node.name} ← {', '.join(node.name for node in self.engines)}", 500)


class Session:
    """An open connection. There can be one in a process."""

    def __init__(self, ray: Any, where: str, head: str = "") -> None:
        """`head`: HOST:PORT of the cluster's head; `ready` notices when it is gone."""
        self.ray = ray
        self.where = where
        host, _, port = head.rpartition(":")
        self._head = (host.strip("[]"), int(port)) if head else None
        self._look_at_s = 0.0
        self._silent_since_s: float | None = None

    def nodes(self) -> list[Node]:
        """The nodes that can run contenders, by name: those that advertise the resource `ringside`; if none
        does, all that Ray knows CPUs of. Raises ClusterError if the cluster does not answer."""
        try:
            alive = [entry for entry in self.ray.nodes() if entry["Alive"]]
        except Exception as error:
            raise self.lost(error) from error
        nodes = _nodes_of(alive)
        return [node for node in nodes if node.has_resource] or [node for node in nodes if node.cpus]

    def actor(self, kind: type, node: Node, *, holds: bool = True) -> Any:
        """The actor class of `kind`, to be started (`.remote(…)`) on that node and no other. Where it `holds`
        the node's resource, one run at a time has the node; a node that does not advertise it has the
        machine's lock alone (`measure/host.py`)."""
        from ray.util import scheduling_strategies as strategies

        if node.group is None:
            strategy = strategies.NodeAffinitySchedulingStrategy(node.id, soft=False)
        else:
            strategy = strategies.PlacementGroupSchedulingStrategy(node.group, node.bundle)
        return self.ray.remote(kind).options(
            num_cpus=0,
            resources={RESOURCE: 1} if holds and node.has_resource else {},
            scheduling_strategy=strategy,
            max_restarts=0,
            max_task_retries=0,
        )

    def ready(self, refs: Sequence[Any], timeout_s: float) -> list[Any]:
        """The available results, once there is one or after `timeout_s`. Raises ClusterError if lost."""
        try:
            done, _ = self.ray.wait(list(refs), num_returns=1, timeout=timeout_s, fetch_local=False)
        except Exception as error:
            raise self.lost(error) from error
        self._check_head()
        return list(done)

    def _check_head(self) -> None:
        """Raise ClusterError if the head has not been there for a while."""
        if self._head is None or monotonic() < self._look_at_s:
            return
        self._look_at_s = monotonic() + _LOOK_S
        try:
            socket.create_connection(self._head, timeout=_REACH_TIMEOUT_S).close()
        except OSError as error:
            if self._silent_since_s is None:
                self._silent_since_s = monotonic()
            elif monotonic() - self._silent_since_s > _HEAD_PATIENCE_S:
                raise self.lost(error) from error
        else:
            self._silent_since_s = None

    def result(self, ref: Any) -> Any:
        """Waits for a method of an actor; its result. Errors of Ringside's pass through. Raises NodeLostError
        for any other error of the method, and if the actor or its node ended first, ClusterError if the
        cluster does not answer."""
        exceptions = self.ray.exceptions
        try:
            return self.ray.get(ref)
        except exceptions.RayTaskError as error:
            cause = getattr(error, "cause", None) or error
            if isinstance(cause, RingsideError):
                raise cause from None
            raise NodeLostError(f"{type(cause).__name__}: {telling_line(cause)}") from error
        except exceptions.RayError as error:
            raise NodeLostError(telling_line(error)) from error
        except Exception as error:
            raise self.lost(error) from error

    def kill(self, actor: Any) -> None:
        """End an actor at once, and all that it started."""
        with suppress(Exception):
            self.ray.kill(actor)

    def lost(self, error: Exception) -> ClusterError:
        """The error for a cluster that does not answer any more."""
        return ClusterError(f"the cluster {self.where} was lost: {telling_line(error)}")

    def close(self) -> None:
        """Leave the cluster; actors of this session end. A cluster that `local` started ends, too."""
        with suppress(Exception):
            self.ray.shutdown()


@contextmanager
def connect(where: str, folder: Path | None = None, *, option: str = "--on") -> Iterator[Session]:
    """A session with the cluster at `where`, closed at the end: `ray://HOST:PORT`; `local`, a cluster of this
    machine alone that ends with the session; `auto`, the cluster that this machine is part of (or RAY_ADDRESS
    names), else as `local`. `folder` is sent to every node, as the working directory of actors. `option`: the
    one that named the cluster. Raises UsageError if `where` is none of these or Ray is not installed,
    ClusterError if there is no cluster, or one of another version of Ray or Python."""
    address = _address_of(where, option)
    # Ray reads this when it is imported: it must not report usage.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    for name in ("RAY_CLIENT_INITIAL_CONNECTION_TIMEOUT_S", "RAY_CLIENT_MAX_CONNECTION_TIMEOUT_S"):
        os.environ.setdefault(name, str(_ATTEMPT_S))
    try:
        import ray
    except ImportError as error:
        raise UsageError(f"{option} needs Ray ({error}): pip install 'ray[client]'") from error
    options: dict[str, Any] = {
        "namespace": _NAMESPACE,
        "log_to_driver": False,
        "logging_level": "ERROR",
        "runtime_env": {"working_dir": str(folder)} if folder else {},
    }
    with warnings.catch_warnings():
        # Ray's warnings repeat its errors, or address authors of programs for Ray.
        warnings.filterwarnings("ignore", module=r"ray\b")
        connect_to(ray, where, address, options)
        is_client = address.startswith("ray://")
        session = Session(ray, where, "" if is_client else ray.get_runtime_context().gcs_address)
        try:
            yield session
        finally:
            session.close()


def connect_to(ray: Any, where: str, address: str, options: dict[str, Any]) -> None:
    quieten(ray)
    handler = signal.getsignal(signal.SIGTERM)
    try:
        _init(ray, address, options)
    except ClusterError:
        raise
    except Exception as error:
        raise ClusterError(f"the cluster {where} cannot be used: {telling_line(error)}") from error
    finally:
        # Ray puts one of its own in place, also where it then finds no cluster.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)


def _address_of(where: str, option: str) -> str:
    """The address for Ray: `auto`, `local`, `ray://HOST:PORT`, or what RAY_ADDRESS has in place of `auto`.
    Raises UsageError, ClusterError if nobody listens there: Ray itself tries for long."""
    named = os.environ.get("RAY_ADDRESS") or where if where == "auto" else where
    if named in ("auto", "local"):
        return named
    is_plain = where == "auto" and "://" not in named
    parts = urlsplit(f"ray://{named}" if is_plain else named)
    host = port = None
    with suppress(ValueError):
        host, port = parts.hostname, parts.port
    if parts.scheme != "ray" or not host:
        raise UsageError(f"{option} {one_line(named, 100)}: write {FORMS}")
    try:
        socket.create_connection((host, port or _CLIENT_PORT), timeout=_REACH_TIMEOUT_S).close()
    except OSError as error:
        raise ClusterError(
            f"there is no cluster at {one_line(named, 100)}: {error.strerror or error}; `ray start --head` "
            f"starts one, whose port for clients is {_CLIENT_PORT}"
        ) from error
    return named


def quieten(ray: Any) -> None:
    """Keep Ray's messages about its nodes off stdout; `log_to_driver` is about those of workers only."""
    with suppress(AttributeError):
        ray._private.worker._worker_logs_enabled = False


def _init(ray: Any, address: str, options: dict[str, Any]) -> None:
    if address == "auto":
        with suppress(ConnectionError):
            _refuse_ended(ray)
            ray.init(address="auto", **options)
            return
        address = "local"
    if address == "local":
        ray.init(
            address="local",
            resources={RESOURCE: 1},
            include_dashboard=False,
            object_store_memory=_LOCAL_OBJECT_STORE_BYTES,
            **options,
        )
        return
    begun = monotonic()
    try:
        ray.init(address=address, **options)
    except Exception:
        # Ray starts a server for each client, which now and then ends at once: another client took its port.
        if monotonic() - begun > _QUICK_FAILURE_S:
            raise
        ray.shutdown()
        ray.init(address=address, **options)


def _refuse_ended(ray: Any) -> None:
    """Raise ClusterError if the cluster of this machine was killed: Ray tries its address for minutes."""
    try:
        # Ray has no public word for the address that `auto` stands for.
        address = ray._private.services.get_ray_address_from_environment("auto", None)
    except AttributeError:
        return
    host, _, port = str(address).rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_TIMEOUT_S).close()
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"this machine's cluster, {one_line(str(address), 60)}, does not answer "
            f"({one_line(str(error))}): start it again, let `ray stop` forget it, or measure with --on local"
        ) from error


def _nodes_of(entries: list[dict[str, Any]]) -> list[Node]:
    """Nodes by name. Where several have one name, the order of their addresses and ids numbers them."""
    nodes = []
    for entry in entries:
        address, name = entry["NodeManagerAddress"], entry.get("NodeName")
        # Ray's default name of a node is its address.
        name = entry["NodeManagerHostname"] if name in (None, "", address) else name
        resources, shown = entry["Resources"], one_line(str(name), 60)
        cpus, has_resource = int(resources.get("CPU", 0)), resources.get(RESOURCE, 0) >= 1
        nodes.append(Node(entry["NodeID"], shown, address, cpus, has_resource))
    nodes.sort(key=lambda node: (node.name, node.address, node.id))
    return [
        replace(node, name=f"{name}#{number}") if number > 1 else node
        for name, same in itertools.groupby(nodes, key=lambda node: node.name)
        for number, node in enumerate(same, 1)
    ]


def telling_line(error: Exception) -> str:
    """The line of Ray's error that says what it is; its texts are long, and end with traces of the server."""
    if mismatch := _VERSIONS.search(str(error)):
        ray, python, our_ray, our_python = mismatch.groups()
        ours = f"this machine Ray {our_ray} and Python {our_python}"
        return one_line(f"it has Ray {ray} and Python {python}, {ours}: install the cluster's here", 300)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if "ersion mismatch" in line]
    if not telling and any("Traceback" in line for line in lines):
        # The server's trace: its last line is the error.
        telling = lines[-1:]
    return one_line((telling or lines or [type(error).__name__])[0], 300)


def choose(nodes: Sequence[Node], wanted: int | Sequence[str] | None) -> list[Node]:
    """The nodes for the engines, one each: a number of them, those of these names or addresses, or all.
    Raises UsageError if the cluster has fewer, ClusterError if it has none."""
    if not nodes:
        raise ClusterError(
            f"the cluster has no node for an engine: start one with CPUs, or with the resource {RESOURCE}"
        )
    names = ", ".join(node.name for node in nodes)
    if isinstance(wanted, int) and wanted > len(nodes):
        raise UsageError(f"--engines {wanted}: the cluster has {count(len(nodes), 'node')} for them, {names}")
    if wanted is None or isinstance(wanted, int):
        return list(nodes[:wanted])
    chosen: list[Node] = []
    for name in wanted:
        fits = [node for node in nodes if node.name == name]
        fits = fits or [node for node in nodes if node.address == name]
        if len(fits) != 1 or fits[0] in chosen:
            reason = "is more than one node" if fits else "is not a node"
            reason = "is named twice" if fits and fits[0] in chosen else reason
            raise UsageError(f"--engines: {one_line(name, 60)} {reason}; the cluster has {names}")
        chosen += fits
    return chosen


@contextmanager
def upload(contenders: Mapping[str, Contender] = {}) -> Iterator[tuple[Path, dict[str, Contender]]]:
    """The folder to send, removed at the end, and the contenders as they are on a node: their folders are
    relative to the working directory. A contender that is only a command is not sent; its program must be on
    the nodes. Raises UsageError if the folder cannot be written, ProbeError without a probe here."""
    with tempfile.TemporaryDirectory(prefix="ringside-") as name:
        folder = Path(name)
        try:
            shutil.copytree(Path(ringside.__file__).parent, folder / "ringside", ignore=_NOT_SENT)
            (folder / PROBE).parent.mkdir()
            shutil.copy2(find_probe(), folder / PROBE)
            there = {name: _packed(contender, folder) for name, contender in contenders.items()}
        except OSError as error:
            raise UsageError(f"the files for nodes cannot be gathered in {folder}: {error}") from error
        yield folder, there


def uploaded(path: Path) -> Path:
    """On a node, the absolute path of something that was sent. Not by the working directory: where nodes
    share a machine, Ray may remove and make it again."""
    return Path(ringside.__file__).resolve().parents[1] / path


def uploaded_probe() -> Probe:
    """On a node, the probe that was sent, else the one that is installed there: that of another architecture
    or C library does not start. Raises ProbeError."""
    try:
        return Probe(str(uploaded(PROBE)))
    except ProbeError:
        return Probe()


def _packed(contender: Contender, folder: Path) -> Contender:
    if not contender.has_sources:
        return contender
    # `name@runtime` is in the folder of `name`; one from outside may have the name of another.
    own = Path("contenders", contender.name.replace("/", "_"))
    for path in source_paths(contender):
        target = folder / own / path.relative_to(contender.folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
    return structs.replace(contender, folder=own)
