"""The samples of a trial as one text of the store, and back.

The text is a JSON object with a column for each field of a sample (docs/STORE.md): base64 of 64-bit integers,
so that a report reads the two or three columns that it needs of thousands of trials without an object for
each sample.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ringside.model.results import Usage
from ringside.probe.protocol import Sample

# In the place of what a sample lacks; all that it can have is 0 or more.
_NONE = -1
_INTEGERS = (
    "processes",
    "threads",
    "cpu_ns",
    "rss_bytes",
    "pss_bytes",
    "voluntary_switches",
    "involuntary_switches",
    "run_queue_ns",
    "kernel_bytes",
    "tcp_bytes",
)
_OPTIONAL = ("pss_bytes", "kernel_bytes", "tcp_bytes")

# Little-endian 64-bit integers, or the one value that all samples have.
_Column = bytes | int


class _UsedColumns(msgspec.Struct, frozen=True):
    """The columns that figures need; the others are skipped, not read."""

    t_ns: bytes
    cpu_ns: _Column = 0
    pss_bytes: _Column = _NONE


class _Columns(_UsedColumns, frozen=True, omit_defaults=True):
    """All columns. `marks`: by the sample's place. `threads_sampled`: how many threads each sample lists;
    `thread_ids` and `thread_cpu_ns`: those of all samples, one after the other."""

    processes: _Column = 0
    threads: _Column = 0
    rss_bytes: _Column = 0
    voluntary_switches: _Column = 0
    involuntary_switches: _Column = 0
    run_queue_ns: _Column = 0
    kernel_bytes: _Column = _NONE
    tcp_bytes: _Column = _NONE
    marks: dict[int, str] = {}
    threads_sampled: _Column = _NONE
    thread_ids: bytes = b""
    thread_cpu_ns: bytes = b""


_COLUMNS = msgspec.json.Decoder(_Columns)
_USED_COLUMNS = msgspec.json.Decoder(_UsedColumns)


def samples_text(samples: Sequence[Sample]) -> str:
    """The samples of a trial as one text."""
    by_thread = [sample.cpu_by_thread for sample in samples]
    threads = [thread for each in by_thread for thread in each or ()]
    columns = _Columns(
        t_ns=_packed([sample.t_ns for sample in samples]),
        marks={place: sample.mark for place, sample in enumerate(samples) if sample.mark is not None},
        threads_sampled=_column(_NONE if each is None else len(each) for each in by_thread),
        thread_ids=_packed([tid for tid, _ in threads]),
        thread_cpu_ns=_packed([cpu_ns for _, cpu_ns in threads]),
        **{name: _column(_known(getattr(sample, name)) for sample in samples) for name in _INTEGERS},
    )
    return msgspec.json.encode(columns).decode()


def samples_of(text: str) -> tuple[Sample, ...]:
    """The samples of such a text. Raises ValueError where it is none."""
    columns = _COLUMNS.decode(text)
    times_ns = _integers(columns.t_ns)
    count = len(times_ns)
    fields: dict[str, Iterable[Any]] = {"t_ns": times_ns.tolist()}
    for name in _INTEGERS:
        fields[name] = _unpacked(getattr(columns, name), count).tolist()
    for name in _OPTIONAL:
        fields[name] = [None if value == _NONE else value for value in fields[name]]
    fields["mark"] = [columns.marks.get(place) for place in range(count)]
    fields["cpu_by_thread"] = _by_thread(columns, count)
    values = [dict(zip(fields, row, strict=True)) for row in zip(*fields.values(), strict=True)]
    # Others write files as well: a value may be one that no sample has.
    return msgspec.convert(values, tuple[Sample, ...])


def usage_of(text: str) -> Usage:
    """The samples of such a text, as far as figures need them. Raises ValueError where it is none."""
    import numpy as np  # here, since most commands do without

    columns = _USED_COLUMNS.decode(text)
    times_ns = _integers(columns.t_ns)
    pss_bytes = _unpacked(columns.pss_bytes, len(times_ns))
    return Usage(
        t_ns=times_ns,
        cpu_ns=_unpacked(columns.cpu_ns, len(times_ns)),
        pss_bytes=np.where(pss_bytes == _NONE, np.nan, pss_bytes),
    )


def _known(value: int | None) -> int:
    return _NONE if value is None else value


def _column(values: Iterable[int]) -> _Column:
    kept = list(values)
    return kept[0] if kept and min(kept) == max(kept) else _packed(kept)


def _packed(values: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(values)}q", *values)


def _unpacked(column: _Column, count: int) -> Any:
    """The integers of a column, an array. Raises ValueError where they are not so many."""
    import numpy as np

    if isinstance(column, int):
        return np.full(count, column, dtype="<i8")
    values = _integers(column)
    if len(values) != count:
        raise ValueError(f"a column has {len(values)} values for {count} samples")
    return values


def _integers(column: bytes) -> Any:
    """Raises ValueError where the last is cut off."""
    import numpy as np

    return np.frombuffer(column, dtype="<i8")


def _by_thread(columns: _Columns, count: int) -> list[tuple[tuple[int, int], ...] | None]:
    sampled = _unpacked(columns.threads_sampled, count).tolist()
    listed = sum(max(0, number) for number in sampled)
    pairs = list(
        zip(
            _unpacked(columns.thread_ids, listed).tolist(),
            _unpacked(columns.thread_cpu_ns, listed).tolist(),
            strict=True,
        )
    )
    by_thread: list[tuple[tuple[int, int], ...] | None] = []
    place = 0
    for number in sampled:
        by_thread.append(None if number < 0 else tuple(pairs[place : place + number]))
        place += max(0, number)
    return by_thread
