"""Slopes of metrics over factors."""

from __future__ import annotations

from collections.abc import Mapping

from ringside.analysis.cells import CellAnalysis
from ringside.analysis.scaling import analyse_slopes
from ringside.model.design import Cell, Point
from ringside.model.results import Interval
from ringside.workloads.base import Slope
from tests.support.analyses import Exact, near, point

PER_NODE = Slope(
    "bytes_per_node",
    "B",
    "Memory per node",
    "",
    over="nodes",
    metric="memory_bytes",
    regardless_of=("trace",),
)
PER_MESSAGE = Slope(
    "bytes_per_message", "B", "Memory per message", "", over="messages", metric="memory_bytes"
)


class Growing(Exact):
    slopes = (PER_NODE, PER_MESSAGE)


class OnlyNodes(Exact):
    slopes = (PER_NODE,)


def cell(
    contender: str, place: Point, values: Mapping[int, float], metric: str = "memory_bytes"
) -> CellAnalysis:
    return CellAnalysis(Cell(contender, place), {}, {}, {metric: values} if values else {})


def test_slopes_of_each_contender_and_setting() -> None:
    """Memory is 7 + 3 B per node of `go`, 11 + 5 B per node of `erlang`; the block adds to the slope."""
    points = [
        point(nodes=nodes, messages=messages, trace=trace)
        for nodes in (10, 20, 40)
        for messages in (1, 100)
        for trace in (0, 1)
    ]
    each = {"go": (7, 3), "erlang": (11, 5)}

    def memory(name: str, place: Point, block: int) -> float:
        base, per_node = each[name]
        nodes, messages, trace = (int(place[factor]) for factor in ("nodes", "messages", "trace"))
        # The trace must not matter: it is averaged.
        return base + (per_node + block) * nodes + 2 * messages + 1000 * trace

    cells = {
        Cell(name, place): cell(name, place, {block: memory(name, place, block) for block in range(1, 7)})
        for name in each
        for place in points
    }
    slopes = analyse_slopes(Growing(), ("go", "erlang"), points, cells)
    per_node = [each for each in slopes if each.slope is PER_NODE]
    # One for each contender and number of messages: the blocks add 1 to 6.
    assert [(each.contender, each.fixed) for each in per_node] == [
        (name, Point((("messages", messages),))) for name in ("go", "erlang") for messages in (1, 100)
    ]
    for slope, base in zip(per_node, (3, 3, 5, 5), strict=True):
        assert slope.value == Interval(near(base + 3.5), near(base + 1.0), near(base + 6.0), 6)
    per_message = [each for each in slopes if each.slope is PER_MESSAGE]
    assert len(per_message) == 2 * 3 * 2
    assert {each.fixed for each in per_message} == {place.without("messages") for place in points}
    assert all(each.value.estimate == near(2.0) for each in per_message)


def test_points_that_do_not_matter_are_averaged() -> None:
    """At 20 nodes the trace adds 1000 B: half of it shows."""
    values = {(10, 0): 100.0, (10, 1): 100.0, (20, 0): 200.0, (20, 1): 1200.0}
    points = [point(nodes=nodes, trace=trace) for nodes, trace in values]
    cells = {
        Cell("go", place): cell("go", place, {1: value})
        for place, value in zip(points, values.values(), strict=True)
    }
    (slope,) = analyse_slopes(OnlyNodes(), ("go",), points, cells)
    assert slope.value == Interval(60.0, None, None, 1)
    assert slope.fixed == Point(())


def test_without_two_levels_in_a_block_there_is_no_slope() -> None:
    points = [point(nodes=10, messages=1), point(nodes=20, messages=1)]
    apart = {
        Cell("go", points[0]): cell("go", points[0], {1: 5.0}),
        Cell("go", points[1]): cell("go", points[1], {2: 9.0}),
    }
    assert analyse_slopes(Growing(), ("go",), points, apart) == ()
    other = {Cell("go", place): cell("go", place, {1: 5.0}, "hop_ns") for place in points}
    assert analyse_slopes(Growing(), ("go",), points, other) == ()
    assert analyse_slopes(Exact(), ("go",), points, apart) == ()


def test_levels_that_are_no_numbers_have_no_slope() -> None:
    """The slope after it has one."""
    points = [point(nodes=nodes, messages=messages) for nodes in ("all", 10) for messages in (1, 3)]
    cells = {Cell("go", place): cell("go", place, {1: 4.0 * int(place["messages"])}) for place in points}
    slopes = analyse_slopes(Growing(), ("go",), points, cells)
    assert {each.slope.name for each in slopes} == {"bytes_per_message"}
    assert [each.value.estimate for each in slopes] == [4.0, 4.0]
