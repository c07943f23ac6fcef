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


def test_as_many_levels_as_are_possible() -> None:
    assert scanned_levels("1", "1000", None) == tuple(range(1, 1001))
    assert len(scanned_levels("0", "99.9", "0.1")) == 1000
    assert scanned_levels("1000000000000000", "1000000000000000", None) == (10**15,)
    assert scanned_levels("-1e15", "-1e15", "1") == (-(10**15),)
    # An integer that is written otherwise is one.
    assert scanned_levels("1.0", "3", "1e0") == (1, 2, 3)
    assert scanned_levels("1", "2", "0.5") == ("1.0", "1.5", "2.0")


HINT = "write it as -P threads 1 8, or -P delay 0.1 0.5 -D 0.1"


@pytest.mark.parametrize(
    ("least", "most", "step", "message"),
    [
        ("2", "1", None, f"-P 2 1: from the smaller number up, {HINT}"),
        ("1", "2", "0", f"-P 1 2: from the smaller number up, {HINT}"),
        ("1", "1001", None, "-P 1 1001: up to 1,000 levels are possible; make -D larger"),
        ("x" * 50, "2", None, f"-P: {'x' * 39 + '…'!r} is no number: {HINT}"),
        ("1", "1000000000000001", None, f"-P: '1000000000000001' is no number: {HINT}"),
        ("-1000000000000001", "1", None, f"-P: '-1000000000000001' is no number: {HINT}"),
        ("1", "2", "inf", f"-P: 'inf' is no number: {HINT}"),
        (
            f"{'0' * 30}2",
            f"{'0' * 30}1",
            None,
            f"-P {'0' * 19}… {'0' * 19}…: from the smaller number up, {HINT}",
        ),
    ],
)
def test_why_a_scan_is_not_possible(least: str, most: str, step: str | None, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        scanned_levels(least, most, step)
    assert str(refused.value) == message


def test_integers_of_a_list_are_those_that_are_written_so() -> None:
    assert listed_levels("123456789012345678,1234567890123456789") == (
        123456789012345678,
        "1234567890123456789",
    )
    assert listed_levels("-0,0,10,1_0, 1") == ("-0", 0, 10, "1_0", " 1")
    with pytest.raises(UsageError) as refused:
        listed_levels("a,b,a")
    assert str(refused.value) == "-L a,b,a: name each value once"
    with pytest.raises(UsageError) as refused:
        listed_levels(f"a,a,{'b' * 100}")
    assert str(refused.value) == f"-L a,a,{'b' * 55}…: name each value once"


def test_as_many_points_as_are_possible() -> None:
    assert len(scan_points(dict.fromkeys("abc", tuple(range(10))))) == 1000
    with pytest.raises(UsageError) as refused:
        scan_points({"a": tuple(range(1001))})
    assert str(refused.value) == "the parameters have 1,001 combinations: up to 1,000 are possible"


def test_why_a_name_is_no_parameter() -> None:
    for name in ("x", "a b", "größe", "x" * 40):
        check_parameter(name, {"y": (1,)})
    for name, shown in (("a}b", "a}b"), ("x" * 41, "x" * 39 + "…"), ("a\x1b", "a·")):
        with pytest.raises(UsageError) as refused:
            check_parameter(name, {})
        assert str(refused.value) == f"{shown!r} is no name of a parameter: {HINT}"
    with pytest.raises(UsageError) as refused:
        check_parameter("y" * 50, {"y" * 50: (1,)})
    assert str(refused.value) == f"the parameter {'y' * 39}… is given twice"
