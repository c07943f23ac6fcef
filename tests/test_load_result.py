"""What is made of the engine's answers: figures, documents, percentiles, plots, the live view."""

from __future__ import annotations

import io
import json
import math
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from ringside.errors import ProbeError
from ringside.load import bands, compare, document, hdr, live, options, result, summary, target
from ringside.load.compare import Found, Run
from ringside.load.options import Options, Words
from ringside.load.result import Result
from ringside.model.results import Verdict

PAGE = (Path(__file__).parents[1] / "docs" / "PROTOCOL.md").read_text(encoding="utf-8").split("### Load")[1]
MS = 1_000_000


def spread(scale: int = MS) -> dict[str, Any]:
    names = ("min", "p50", "p90", "p95", "p99", "p99_9", "max")
    return {"count": 100, "mean_ns": 1.5 * scale, "stdev_ns": 0.5 * scale} | {
        f"{name}_ns": (index + 1) * scale for index, name in enumerate(names)
    }


def outcome(**changed: Any) -> dict[str, Any]:
    return {
        "type": "outcome",
        "outcome": "ok",
        "detail": "",
        "duration_ns": 2_000_000_000,
        "intended": None,
        "intended_rate_per_s": None,
        "requests": 100,
        "achieved_rate_per_s": 50.0,
        "late_requests": 0,
        "unfinished": 0,
        "errors": {},
        "statuses": {"200": 100},
        "largest_lag_ns": 0,
        "bytes_in": 4096,
        "bytes_out": 2048,
        "connections": {"opened": 64, "most_open": 64, "open_at_end": 64, "idle_closes": 0},
        "concurrency": 12.5,
        "messages": 0,
        "sequence": {},
        "cpu_ns": 10 * MS,
        "cpu_share_most": 0.25,
        "busy_share_most": 0.25,
        "peak_memory_bytes": 4 << 20,
        "series": [{"t_s": 0, "requests": 100, "errors": 0, "max_ns": 7 * MS}],
        "warnings": [],
        "histograms": {"latency": spread(), "service": spread(), "connect": spread()},
    } | changed


def lines(**changed: Any) -> list[bytes]:
    said = [
        {
            "type": "started",
            "version": 1,
            "io": "epoll",
            "threads": 1,
            "connections": 64,
            "t_ns": 1,
            "missing": ["x"],
        },
        {"type": "progress", "t_ns": 5},
        {"type": "histogram", "name": "latency", "counts": [[MS, 90], [7 * MS, 10]]},
        outcome(**changed),
    ]
    return [json.dumps(line).encode() for line in said]


def made(**changed: Any) -> Result:
    return result.from_lines(lines(**changed))


def opts(protocol: str = "http", **words: Any) -> Options:
    return options.parse(protocol, Words(**words), 1)


HTTP = target.parse("http://127.0.0.1:1/")
STREAM = target.parse("stream+http://127.0.0.1:1/")
OPEN = {"intended": 120, "intended_rate_per_s": 60.0, "unfinished": 20}


def shown(at: target.Target, wanted: Options, found: Result, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False)
    summary.show(at, wanted, found, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return str(text)


def test_a_document() -> None:
    found = document.as_document(HTTP, opts(), made())
    assert found["format"] == 1
    assert (found["target"], found["requests"], found["duration_s"]) == ("http://127.0.0.1:1/", 100, 2)
    assert (found["intended_rate"], found["achieved_rate"]) == (None, 50)
    assert found["latency_ms"] == {
        "mean": 1.5, "p50": 2, "p90": 3, "p95": 4, "p99": 5, "p99_9": 6, "max": 7,
    }  # fmt: skip
    assert found["queue_ms"] is None
    assert found["series"] == [{"t_s": 0, "requests": 100, "errors": 0, "max_ms": 7}]
    assert (found["cpu_s"], found["peak_memory_bytes"], found["io"]) == (0.01, 4 << 20, "epoll")
    assert "chunk_lateness_ms" not in found
    json.dumps(found)


def test_a_stream_has_lateness() -> None:
    found = document.as_document(
        STREAM, opts("stream"), made(messages=7, histograms={"lateness": spread()}, sequence={"gaps": 1})
    )
    assert found["chunk_lateness_ms"]["p50"] == 2
    assert (found["messages"], found["sequence"], found["latency_ms"]) == (7, {"gaps": 1}, None)


def test_a_load_that_failed_at_once_has_no_figures() -> None:
    found = result.from_lines([b'{"type": "outcome", "outcome": "load-failed", "detail": "no port"}'])
    assert not found.answered()
    assert document.as_document(HTTP, opts(), found)["latency_ms"] is None
    assert "The load failed: no port" in shown(HTTP, opts(), found)


@pytest.mark.parametrize(
    "line", [b"{}", b"nonsense", b"[]", b'{"type": "outcome"}', b'{"type": "histogram", "name": 1}']
)
def test_answers_that_are_off(line: bytes) -> None:
    with pytest.raises(ProbeError, match="is off"):
        result.from_lines([line])


def test_the_summary_says_what_matters() -> None:
    text = shown(HTTP, opts(), made())
    for part in (
        "closed loop, 64 connections",
        "100, 50.0 per second",
        "200: 100",
        "coordinated omission",
        "25% of a",
    ):
        assert part in text, part
    assert "service" not in text
    assert "≥" not in text
    text = " ".join(shown(HTTP, opts(rate="60"), made(**OPEN)).split())
    for part in (
        "open loop, 60 requests per second",
        "of 120 intended",
        "(83.3%)",
        "≥2.00",
        "behind its schedule",
    ):
        assert part in text, part
    assert "service" in text
    assert "coordinated omission" not in text
    assert "20 requests are unfinished" in text


def test_the_summary_tells_working_from_looking() -> None:
    text = " ".join(shown(HTTP, opts(rate="60"), made(cpu_share_most=0.9, **OPEN)).split())
    assert "busiest thread 25% of a core, 65% more to look for what is due next" in text
    assert "to look for" not in shown(HTTP, opts(rate="60"), made(**OPEN))


def test_text_of_servers_and_of_the_engine_does_nothing() -> None:
    bad = "\x1b[31m\n[bold]\u202e"
    found = made(
        outcome="load-failed",
        detail=bad,
        errors={bad: 3, "timeout": 1},
        statuses={bad: 2},
        warnings=[{"code": "x", "text": bad, "remedy": bad}],
    )
    text = shown(HTTP, opts(), found)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[bold]" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({}, "closed loop, 64"),
        ({"rate": "60"}, "60 requests per second at even intervals"),
        ({"rate": "60", "burst": 1}, "60 requests per second at even intervals"),
        ({"rate": "60", "burst": 2000}, "60 requests per second in bursts of 2,000"),
        ({"rate": "60", "poisson": True}, "60 requests per second Poisson, seed 1"),
        ({"staircase": "50:500ms,1000:2s"}, "open loop, 50/s for 0.5 s, 1,000/s for 2 s"),
    ],
)
def test_the_summary_says_when_requests_were_due(words: dict[str, Any], said: str) -> None:
    assert said in summary.how(HTTP, opts(**words), made())


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_the_summary_fits(width: int) -> None:
    found = made(errors={"timeout": 5}, **OPEN)
    text = shown(HTTP, opts(rate="60"), found, width)
    assert all(cell_len(line) <= width for line in text.splitlines())
    assert "≥5.00" in text


def test_every_kind_of_error_and_fault_has_a_word() -> None:
    kinds = re.findall(r"`([a-z0-9-]+)`", PAGE.split("Kinds of errors:")[1].split("Warnings:")[0])
    assert set(kinds) == set(summary.ERRORS)
    faults = re.findall(r'"([a-z]+)"', PAGE.split("`messages`, `sequence`")[1].split("|\n")[0])
    assert set(faults) == set(summary.SEQUENCE)


def test_keys_that_are_read_are_in_the_contract() -> None:
    for key in outcome():
        assert f"`{key}`" in PAGE or key in ("type", "opened"), key
    for key in spread():
        assert f'"{key}"' in PAGE, key


COUNTS = st.lists(st.tuples(st.integers(1, 10**11), st.integers(1, 10**6)), min_size=1, max_size=80)


@given(COUNTS)
def test_hdr_is_monotonic_and_its_totals_are_exact(pairs: list[tuple[int, int]]) -> None:
    counts = list(dict(pairs).items())
    text = hdr.text(counts, 5e6, 1e6)
    head, blank, *rows = text.splitlines()
    assert head.split() == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]
    assert blank == ""
    data = [[float(field) for field in row.split()] for row in rows if not row.startswith("#")]
    total = sum(count for _, count in counts)
    for before, after in pairwise(data):
        assert before[0] <= after[0]
        assert before[1] <= after[1]
        assert before[2] <= after[2]
    assert data[0][1] == 0
    assert data[-1][:3] == [pytest.approx(max(counts)[0] / 1e6, abs=1e-6), 1, total]
    assert len(data[-1]) == 3  # no 1/(1-1)
    for value, share, reached, inverse in data[:-1]:
        at_most = sum(count for one, count in counts if one / 1e6 <= value + 5e-7)
        assert reached == at_most or value == data[-1][0]
        assert reached / total >= share - 1e-12
        # The percentile has twelve decimals, so the inverse can be checked to these.
        assert inverse == pytest.approx(1 / (1 - share), rel=1e-3, abs=0.01)
    assert f"Total count    = {total:12d}]" in text
    assert re.search(r"^#\[Mean    = +5\.000000, StdDeviation   = +1\.000000\]$", text, re.MULTILINE)


def test_hdr_as_the_library_writes_it() -> None:
    """1 to 100 ms, one each: the levels are those of HdrHistogram with five ticks to a half."""
    text = hdr.text([(value * MS, 1) for value in range(1, 101)], 50.5 * MS, 28.866 * MS)
    rows = [row.split() for row in text.splitlines()[2:] if not row.startswith("#")]
    levels = [float(row[1]) for row in rows]
    assert levels[:10] == pytest.approx([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7])
    assert rows[5] == ["50.000000", "0.500000000000", "50", "2.00"]
    assert rows[-1] == ["100.000000", "1.000000000000", "100"]
    assert len({len(line) for line in text.splitlines()[2:-4]}) == 1


def test_hdr_of_nothing() -> None:
    assert "Total count    =            0" in hdr.text([], 0, 0)


@given(st.floats(1, 1e12), st.floats(1, 1e12), st.integers(1, 20), st.booleans())
def test_bands_hold_all_and_are_few(one: float, other: float, most: int, fine: bool) -> None:
    low, high = min(one, other), max(one, other)
    edges = bands.edges(low, high, most, fine=fine)
    assert 1 <= len(edges) <= most
    assert edges == sorted(set(edges))
    assert edges[-1] >= high * (1 - 1e-9)
    assert sum(bands.spread([(low, 2), (high, 3)], edges)) == 5


def test_bands_are_round() -> None:
    assert [bands.label(edge) for edge in bands.edges(15e3, 90e3, 12, fine=False)] == [
        "20 µs",
        "50 µs",
        "100 µs",
    ]
    assert [bands.shade(count, 1000) for count in (0, 1, 10, 100, 1000)] == [0, 1, 2, 3, 4]


def test_bars() -> None:
    drawn = summary.bars([(MS, 900), (2 * MS, 0), (10 * MS, 1)], 60)
    assert len(drawn) == 11
    assert drawn[0].startswith("   1 ms █████")
    assert drawn[-1].split() == ["10", "ms", "▏", "1", "0.11%"]
    assert summary.bars([], 60) == []
    assert summary.bars([(0, 1)], 60)


def progress(second: int, **changed: Any) -> dict[str, Any]:
    return {
        "type": "progress", "t_ns": second * 10**9, "interval_ns": 10**9, "requests": 100, "errors": 1,
        "open": 64, "in_flight": 10, "intended": 0, "p50_ns": MS, "p90_ns": MS, "p99_ns": MS,
        "max_ns": 8 * MS,
        "buckets": [[MS, 99], [8 * MS, 1]],
    } | changed  # fmt: skip


@pytest.mark.parametrize("width", [10, 40, 80, 200])
@pytest.mark.parametrize("height", [3, 10, 50])
def test_the_live_view_fits_any_screen(width: int, height: int) -> None:
    view = live.View("http://a/\x1b[2J" + "x" * 300, total_s=500, requests=None, streams=False)
    assert view.render(width, height).plain
    nothing: dict[str, Any] = {
        "p50_ns": None,
        "p90_ns": None,
        "p99_ns": None,
        "max_ns": None,
        "buckets": [],
        "requests": 0,
    }
    view.add(progress(1, **nothing))
    assert view.render(width, height).plain
    for second in range(2, 301):
        view.add(progress(second))
    text = view.render(width, height).plain
    assert all(cell_len(line) <= width for line in text.splitlines()), text
    assert "\x1b" not in text
    if width >= 40:
        assert "300 of 500 s" in text
        assert "300 errors" in text
    if width >= 40 and height >= 10:
        assert ("█" in text, "10 ms" in text) == (True, True)


def test_the_strip_darkens_where_replies_are() -> None:
    view = live.View("t", total_s=None, requests=1000, streams=False)
    view.add(progress(1, intended=200))
    view.add(progress(2, buckets=[[8 * MS, 100]]))
    text = view.render(80, 24).plain
    slow, *_, fast, axis = text.splitlines()[-5:]
    assert slow.split() == ["10", "ms", "░█"] or "░█" in text
    assert fast.split() == ["1", "ms", "█"]
    assert axis.split() == ["0", "2", "s"]
    assert "200 of 1,000" in text


def runs(ratios: list[float], **changed: Any) -> list[Run]:
    found = []
    for block, ratio in enumerate(ratios):
        slower = spread(int(MS / ratio))
        found.append(Run(block, "A", made(achieved_rate_per_s=1000.0)))
        found.append(
            Run(
                block,
                "B",
                made(achieved_rate_per_s=1000.0 * ratio, histograms={"latency": slower}, **changed),
            )
        )
    return found


def compared(found: list[Run], **words: Any) -> list[Found]:
    return compare.compare(found, compare.measures(HTTP, opts(**words)))


def test_a_comparison_in_words() -> None:
    found = compared(runs([1.07, 1.05, 1.09, 1.06, 1.08, 1.10]))
    assert [one.verdict for one in found] == [Verdict.FASTER] * 3
    assert [one.measure.name for one in found] == ["rate", "latency_p50", "latency_p99"]
    assert compare.sentence(found[0]) == (
        "B answers 1.07 times as many requests per second as A (1.05–1.10): faster"
    )
    assert compare.sentence(found[1]).startswith("B's p50 latency is 0.93")
    assert [one.measure.name for one in compared(runs([1.0]), rate="5")] == ["latency_p50", "latency_p99"]


def test_no_verdict_from_few_blocks_and_none_from_failures() -> None:
    few = compared(runs([1.07] * 5))
    assert few[0].verdict is Verdict.TOO_FEW_BLOCKS
    assert "no verdict from 5 blocks" in compare.sentence(few[0])
    none = compared(runs([1.0] * 6, requests=0))
    assert none[0].ratio is None
    assert "No block has a figure of both" in compare.sentence(none[0])
    assert compared([])[0].ratio is None


def test_slower_and_even() -> None:
    assert compared(runs([0.5, 0.51, 0.52, 0.53, 0.49, 0.48]))[0].verdict is Verdict.SLOWER
    assert compared(runs([0.9, 1.1, 0.95, 1.05, 1.0, 1.02]))[0].verdict is Verdict.INDISTINGUISHABLE


def test_the_document_of_a_comparison() -> None:
    made_runs = runs([1.07] * 6)
    found = compare.as_comparison(
        {"A": HTTP, "B": HTTP}, opts(), made_runs, compared(made_runs), blocks=7, seed=5
    )
    assert (found["blocks"], found["blocks_done"], found["seed"]) == (7, 6, 5)
    assert found["comparisons"][0]["verdict"] == "faster"
    assert math.isclose(found["comparisons"][0]["ratio"], 1.07)
    assert len(found["runs"]) == 12
    json.dumps(found)


@pytest.mark.parametrize("width", [30, 80, 200])
def test_a_comparison_fits(width: int) -> None:
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False)
    made_runs = runs([1.07] * 6, errors={"timeout": 2}, outcome="load-failed", detail="gone\x1b")
    compare.show({"A": HTTP, "B": HTTP}, made_runs, compared(made_runs), "closed loop", console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(cell_len(line) <= width for line in text.splitlines())
    assert "faster" in text
    assert "B, in 6 runs, first so: gone·" in " ".join(text.split())


def test_orders_are_random_and_repeatable() -> None:
    assert compare.orders(50, 1) == compare.orders(50, 1)
    assert len(set(compare.orders(50, 1))) == 2
