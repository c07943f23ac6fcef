"""What this process asks of the kernel by prctl(2): to be hidden from the programs of the same user that it
measures, and to be the parent of what a killed probe leaves behind. Without effect where the C library has no
prctl."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

_PR_GET_DUMPABLE = 3
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36


@cache
def prctl() -> Callable[..., int]:
    import ctypes

    function: Callable[..., int] = getattr(ctypes.CDLL(None), "prctl", lambda *_: -1)
    return function


@contextmanager
def hidden() -> Iterator[None]:
    """Close the memory and files of this process, below /proc and to tracers, to all but root meanwhile."""
    if not is_visible():
        yield
        return
    prctl()(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    try:
        yield
    finally:
        prctl()(_PR_SET_DUMPABLE, 1, 0, 0, 0)


def is_visible() -> bool:
    """Whether others of this user can open its memory and files."""
    return prctl()(_PR_GET_DUMPABLE, 0, 0, 0, 0) == 1


@contextmanager
def adopted() -> Iterator[None]:
    """Make this process the parent of orphans of its descendants meanwhile. Not for longer: nobody would reap
    those of other programs."""
    prctl()(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl()(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
