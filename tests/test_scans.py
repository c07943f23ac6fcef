from __future__ import annotations

import pytest

from ringside.errors import UsageError
from ringside.measure.scans import check_parameter, filled_in, listed_levels, scan_points, scanned_levels
from ringside.model.design import Level, Point, is_number


@pytest.mark.parametrize(
    ("least", "most", "step", "levels"),
    [
        ("1", "4", None, (1, 2, 3, 4)),
        ("30", "47", "5", (30, 35, 40, 45)),
        ("-2", "0", None, (-2, -1, 0)),
        ("3", "3", None, (3,)),
        # Decimal arithmetic: no 0.30000000000000004, and the last level is there.
        ("0.1", "0.5", "0.1", ("0.1", "0.2", "0.3", "0.4", "0.5")),
        ("0", "1", "0.25", ("0.00", "0.25", "0.50", "0.75", "1.00")),
        ("0.5", "2", None, ("0.5", "1.5")),
    ],
)
def test_levels_of_a_scan(least: str, most: str, step: str | None, levels: tuple[Level, ...]) -> None:
    assert scanned_levels(least, most, step) == levels
    assert all(map(is_number, levels))


@pytest.mark.parametrize(
    ("least", "most", "step"),
    [
        ("2", "1", None),
        ("1", "2", "-1"),
        ("a", "2", None),
        ("nan", "2", None),
        ("0", "inf", None),
        ("0", "1", "1e-9"),
    ],
)
def test_scans_that_are_not_possible(least: str, most: str, step: str | None) -> None:
    with pytest.raises(UsageError) as refused:
        scanned_levels(least, most, step)
    assert "\n" not in str(refused.value)


def test_levels_of_a_list() -> None:
    assert listed_levels("gcc,clang") == ("gcc", "clang")
    assert listed_levels("1,-2,0") == (1, -2, 0)
    # What would be written in another way stays text.
    assert listed_levels("01,+1,1.50") == ("01", "+1", "1.50")
    assert listed_levels(r"a\,b,c") == ("a,b", "c")
    assert listed_levels(r"a\b,c\\d") == (r"a\b", r"c\d")
    assert listed_levels("") == ("",)


@pytest.mark.parametrize(
    ("level", "yes"), [(3, True), ("0.25", True), ("-1", True), ("1e3", False), ("own", False)]
)
def test_what_has_a_place_on_an_axis(level: Level, yes: bool) -> None:
    assert is_number(level) is yes


def test_every_combination_is_a_point() -> None:
    points = scan_points({"a": ("x", "y"), "b": (1, 2)})
    assert [point.as_dict() for point in points] == [
        {"a": "x", "b": 1},
        {"a": "x", "b": 2},
        {"a": "y", "b": 1},
        {"a": "y", "b": 2},
    ]
    assert scan_points({}) == (Point(()),)
    with pytest.raises(UsageError, match="1,024 combinations"):
        scan_points(dict.fromkeys("abcdefghij", (0, 1)))


def test_placeholders_are_filled_in_once() -> None:
    point = Point((("foo", "a,{bar}"), ("bar", "baz"), ("n", 3)))
    assert filled_in("echo {foo} {bar} {n} {other} ${n} {{n}}", point) == "echo a,{bar} baz 3 {other} $3 {3}"
    assert filled_in("awk '{print $1}' {}", point) == "awk '{print $1}' {}"


@pytest.mark.parametrize("name", ["", "a{b", "a\nb", "x" * 100])
def test_names_of_parameters(name: str) -> None:
    with pytest.raises(UsageError, match="no name of a parameter"):
        check_parameter(name, {})
    with pytest.raises(UsageError, match="given twice"):
        check_parameter("x", {"x": (1,)})
