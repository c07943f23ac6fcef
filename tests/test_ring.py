from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ringside.model.design import Cell, Point
from ringside.model.results import Outcome, Trial
from ringside.workloads.ring import ORDER_MODULUS, RING, checksum, order


def point(nodes: int, messages: int, trace: int = 0) -> Point:
    return Point(
        (("nodes", nodes), ("messages", messages), ("mode", "pipelined"), ("trace", trace), ("cores", 1))
    )


@given(st.integers(2, 500), st.integers(1, 500))
def test_closed_forms_are_what_unit_n_computes(nodes: int, messages: int) -> None:
    values = [number + sum(range(1, nodes)) for number in range(messages - 1, -1, -1)]
    folded = 0
    for value in values:
        folded = (31 * folded + value) % ORDER_MODULUS
    assert checksum(nodes, messages) == sum(values)
    assert order(nodes, messages) == folded


@given(st.integers(3, 50), st.integers(2, 50), st.data())
def test_a_skipped_unit_a_lost_or_a_swapped_message_shows(
    nodes: int, messages: int, data: st.DataObject
) -> None:
    values = [number + sum(range(1, nodes)) for number in range(messages - 1, -1, -1)]
    skipped = data.draw(st.integers(1, nodes - 1))
    assert sum(value - skipped for value in values) != checksum(nodes, messages)
    swapped = list(values)
    at = data.draw(st.integers(0, messages - 2))
    swapped[at], swapped[at + 1] = swapped[at + 1], swapped[at]
    folded = 0
    for value in swapped:
        folded = (31 * folded + value) % ORDER_MODULUS
    assert folded != order(nodes, messages)


def test_the_biggest_point_costs_nothing() -> None:
    assert order(1_000_000, 10_000_000) < ORDER_MODULUS


@given(st.integers(2, 60), st.integers(1, 60))
def test_traced_lines_add_up(nodes: int, messages: int) -> None:
    expected = RING.expectation(point(nodes, messages, trace=1), 0)
    assert expected.lines_total == nodes * messages == sum(expected.lines_starting.values())
    assert RING.expectation(point(nodes, messages), 0).lines_total == 0


@given(st.integers(2, 40), st.integers(1, 40), st.integers(1, 6))
def test_repeats_go_on_where_the_one_before_ended(nodes: int, messages: int, repeats: int) -> None:
    folded = 0
    for _ in range(repeats):
        for number in range(messages - 1, -1, -1):
            folded = (31 * folded + number + sum(range(1, nodes))) % ORDER_MODULUS
    assert order(nodes, messages, repeats) == folded
    levels = {**point(nodes, messages, trace=1).as_dict(), "repeats": repeats}
    expected = RING.expectation(Point(tuple(levels.items())), 0)
    assert expected.result["checksum"] == str(repeats * checksum(nodes, messages))
    assert expected.lines_total == repeats * nodes * messages == sum(expected.lines_starting.values())


def test_figures_of_repeats_are_those_of_the_later_half() -> None:
    repeats = {"relay": [9000, 5000, 2000, 1000, 3000], "spawn": [50, 40, 10, 20, 30]}
    trial = Trial(
        1,
        0,
        Cell("a", point(10, 100)),
        Outcome.OK,
        "",
        outcome_line={"repeats": repeats},
        phases={name: sum(each) for name, each in repeats.items()},
    )
    found = RING.figures(trial)
    assert (found["hop_ns"], found["first_hop_ns"], found["spawn_ns"]) == (2, 9, 2)
    assert RING.repeats_of(trial) == (9, 5, 2, 1, 3)


def test_figures_of_a_trial() -> None:
    trial = Trial(
        block=1,
        position=0,
        cell=Cell("a", point(10, 100)),
        outcome=Outcome.OK,
        detail="",
        outcome_line={"cpu_user_ns": 2e9, "cpu_system_ns": 1e9, "wall_ns": 5e9, "peak_pss_bytes": None},
        phases={"spawn": 1000, "relay": 50_000},
        marks={"spawned": {"pss_bytes": 4096}},
    )
    found = RING.figures(trial)
    assert found["cpu_s"] == 3
    assert found["wall_s"] == 5
    assert found["hop_ns"] == 50
    assert found["spawn_ns"] == 100
    assert found["held_pss_bytes"] == 4096
    assert "peak_pss_bytes" not in found
    assert "first_hop_ns" not in found
    assert RING.repeats_of(trial) == ()
