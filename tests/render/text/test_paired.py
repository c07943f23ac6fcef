"""What `vs` and `load --vs` show, from made-up executions and loads."""

from __future__ import annotations

import dataclasses
import io
import json

import pytest
from rich.console import Console

from ringside.analysis.run import RunAnalysis
from ringside.model.design import Cell
from ringside.model.results import Outcome, Trial
from ringside.probe.protocol import LatencySummary, LoadMessage
from ringside.render.export import documents
from ringside.render.text import paired
from ringside.render.text.cells import brief
from ringside.workloads.target import TARGET
from tests.support.analyses import HOSTILE, NOISE, scaled
from tests.support.executions import HERE, commands, compared


def warm_up(trial: Trial) -> Trial:
    """A trial that has no figures."""
    return dataclasses.replace(trial, block=0, outcome=Outcome.INTERRUPTED)


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


def load(block: int, name: str, speed: float, messages: int = 0) -> Trial:
    message = LoadMessage(
        step="measured",
        name="all",
        requests=100,
        unfinished=2 if name == "B" else 0,
        errors={"reset": 3, "timeout": 1} if name == "B" else {},
        messages=messages,
        achieved_rate_per_s=1000.0 * speed,
        histograms={"latency": LatencySummary(count=9, p50_ns=round(1e6 / speed), p99_ns=round(8e6 / speed))},
    )
    return Trial(block, 0, Cell(name, HERE), Outcome.OK, "", loads=(message,))


def targets(messages: int = 0) -> RunAnalysis:
    trials = [
        load(block, name, speed * relative, messages)
        for name, speed in (("A", 1.0), ("B", 1.25))
        for block, relative in enumerate(NOISE, 1)
    ]
    trials.insert(0, warm_up(load(0, "A", 9.0)))
    return compared(TARGET, trials, {"A": "http://a/", "B": "http://b/"})


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


def test_the_document_of_targets() -> None:
    runs = [{"block": 1, "name": "A", "outcome": "ok"}]
    facts = {"blocks": 7, "seed": 7, "duration_s": 2.0}
    document = json.loads(json.dumps(documents.load_document(targets(), facts, runs), allow_nan=False))
    comparisons = document.pop("comparisons")
    assert document == {
        "format": 2,
        "targets": {"A": "http://a/", "B": "http://b/"},
        "blocks": 7,
        "seed": 7,
        "duration_s": 2.0,
        "blocks_done": 7,
        "runs": runs,
        "warnings": [],
    }
    assert [row["metric"] for row in comparisons] == ["rate", "latency_p50", "latency_p99"]
    assert comparisons[0] == {
        "metric": "rate",
        "contender": "B",
        "baseline": "A",
        "ratio": pytest.approx(1.25),
        "low": pytest.approx(1.25),
        "high": pytest.approx(1.25),
        "n": 7,
        "verdict": "faster",
        "word": "higher",
        "obstacle": None,
        "blocks_needed": None,
        "contradicted": None,
        "overstated": False,
        "stalls": None,
        # All metrics of targets are one family.
        "exploratory": False,
    }
    assert [row["exploratory"] for row in comparisons] == [False] * 3


def test_targets_that_were_never_measured_together() -> None:
    run = compared(TARGET, [load(1, "A", 1.0), load(2, "B", 1.0)], metrics=("rate",))
    assert texts(run) == ["No block measured the rate of both A and B"]
