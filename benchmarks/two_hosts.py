"""The ring over two hosts, which the post of 2009 names as Erlang's strength: two network namespaces with a
pair of virtual interfaces between them, each delayed by a millisecond where the kernel can, and half of the
units on each side. Erlang spawns its units on the other node; Go and asyncio send their messages over a TCP
connection of their own programs.

`two_hosts.py [ROUNDS]`, as root. Wall time by the first host's clock, in turns. Both hosts share this
machine's CPUs.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ringside.workloads.ring.workload import checksum

from pairs import take_turns, tell  # isort: skip

BARE = Path(__file__).resolve().parent / "bare"
ROUNDS = 7
NODES = 100
# Messages of each mode. In the mode with one message at a time, each message takes two delays.
MESSAGES = {"pipelined": 5_000, "token": 100}
DELAY = "1ms"
HERE, THERE = ("ringside-here", "10.213.0.1"), ("ringside-there", "10.213.0.2")
PORT = 7007
# The commands that start the second host's part and the first host's.
BUILDS = {
    "erlang": ["erlc", "-o", "{out}", "two_hosts.erl"],
    "go": ["go", "build", "-o", "{out}/go", "two_hosts.go"],
}
NODE = ["erl", "-noshell", "-setcookie", "ring", "-pa", "{out}", "-name"]
PROGRAMS: dict[str, tuple[list[str], list[str]]] = {
    "erlang": (
        [*NODE, f"b@{THERE[1]}"],
        [
            *NODE,
            f"a@{HERE[1]}",
            "-s",
            "two_hosts",
            "main",
            "-extra",
            "{nodes}",
            "{messages}",
            "{mode}",
            f"b@{THERE[1]}",
        ],
    ),
    "go": (
        ["{out}/go", "there", f"{THERE[1]}:{PORT}", "{nodes}", "{messages}", "{mode}"],
        ["{out}/go", "here", f"{THERE[1]}:{PORT}", "{nodes}", "{messages}", "{mode}"],
    ),
    "python-asyncio": (
        ["python3", "two_hosts.py", "there", f"{THERE[1]}:{PORT}", "{nodes}", "{messages}", "{mode}"],
        ["python3", "two_hosts.py", "here", f"{THERE[1]}:{PORT}", "{nodes}", "{messages}", "{mode}"],
    ),
}


@contextlib.contextmanager
def hosts() -> Iterator[str]:
    """Two network namespaces that can reach only each other. Yields the delay of each direction, in words."""
    names = (HERE[0], THERE[0])
    try:
        for name in names:
            ip("netns", "add", name)
        ip(
            "link",
            "add",
            "ringside0",
            "netns",
            names[0],
            "type",
            "veth",
            "peer",
            "name",
            "ringside0",
            "netns",
            names[1],
        )
        for name, address in (HERE, THERE):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", "ringside0")
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", "ringside0", "up")
        delayed = all(delay(name) for name in names)
        yield DELAY if delayed else "no delay (this kernel has no netem)"
    finally:
        for name in names:
            # Erlang's epmd keeps running when its nodes have ended.
            pids = subprocess.run(
                ["ip", "netns", "pids", name], capture_output=True, text=True, check=False
            ).stdout
            for pid in pids.split():
                os.kill(int(pid), 15)
            subprocess.run(["ip", "netns", "delete", name], check=False)


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def delay(name: str) -> bool:
    words = ["tc", "qdisc", "add", "dev", "ringside0", "root", "netem", "delay", DELAY]
    added = subprocess.run(["ip", "netns", "exec", name, *words], capture_output=True, check=False)
    return added.returncode == 0


def relayed(program: str, out: str, mode: str) -> Callable[[], float]:
    """One turn; returns nanoseconds per message."""
    words = {"out": out, "nodes": str(NODES), "messages": str(MESSAGES[mode]), "mode": mode}

    def command(host: str, line: Sequence[str]) -> list[str]:
        return ["ip", "netns", "exec", host, *(word.format(**words) for word in line)]

    def turn() -> float:
        there, here = PROGRAMS[program]
        environment = {**os.environ, "ERL_CRASH_DUMP_SECONDS": "0", "HOME": out}
        options = {"cwd": BARE, "env": environment, "stdin": subprocess.DEVNULL}
        with subprocess.Popen(command(THERE[0], there), stdout=subprocess.DEVNULL, **options) as other:  # type: ignore[call-overload]
            try:
                done = subprocess.run(
                    command(HERE[0], here), capture_output=True, text=True, check=True, **options
                )  # type: ignore[call-overload]
            finally:
                other.terminate()
        elapsed, total = done.stdout.split()
        assert int(total) == checksum(NODES, MESSAGES[mode]), total
        return int(elapsed) / MESSAGES[mode]

    return turn


def main() -> int:
    missing = [tool for tool in ("ip", "tc", "erl", "go", "python3") if shutil.which(tool) is None]
    if os.geteuid() or missing:
        needed = f"{', '.join(missing)} (packages iproute2, erlang-base, golang-go)" if missing else "root"
        print(f"two_hosts.py needs {needed}", file=sys.stderr)
        return 2
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory() as out, hosts() as delayed:
        for line in BUILDS.values():
            subprocess.run([word.format(out=out) for word in line], cwd=BARE, check=True)
        for mode, messages in MESSAGES.items():
            print(
                f"{mode}: {NODES} units, half on each host, {messages} messages, {delayed} each way",
                flush=True,
            )
            sides = {program: relayed(program, out, mode) for program in PROGRAMS}
            values = take_turns(sides, rounds)
            tell(
                {name: {k: ns / 1e3 for k, ns in each.items()} for name, each in values.items()},
                "µs",
                "erlang",
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
