"""Shared by the benchmark programs: taking turns, and printing ratios with intervals."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from statistics import median

from ringside.stats.paired import paired_ratio
from ringside.units import ratio as ratio_text
from ringside.units import significant

Sides = Mapping[str, Callable[[], float]]


def take_turns(sides: Sides, rounds: int, seed: int = 1) -> dict[str, dict[int, float]]:
    """Call every side once per round, in a random order. Returns the values by side and round. The round
    before the first is a warm-up and does not count."""
    generator = random.Random(seed)
    values: dict[str, dict[int, float]] = {name: {} for name in sides}
    for number in range(rounds + 1):
        for name in generator.sample(list(sides), len(sides)):
            value = sides[name]()
            if number:
                values[name][number] = value
    return values


def tell(values: Mapping[str, Mapping[int, float]], unit: str, peer: str) -> None:
    """Print each side's median and smallest value, and its ratio to the peer, if any, from pairs."""
    for name, found in values.items():
        numbers = list(found.values())
        middle, least = significant(median(numbers)), significant(min(numbers))
        text = f"  {name:<34} median {middle:>8} {unit}, least {least:>8}"
        if name != peer in values and (ratio := paired_ratio(found, values[peer])):
            text += f"   {ratio_text(ratio)} × {peer}"
        print(text)
