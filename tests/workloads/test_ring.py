from hypothesis import given
from hypothesis import strategies as st

from ringside.workloads.evidence import MODULUS
from ringside.workloads.ring.workload import RING, checksum, order
from tests.support.points import point


@given(st.integers(3, 50), st.integers(2, 50), st.data())
def test_skipped_units_lost_or_swapped_messages_show(nodes: int, messages: int, data: st.DataObject) -> None:
    values = [number + sum(range(1, nodes)) for number in range(messages - 1, -1, -1)]
    skipped = data.draw(st.integers(1, nodes - 1))
    assert sum(value - skipped for value in values) != checksum(nodes, messages)
    swapped = list(values)
    at = data.draw(st.integers(0, messages - 2))
    swapped[at], swapped[at + 1] = swapped[at + 1], swapped[at]
    folded = 0
    for value in swapped:
        folded = (31 * folded + value) % MODULUS
    assert folded != order(nodes, messages)


def test_the_biggest_point_costs_nothing() -> None:
    assert order(1_000_000, 10_000_000) < MODULUS


def test_lines_of_each_kind() -> None:
    expected = RING.evidence(point(RING, nodes=4, messages=3, trace=1), 0, None)
    assert expected.result == {"checksum": "21", "order": "7911"}
    assert expected.lines.starting == {":": 6, "*": 3, ">": 2, "@": 1}
    again = RING.evidence(point(RING, nodes=4, messages=3, trace=1, repeats=5), 0, None)
    assert again.lines.starting == {":": 30, "*": 15, ">": 10, "@": 5}


@given(st.integers(2, 40), st.integers(1, 40), st.integers(1, 6))
def test_repeats_continue_where_the_last_ended(nodes: int, messages: int, repeats: int) -> None:
    folded = 0
    for _ in range(repeats):
        for number in range(messages - 1, -1, -1):
            folded = (31 * folded + number + sum(range(1, nodes))) % MODULUS
    assert order(nodes, messages, repeats) == folded
    levels = {"nodes": nodes, "messages": messages, "trace": 1, "repeats": repeats}
    expected = RING.evidence(point(RING, **levels), 0, None)
    assert expected.result == {"checksum": str(repeats * checksum(nodes, messages)), "order": str(folded)}
    assert expected.lines.total == repeats * nodes * messages == sum(expected.lines.starting.values())


def test_floods_are_more_than_the_trace() -> None:
    silent = RING.output_bytes(point(RING, nodes=100, messages=100))
    traced = RING.output_bytes(point(RING, nodes=100, messages=100, trace=1))
    twice = RING.output_bytes(point(RING, nodes=100, messages=100, trace=1, repeats=2))
    assert (traced - silent, twice - silent) == (1_200_000, 2_400_000)
