"""The samples of a trial as one text of the store, and back: a JSON object with a column for each field of a
sample (docs/STORE.md). Of thousands of trials, a report reads only two or three columns, and no objects."""

import struct
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import msgspec

from ringside.arrays import np
from ringside.model.results import Usage
from ringside.probe.protocol import Sample

# Stands for a missing value; all others are 0 or more.
_NONE = -1
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


# The columns of integers, with what one that is absent holds.
_INTEGERS = {
    column.name: column.default
    for column in msgspec.structs.fields(_Columns)
    if column.type == _Column and column.name != "threads_sampled"
}


def samples_text(samples: Sequence[Sample]) -> str:
    """The samples of a trial as one text."""
    by_thread = [sample.cpu_by_thread for sample in samples]
    threads = [thread for each in by_thread for thread in each or ()]
    columns = _Columns(
        t_ns=_packed([sample.t_ns for sample in samples]),
        marks={place: sample.mark for place, sample in enumerate(samples) if sample.mark is not None},
        threads_sampled=_column(None if each is None else len(each) for each in by_thread),
        thread_ids=_packed([tid for tid, _ in threads]),
        thread_cpu_ns=_packed([cpu_ns for _, cpu_ns in threads]),
        **{name: _column(getattr(sample, name) for sample in samples) for name in _INTEGERS},
    )
    return msgspec.json.encode(columns).decode()


def samples_of(text: str) -> tuple[Sample, ...]:
    """The samples in a text of `samples_text`. Raises ValueError if the text is invalid."""
    columns = msgspec.json.decode(text, type=_Columns)
    times_ns = _unpacked(columns.t_ns)
    count = len(times_ns)
    fields: dict[str, Iterable[Any]] = {"t_ns": times_ns.tolist()}
    for name, default in _INTEGERS.items():
        values = _unpacked(getattr(columns, name), count).tolist()
        fields[name] = [None if value == default == _NONE else value for value in values]
    fields["mark"] = [columns.marks.get(place) for place in range(count)]
    fields["cpu_by_thread"] = _by_thread(columns, count)
    rows = [dict(zip(fields, row, strict=True)) for row in zip(*fields.values(), strict=True)]
    # Others write files as well: a value may be one that no sample has.
    return msgspec.convert(rows, tuple[Sample, ...])


def usage_of(text: str) -> Usage:
    """The values of the samples in a text that figures need. Raises ValueError if the text is invalid."""
    columns = msgspec.json.decode(text, type=_UsedColumns)
    times_ns = _unpacked(columns.t_ns)
    pss_bytes = _unpacked(columns.pss_bytes, len(times_ns))
    return Usage(
        t_ns=times_ns,
        cpu_ns=_unpacked(columns.cpu_ns, len(times_ns)),
        pss_bytes=np.where(pss_bytes == _NONE, np.nan, pss_bytes),
    )


def _column(values: Iterable[int | None]) -> _Column:
    kept = [_NONE if value is None else value for value in values]
    return kept[0] if kept and min(kept) == max(kept) else _packed(kept)


def _packed(values: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(values)}q", *values)


def _unpacked(column: _Column, count: int | None = None) -> Any:
    """The integers of a column, an array. Raises ValueError if their number is another."""
    if isinstance(column, int):
        return np.full(count or 0, column, dtype="<i8")
    values = np.frombuffer(column, dtype="<i8")
    if count is not None and len(values) != count:
        raise ValueError(f"a column has {len(values)} values for {count} samples")
    return values


def _by_thread(columns: _Columns, count: int) -> list[tuple[tuple[int, int], ...] | None]:
    sampled = _unpacked(columns.threads_sampled, count).tolist()
    listed = sum(max(0, number) for number in sampled)
    ids, cpu_ns = (
        _unpacked(column, listed).tolist() for column in (columns.thread_ids, columns.thread_cpu_ns)
    )
    pairs = zip(ids, cpu_ns, strict=True)
    return [None if number < 0 else tuple(islice(pairs, number)) for number in sampled]
