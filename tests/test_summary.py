from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from ringside.analysis import published
from ringside.analysis.summary import Summary, summarise
from ringside.model.design import Cell
from ringside.model.results import Outcome, Verdict
from ringside.render import documents as document
from ringside.render import markdown, terminal
from ringside.render.tables import tables
from ringside.stats.family import blocks_needed
from ringside.store import Store
from tests.runs import HOSTILE, experiment, make_run


def summary_of(tmp_path: Path, file: str = "showdown-ring", **options: object) -> Summary:
    changes = {
        key: options.pop(key) for key in list(options) if key in ("contenders", "factors", "baseline", "at")
    }
    store = Store(tmp_path / "s.sqlite")
    run = make_run(store, experiment(file, **changes), **options)  # type: ignore[arg-type]
    return summarise(run, store.trials(run))


def test_medians_ratios_and_verdicts(tmp_path: Path) -> None:
    found = summary_of(tmp_path)
    hop = found.workload.metric("hop_ns")
    for point in found.points:
        go = found.compare(hop, "go", "erlang", point)
        limit = found.compare(hop, "limit", "erlang", point)
        assert go is not None
        assert limit is not None
        assert go.verdict is Verdict.SLOWER
        assert go.ratio.estimate == pytest.approx(155 / 95, rel=0.2)
        assert limit.verdict is Verdict.FASTER
    assert found.complete()
    assert found.warnings == ()


def test_memory_per_unit_is_the_slope(tmp_path: Path) -> None:
    found = summary_of(tmp_path, "ring-fixed-messages", contenders=("go", "limit"), baseline="go", blocks=3)
    (go,) = [one for one in found.slopes if one.contender == "go"]
    assert go.value.estimate == pytest.approx(2750, rel=0.1)


def test_a_contender_with_failures_keeps_the_figures_of_its_other_blocks(tmp_path: Path) -> None:
    found = summary_of(tmp_path, crashed={"go": 3})
    cell = found.cells[Cell("go", found.points[0])]
    assert cell.outcomes == {Outcome.CRASHED: 3, Outcome.OK: 4}
    assert cell.metrics["hop_ns"].n == 4
    assert cell.metrics["hop_ns"].low is None
    comparison = found.compare(found.workload.metric("hop_ns"), "go", "erlang", found.points[0])
    assert comparison is not None
    assert comparison.ratio.n == 4
    assert comparison.verdict is Verdict.TOO_FEW_BLOCKS


def test_a_cell_without_figures_is_a_row_with_its_reason(tmp_path: Path) -> None:
    found = summary_of(tmp_path, crashed={"go": 7}, unavailable=("erlang",))
    assert not found.complete()
    failures = next(table for table in tables(found) if table.title == "Without figures")
    texts = {(row[0].text, row[2].text) for row in failures.rows}
    assert texts == {("go", "7 × crashed"), ("erlang", "1 × unavailable")}
    assert found.compare(found.workload.metric("hop_ns"), "go", "erlang", found.points[0]) is None


def test_too_few_blocks_and_a_run_that_was_cut_off_are_said(tmp_path: Path) -> None:
    found = summary_of(tmp_path, blocks=2, ended=False)
    assert [warned.code for warned in found.warnings] == ["too-few-blocks", "unfinished"]
    assert f"--resume {found.run.id}" in found.warnings[1].remedy
    assert all(one.verdict is Verdict.TOO_FEW_BLOCKS for one in found.comparisons())


def test_a_server_that_ends_late_is_a_warning(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.sqlite")
    run = make_run(store, experiment("fib-sync", contenders=("go", "erlang"), baseline="go"))
    trials = store.trials(run)
    ends = {"go": 1_999_000_000, "erlang": 2_001_000_000}
    late = [replace(t, outcome_line={**t.outcome_line, "ending_ns": ends[t.cell.contender]}) for t in trials]
    (warned,) = summarise(run, late).warnings
    assert warned.code == "slow-end"
    assert warned.text.startswith("erlang:")


def test_then_and_now(tmp_path: Path) -> None:
    found = summary_of(tmp_path, "ring-showdown", blocks=6)
    (then,) = published.then_and_now(found)
    assert len(then.figures) == 9 * 4
    biggest = [
        line for line in then.ratios if line.point["nodes"] == 10000 and line.point["messages"] == 10000
    ]
    ratios = {line.who: line.then for line in biggest}
    # The ratios that the source printed follow from its figures.
    assert ratios["stackless-pypy / erlang"] == pytest.approx(12.1354003906)
    assert ratios["multitask / erlang"] == pytest.approx(534.609375)
    assert ratios["multitask / stackless-greenlet"] == pytest.approx(44.0537071536, rel=1e-5)
    # It printed 0.0 s for Erlang at the smallest point: no ratio.
    assert not [
        line
        for line in then.ratios
        if line.who.endswith("/ erlang") and line.point["nodes"] == line.point["messages"] == 100
    ]


def test_then_is_beside_now_only_where_the_source_measured(tmp_path: Path) -> None:
    """The post knew neither a fixed rate nor a tail; of Tornado it says nothing of the load."""
    (p50, *_) = published.then_and_now(summary_of(tmp_path, "fanout-io", blocks=1))
    assert {(line.point["rate"], line.point["tail"]) for line in p50.figures} == {(0, 0)}
    assert {(line.who, line.point["requests"]) for line in p50.figures} == {
        (who, requests) for who in ("go", "tornado") for requests in (100, 500)
    }
    # Where the run has but one rate, that is what there is to compare with.
    one_rate = {"kind": "io", "requests": 100, "concurrency": 20, "rate": 100}
    found = summary_of(tmp_path / "one", "fanout-io", factors=one_rate, at=(), blocks=1)
    assert published.then_and_now(found)


def test_a_column_without_figures_is_left_out(tmp_path: Path) -> None:
    table = next(iter(tables(summary_of(tmp_path, "fanout-cpu", blocks=1))))
    assert "Latency p90" in table.columns
    assert "Overhead p50" not in table.columns


def test_ranks_that_are_coarser_than_verdicts_are_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = summary_of(tmp_path)
    assert not tables(found)[0].notes
    assert "rank" in tables(found)[0].columns
    monkeypatch.setattr(Summary, "ranks", lambda self, metric, point: dict.fromkeys(self.names(), 1))
    (note,) = tables(found)[0].notes
    assert "rank" not in tables(found)[0].columns
    pairs = math.comb(len(found.names()), 2)
    assert f"all {pairs} pairs" in note
    assert "7 blocks are too few" in note
    assert f"from {blocks_needed(pairs)} on" in note


def test_what_a_contender_runs_on(tmp_path: Path) -> None:
    found = summary_of(tmp_path, "fib-sync", blocks=1)
    told = {**found.contenders["python-sync@pypy"], "runs_on": "PyPy", "version": "7.3.11"}
    found = replace(found, contenders={**found.contenders, "python-sync@pypy": told})
    table = next(one for one in tables(found) if one.title == "Contenders")
    runs_on = {row[0].text: row[-1].text for row in table.rows}
    assert runs_on["python-sync@pypy"] == "PyPy 7.3.11"
    assert runs_on["python-sync"].startswith("Python")


@pytest.mark.parametrize("file", ["showdown-ring", "ring-showdown", "ring-cores"])
def test_tables_fit_the_screen(tmp_path: Path, file: str) -> None:
    found = summary_of(tmp_path, file, blocks=6, crashed={"limit": 6})
    for width in (40, 80, 120, 200):
        out = io.StringIO()
        terminal.show(found, Console(file=out, width=width, highlight=False, markup=False))
        assert max(len(line) for line in out.getvalue().splitlines()) <= width
        assert found.experiment.baseline in out.getvalue()


def test_hostile_text_does_nothing(tmp_path: Path) -> None:
    found = summary_of(tmp_path, crashed={"go": 7}, unavailable=("erlang",), hostile=True)
    out = io.StringIO()
    terminal.show(found, Console(file=out, width=120, force_terminal=True, color_system=None))
    assert "\x1b[31m" not in out.getvalue()
    text = markdown.render(found)
    assert "<img" not in text
    assert "\x1b" not in text
    assert HOSTILE.split("<!--")[0] in json.loads(document.as_json(found))["title"]


def test_csv_has_a_row_for_each_metric_of_each_cell(tmp_path: Path) -> None:
    found = summary_of(tmp_path, crashed={"go": 7})
    rows = list(csv.DictReader(io.StringIO(document.as_csv(found))))
    assert len([row for row in rows if row["contender"] == "go"]) == len(found.points)
    (row,) = [
        row
        for row in rows
        if (row["contender"], row["nodes"], row["messages"], row["metric"])
        == ("limit", "100", "100", "hop_ns")
    ]
    cell = next(cell for cell in found.cells if cell.contender == "limit" and cell.point["messages"] == 100)
    assert float(row["median"]) == found.cells[cell].metrics["hop_ns"].estimate
    assert row["n"] == "7"
    assert not document._harmless("=1+1").startswith("=")


def test_markdown_tables_are_tables(tmp_path: Path) -> None:
    text = markdown.render(summary_of(tmp_path, blocks=7))
    block = text.split("## nodes=100 messages=100")[1].split("##")[0].strip().splitlines()
    assert len({line.replace("\\|", "").count("|") for line in block}) == 1
