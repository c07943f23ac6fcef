"""The store behind the page. It is opened for each look and closed again, so that a store that disappears, is
replaced or damaged costs one answer, and the next look finds what is there by then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ringside.store import Store, record

# What changes whenever the store's files do: for each of them what `stat` says, None where it is missing.
Signature = tuple[tuple[int, int, int] | None, ...]


class Source:
    """A store by its place. All methods but `signature` are called in one thread, the `Worker`'s."""

    def __init__(self, locate: Callable[[], str]) -> None:
        """`locate` returns the path or URL of the store, which may change until there is one."""
        self._locate = locate
        self._record: tuple[Signature, Store] | None = None

    def signature(self) -> Signature | None:
        """None for a database of a URL, whose changes only a query shows."""
        where = self._locate()
        if "://" in where:
            return None
        return tuple(_stat(Path(name)) for name in (where, f"{where}-wal"))

    @contextmanager
    def open(self) -> Iterator[Store]:
        """The store, which refuses to write. Raises StoreError, NoStoreError."""
        where = self._locate()
        if where.endswith(record.SUFFIX):
            # To unpack one takes long, and nobody writes into it.
            yield self._unpacked(Path(where))
            return
        store = Store(where, read_only=True)
        try:
            yield store
        finally:
            store.close()

    def close(self) -> None:
        """Give back what is kept of a record."""
        if self._record:
            self._record[1].close()
            self._record = None

    def _unpacked(self, path: Path) -> Store:
        signature = self.signature()
        assert signature
        if self._record is None or self._record[0] != signature:
            self._record = (signature, record.read(path))
        return self._record[1]


def _stat(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
