from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from ringside.analysis.summary import Summary, summarise
from ringside.cli import export
from ringside.errors import UsageError
from ringside.render import exports
from ringside.store import Store
from tests.runs import HOSTILE, experiment, make_run


@pytest.fixture
def run(tmp_path: Path) -> Summary:
    store = Store(tmp_path / "s.sqlite")
    made = make_run(store, experiment(blocks=7), crashed={"go": 7}, hostile=True)
    return summarise(made, store.trials(made))


def cells(run: Summary) -> int:
    return sum(cell.has_figures for cell in run.cells.values())


def test_pyperf_reads_what_is_written_for_it(run: Summary, tmp_path: Path) -> None:
    pyperf = pytest.importorskip("pyperf")
    text = exports.pyperf(run)
    assert HOSTILE not in text
    file = tmp_path / "run.json"
    file.write_text(text, encoding="utf-8")
    suite = pyperf.BenchmarkSuite.load(str(file))
    found = {one.get_name(): one for one in suite.get_benchmarks()}
    assert len(found) == 2 * cells(run)
    point = run.points[0]
    one = found[f"showdown-ring erlang {point} hop_ns"]
    assert one.get_unit() == "second"
    assert one.get_nvalue() == 7
    metric = run.cells[next(cell for cell in run.cells if cell.contender == "erlang")].metrics["hop_ns"]
    assert one.median() == pytest.approx(metric.estimate * 1e-9)


def test_bencher_has_values_with_their_intervals(run: Summary) -> None:
    found = json.loads(exports.bencher(run))
    assert len(found) == cells(run)
    for measures in found.values():
        assert set(measures) == {"hop-ns", "cpu-s"}
        for measure in measures.values():
            assert measure["lower_value"] <= measure["value"] <= measure["upper_value"]


def test_github_action_benchmark_has_a_list_of_entries(run: Summary) -> None:
    found = json.loads(exports.github_action(run))
    assert len(found) == 2 * cells(run)
    assert all({"name", "unit", "value", "range", "extra"} == set(entry) for entry in found)
    assert len({entry["name"] for entry in found}) == len(found)
    assert json.loads(exports.github_action(run, smaller_is_better=False)) == []


def test_parquet_has_a_row_for_each_figure_of_each_trial(run: Summary, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from pyarrow import parquet as pq

    file = tmp_path / "run.parquet"
    exports.parquet(run, file)
    table = pq.read_table(file).to_pylist()
    expected = sum(len(values) for cell in run.cells.values() for values in cell.by_block.values())
    assert len(table) == expected
    first = table[0]
    assert {"run", "block", "contender", "factor_nodes", "metric", "unit", "value"} <= set(first)
    with pytest.raises(UsageError, match="cannot be written"):
        exports.parquet(run, tmp_path / "no-folder" / "run.parquet")


def test_the_verb(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    where = str(tmp_path / "s.sqlite")
    store = Store(where)
    made = make_run(store, experiment(blocks=2), crashed={"go": 2})
    assert export.export("latest", form="bencher", output=None, store=where) == 1
    assert json.loads(capsys.readouterr().out)
    file = tmp_path / "out.json"
    assert export.export(made.id, form="pyperf", output=file, store=where) == 1
    assert json.loads(file.read_text(encoding="utf-8"))["version"] == "1.0"
    with pytest.raises(UsageError, match="-o run.parquet"):
        export.export(made.id, form="parquet", output=None, store=where)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"ringside\[parquet\]"):
        export.export(made.id, form="parquet", output=file, store=where)
