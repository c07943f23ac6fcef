"""The live view of a load."""

import io
from typing import Any

import msgspec
import pytest
from rich.cells import cell_len
from rich.console import Console

from ringside.load import live
from ringside.load.plan import max_duration_s
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


STEPS = ((1, 2), (3, 4))


@pytest.mark.parametrize(
    ("plan", "interval_s", "most_s"),
    [
        ({"requests": 5}, 1, None),
        ({"duration_s": 300}, 1, 300),
        ({"duration_s": 10}, 0.25, 10),
        ({"duration_s": 0.5}, 0.1, 0.5),
        ({"steps": STEPS, "duration_s": 3.0}, 0.1, 3),
        ({"steps": STEPS}, 0.15, 6),
    ],
)
def test_short_loads_progress_is_finer(plan: dict[str, Any], interval_s: float, most_s: float | None) -> None:
    assert max_duration_s(http_plan(**plan)) == most_s
    assert live.progress_interval_s(http_plan(**plan)) == pytest.approx(interval_s)


@pytest.mark.parametrize(("terminal", "wanted"), [(False, True), (True, False), (True, True)])
def test_progress_where_somebody_looks(monkeypatch: pytest.MonkeyPatch, terminal: bool, wanted: bool) -> None:
    monkeypatch.setattr(live, "_LINE_S", 0)
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=80, height=24)
    with live.Screen(console, wanted=wanted) as screen:
        assert screen.is_shown is (terminal and wanted)
        screen.begin("t", http_plan(duration_s=5))
        screen.receive(message(1))
        screen.begin("another", http_plan(requests=5))
    shown = file.getvalue()
    with live.Screen(console, wanted=wanted, says=True) as screen:
        screen.begin("t", http_plan(duration_s=500))
        for second in range(1, 30):
            screen.receive(message(second))
    lines = [line for line in file.getvalue()[len(shown) :].splitlines() if line.startswith("t:  2")]
    assert lines == [] if terminal else "t:  2 of 500 s  100/s  p50 1.00 ms" in lines[0]
    assert ("1.0 of 5 s" in shown, "another" in shown, bool(shown)) == (terminal and wanted,) * 3
