"""Actions of a test as an ordinary user, in an interpreter of their own: a fork of one where other tests have
started threads (gRPC's, for example) may crash."""

import ctypes
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringside.probe.kernel import prctl
from ringside.probe.process import find_probe
from tests.support import ROOT

NOBODY = 65534
IS_SEEN = ["other processes are seen"]


@pytest.fixture
def readable_probe() -> Iterator[str]:
    """A copy of the probe that everybody can execute; the folders of pytest are its user's own."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield shutil.copy(find_probe(), folder)


def as_ordinary_user(
    action: Callable[..., list[Any]], *arguments: Any, hides_processes: bool = False
) -> list[Any]:
    """The result of a module's function in a process whose user is not root, with other processes hidden in
    /proc or not. Arguments and answer must fit into JSON."""
    asked = [action.__module__, action.__qualname__, hides_processes, arguments]
    command = [sys.executable, "-m", "tests.support.ordinary_user"]
    done = subprocess.run(command, cwd=ROOT, input=msgspec.json.encode(asked), capture_output=True)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    answer: list[Any] = msgspec.json.decode(done.stdout)
    return answer


def with_hidden_processes(action: Callable[..., list[Any]], *arguments: Any) -> list[Any]:
    """The same where other users' processes are not seen."""
    answer = as_ordinary_user(action, *arguments, hides_processes=True)
    if answer == IS_SEEN:
        pytest.skip("/proc cannot be mounted with hidepid here")
    return answer


def hide_processes() -> None:
    """In a mount namespace of this process's own, a /proc that hides what others run. Each mount has options
    of its own since Linux 5.8."""
    assert ctypes.CDLL(None).unshare(0x00020000) == 0  # CLONE_NEWNS
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "-t", "proc", "-o", "hidepid=2", "proc", "/proc"], check=True)


def main() -> None:
    module, name, hides_processes, arguments = msgspec.json.decode(sys.stdin.buffer.read())
    # Python itself may lie where an ordinary user cannot read, and imports some modules late.
    action = getattr(importlib.import_module(module), name)
    set_option = prctl()
    if hides_processes:
        hide_processes()
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        # PR_SET_DUMPABLE: the change of the user hides the process.
        set_option(4, 1, 0, 0, 0)
    is_seen = hides_processes and os.path.exists("/proc/1")
    answer = IS_SEEN if is_seen else action(*arguments)
    sys.stdout.buffer.write(msgspec.json.encode(answer))


if __name__ == "__main__":
    main()
