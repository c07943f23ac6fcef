"""Hides this process from the programs of the same user that it measures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ringside.probe.prctl import prctl

_PR_GET_DUMPABLE = 3
_PR_SET_DUMPABLE = 4


@contextmanager
def hidden() -> Iterator[None]:
    """Close the memory and the files of this process, below /proc and to tracers, to all but root meanwhile.
    Without effect where the C library has no prctl."""
    was_visible = is_visible()
    if was_visible:
        _set_visible(0)
    try:
        yield
    finally:
        if was_visible:
            _set_visible(1)


def is_visible() -> bool:
    """Whether others of this user can open its memory and files."""
    try:
        return prctl()(_PR_GET_DUMPABLE, 0, 0, 0, 0) == 1
    except (OSError, AttributeError):
        return False


def _set_visible(flag: int) -> None:
    with suppress(OSError, AttributeError):
        prctl()(_PR_SET_DUMPABLE, flag, 0, 0, 0)
