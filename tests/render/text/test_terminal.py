"""Output of a terminal: tables, sentences, bars, bands of latency."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from ringside.analysis.run import RunAnalysis
from ringside.render.text import terminal
from ringside.render.text.answers import answer_text
from ringside.render.text.cells import TableCell, TableData, plain_table
from ringside.render.text.terminal import band_counts, band_edges, band_label, bar, shade
from ringside.render.text.words import heading, machine
from tests.support.analyses import HOSTILE, Secondary, analysis, point, scaled

MANY = [point(nodes=number) for number in range(1, 6)]


def run_at(points: int) -> RunAnalysis:
    values = {
        (name, place): {"hop_ns": scaled(hop), "cpu_s": scaled(hop), "memory_bytes": scaled(hop * 1e6)}
        for name, hop in (("erlang", 95.0), ("stackless-pypy", 620.0), ("go", 155.0))
        for place in MANY[:points]
    }
    return analysis(values, measurement=Secondary(), failed=[("limit", MANY[0])], ended=False)


def printed(run: RunAnalysis, width: int, *, everything: bool = False) -> str:
    console = Console(file=(out := io.StringIO()), width=width, highlight=False, markup=False)
    (terminal.show_all if everything else terminal.show)(run, console)
    return out.getvalue()


def rendered(table: TableData, width: int = 80) -> str:
    terminal.render(table, Console(file=(out := io.StringIO()), width=width))
    return out.getvalue()


@pytest.mark.parametrize("points", [1, 4, 5])
@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_tables_fit_the_screen(points: int, width: int) -> None:
    text = printed(run_at(points), width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert "stackless-pypy" in text


WORDS = st.text("abc", min_size=1, max_size=20)


@given(
    st.lists(st.lists(st.lists(WORDS, min_size=1, max_size=7), min_size=4, max_size=4), min_size=1),
    st.integers(60, 140),
)
def test_no_word_is_broken(rows: list[list[list[str]]], width: int) -> None:
    table = plain_table("", "abcd", [map(" ".join, row) for row in rows])
    assert {word for row in rows for words in row for word in words} <= {*rendered(table, width).split()}


def test_a_narrow_screen_drops_columns_and_then_shows_lists() -> None:
    """All of them are there when they are asked for."""
    few, many = run_at(1), run_at(5)
    assert "(92.2–98.8)" in printed(few, 80)
    assert "Memory" not in printed(few, 80)
    assert "Memory" in printed(few, 70, everything=True)
    assert "  vs erlang: no verdict possible" in printed(few, 35)
    assert "CPU: " not in printed(many, 120)
    assert "CPU: " in printed(many, 120, everything=True)


def test_small_bars_show_the_headline_of_each() -> None:
    """Eight cells for the largest; where colours and drawing cannot be, there are none."""
    text = printed(run_at(1), 200)
    bars = {line.split()[0]: line.count("█") for line in text.splitlines() if "█" in line}
    assert bars == {"erlang": 1, "go": 2, "stackless-pypy": 8}
    assert "▎" in next(line for line in text.splitlines() if line.startswith("erlang") and "█" in line)
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="replace")
    terminal.show(run_at(1), Console(file=out, width=200))
    out.seek(0)
    # The beginning of the answer is in one line on any screen.
    assert "?" * 3 not in out.read().split(answer_text(run_at(1))[:20])[1]


def test_columns_that_do_not_fit_follow_in_a_table_of_their_own() -> None:
    names = ("contender", *(f"a column of some width {number}" for number in range(4)))
    rows = tuple(
        (TableCell(name, "text"), TableCell("1", bar=share), *(TableCell(str(number)) for number in range(3)))
        for name, share in (("go", 1.0), ("erlang", 0.5))
    )
    lines = rendered(TableData("A title", names, rows)).splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line.startswith("contender")] == [
        line for line in lines if "a column" in line
    ]
    assert sum(line.startswith("go ") for line in lines) == 2
    for number in range(4):
        assert sum(f"width {number}" in line for line in lines) == 1
    assert "████████" in lines[3]
    assert "████" in lines[4]


def test_lists_leave_out_what_is_empty() -> None:
    row = (TableCell("go", "text"), TableCell("12.3"), TableCell("", "quiet"), TableCell("–", "quiet"))
    table = TableData("", ("contender", *(f"a column of some width {number}" for number in range(3))), (row,))
    assert rendered(table, 40).splitlines() == [
        "go",
        "  a column of some width 0: 12.3",
        "  a column of some width 2: –",
    ]


@pytest.mark.parametrize("points", [1, 4, 5])
def test_warnings_are_the_last(points: int) -> None:
    """Behind each table stands what it shows, and behind all of them, once, what weakens it."""
    lines = printed(run_at(points), 300).splitlines()
    warnings = [number for number, line in enumerate(lines) if line.startswith("warning: ")]
    assert "[unfinished]" in lines[warnings[0]]
    assert warnings == list(range(warnings[0], len(lines)))
    # A sentence that holds for each point alike is printed for the first.
    assert sum(line.startswith("Not decided yet") for line in lines) == 1


def test_hostile_text_is_text() -> None:
    run = analysis({(HOSTILE, MANY[0]): {"hop_ns": scaled(1.0)}}, title=HOSTILE)
    out = io.StringIO()
    terminal.show(run, Console(file=out, width=300, force_terminal=True, color_system=None))
    assert "\x1b[31m" not in out.getvalue()
    assert "onerror=alert(1)" in out.getvalue()
    # Rich's markup is text, too.
    table = TableData("[red]title", ("a", "b"), ((TableCell("[b]x", "text"), TableCell("[/]1")),))
    assert all(text in rendered(table) for text in ("[red]title", "[b]x", "[/]1"))


@pytest.mark.parametrize(("planned", "blocks"), [(7, "7"), (9, "7 of 9"), (6, "7")])
def test_the_heading(planned: int, blocks: str) -> None:
    values = {("go", MANY[0]): {"hop_ns": scaled(1.0)}}
    text = heading(analysis(values, blocks=planned, ended=planned <= 7))
    assert text == f"run run-1, {blocks} blocks, 7 trials, nodes=1"
    # A run that is over needed no more.
    assert "7 blocks" in heading(analysis(values, blocks=planned))


def test_the_machine() -> None:
    host = {"cpu_model": "X", "cpus": 4, "memory_bytes": 16 << 30, "kernel": "6.1", "hypervisor": "KVM"}
    assert machine(host) == "X, 4 CPUs, 16 GiB, Linux 6.1, virtual (KVM)"
    assert machine({}) == "unknown CPU, ? CPUs, Linux ?"
    place = {**host, "engines": {"east": host, "west": host}}
    assert machine({**host, "engines": 2, "machines": {"north ← east, west": place}}) == (
        f"{machine(host)}; load from east, west: {machine(host)}"
    )
    several = {"a ← b": {**host, "engines": {"b": host}}, "c ← d": {**host, "engines": {"d": host}}}
    assert machine({**host, "engines": 1, "machines": several}) == (
        f"a ← b, c ← d: {machine(host)}; load from 1 engine on other machines"
    )


@pytest.mark.parametrize(
    ("share", "width", "drawn"),
    [(0.0, 8, ""), (1e-9, 8, "▏"), (0.5, 8, "████"), (0.5, 3, "█▌"), (0.99, 8, "███████▉"), (1.0, 2, "██")],
)
def test_bars(share: float, width: int, drawn: str) -> None:
    assert bar(share, width) == drawn


@given(st.floats(1, 1e12), st.floats(1, 1e12), st.integers(1, 20), st.booleans())
def test_bands_hold_all_and_are_few(first: float, second: float, max_bands: int, fine: bool) -> None:
    low, high = min(first, second), max(first, second)
    edges = band_edges(low, high, max_bands, fine=fine)
    assert 1 <= len(edges) <= max_bands
    assert edges == sorted(set(edges))
    assert edges[-1] >= high * (1 - 1e-9)
    assert sum(band_counts([(low, 2), (high, 3)], edges)) == 5


def test_bands_are_round_and_hold_their_upper_edge() -> None:
    coarse = band_edges(15e3, 90e3, 12, fine=False)
    assert [band_label(edge) for edge in coarse] == ["20 µs", "50 µs", "100 µs"]
    fine = band_edges(15e3, 30e3, 12)
    assert [band_label(edge) for edge in fine] == ["16 µs", "20 µs", "25 µs", "32 µs"]
    assert band_counts([(1, 2), (10, 3), (11, 5), (101, 7)], [10, 100]) == [5, 12]


def test_shades() -> None:
    assert [shade(count, 1000) for count in (0, 1, 10, 100, 1000)] == [0, 1, 2, 3, 4]
    assert shade(0, 0) == 0
