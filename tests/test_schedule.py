"""How tests are handed out to workers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.schedule import CONTENDERS, LAST, all_contenders, unit_of

FEED = "tests/test_feed_contenders.py"


@pytest.mark.parametrize(
    ("test", "unit"),
    [
        (f"{FEED}::test_a[go]", f"{FEED} go"),
        (f"{FEED}::test_a[go-workers]", f"{FEED} go-workers"),
        (f"{FEED}::test_a[token-go-workers]", f"{FEED} go-workers"),
        (f"{FEED}::test_a[go-GET / HTTP/1.1-statuses0]", f"{FEED} go"),
        (f"{FEED}::test_a[multitask@pypy]", f"{FEED} multitask@pypy"),
        (f"{FEED}::test_a[multitask]", f"{FEED} multitask"),
        (f"{FEED}::test_a", FEED),
        ("tests/test_check.py::test_a[go]", "tests/test_check.py"),
        ("tests/render/test_csv.py::test_a", "tests/render/test_csv.py"),
    ],
)
def test_tests_of_a_contender_stay_together(test: str, unit: str) -> None:
    assert {"go", "go-workers", "multitask@pypy"} <= set(all_contenders())
    assert unit_of(all_contenders())(test) == unit


def test_modules_that_come_last_are_there() -> None:
    modules = [path.stem for path in Path(__file__).parent.rglob("test_*.py")]
    assert set(LAST) | {*CONTENDERS} <= set(modules)
    assert {name for name in modules if name.endswith("_contenders")} == {*CONTENDERS}
