"""Processes that a test has started: which there are, on which ports, and waiting until they are gone."""

import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
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
