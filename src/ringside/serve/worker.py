"""The one thread that reads stores and makes pages. It is one, with a low priority, so that pages disturb a
measurement beside them little."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

_NICENESS = 10


class Worker:
    """Carries out functions one after another, in a thread of its own."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "ringside-pages", initializer=lower_priority)

    async def run(self, function: Callable[[], T]) -> T:
        """The function's result, or what it raised."""
        return (await self.timed(function))[0]

    async def timed(self, function: Callable[[], T]) -> tuple[T, float]:
        """The function's result, and how many seconds of CPU it took."""

        def call() -> tuple[T, float]:
            began_s = time.thread_time()
            result = function()
            return result, time.thread_time() - began_s

        return await asyncio.get_running_loop().run_in_executor(self._pool, call)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def lower_priority() -> None:
    """Let other threads go before this one (Linux has a niceness for each thread)."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
