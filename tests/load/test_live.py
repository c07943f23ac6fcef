"""The live view of a load."""

from __future__ import annotations

import io
from typing import Any

import msgspec
import pytest
from rich.cells import cell_len
from rich.console import Console

from ringside.load import live
from ringside.probe.protocol import LoadProgress
from tests.support.loads import MS, STREAM, http_plan, load_plan, progress


def message(second: int, **changed: Any) -> LoadProgress:
    return msgspec.convert(progress(second, **changed), LoadProgress)


@pytest.mark.parametrize("width", [10, 40, 80, 200])
@pytest.mark.parametrize("height", [3, 10, 50])
def test_the_view_fits_any_screen(width: int, height: int) -> None:
    view = live.View("http://a/\x1b[2J" + "x" * 300, http_plan(duration_s=500))
    assert view.render(width, height).plain
    nothing: dict[str, Any] = dict.fromkeys(("p50_ns", "p90_ns", "p99_ns", "max_ns"))
    view.add(message(1, **nothing, buckets=[], requests=0))
    assert view.render(width, height).plain
    for second in range(2, 301):
        view.add(message(second))
    text = view.render(width, height).plain
    assert all(cell_len(line) <= width for line in text.splitlines()), text
    assert "\x1b" not in text
    if width >= 40:
        assert "300 of 500 s" in text
        assert "300 errors" in text
    if width >= 40 and height >= 10:
        assert ("█" in text, "10 ms" in text) == (True, True)


def test_the_strip_darkens_where_replies_are() -> None:
    view = live.View("t", http_plan(requests=1000))
    view.add(message(1, intended=200))
    view.add(message(2, buckets=[[8 * MS, 100]], requests=50))
    lines = view.render(80, 24).plain.splitlines()
    strip = [line.rstrip() for line in lines[-5:]]
    assert strip == ["   10 ms ░█", "    5 ms", "    2 ms", "    1 ms █", "         0 2 s"]
    assert "150 of 1,000" in "  ".join(lines)


def test_a_bucket_is_drawn_at_its_middle() -> None:
    """Four buckets make a doubling: the middle of one that ends at 1.05 ms is 0.96 ms."""
    view = live.View("t", http_plan(requests=5))
    view.add(message(1, buckets=[[1.05 * MS, 3]]))
    assert view.render(80, 24).plain.splitlines()[-2].startswith("    1 ms █")
    view = live.View("t", http_plan(requests=5))
    view.add(message(1, buckets=[[1.1 * MS, 3]]))
    assert view.render(80, 24).plain.splitlines()[-2].startswith("    2 ms █")


def test_the_figures_are_of_the_last_interval() -> None:
    view = live.View("t", http_plan(duration_s=5))
    view.add(message(1))
    view.add(message(2, interval_ns=500_000_000, intended=60, errors=3))
    text = " ".join(view.render(120, 24).plain.split())
    for part in (
        "2.0 of 5 s",
        "200/s (intended 120/s)",
        "p50 1.00 ms p99 3.00 ms max 8.00 ms",
        "64 open 10 in flight 4 errors",
    ):
        assert part in text, part
    streams = live.View("t", load_plan(STREAM))
    streams.add(message(1, errors=1))
    text = streams.render(120, 24).plain
    assert "late p50 1.00 ms" in text
    assert "1 error" in text
    assert "errors" not in text
    assert "in flight" not in text


def test_progress_is_finer_in_a_short_load() -> None:
    assert live.progress_interval_s(http_plan(requests=5)) == 1
    assert live.progress_interval_s(http_plan(duration_s=300)) == 1
    assert live.progress_interval_s(http_plan(duration_s=10)) == 0.25
    assert live.progress_interval_s(http_plan(duration_s=0.5)) == 0.1


def test_how_long_a_load_lasts_at_the_most() -> None:
    steps = ((1, 2), (3, 4))
    assert live.max_duration_s(http_plan(steps=steps)) == 6
    assert live.max_duration_s(http_plan(steps=steps, duration_s=3.0)) == 3
    assert live.max_duration_s(http_plan(requests=5)) is None


@pytest.mark.parametrize(("terminal", "wanted"), [(False, True), (True, False)])
def test_nothing_is_drawn_where_nobody_looks(terminal: bool, wanted: bool) -> None:
    file = io.StringIO()
    with live.Screen(Console(file=file, force_terminal=terminal), wanted=wanted) as screen:
        assert not screen.is_shown
        screen.begin("t", http_plan(duration_s=5))
        screen.receive(message(1))
    assert file.getvalue() == ""


def test_each_progress_is_drawn() -> None:
    file = io.StringIO()
    with live.Screen(Console(file=file, force_terminal=True, width=80, height=24), wanted=True) as screen:
        screen.begin("t", http_plan(duration_s=5))
        screen.receive(message(1))
        assert "1.0 of 5 s" in file.getvalue()
        screen.begin("another", http_plan(requests=5))
    assert "another" in file.getvalue()
