"""The executor with the real probe and real programs that misbehave."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ringside.errors import ProbeError
from ringside.measure import trials as trial
from ringside.model.design import Expectation
from ringside.probe.local import LocalExecutor, find_probe
from ringside.workloads.ring import checksum, order

FAKE = Path(__file__).parent / "fakes" / "fake.py"


def request(how: str, *more: str, trace: int = 0, **limits: Any) -> dict[str, Any]:
    nodes, messages = 4, 5
    result = {"checksum": str(checksum(nodes, messages)), "order": str(order(nodes, messages))}
    expected = Expectation(result, 0)
    if trace:
        starting = {":": 12, "*": 3, ">": 4, "@": 1}
        expected = Expectation(result, nodes * messages, starting)
    arguments = [f"nodes={nodes}", f"messages={messages}", f"how={how}", "hold=1", f"trace={trace}", *more]
    bounds = {"wall_s": 60, "memory_bytes": 2 << 30, "output_bytes": 1 << 20, "processes": 50}
    return {
        "version": trial.PROTOCOL,
        "argv": [sys.executable, "-S", "-E", str(FAKE), *arguments],
        "cwd": "/",
        "env": {"PATH": os.environ["PATH"]},
        "cpus": [],
        "probe_cpus": [],
        "limits": {**bounds, **limits},
        "sample_hz": 20,
        "cgroup": "auto",
        "expect": trial.expectation_json(expected),
        "service": None,
    }


def outcome(made: dict[str, Any]) -> dict[str, Any]:
    lines = [json.loads(line) for line in LocalExecutor().run(made)]
    found: dict[str, Any] = lines[-1]
    assert found["type"] == "outcome"
    return found


def test_a_good_program_is_ok_with_figures() -> None:
    lines = [json.loads(line) for line in LocalExecutor().run(request("good"))]
    found = lines[-1]
    assert (found["outcome"], found["detail"]) == ("ok", "")
    assert found["cpu_user_ns"] + found["cpu_system_ns"] > 0
    assert found["wall_ns"] > 0
    marks = {line["mark"]: line for line in lines if line["type"] == "sample" and line["mark"]}
    assert marks["spawned"]["pss_bytes"] > 1 << 20
    assert {line["name"]: line["ns"] for line in lines if line["type"] == "phase"} == {
        "spawn": 1000,
        "relay": 2000,
    }


@pytest.mark.parametrize("how", ["skips-a-unit", "reorders", "loses-a-message", "wrong-sum", "says-nothing"])
def test_wrong_evidence_has_no_place_among_the_figures(how: str) -> None:
    found = outcome(request(how))
    assert found["outcome"] == "wrong-evidence"
    assert found["detail"]


def test_traced_lines_are_counted() -> None:
    assert outcome(request("good", trace=1))["outcome"] == "ok"
    found = outcome(request("traces-too-little", trace=1))
    assert found["outcome"] == "wrong-evidence"
    found = outcome(request("good", "trace=0", trace=1))
    assert found["outcome"] == "wrong-evidence"


def test_a_hung_program_that_ignores_sigterm_is_ended() -> None:
    found = outcome(request("hangs", wall_s=1))
    assert found["outcome"] == "timed-out"
    assert found["wall_ns"] >= 1e9


def test_a_crash_tells_status_and_words() -> None:
    found = outcome(request("crashes"))
    assert (found["outcome"], found["exit_status"]) == ("crashed", 1)
    assert "</script>" in found["stderr_tail"]


def test_a_flood_is_stopped() -> None:
    assert outcome(request("floods"))["outcome"] == "flooded"


def test_memory_is_limited() -> None:
    found = outcome(request("eats-memory", memory_bytes=100 << 20))
    assert found["outcome"] == "out-of-memory"
    assert found["peak_pss_bytes"] > 100 << 20


@pytest.mark.parametrize("cgroup", ["auto", "off"])
def test_nothing_outlives_its_trial(tmp_path: Path, cgroup: str) -> None:
    marker = tmp_path / "pid"
    found = outcome({**request("daemonises", f"marker={marker}"), "cgroup": cgroup})
    assert found["left_behind"] == 1
    with pytest.raises(ProcessLookupError):
        os.kill(int(marker.read_text()), 0)


def test_a_program_that_is_not_there() -> None:
    found = outcome({**request("good"), "argv": ["/no/such/program"]})
    assert found["outcome"] == "crashed"
    assert "/no/such/program" in found["detail"]


def test_ticks_come_while_a_trial_runs() -> None:
    ticks: list[float] = []
    LocalExecutor().run(request("hangs", wall_s=3), lambda: ticks.append(time.monotonic()))
    assert ticks


def test_ctrl_c_ends_the_trial_first(tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    made = request("daemonises", f"marker={marker}", "then=hang")
    made["argv"] = ["sh", "-c", f"echo $$ > {marker}; trap '' TERM INT; while :; do sleep 1; done"]

    def interrupt() -> None:
        while not marker.exists() or not marker.read_text():
            time.sleep(0.05)
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        LocalExecutor().run(made)
    with pytest.raises(ProcessLookupError):
        os.kill(int(marker.read_text()), 0)


def test_a_killed_probe_leaves_nothing_and_is_an_error(tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    made = request("good")
    made["argv"] = ["sh", "-c", f"trap '' TERM; echo $PPID $$ > {marker}; while :; do sleep 1; done"]

    def kill() -> None:
        while not marker.exists() or len(marker.read_text().split()) < 2:
            time.sleep(0.05)
        os.kill(int(marker.read_text().split()[0]), signal.SIGKILL)

    threading.Thread(target=kill).start()
    with pytest.raises(ProbeError, match="without an outcome"):
        LocalExecutor().run(made)
    pid = int(marker.read_text().split()[1])
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail(f"process {pid} is still alive")


def test_a_probe_of_another_version_is_refused(tmp_path: Path) -> None:
    fake = tmp_path / "probe"
    fake.write_text("#!/bin/sh\necho ringside-probe 9.9 protocol 99\n")
    fake.chmod(0o755)
    with pytest.raises(ProbeError, match="does not speak protocol 1 .*99.*: run `make setup`"):
        LocalExecutor(str(fake))
    with pytest.raises(ProbeError, match="cannot be started"):
        LocalExecutor(str(tmp_path / "none"))


def test_an_unusable_request_is_refused_by_the_probe() -> None:
    done = subprocess.run([find_probe()], input=b"{}\n", capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stdout == b""
    assert len(done.stderr.decode().strip().splitlines()) == 1
    with pytest.raises(ProbeError, match="without an outcome"):
        LocalExecutor().run({**request("good"), "version": 99})


def test_cpus_for_the_contender_come_from_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 2, 3, 5})
    executor = LocalExecutor()
    assert executor.available_cpus() == 4
    assert executor.cpus(1) == ((5,), (0, 2, 3))
    assert executor.cpus(4) == ((0, 2, 3, 5), ())
