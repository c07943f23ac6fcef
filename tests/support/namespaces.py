"""Network namespaces of Linux, each with an address of its own on one bridge: machines of a network as far as
sockets can tell. Only root can make them."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count

# For documentation (RFC 5737): nobody has them.
_NETWORK = "198.51.100"
_NUMBERS = count()
CABLE = "cable"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextmanager
def connected(hosts: int) -> Iterator[dict[str, str]]:
    """So many namespaces: their names, each with its address. Raises LookupError if none can be made."""
    network = f"rs{os.getpid()}x{next(_NUMBERS)}"
    names = [f"{network}n{number}" for number in range(hosts)]
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
        here, there = f"port{number}", CABLE
        _ip("-n", first, "link", "add", here, "type", "veth", "peer", "name", there, "netns", name)
        _ip("-n", first, "link", "set", here, "master", "bridge", "up")
        _ip("-n", name, "addr", "add", f"{addresses[name]}/24", "dev", there)
        _ip("-n", name, "link", "set", there, "up")


def cut_off(name: str) -> None:
    """Take the cable out of a host that is not the first. Nobody is told; what runs there goes on."""
    _ip("-n", name, "link", "set", CABLE, "down")


def processes(name: str) -> list[int]:
    """The processes in a namespace."""
    done = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False)
    return [int(word) for word in done.stdout.split()]


def inside(name: str) -> list[str]:
    """The words that a command begins with to run in a namespace; files and processes are those of the
    host."""
    return ["nsenter", f"--net=/run/netns/{name}"]
