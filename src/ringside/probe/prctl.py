"""The system call prctl(2), which Python does not wrap."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache


@cache
def prctl() -> Callable[..., int]:
    """Raises AttributeError where the C library has none."""
    import ctypes

    function: Callable[..., int] = ctypes.CDLL(None).prctl
    return function
