"""Blocks in random order. The same seed gives the same order, so that an unfinished run can be resumed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from ringside.model.design import Block, Cell, Point


def blocks(points: Sequence[Point], contenders: Sequence[str], count: int, seed: int) -> Iterator[Block]:
    """`count` blocks, counted from 1. In each the points come in a random order, and the contenders of a
    point stand next to each other, in a random order too: drift of the machine then affects them alike."""
    for index in range(1, count + 1):
        generator = random.Random(f"{seed}/{index}")
        cells: list[Cell] = []
        for point in generator.sample(points, len(points)):
            cells += [Cell(name, point) for name in generator.sample(contenders, len(contenders))]
        yield Block(index, tuple(cells))


def padding_bytes(seed: int, block: int, position: int) -> int:
    """Length of an environment variable that only takes room: the size of the environment moves the stack
    and with it results (Mytkowicz et al., "Producing wrong data without doing anything obviously wrong!",
    ASPLOS 2009), so it varies at random instead of favouring one contender."""
    return random.Random(f"padding/{seed}/{block}/{position}").randrange(4096)
