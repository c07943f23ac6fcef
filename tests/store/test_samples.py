"""Samples as one text of the store."""

import base64
import json
import math
from collections.abc import Callable, Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.model.results import Usage
from ringside.probe.protocol import Sample
from ringside.store.samples import samples_of, samples_text, usage_of

NUMBERS = st.one_of(st.integers(0, 3), st.integers(0, 2**63 - 1))
OPTIONAL = st.none() | NUMBERS
SAMPLES = st.builds(
    Sample,
    t_ns=NUMBERS,
    mark=st.none() | st.text(max_size=3),
    processes=NUMBERS,
    threads=NUMBERS,
    cpu_ns=NUMBERS,
    rss_bytes=NUMBERS,
    pss_bytes=OPTIONAL,
    voluntary_switches=NUMBERS,
    involuntary_switches=NUMBERS,
    run_queue_ns=NUMBERS,
    cpu_by_thread=st.none() | st.lists(st.tuples(NUMBERS, NUMBERS), max_size=3).map(tuple),
    kernel_bytes=OPTIONAL,
    tcp_bytes=OPTIONAL,
)
TWO = (Sample(1, pss_bytes=8, cpu_ns=3), Sample(2, cpu_by_thread=((5, 6),), cpu_ns=4))


def rows(usage: Usage) -> list[tuple[int, int, float | None]]:
    return [
        (t_ns, cpu_ns, None if math.isnan(pss_bytes) else pss_bytes)
        for t_ns, cpu_ns, pss_bytes in zip(
            usage.t_ns.tolist(), usage.cpu_ns.tolist(), usage.pss_bytes.tolist(), strict=True
        )
    ]


@given(st.lists(SAMPLES, max_size=5).map(tuple))
def test_what_goes_in_comes_out(samples: tuple[Sample, ...]) -> None:
    text = samples_text(samples)
    assert samples_of(text) == samples
    assert rows(usage_of(text)) == rows(Usage.of(samples))


def test_a_column_is_base64_of_integers_or_one_number() -> None:
    columns = json.loads(samples_text(TWO))
    assert base64.b64decode(columns["t_ns"]) == b"\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0"
    assert columns.keys() == {"t_ns", "cpu_ns", "pss_bytes", "threads_sampled", "thread_ids", "thread_cpu_ns"}
    assert json.loads(samples_text([Sample(1, threads=7), Sample(2, threads=7)]))["threads"] == 7


@pytest.mark.parametrize(
    ("changes", "readers"),
    [
        ({"t_ns": None}, (samples_of, usage_of)),
        ({"t_ns": 5}, (samples_of, usage_of)),
        ({"t_ns": "AAAA"}, (samples_of, usage_of)),
        ({"t_ns": base64.b64encode(bytes(24)).decode()}, (samples_of, usage_of)),
        ({"cpu_ns": "AAAAAAAAAAA="}, (samples_of, usage_of)),
        ({"pss_bytes": base64.b64encode(bytes(24)).decode()}, (samples_of, usage_of)),
        # Figures do not need these columns.
        ({"rss_bytes": -1}, (samples_of,)),
        ({"pss_bytes": -2}, (samples_of,)),
        ({"thread_ids": ""}, (samples_of,)),
        ({"threads_sampled": 10**18}, (samples_of,)),
        ({"marks": {"0": 1}}, (samples_of,)),
    ],
)
def test_a_text_that_is_none(changes: dict[str, object], readers: Sequence[Callable[[str], object]]) -> None:
    text = json.dumps({**json.loads(samples_text(TWO)), **changes})
    for read in readers:
        with pytest.raises(ValueError, match="."):
            read(text)


@pytest.mark.parametrize("name", ["cpu_ns", "pss_bytes", "processes", "cpu_by_thread"])
def test_a_count_that_the_store_cannot_keep_is_refused(name: str) -> None:
    def message(value: int) -> dict[str, object]:
        return {"t_ns": 1, name: [[5, value]] if name == "cpu_by_thread" else value}

    greatest = msgspec.convert(message(2**63 - 1), Sample)
    assert samples_of(samples_text([greatest])) == (greatest,)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(message(2**63), Sample)
