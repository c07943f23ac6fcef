"""Network namespaces of Linux, each with an address of its own on one bridge: machines of a network as far as
sockets can tell. Only root can make them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

# For documentation (RFC 5737): nobody has them.
_NETWORK = "198.51.100"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextmanager
def connected(count: int) -> Iterator[dict[str, str]]:
    """So many namespaces: their names, each with its address. Raises LookupError where none can be made."""
    names = [f"rs{os.getpid()}n{number}" for number in range(count)]
    addresses = {name: f"{_NETWORK}.{number}" for number, name in enumerate(names, start=1)}
    with ExitStack() as stack:
        try:
            for name in names:
                _ip("netns", "add", name)
                stack.callback(subprocess.run, ["ip", "netns", "del", name], check=False)
            _connect(names, addresses)
        except (OSError, subprocess.CalledProcessError) as error:
            raise LookupError(f"no network namespaces can be made here: {error}") from error
        yield addresses


def _connect(names: Sequence[str], addresses: dict[str, str]) -> None:
    """A bridge in the first namespace, to which all others have a cable."""
    first = names[0]
    _ip("-n", first, "link", "add", "bridge", "type", "bridge")
    _ip("-n", first, "addr", "add", f"{addresses[first]}/24", "dev", "bridge")
    _ip("-n", first, "link", "set", "bridge", "up")
    for number, name in enumerate(names):
        _ip("-n", name, "link", "set", "lo", "up")
        if name == first:
            continue
        here, there = f"port{number}", "cable"
        _ip("-n", first, "link", "add", here, "type", "veth", "peer", "name", there, "netns", name)
        _ip("-n", first, "link", "set", here, "master", "bridge", "up")
        _ip("-n", name, "addr", "add", f"{addresses[name]}/24", "dev", there)
        _ip("-n", name, "link", "set", there, "up")


def inside(name: str) -> list[str]:
    """The words that a command begins with to run in a namespace; files and processes are those of the
    host."""
    return ["nsenter", f"--net=/run/netns/{name}"]
