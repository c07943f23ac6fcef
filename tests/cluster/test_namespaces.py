"""Runs whose nodes have addresses of their own, in network namespaces: what listens on a loopback is out of
reach, as on another machine, and hosts can be cut off and killed."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from ringside.measure.host import LOCK_VARIABLE
from ringside.model.results import REPEATABLE, Outcome, Trial
from tests.support import namespaces
from tests.support.command_line import RINGSIDE, captured
from tests.support.fake_contenders import Add
from tests.support.processes import is_over
from tests.support.stored_trials import assert_whole, counted, trials_so_far

RAY = str(Path(sys.executable).parent / "ray")
PORT = 6379
# The longest time that a busy machine may take for a run of a few seconds, and for a node.
PATIENCE_S = 300
NODE_S = 90
STARTS = 3
STARTED = b"Ray runtime started"


@dataclass(frozen=True)
class Hosts:
    """`head`: the namespace of the cluster's head, and `where` it listens. `nodes`: the namespaces of node1,
    node2 … by name. `folder`: has a folder for each namespace, with the builds of its node."""

    head: str
    where: str
    nodes: dict[str, str]
    folder: Path

    def known(self) -> int:
        """How many nodes the head knows by now."""
        program = (
            "import ray\n"
            f"ray.init(address={self.where!r}, logging_level='ERROR', log_to_driver=False)\n"
            "print(sum(node['Alive'] and 'ringside' in node['Resources'] for node in ray.nodes()))"
        )
        command = [*namespaces.inside(self.head), sys.executable, "-c", program]
        done = captured(command, timeout=NODE_S)
        return int(done.stdout.split()[-1]) if done.returncode == 0 else 0

    def contenders(self, node: str) -> list[int]:
        """The contenders that run on a node: their HOME is a build there."""
        home = f"HOME={self.folder / self.nodes[node]}/".encode()
        pids = []
        for pid in namespaces.processes(self.nodes[node]):
            with suppress(OSError):
                if home in Path(f"/proc/{pid}/environ").read_bytes():
                    pids.append(pid)
        return pids


@contextmanager
def started(nodes: int, **settings: str) -> Iterator[Hosts]:
    """A cluster of a head and so many nodes, each in a namespace. `settings`: of Ray, in its environment."""
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("nsenter"):
        pytest.skip("needs root, ip and nsenter")
    with ExitStack() as stack:
        try:
            addresses = stack.enter_context(namespaces.connected(nodes + 1))
        except LookupError as missing:
            pytest.skip(str(missing))
        # The paths of Ray's sockets are long, and the kernel takes 107 bytes.
        folder = Path(tempfile.mkdtemp(prefix="rs-", dir="/tmp"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        head, *others = addresses
        where = f"{addresses[head]}:{PORT}"
        of_head = ("--head", f"--port={PORT}", "--num-cpus=0", "--include-dashboard=false")
        start_node(stack, folder, head, addresses[head], of_head, settings)
        by_name = {f"node{number}": name for number, name in enumerate(others, start=1)}
        for node, name in by_name.items():
            of_node = (f"--address={where}", "--num-cpus=2", '--resources={"ringside": 1}')
            start_node(stack, folder, name, addresses[name], (*of_node, f"--node-name={node}"), settings)
        yield Hosts(head, where, by_name, folder)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Hosts]:
    with started(2) as hosts:
        yield hosts


def has_begun(log: Path, process: subprocess.Popen[bytes]) -> bool:
    return STARTED in log.read_bytes() or process.poll() is not None


def start_node(
    stack: ExitStack, folder: Path, name: str, address: str, words: Sequence[str], settings: Mapping[str, str]
) -> None:
    """A node of Ray in a namespace, which ends with the stack. On a busy machine Ray gives up before the node
    is there, so there are several tries."""
    log = folder / f"{name}.log"
    own = {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_TMPDIR": str(folder),
        "RAY_ADDRESS": "",
        LOCK_VARIABLE: str(folder / f"{name}.lock"),
        "XDG_CACHE_HOME": str(folder / name),
        **settings,
    }
    common = ("--block", f"--node-ip-address={address}", "--object-store-memory=80000000")
    command = [*namespaces.inside(name), RAY, "start", *common, *words]
    for _ in range(STARTS):
        with log.open("wb") as file:
            process = subprocess.Popen(
                command, env={**os.environ, **own}, stdout=file, stderr=file, start_new_session=True
            )
        is_over(partial(has_begun, log, process), NODE_S)
        if STARTED in log.read_bytes():
            stack.callback(kill, name)
            stack.callback(end, process)
            return
        end(process)
        kill(name)
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


def kill(name: str) -> None:
    """End all that runs in a namespace, as a power cut would."""
    for pid in namespaces.processes(name):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.integration
def test_the_load_crosses_a_network(cluster: Hosts, workplace: Path) -> None:
    words = ("fib", "--only", "python-sync", "--set", "seconds=1", "--blocks", "1")
    assert is_over(lambda: cluster.known() == 2, PATIENCE_S)
    command = [*namespaces.inside(cluster.head), *RINGSIDE, "run", *words, "--on", "auto"]
    environment = {**os.environ, "RAY_ADDRESS": cluster.where}
    done = captured([*command, "--engines", "1"], env=environment, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    (trial,) = trials_so_far()
    assert trial.machine in ("node1 ← node2", "node2 ← node1")
    assert trial.outcome is Outcome.OK, trial.detail
    measured = trial.load("measured")
    assert measured.requests > 0
    assert measured.engines == 1


# Ray's own limits are some minutes.
IMPATIENT = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "5000",
    "RAY_health_check_failure_threshold": "3",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "15",
}
# A contender that goes on once no file holds the node that it is on.
HOLDS = """

def holds():
    node = os.environ["HOME"].removeprefix("{folder}/").split("/")[0]
    time.sleep(0.2)
    while os.path.exists("{folder}/" + node + ".hold"):
        open("{folder}/" + node + ".held", "w").close()
        time.sleep(0.1)


WORKING["holds"] = holds
"""


def of_later_blocks(trials: Sequence[Trial]) -> list[str]:
    """The machines of all but their first blocks."""
    blocks = dict.fromkeys((trial.machine, trial.block) for trial in trials)
    return [machine for machine, count in Counter(machine for machine, _ in blocks).items() if count > 1]


@pytest.mark.integration
def test_one_host_is_cut_off_and_another_killed(workplace: Path, add_fake: Add, add_experiment: Add) -> None:
    names, blocks = ("one", "two", "three"), 60
    with started(3, **IMPATIENT) as hosts:
        for name in names:
            add_fake(name, "holds")
            with (workplace / "contenders" / name / "attacks.py").open("a") as file:
                file.write(HOLDS.format(folder=hosts.folder))
        add_experiment("mine", *names, blocks=blocks, more="[limits]\nwall_s = 600\n")
        assert is_over(lambda: hosts.known() == 3, NODE_S)
        command = [*namespaces.inside(hosts.head), *RINGSIDE, "run", "mine", "--on", "auto", "--until", "end"]
        environment = {**os.environ, "RAY_ADDRESS": hosts.where}
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            try:
                everywhere = {"node1", "node2", "node3"}
                # Each has completed a block.
                assert is_over(lambda: set(of_later_blocks(trials_so_far())) == everywhere, PATIENCE_S)
                cut, killed = "node1", "node2"
                (hosts.folder / f"{hosts.nodes[cut]}.hold").touch()
                assert is_over((hosts.folder / f"{hosts.nodes[cut]}.held").exists, PATIENCE_S)
                assert process.poll() is None
                namespaces.cut_off(hosts.nodes[cut])
                kill(hosts.nodes[killed])
                shown, said = process.communicate(timeout=PATIENCE_S)
            finally:
                process.kill()
        # Contenders that are no longer needed end, too: the node learns that it has lost its cluster.
        assert is_over(lambda: not hosts.contenders(cut), PATIENCE_S)
        assert (hosts.folder / f"{hosts.nodes[cut]}.hold").exists()
    assert process.returncode == 0, said
    for name in (cut, killed):
        assert f"{name} is left out: lost in block" in said
    # Ray's own messages about that are not among the figures.
    assert "raylet" not in shown + said
    trials = trials_so_far()
    assert_whole(trials, blocks, len(names))
    assert {trial.machine for trial in counted(trials)} == everywhere
    assert all(" was lost" in trial.detail for trial in trials if trial.outcome in REPEATABLE)
