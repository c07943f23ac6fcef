"""Hides this process from the programs of the same user that it measures, and makes it the parent of
processes that a killed probe leaves behind, so that it can end them."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache

# How long to wait for a process that the kernel does not let die.
_PATIENCE_S = 10.0
_PAUSE_S = 0.01
_PR_GET_DUMPABLE, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 3, 4, 36


@cache
def prctl() -> Callable[..., int]:
    """prctl(2), without effect where the C library has none."""
    import ctypes

    function: Callable[..., int] = getattr(ctypes.CDLL(None), "prctl", lambda *_: -1)
    return function


@contextmanager
def hidden() -> Iterator[None]:
    """Close the memory and files of this process, below /proc and to tracers, to all but root meanwhile."""
    was_visible = is_visible()
    prctl()(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    try:
        yield
    finally:
        prctl()(_PR_SET_DUMPABLE, int(was_visible), 0, 0, 0)


def is_visible() -> bool:
    """Whether others of this user can open its memory and files."""
    return prctl()(_PR_GET_DUMPABLE, 0, 0, 0, 0) == 1


@contextmanager
def adopted() -> Iterator[set[int]]:
    """Within the block, make this process the parent of its descendants' orphans; gives its children until
    then. Afterwards nobody would reap the orphans of other programs."""
    prctl()(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield children()
    finally:
        prctl()(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def children() -> set[int]:
    """The pids of this process's children, ended ones too; none where the kernel does not list them."""
    pids: list[bytes] = []
    with suppress(OSError):
        for task in os.listdir("/proc/self/task"):
            pids += _read(f"/proc/self/task/{task}/children").split()
    return set(map(int, pids))


def is_stopped(pid: int) -> bool:
    """Whether a signal has stopped a child of this process. Not from /proc, which may hide it (hidepid)."""
    with suppress(OSError):
        return os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
    return False


def end_all_but(spared: set[int]) -> None:
    """Kill and reap all children of this process except these, and the children that they leave."""
    deadline = time.monotonic() + _PATIENCE_S
    while (left := children() - spared) and time.monotonic() < deadline:
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
            with suppress(OSError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(_PAUSE_S)


def fields_of(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the third on; the second, the name, may hold anything."""
    try:
        text = _read(f"/proc/{pid}/stat")
    except OSError:
        return []
    return text[text.rfind(b")") + 1 :].decode("ascii", errors="replace").split()


def _read(path: str) -> bytes:
    """A file of /proc, read without Python's buffers, which cost time before each trial."""
    with open(path, "rb", buffering=0) as file:
        return file.read()
