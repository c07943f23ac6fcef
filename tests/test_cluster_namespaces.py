"""A two-sided run whose nodes have addresses of their own, in network namespaces: what listens on a loopback
is out of reach, as on another machine."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from ringside.measure.exclusive import VARIABLE
from ringside.model.results import Outcome
from ringside.store import Store
from tests import namespaces
from tests.command_line import RINGSIDE

RAY = str(Path(sys.executable).parent / "ray")
PORT = 6379
# What a busy machine may take for a run of a few seconds, and for a node.
PATIENCE_S = 300
NODE_S = 90
STARTS = 3
STARTED = b"Ray runtime started"


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[str, str]]:
    """A cluster of a head and two nodes, each in a namespace: that of the head, and its address."""
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("nsenter"):
        pytest.skip("needs root, ip and nsenter")
    with ExitStack() as stack:
        try:
            addresses = stack.enter_context(namespaces.connected(3))
        except LookupError as missing:
            pytest.skip(str(missing))
        # The paths of Ray's sockets are long, and the kernel takes 107 bytes.
        folder = Path(tempfile.mkdtemp(prefix="rs-", dir="/tmp"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        head, *others = addresses
        where = f"{addresses[head]}:{PORT}"
        of_head = ("--head", f"--port={PORT}", "--num-cpus=0", "--include-dashboard=false")
        start_node(stack, folder, head, addresses[head], of_head)
        for number, name in enumerate(others, start=1):
            of_node = (f"--address={where}", "--num-cpus=2", '--resources={"ringside": 1}')
            start_node(stack, folder, name, addresses[name], (*of_node, f"--node-name=node{number}"))
        yield head, where


def start_node(stack: ExitStack, folder: Path, name: str, address: str, words: Sequence[str]) -> None:
    """A node of Ray in a namespace, which ends with the stack. On a busy machine Ray gives up before the node
    is there, so there are several tries."""
    log = folder / f"{name}.log"
    own = {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_TMPDIR": str(folder),
        "RAY_ADDRESS": "",
        VARIABLE: str(folder / f"{name}.lock"),
        "XDG_CACHE_HOME": str(folder / name),
    }
    common = ("--block", f"--node-ip-address={address}", "--object-store-memory=80000000")
    command = [*namespaces.inside(name), RAY, "start", *common, *words]
    for _ in range(STARTS):
        with log.open("wb") as file:
            process = subprocess.Popen(
                command, env={**os.environ, **own}, stdout=file, stderr=file, start_new_session=True
            )
        deadline = time.monotonic() + NODE_S
        while STARTED not in log.read_bytes() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.2)
        if STARTED in log.read_bytes():
            stack.callback(end, process)
            return
        end(process)
    raise RuntimeError(log.read_text(encoding="utf-8", errors="replace"))


def end(process: subprocess.Popen[bytes]) -> None:
    """End a node with all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.integration
def test_the_load_crosses_a_network(cluster: tuple[str, str], workplace: Path) -> None:
    head, where = cluster
    words = ("fib", "--only", "python-sync", "--set", "seconds=1", "--blocks", "1")
    deadline = time.monotonic() + PATIENCE_S
    while True:
        done = subprocess.run(
            [*namespaces.inside(head), *RINGSIDE, "run", *words, "--on", "auto", "--engines", "1"],
            env={**os.environ, "RAY_ADDRESS": where},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        # The head may not know of a node yet.
        if done.returncode != 2 or time.monotonic() > deadline:
            break
        time.sleep(1)
    assert done.returncode == 0, done.stderr
    store = Store(workplace / ".ringside/ringside.sqlite", create=False)
    (trial,) = store.trials(store.run())
    store.close()
    assert trial.machine in ("node1 ← node2", "node2 ← node1")
    assert trial.outcome is Outcome.OK, trial.detail
    measured = trial.load("measured")
    assert measured is not None
    assert measured.requests > 0
    assert measured.engines == 1
