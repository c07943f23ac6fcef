"""The store behind the page, and the one thread that reads it. The store is opened for each look and closed
again, so that one that disappears, is replaced or damaged costs one answer, and the next look finds what is
there by then. The thread has a low priority, so that pages disturb a measurement beside them little."""

import asyncio
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

from ringside.model.catalogue import Question
from ringside.store import Store, record

# Changes whenever the store's files do: the result of `stat` for each of them, None if it is missing.
Signature = tuple[tuple[int, int, int] | None, ...]
# Returns all questions that the catalogue has now.
Questions = Callable[[], Sequence[Question]]
T = TypeVar("T")


class Source:
    """A store by its place, read in a thread of its own, one look after another."""

    def __init__(self, locate: Callable[[], str]) -> None:
        """`locate` returns the path or URL of the store, which may change until there is one."""
        self._locate = locate
        self._record: tuple[Signature | None, Store] | None = None
        self._thread = ThreadPoolExecutor(1, "ringside-pages", initializer=lower_priority)

    def signature(self) -> Signature | None:
        """None for a database of a URL, whose changes only a query shows."""
        where = self._locate()
        if "://" in where:
            return None
        return tuple(_stat(Path(name)) for name in (where, f"{where}-wal"))

    async def run(self, function: Callable[[], T]) -> T:
        """The result of a function in the thread, or the exception that it raised."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)

    async def read(self, look: Callable[[Store], T]) -> T:
        """The result of a function of the store, which refuses to write. Raises StoreError, NoStoreError."""

        def result() -> T:
            where = self._locate()
            if where.endswith(record.SUFFIX):
                # Unpacking a record takes long, and nobody writes into it.
                signature = self.signature()
                if self._record is None or self._record[0] != signature:
                    self._record = (signature, record.read(Path(where)))
                return look(self._record[1])
            with closing(Store(where, read_only=True)) as store:
                return look(store)

        return await self.run(result)

    async def close(self) -> None:
        """Release the thread, and the memory kept for a record."""
        if self._record:
            await self.run(self._record[1].close)
        self._thread.shutdown(wait=False, cancel_futures=True)


def _stat(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def lower_priority() -> None:
    """Let other threads go before this one (Linux has a niceness for each thread)."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
