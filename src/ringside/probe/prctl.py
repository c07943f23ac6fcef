"""What this process asks of the kernel by prctl(2): to be hidden from the programs of the same user that it
measures, and to be the parent of what a killed probe leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache

_PR_GET_DUMPABLE = 3
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36


@cache
def prctl() -> Callable[..., int]:
    """Raises AttributeError where the C library has none."""
    import ctypes

    function: Callable[..., int] = ctypes.CDLL(None).prctl
    return function


@contextmanager
def hidden() -> Iterator[None]:
    """Close the memory and the files of this process, below /proc and to tracers, to all but root meanwhile.
    Without effect where the C library has no prctl."""
    was_visible = is_visible()
    if was_visible:
        _set(_PR_SET_DUMPABLE, 0)
    try:
        yield
    finally:
        if was_visible:
            _set(_PR_SET_DUMPABLE, 1)


def is_visible() -> bool:
    """Whether others of this user can open its memory and files."""
    try:
        return prctl()(_PR_GET_DUMPABLE, 0, 0, 0, 0) == 1
    except (OSError, AttributeError):
        return False


@contextmanager
def adopted() -> Iterator[None]:
    """Make this process the parent of orphans of its descendants meanwhile. Not for longer: nobody would reap
    those of other programs. Without effect where the C library has no prctl."""
    _set(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        _set(_PR_SET_CHILD_SUBREAPER, 0)


def _set(option: int, flag: int) -> None:
    with suppress(OSError, AttributeError):
        prctl()(option, flag, 0, 0, 0)
