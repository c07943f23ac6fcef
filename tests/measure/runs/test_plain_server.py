"""Servers that do not speak the protocol, through the shell program that announces them."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from ringside.measure.runs.trials import free_port, with_ready_line

# Listens on the port of its first argument, and prints its process and its arguments then.
SERVER = """
import os, socket, sys
print("starting", flush=True)
listener = socket.create_server((sys.argv[2], int(sys.argv[1])), family=int(sys.argv[3]))
print(os.getpid(), *sys.argv[4:], flush=True)
listener.accept()
"""


@contextmanager
def started(command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """The program, whose whole session is ended."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def test_a_free_port_can_be_listened_on() -> None:
    port = free_port()
    assert isinstance(port, int)
    with socket.create_server(("127.0.0.1", port)):
        assert free_port() != port


def test_the_command_is_that_of_the_server_behind_a_shell() -> None:
    words = with_ready_line(["./server", "--port", "80"], 80)
    assert words[:2] == ("/bin/sh", "-c")
    assert words[3:] == ("0050", "80", "./server", "--port", "80")
    assert with_ready_line(["x"], 43981)[3:] == ("ABCD", "43981", "x")


@pytest.mark.parametrize(("host", "family"), [("127.0.0.1", socket.AF_INET), ("::", socket.AF_INET6)])
def test_a_server_is_announced_once_it_listens(host: str, family: socket.AddressFamily) -> None:
    """Also on all addresses."""
    if host == "::" and not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    port = free_port()
    arguments = [str(port), host, str(int(family)), "a b", "$c"]
    with started(with_ready_line([sys.executable, "-c", SERVER, *arguments], port)) as process:
        assert process.stdout.readline() == "starting\n"
        lines = {process.stdout.readline(), process.stdout.readline()}
        # The server has taken the place of the shell, and has its words as they were.
        assert lines == {f"::ready port={port}\n", f"{process.pid} a b $c\n"}


def test_a_server_that_never_listens_is_not_announced() -> None:
    with subprocess.Popen(
        with_ready_line(["sh", "-c", "echo done; exit 3"], free_port()),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        # Waited for first: the helper looks whether there is a process of this number.
        assert process.wait(timeout=60) == 3
        out, _ = process.communicate(timeout=60)
    assert out == "done\n"
