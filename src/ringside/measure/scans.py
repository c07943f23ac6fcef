"""Parameters of `ringside vs`: `{VAR}` in commands, and the points at which they are executed."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation

from ringside.errors import UsageError
from ringside.model.design import Level, Point
from ringside.text import one_line

# More points than that take longer than anybody waits.
MAX_POINTS = 1000
_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
_SCAN_HINT = "write it as -P threads 1 8, or -P delay 0.1 0.5 -D 0.1"


def scanned_levels(least: str, most: str, step: str | None) -> tuple[Level, ...]:
    """The numbers of `-P VAR LEAST MOST -D STEP`, the step 1 where there is none; integers where all three
    are. Raises UsageError."""
    first, last, width = _number(least), _number(most), _number(step or "1")
    if width <= 0 or first > last:
        raise UsageError(
            f"-P {one_line(least, 20)} {one_line(most, 20)}: from the smaller number up, {_SCAN_HINT}"
        )
    if (last - first) / width >= MAX_POINTS:
        raise UsageError(f"-P {least} {most}: up to {MAX_POINTS:,} levels are possible; make -D larger")
    numbers = [first + number * width for number in range(math.floor((last - first) / width) + 1)]
    if all(number == number.to_integral_value() for number in (first, width)):
        return tuple(int(number) for number in numbers)
    return tuple(format(number, "f") for number in numbers)


def listed_levels(text: str) -> tuple[Level, ...]:
    """The levels of `-L VAR a,b,c`; a backslash before a comma makes it part of a level. Numbers are integers
    where they are written like one. Raises UsageError where one comes twice."""
    texts = [re.sub(r"\\([,\\])", r"\1", part) for part in re.split(r"(?<!\\),", text)]
    if len(set(texts)) != len(texts):
        raise UsageError(f"-L {one_line(text, 60)}: name each value once")
    return tuple(int(each) if re.fullmatch(r"0|-?[1-9][0-9]{0,17}", each) else each for each in texts)


def scan_points(factors: Mapping[str, Sequence[Level]]) -> tuple[Point, ...]:
    """Every combination of levels; one point without factors where there are none. Raises UsageError where
    they are too many."""
    count = math.prod(len(levels) for levels in factors.values())
    if count > MAX_POINTS:
        raise UsageError(f"the parameters have {count:,} combinations: up to {MAX_POINTS:,} are possible")
    return tuple(
        Point(tuple(zip(factors, levels, strict=True))) for levels in itertools.product(*factors.values())
    )


def check_parameter(name: str, factors: Mapping[str, Sequence[Level]]) -> None:
    """Raises UsageError where a parameter has no usable name, or one that is there already."""
    if name in factors:
        raise UsageError(f"the parameter {one_line(name, 40)} is given twice")
    if not _PLACEHOLDER.fullmatch("{" + name + "}") or name != one_line(name, 40):
        raise UsageError(f"{one_line(name, 40)!r} is no name of a parameter: {_SCAN_HINT}")


def filled_in(text: str, point: Point) -> str:
    """The text with the levels of a point in place of `{VAR}`, in one pass, so that a level that looks like a
    placeholder stays as it is. Other braces stay too."""
    levels = point.as_dict()

    def level(match: re.Match[str]) -> str:
        return str(levels[match[1]]) if match[1] in levels else match[0]

    return _PLACEHOLDER.sub(level, text)


def _number(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite() or abs(number) > 10**15:
        raise UsageError(f"-P: {one_line(text, 40)!r} is no number: {_SCAN_HINT}")
    return number
