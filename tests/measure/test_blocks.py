from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ringside.measure.blocks import blocks, padding_bytes
from ringside.model.design import Cell, Point

NAMES = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6, unique=True)
LEVELS = st.lists(st.integers(2, 1000), min_size=1, max_size=5, unique=True)
SEEDS = st.integers(0, 2**63 - 1)


def points(*levels: int) -> list[Point]:
    return [Point((("nodes", level),)) for level in levels]


@given(levels=LEVELS, names=NAMES, count=st.integers(1, 5), seed=SEEDS)
def test_every_block_holds_every_cell_once_with_the_contenders_of_a_point_side_by_side(
    levels: list[int], names: list[str], count: int, seed: int
) -> None:
    at = points(*levels)
    made = list(blocks(at, names, count, seed))
    assert [block.index for block in made] == list(range(1, count + 1))
    for block in made:
        assert Counter(block.cells) == Counter(Cell(name, point) for name in names for point in at)
        for start in range(0, len(block.cells), len(names)):
            assert len({cell.point for cell in block.cells[start : start + len(names)]}) == 1


@given(seed=SEEDS, count=st.integers(1, 6))
def test_a_seed_fixes_the_order_and_a_longer_run_begins_like_a_shorter(seed: int, count: int) -> None:
    longer = list(blocks(points(2, 3, 4), ["a", "b", "c"], count + 1, seed))
    assert list(blocks(points(2, 3, 4), ["a", "b", "c"], count, seed)) == longer[:-1]


def orders(seeds: int, count: int) -> list[tuple[tuple[int, ...], tuple[str, ...]]]:
    """Of each block the order of three points, and that of three contenders at the first of them."""
    return [
        (
            tuple(int(cell.point["nodes"]) for cell in block.cells[::3]),
            tuple(cell.contender for cell in block.cells[:3]),
        )
        for seed in range(seeds)
        for block in blocks(points(2, 3, 4), ["a", "b", "c"], count, seed)
    ]


def test_points_and_contenders_come_in_each_order_equally_often() -> None:
    # 600 fair throws of a die: a face comes up 60 to 140 times but once in a hundred thousand; the seeds are
    # fixed.
    of_points, of_contenders = zip(*orders(60, 10), strict=True)
    for counts in (Counter(of_points), Counter(of_contenders)):
        assert len(counts) == 6
        assert all(60 < count < 140 for count in counts.values())


def test_orders_differ_between_the_blocks_of_a_run_and_between_the_points_of_a_block() -> None:
    for seed in range(5):
        made = list(blocks(points(2, 3, 4), ["a", "b", "c"], 20, seed))
        assert len({tuple(cell.point for cell in block.cells) for block in made}) > 3
        at_points = [
            {tuple(cell.contender for cell in block.cells[start : start + 3]) for start in (0, 3, 6)}
            for block in made
        ]
        assert any(len(different) > 1 for different in at_points)


def test_the_order_of_a_seed_stays_that_of_earlier_versions() -> None:
    # Runs that were cut off by an earlier version are resumed with the same blocks.
    first, second = blocks(points(2, 3), ["a", "b", "c"], 2, 7)
    assert [(cell.contender, cell.point["nodes"]) for cell in first.cells] == [
        ("a", 2),
        ("b", 2),
        ("c", 2),
        ("b", 3),
        ("c", 3),
        ("a", 3),
    ]
    assert [(cell.contender, cell.point["nodes"]) for cell in second.cells] == [
        ("b", 3),
        ("c", 3),
        ("a", 3),
        ("c", 2),
        ("b", 2),
        ("a", 2),
    ]


def test_padding_varies_and_is_fixed_by_the_seed() -> None:
    sizes = [padding_bytes(1, block, 0) for block in range(50)]
    assert len(set(sizes)) > 40
    assert sizes == [padding_bytes(1, block, 0) for block in range(50)]
    assert all(0 <= size < 4096 for size in sizes)
    assert max(sizes) > 3500


def test_padding_differs_between_positions_and_seeds() -> None:
    assert len({padding_bytes(1, 1, position) for position in range(20)}) > 15
    assert len({padding_bytes(seed, 1, 1) for seed in range(20)}) > 15
