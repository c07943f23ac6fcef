"""Servers that do not speak the protocol: they get a free port in their command line, and are ready when they
listen on it."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path

LOOPBACK = "127.0.0.1"

# A process of its own, which the probe adopts, waits until the port is listened on, reports that, and ends;
# the server itself takes this program's place, so that nothing else is measured. A connection as a test
# would be one that the server has to answer.
_LAUNCHER = Path(__file__).with_name("launcher.sh").read_text(encoding="utf-8")


def free_port(host: str = LOOPBACK) -> int:
    """A port of an address of this machine on which nothing listens."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as server:
        port: int = server.getsockname()[1]
        return port


def with_ready_line(command: Sequence[str], port: int) -> tuple[str, ...]:
    """A command that starts the server and prints `::ready` when it listens on the port."""
    # `read` of /proc/net/tcp sees ports as four hexadecimal digits.
    return ("/bin/sh", "-c", _LAUNCHER, f"{port:04X}", str(port), *command)
