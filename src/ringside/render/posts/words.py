"""Sentences of ratios, for prose: which of two is named first, and what is said where nothing is shown."""

from __future__ import annotations

from collections.abc import Iterable

from ringside import units
from ringside.analysis.posts import Direction
from ringside.model.results import Interval

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def size(ratio: Interval) -> str:
    """`7.2 times (6.9–7.5)`; near 1 as well, `1.09 times (1.02–1.12)`."""
    text, ends = units.times(ratio)
    return f"{text} ({ends})" if ends else text


def plain(ratio: Interval) -> str:
    """For brackets: `0.834, 0.788–1.002`."""
    return ", ".join(filter(None, units.ratio_parts(ratio)))


def versus(above: str, below: str, ratio: Interval | None, verb: str, much: str) -> str:
    """A ratio in words, above 1 whichever is named first: `Stackless takes 7.2 times (6.9–7.5) as much CPU
    time as Erlang`. `verb`: `takes`; `much`: `as much CPU time`."""
    if ratio is None:
        return f"{above} and {below} have not been measured side by side"
    if Direction.of(ratio) is Direction.LESS:
        above, below, ratio = below, above, units.inverse(ratio)
    elif Direction.of(ratio) is not Direction.MORE:
        noun = much.split(" ", 2)[-1] if much.startswith(("as much ", "as many ")) else "time"
        alike = "do not differ by more than five per cent" if _is_same(ratio) else "are not shown to differ"
        return f"{above} and {below} {alike} in {noun} (ratio {plain(ratio)})"
    return f"{above} {verb} {size(ratio)} {much} as {below}"


def against(below: str, ratios: Iterable[tuple[str, Interval | None]], verb: str, much: str) -> str:
    """Several contenders beside one, in as few sentences as can be: `Erlang takes 19 times (15–20) as long as
    PyPy and 8.9 times (8.4–9.2) as long as greenlet`. Empty where none has been measured."""
    known = [(name, ratio) for name, ratio in ratios if ratio]
    slower = [
        f"{name} {verb} {size(ratio)}" for name, ratio in known if Direction.of(ratio) is Direction.MORE
    ]
    faster = [
        f"{size(units.inverse(ratio))} {much} as {name}"
        for name, ratio in known
        if Direction.of(ratio) is Direction.LESS
    ]
    open_ = (Direction.SAME, Direction.UNCLEAR)
    texts = [f"{listed(slower)} {much} as {below}"] if slower else []
    texts += [f"{below} {verb} {listed(faster)}"] if faster else []
    texts += [versus(name, below, ratio, verb, much) for name, ratio in known if Direction.of(ratio) in open_]
    return "; ".join(texts)


def _is_same(ratio: Interval) -> bool:
    return Direction.of(ratio) is Direction.SAME


def number(value: int) -> str:
    """`seven`; from eleven on in digits."""
    return _NUMBERS[value] if 0 <= value < len(_NUMBERS) else f"{value:,}"


def listed(texts: Iterable[str]) -> str:
    """`one, two and three`."""
    parts = list(texts)
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def amount(value: Interval, unit: str) -> str:
    """A median with its unit, without the interval: `26.6 KiB`."""
    return units.quantity(value.estimate, unit)
