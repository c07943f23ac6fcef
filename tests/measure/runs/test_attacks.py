"""Programs that attack the probe, the run or each other: each is a mode of tests/fakes, and none may hang a
trial, forge a figure, or outlive its end (docs/RELIABILITY.md)."""

import os
import socket
import sys
import time
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec
import pytest

from ringside.errors import ProbeError
from ringside.measure.host import Executor
from ringside.measure.runs.trials import trial_from_messages, validated
from ringside.model.results import Outcome, Trial
from ringside.probe import kernel, protocol
from ringside.probe.process import Probe
from ringside.workloads.ring.workload import RING
from tests.support.attacks import attack, both_ways, can_have_namespaces, has_own_namespaces, last, request
from tests.support.cases import cases
from tests.support.odd_server import OK, answering, serving
from tests.support.ordinary_user import NOBODY, as_ordinary_user
from tests.support.ordinary_user import readable_probe as readable_probe  # a fixture
from tests.support.points import ok_trial


@both_ways
@pytest.mark.parametrize(("how", "text"), cases(__file__, "interference_is_recorded_and_changes_nothing"))
def test_interference_is_recorded_and_changes_nothing(how: str, text: str, namespaces: str) -> None:
    final = last(attack(how, namespaces=namespaces))
    assert (final.outcome, final.detail) == ("ok", "")
    assert len(final.interference) == 1
    assert text in final.interference[0]


@both_ways
@pytest.mark.parametrize(("how", "limit"), cases(__file__, "who_lowers_the_probes_limits_is_named"))
def test_who_lowers_the_probes_limits_is_named(how: str, limit: str, namespaces: str) -> None:
    """Also where the probe dies of it; nothing of the trial is left."""
    before = kernel.children()
    why = f"the probe's limits were lowered: {limit}"
    try:
        final = last(attack(f"lowers-the-probes-{how}", namespaces=namespaces))
        said = (final.outcome, final.detail)
    except ProbeError as died:
        said = ("probe-failed", str(died).replace("ringside-probe: ", ""))
    died_of = ("probe-failed", f"the probe ended without an outcome: {why}")
    assert said in (("wrong-evidence", why), died_of)
    assert kernel.children() <= before


REPLACED = ("/proc or /dev/shm of the probe was replaced",)


@pytest.mark.parametrize(
    ("how", "interference", "needs_root"),
    [
        ("unmounts-proc", REPLACED, True),
        ("unmounts-shared-memory", REPLACED, True),
        ("makes-the-probe-a-victim", ("the probe's oom_score_adj was changed",), True),
        # Such signals have no effect on the first process of a namespace.
        ("stops-the-probe", (), False),
        ("kills-the-probe", (), False),
    ],
)
def test_a_probe_in_namespaces_of_its_own_goes_on(
    how: str, interference: tuple[str, ...], needs_root: bool
) -> None:
    if needs_root and os.geteuid() != 0:
        pytest.skip("needs root")
    if not can_have_namespaces():
        pytest.skip("no namespaces can be made here")
    final = last(attack(how))
    assert (final.outcome, final.detail, final.interference) == ("ok", "", interference)


def test_an_honest_program_interferes_with_nothing() -> None:
    assert last(attack("good")).interference == ()


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
@pytest.mark.parametrize("how", ["moves-the-probe", "moves-a-thread-of-the-probe"])
@both_ways
def test_a_probe_that_was_moved(how: str, namespaces: str) -> None:
    final = last(attack(how, namespaces=namespaces))
    assert final.interference == ("the probe was moved to other CPUs",)


@both_ways
def test_ringside_cannot_be_stopped(namespaces: str) -> None:
    messages = attack("stops-ringside", namespaces=namespaces)
    stopped = not has_own_namespaces(messages)
    assert last(messages).outcome == "ok"
    assert last(messages).interference == (("ringside was stopped by a signal",) if stopped else ())


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
@pytest.mark.parametrize("how", ["takes-all-cpus", "takes-all-cpus-in-a-thread"])
def test_cpus_that_were_not_given(how: str) -> None:
    final = last(attack(how, cpus=(min(os.sched_getaffinity(0)),)))
    assert final.outcome == "wrong-evidence"
    assert "took other CPUs than the" in final.detail


def test_figures_cannot_be_forged() -> None:
    messages = attack("writes-to-the-probe")
    assert last(messages).outcome == "ok"
    assert [each.name for each in messages if isinstance(each, protocol.Phase)] == ["spawn", "relay"]
    messages = attack("reads-the-probes-memory")
    assert [each.name for each in messages if isinstance(each, protocol.Phase)] == ["spawn", "relay"]


# Writes messages into all files of ringside, of the probe, and of who started them.
FORGES = """
for process in $PPID {ringside}; do
    for file in /proc/$process/fd/*; do
        echo '{{"type":"phase","t_ns":1,"name":"forged","ns":1}}' > $file
    done
done 2>/dev/null
test -e /proc/{ringside} && echo visible
id -u
"""


def forged_names(probe: str, namespaces: str) -> list[Any]:
    script = FORGES.format(ringside=os.getpid())
    program = request("good", argv=("sh", "-c", script), expect=None, awaits=(), namespaces=namespaces)
    messages = Probe(probe).trial(program)
    names = [each.name for each in messages if isinstance(each, protocol.Phase)]
    return [names, has_own_namespaces(messages), *last(messages).stdout_tail.split()]


@both_ways
def test_an_ordinary_user_cannot_forge_figures(readable_probe: str, namespaces: str) -> None:
    names, is_hidden, *seen = as_ordinary_user(forged_names, readable_probe, namespaces)
    assert names == []
    assert seen == ([] if is_hidden else ["visible"]) + [str(NOBODY if os.geteuid() == 0 else os.geteuid())]


# Its work is done while it waits, in a thread. Processes with many mappings make the sample last. It says how
# long it has run, and what CPU time the thread had while it waited.
WORKS_WHILE_IT_WAITS = """
import mmap, os, signal, sys, threading, time
maps = [mmap.mmap(-1, 4096, prot=1 + 2 * (number % 2)) for number in range(30_000)]
children = []
for _ in range(6):
    children.append(os.fork())
    if children[-1] == 0:
        signal.pause()
used = 0
def work():
    global used
    while not done:
        used = time.thread_time_ns()
done = False
threading.Thread(target=work).start()
print('::await name=spawned', flush=True)
before = used
sys.stdin.readline()
used, done = used - before, True
for child in children:
    os.kill(child, 9)
    os.waitpid(child, 0)
# Not at its end: that would be time of which it does not know.
del maps
with open('/proc/self/stat') as stat:
    start = int(stat.read().rpartition(')')[2].split()[19]) / os.sysconf('SC_CLK_TCK')
ran_ns = int((time.clock_gettime(time.CLOCK_BOOTTIME) - start) * 1e9)
print('::result ran_ns=%d used_ns=%d' % (ran_ns, used), flush=True)
"""


@pytest.mark.parametrize("cgroup", ["auto", "off"])
def test_work_during_a_wait_is_wall_time(cgroup: str) -> None:
    argv = (sys.executable, "-S", "-E", "-c", WORKS_WHILE_IT_WAITS)
    program = request("good", argv=argv, expect=None, cgroup=cgroup)
    final = last(Executor().trial(program))
    assert final.outcome == "ok"
    result = {name: int(value) for name, value in (final.result or {}).items()}
    worked_ns = min(result["used_ns"], final.paused_ns)
    # Ticks of the clocks, of 10 ms at most.
    assert (final.wall_ns or 0) > result["ran_ns"] - final.paused_ns + worked_ns - 30_000_000


# Three children, one after the other, that compute for 200 ms each, and are waited for by nobody.
LEAVES_CHILDREN = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(3):
    read_end, write_end = os.pipe()
    if os.fork() == 0:
        while time.process_time() < 0.2:
            pass
        os._exit(0)
    os.close(write_end)
    os.read(read_end, 1)
"""


@both_ways
@pytest.mark.parametrize("cgroup", ["auto", "off"])
def test_cpu_time_of_children_that_nobody_waits_for(cgroup: str, namespaces: str) -> None:
    """It is in the cgroup's account. Without one it is that of the last sample of each, with a warning."""
    program = msgspec.structs.replace(
        request("good"), argv=(sys.executable, "-S", "-E", "-c", LEAVES_CHILDREN), expect=None, awaits=()
    )
    messages = Executor().trial(msgspec.structs.replace(program, cgroup=cgroup, namespaces=namespaces))
    final = last(messages)
    cpu_ns = (final.cpu_user_ns or 0) + (final.cpu_system_ns or 0)
    assert final.outcome == "ok"
    if final.cpu_source == "cgroup":
        assert final.interference == ()
        assert cpu_ns > 550_000_000
    else:
        assert cgroup == "off" or not any(
            isinstance(each, protocol.Started) and each.cgroup for each in messages
        )
        # More than those of one, whatever a busy host leaves to samples.
        assert cpu_ns > 250_000_000
        assert cpu_ns >= max(each.cpu_ns for each in messages if isinstance(each, protocol.Sample))
        assert final.interference[0].startswith("children ended that nobody waited for: ")


def in_a_cgroup(how: str, cpu_source: str, **more: float) -> tuple[list[protocol.TrialMessage], str]:
    """An attack of a program that computes for 300 ms, and the trial's cgroup."""
    messages = attack(how, **more)
    (started,) = (each for each in messages if isinstance(each, protocol.Started))
    if not started.cgroup:
        pytest.skip("no cgroup can be made here")
    final = last(messages)
    assert (final.outcome, final.cpu_source) == ("ok", cpu_source)
    assert (final.cpu_user_ns or 0) + (final.cpu_system_ns or 0) > 290_000_000
    return messages, started.cgroup


@pytest.mark.parametrize(("how", "sample_hz"), [("", 20.0), ("-briefly", 0.0), ("-for-its-namesake", 20.0)])
def test_cpu_time_outside_of_the_cgroup_counts(how: str, sample_hz: float) -> None:
    messages, _ = in_a_cgroup(f"leaves-its-cgroup{how}", "rusage", sample_hz=sample_hz)
    assert "left the trial's cgroup" in last(messages).interference[0]
    # The samples have it too.
    if not how:
        assert max(each.cpu_ns for each in messages if isinstance(each, protocol.Sample)) > 50_000_000


def test_cgroups_that_are_deeper_than_a_path() -> None:
    messages, cgroup = in_a_cgroup("hides-in-deep-cgroups", "cgroup")
    assert last(messages).interference == ()
    assert not Path(cgroup).exists()


@pytest.mark.parametrize("how", ["stops-the-probe", "kills-the-probe"])
@pytest.mark.parametrize("cgroup", ["auto", "off"])
def test_a_probe_that_its_program_ends(how: str, cgroup: str) -> None:
    before = kernel.children()
    begun = time.monotonic()
    with pytest.raises(ProbeError, match="stopped by a signal" if "stops" in how else "was killed"):
        attack(how, cgroup=cgroup, namespaces="off")
    # Not the wall limit, which is a minute.
    assert time.monotonic() - begun < 20
    assert kernel.children() <= before


def served(script: str, probe: str | None = None) -> protocol.TrialOutcome:
    """A server from a script, under a load of one request."""
    load = protocol.LoadPlan(
        "http", requests=1, timeout_s=2, request=protocol.HttpRequest(headers=(("Host", "here"),))
    )
    server = msgspec.structs.replace(
        request("good"),
        # Not everybody may reach this interpreter.
        argv=("python3" if probe else sys.executable, "-S", "-E", "-c", script),
        expect=None,
        service=protocol.Service(
            ready_s=10, idle_s=0.05, steps=(protocol.Step("only", (protocol.NamedLoad("all", load),)),)
        ),
    )
    return last((Probe(probe) if probe else Executor()).trial(server))


def test_the_port_of_somebody_else() -> None:
    waits = "print('::ready port={}', flush=True)\nimport time; time.sleep(60)"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        foreign = served(waits.format(port))
        assert foreign.outcome == "wrong-evidence"
        assert foreign.detail == f"::ready names port {port}, which is another program's"
    nobody = served(waits.format(port))
    assert nobody.detail == f"::ready names port {port}, which has no listener on 127.0.0.1"


ANSWERS = """
import socket
listener = socket.create_server(('127.0.0.1', 0))
print('::ready port=%d' % listener.getsockname()[1], flush=True)
while True:
    client, _ = listener.accept()
    while client.recv(4096):
        client.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok')
    client.close()
"""
# Its files cannot be read, as those of a server that has given up privileges.
HIDDEN = "import ctypes\nctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n"


def ends_of_servers(probe: str, scripts: list[str]) -> list[str]:
    ends = [served(script, probe=probe) for script in scripts]
    return [f"{end.outcome} {end.detail}" for end in ends]


def test_a_program_whose_files_cannot_be_read(readable_probe: str) -> None:
    with serving(answering(lambda *_: OK)) as port:
        foreign = HIDDEN + f"print('::ready port={port}', flush=True)\nimport time; time.sleep(60)"
        honest = HIDDEN + ANSWERS
        ends = as_ordinary_user(ends_of_servers, readable_probe, [honest, foreign])
    why = f"::ready names port {port}, which is another program's"
    assert ends == ["ok ", f"wrong-evidence {why}: it still listened when all processes had ended"]


# It gives its port to whoever waits for it: at once, or when its first request has come.
SWAPS = """
import os, socket, time
listener = socket.create_server(('127.0.0.1', {port}))
print('::ready port={port}', flush=True)
{wait}
listener.close()
while not os.path.exists({note!r}):
    time.sleep(0.01)
{answer}
time.sleep(60)
"""


@pytest.mark.parametrize(
    ("place", "wait", "answer"),
    [
        ("begin", "time.sleep(0.02)", ""),
        (
            "end",
            "client, _ = listener.accept()",
            "client.recv(4096); client.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok')",
        ),
    ],
)
def test_a_port_that_another_program_takes_over(tmp_path: Path, place: str, wait: str, answer: str) -> None:
    note = tmp_path / "taken"
    own, other = socket.socket(), socket.socket()
    for each in (own, other):
        each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    own.bind(("127.0.0.1", 0))
    port = own.getsockname()[1]
    own.close()
    ended: list[protocol.TrialOutcome] = []
    script = SWAPS.format(port=port, note=str(note), wait=wait, answer=answer)
    trial = Thread(target=lambda: ended.append(served(script)))
    trial.start()
    listens = f"0100007F:{port:04X} 00000000:0000 0A"
    while trial.is_alive() and listens not in Path("/proc/net/tcp").read_text():
        time.sleep(0.001)
    while trial.is_alive():
        try:
            other.bind(("127.0.0.1", port))
            break
        except OSError:
            time.sleep(0.001)
    other.listen()
    with serving(answering(lambda *_: OK), other):
        note.touch()
        trial.join()
    (final,) = ended
    assert final.outcome == "wrong-evidence"
    assert final.detail.startswith(f"::ready names port {port}, which ")
    # On a busy host the first look may come after it had gone.
    assert place == "begin" or final.detail.endswith("at the end of step only")


def test_no_privileges_can_be_gained() -> None:
    script = "print([line for line in open('/proc/self/status') if line.startswith('NoNewPrivs')])"
    plain = request("good", argv=(sys.executable, "-c", script), expect=None)
    assert "NoNewPrivs:\\t1" in last(Executor().trial(plain)).stdout_tail
    # A command of the user's own may be anything.
    command = msgspec.structs.replace(plain, plain=True, awaits=())
    assert "NoNewPrivs:\\t0" in last(Executor().trial(command)).stdout_tail


# --- phases that are misreported ---


def ring(how: str, **report: Any) -> Trial:
    """A ring for which the fake takes 400 ms. `report`: what the probe is to have observed besides."""
    messages = Executor().trial(request(how, nodes=1000, messages=4000))
    observed = [*messages[:-1], msgspec.structs.replace(last(messages), **report)]
    return validated(trial_from_messages(ok_trial(RING, {}), observed), RING, 1)


def test_an_honest_ring_is_accepted() -> None:
    trial = ring("good")
    assert (trial.outcome, trial.detail) == (Outcome.OK, "")


@pytest.mark.parametrize(
    "how", ["microseconds", "milliseconds", "more-than-the-trial", "time-that-goes-backwards"]
)
def test_a_ring_that_misreports_its_relay(how: str) -> None:
    """As where nobody waits for a CPU, which would excuse it."""
    trial = ring(f"reports-{how}", pressure=protocol.Pressure(cpu_ns=0), cpus=())
    assert trial.outcome is Outcome.WRONG_EVIDENCE
    assert trial.detail.startswith("::phase name=relay") or "::phase name=relay ns=-" in trial.detail
