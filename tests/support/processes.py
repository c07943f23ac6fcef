"""Processes that a test has started: which there are, on which ports, and waiting until they are gone."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path


def processes_of(place: Path) -> list[int]:
    """Contenders that run in a folder below this one."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            if int(entry.name) and (entry / "cwd").resolve().is_relative_to(place / "contenders"):
                found.append(int(entry.name))
    return found


def own_probes() -> set[int]:
    """The probes that this process has started and that have not ended."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            name, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(") ")
            if name.startswith("ringside-probe") and rest.split()[1] == str(os.getpid()):
                found.add(int(entry.name))
    return found


@contextmanager
def holding(program: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A program in Python that prints `held` once it has something, which it keeps until its end."""
    command, pipe = [sys.executable, "-c", program, *words], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


MEASURES = """
import sys
from ringside.measure.host import alone
with alone(lambda: None):
    print("held", flush=True)
    sys.stdin.read()
"""


def another() -> AbstractContextManager[subprocess.Popen[str]]:
    """Another process that has the lock of the machine."""
    return holding(MEASURES)


def is_over(is_gone: Callable[[], bool], patience_s: float = 15) -> bool:
    deadline = time.monotonic() + patience_s
    while not is_gone():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def is_refused(port: int) -> bool:
    """Whether nothing listens on a port of 127.0.0.1."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) != 0
