"""What `vs` and `load --vs` show and export, from made-up executions and loads."""

from __future__ import annotations

import io
import json
import re

import pytest
from rich.console import Console

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Cell
from ringside.render.export import documents, formats
from ringside.render.plots.charts import charts
from ringside.render.text import paired
from ringside.render.text.cells import brief
from ringside.workloads.target import TARGET
from tests.support.analyses import HOSTILE, point, scaled
from tests.support.executions import HERE, commands, compared, load, targets

THREE = commands({("A", HERE): scaled(0.1), ("B", HERE): scaled(0.3), ("C", HERE): scaled(0.05)})


def texts(run: RunAnalysis) -> list[str]:
    return [sentence.text for sentence in paired.verdicts(run)]


def test_verdicts_come_first_the_best_on_top() -> None:
    assert texts(THREE) == [
        "C took 0.500× A's wall time (0.500–0.500): 2.00 times faster (2.00–2.00)",
        "B took 3.00× A's wall time (3.00–3.00): slower",
    ]
    out = io.StringIO()
    paired.show(THREE, "7 blocks in random order", Console(file=out, width=140))
    lines = out.getvalue().splitlines()
    assert lines[0] == texts(THREE)[0]
    assert lines[3:7] == ["A = sleep A", "B = sleep B", "C = sleep C", "7 blocks in random order"]


def test_too_few_blocks() -> None:
    few = commands({("A", HERE): [0.1, 0.1], ("B", HERE): [0.2, 0.2]})
    assert texts(few) == ["B took 2.00× A's wall time: inconclusive, too few blocks (2 of 6)"]
    assert [each.code for each in few.diagnostics] == ["too-few-blocks"]


def test_the_table_of_commands() -> None:
    table = paired.table(THREE)
    assert table.columns == (
        *("", "Wall", "× A", "verdict", "rank"),
        *("mean ± σ", "min", "max", "CPU", "Peak memory", "User", "System"),
    )
    # A first look has two columns besides.
    assert brief(table).columns == ("", "Wall", "× A", "verdict", "rank", "mean ± σ", "CPU")
    assert [cell.text for cell in table.rows[2]] == [
        *(
            "B",
            "300 ms (291–312)",
            "3.00 (3.00–3.00)",
            "slower",
            "3",
            "300 ms ± 7 ms",
            "291 ms",
            "312 ms",
            "270 ms",
            "1.00 MiB",
            "240 ms",
        ),
        "30.0 ms",
    ]
    assert table.narrow == (
        *("System", "User", "Peak memory", "CPU"),
        *("max", "min", "mean ± σ", "rank", "verdict"),
    )


def test_markdown_is_harmless() -> None:
    titles = {"A": HOSTILE, "B": "a|b `c`"}
    run = commands({("A", HERE): scaled(0.1), ("B", HERE): scaled(0.2)}, titles)
    text = paired.as_markdown(run, "how")
    assert "\x1b" not in text
    assert "<img" not in text
    assert "- B: a\\|b \\`c\\`" in text
    assert text.startswith("- B took 2.00× A's wall time (2.00–2.00): slower\n\n## Medians over blocks\n")
    assert {line.count("|") - line.count("\\|") for line in text.splitlines()} == {0, 13}


def test_targets_have_a_sentence_for_each_metric() -> None:
    assert texts(targets()) == [
        "B has 1.25× A's rate (1.25–1.25): higher",
        "B took 0.800× A's p50 latency (0.800–0.800): 25 % faster (25–25 %)",
        "B took 0.800× A's p99 latency (0.800–0.800): 25 % faster (25–25 %)",
    ]


def test_the_table_of_targets_counts_what_came_back() -> None:
    table = paired.table(targets())
    assert table.columns[5:] == ("Latency p50", "Latency p99", "answered", "unfinished", "errors")
    a, b = ([cell.text for cell in row] for row in sorted(table.rows, key=lambda row: row[0].text))
    assert a[5:] == ["1.00 ms", "8.00 ms", "700", "0", "0"]
    assert b[5:] == ["800 µs", "6.40 ms", "700", "14", "28"]
    kinds = {row[0].text: row[-1].kind for row in table.rows}
    assert kinds == {"A": "number", "B": "failed"}
    assert "messages" in paired.table(targets(messages=5)).columns


def test_targets_that_were_never_measured_together() -> None:
    run = compared(TARGET, [load(1, "A", 1.0), load(2, "B", 1.0)], metrics=("rate",))
    assert texts(run) == ["No block measured the rate of both A and B"]


# --- commands alone, over parameters, and as hyperfine exports them ---


def printed(analysis: RunAnalysis, width: int = 120, order: str = "auto") -> str:
    out = io.StringIO()
    paired.show(analysis, "how", Console(file=out, width=width), order)
    return out.getvalue()


ALONE = commands({("A", HERE): [*scaled(0.02), *scaled(0.0204), 0.09]})
SCAN = commands({("A", point(n=n)): scaled(n / 100) for n in (1, 2, 4)}, {"A": "sleep 0.0{n}"})
PAIRS = commands(
    {
        (name, point(n=n, cc="gcc")): scaled(n / cost)
        for n in (1, 3)
        for name, cost in (("A", 10), ("new", 20))
    }
)


def test_a_command_alone() -> None:
    lines = printed(ALONE).splitlines()
    assert lines[:2] == ["A = sleep A", "how"]
    text = "\n".join(lines)
    assert "       Wall  20.2 ms (19.8–20.8)   median with its 95 % interval, 15 executions" in text
    assert "   mean ± σ  24.9 ms ± 18.0 ms" in text
    assert "  min … max  19.4 ms … 90.0 ms" in text
    assert "CPU time 18.2 ms, user time 16.2 ms, system time 2.02 ms, peak memory 1.00 MiB" in text
    assert "   outliers  1 of 15 (90.0 ms), not in the histogram" in text
    bars = [line for line in lines if "█" in line]
    assert sum(int(line.split()[-1]) for line in bars) == 14
    assert bars[0].startswith("19.40 ms  ")


def test_bars_are_as_long_as_their_counts() -> None:
    run = commands({("A", HERE): [1.0] * 8 + [2.0] * 4 + [4.0] * 4})
    described = run.executions.descriptions[Cell("A", HERE)]
    bars = paired.histogram(described, ALONE.headline)
    assert [line.split()[0] for line in bars] == ["1.00", "1.75", "2.50", "3.25"]
    assert [line.count("█") for line in bars] == [40, 20, 0, 20]


def test_the_spread_stands_beside_the_medians() -> None:
    two = commands({("A", HERE): scaled(0.1), ("B", HERE): scaled(0.2)})
    table = paired.table(two)
    assert table.columns[5:8] == ("mean ± σ", "min", "max")
    assert [cell.text for cell in table.rows[1][5:8]] == ["200 ms ± 5 ms", "194 ms", "208 ms"]
    # On a narrow screen these go before ranks and verdicts.
    assert table.narrow[-5:] == ("max", "min", "mean ± σ", "rank", "verdict")


def test_a_scan_of_a_command_alone_is_over_its_first_point() -> None:
    table = paired.table(SCAN)
    assert table.columns == ("n", "Wall", "× n=1", "mean ± σ", "min", "max")
    assert [[cell.text for cell in row[:3]] for row in table.rows] == [
        ["1", "10.0 ms (9.7–10.4)", "1"],
        ["2", "20.0 ms (19.4–20.8)", "2.00 (2.00–2.00)"],
        ["4", "40.0 ms (38.8–41.6)", "4.00 (4.00–4.00)"],
    ]
    assert SCAN.executions.over_first_point[Cell("A", point(n=4))].estimate == pytest.approx(4)
    assert paired.verdicts(SCAN) == []


def test_a_scan_of_several_commands_has_their_ratios_point_by_point() -> None:
    table = paired.table(PAIRS)
    assert table.columns[:5] == ("n", "cc", "command", "Wall", "× A")
    assert [[cell.text for cell in row[:5]] for row in table.rows] == [
        ["1", "gcc", "A", "100 ms (97–104)", "1"],
        ["1", "gcc", "new", "50.0 ms (48.5–52.0)", "0.500 (0.500–0.500)"],
        ["3", "gcc", "A", "300 ms (291–312)", "1"],
        ["3", "gcc", "new", "150 ms (146–156)", "0.500 (0.500–0.500)"],
    ]
    assert [sentence.text.partition(": ")[0] for sentence in paired.verdicts(PAIRS)] == ["n=1", "n=3"]
    ordered = [row[3].text.split()[0] for row in paired.table(PAIRS, "mean-time").rows]
    assert ordered == ["50.0", "100", "150", "300"]
    document = documents.vs_document(PAIRS, {})
    assert [each["point"] for each in document["commands"]][1:3] == [
        {"n": 1, "cc": "gcc"},
        {"n": 3, "cc": "gcc"},
    ]
    assert document["commands"][0]["mean_s"] == pytest.approx(0.1, rel=0.01)


def test_numbers_as_text_are_swept_as_numbers() -> None:
    analysis = commands({("A", point(d=d)): scaled(float(d)) for d in ("0.1", "0.2", "0.4")})
    assert analysis.swept == "d"
    chart = charts(analysis)[0]
    assert chart.title == "Wall over d"
    assert '"format": "~g"' in json.dumps(chart.panels[0].spec)
    words = commands({("A", point(d=d)): scaled(0.1) for d in ("x", "y", "z")})
    assert words.swept is None


# --- exports ---


@pytest.mark.parametrize("kind", list(formats.VS_FORMATS))
def test_hostile_names_stay_in_their_field(kind: str) -> None:
    text = formats.VS_FORMATS[kind](
        commands({("A", HERE): scaled(0.1), ("B", HERE): scaled(0.1)}, {"A": HOSTILE}), "auto"
    )
    assert "\x1b" not in text or kind == "csv"
    plain = formats.VS_FORMATS[kind](commands({("A", HERE): scaled(0.1), ("B", HERE): scaled(0.1)}), "auto")
    assert len(text.splitlines()) == len(plain.splitlines())


def test_one_unit_for_all_times() -> None:
    with units.time_unit(units.TIME_UNITS["s"]):
        text = printed(commands({("A", HERE): scaled(0.1), ("B", HERE): scaled(0.002)}))
        table = formats.VS_FORMATS["markdown"](SCAN, "auto")
    assert "Mean [s]" in table
    assert "0.100 s (0.097–0.104)" in text
    assert not re.search(r"[0-9] ms", text.partition("Warning")[0])
    assert "100 ms" in printed(commands({("A", HERE): scaled(0.1), ("B", HERE): scaled(0.2)}))
