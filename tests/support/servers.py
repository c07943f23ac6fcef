"""Contenders that listen, started by themselves: for tests of their conformance."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ringside.measure import trials
from ringside.measure.toolchain import expand
from tests.contenders.test_ring import CATALOGUE, ready

# The machine stalls for seconds; nothing that works takes as long.
PATIENCE_S = 30.0
END_S = 10.0


def having(workload: str) -> list[str]:
    """All contenders that have a workload, by each of their runtimes but the optional ones."""
    folders = CATALOGUE.contender_names()
    all_of = (one for folder in folders for one in CATALOGUE.runtimes(folder))
    return [one.name for one in all_of if workload in one.workloads and not one.runtime.optional]


def start(workload: str, name: str, *arguments: str, cores: int = 1) -> subprocess.Popen[bytes]:
    """A contender as the probe would start it, in a session of its own."""
    one = ready(name)
    names = {"runtime": one.receipt.executable, "build": one.build, "cores": cores}
    return subprocess.Popen(
        [*expand(one.contender.workloads[workload].command, names), *arguments],
        cwd=one.contender.folder,
        env=trials.environment(os.environ, one.build, 1, 2, 3),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


@contextmanager
def killed_at_last(process: subprocess.Popen[bytes], seconds: float = 240.0) -> Iterator[None]:
    """Whatever the test does, the program and what it started does not outlive it."""

    def kill() -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    watchdog = threading.Timer(seconds, kill)
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()
        kill()
        process.wait()
        for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
            with suppress(OSError):
                pipe.close()


@contextmanager
def serving(workload: str, name: str, *arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A server and its port. It must end well: in time, with status 0, without having printed anything."""
    process = start(workload, name, "port=0", "cores=1", "seed=1", *arguments)
    with killed_at_last(process):
        assert process.stdout is not None
        first = process.stdout.readline().decode()
        found = re.fullmatch(r"::ready port=([1-9]\d*)\n", first)
        assert found, (first, process.stderr and process.poll() is not None and process.stderr.read())
        yield process, int(found[1])
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        assert_ended_well(process)


def assert_ended_well(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None
    assert process.stderr is not None
    status = process.wait(END_S)
    assert (status, process.stdout.read(), process.stderr.read()) == (0, b"", b"")
