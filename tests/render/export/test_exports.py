"""A run in the formats of other tools, and as CSV; each metric of each workload in every format."""

import csv as reader
import importlib.util
import json
from pathlib import Path

import pytest

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.errors import UsageError
from ringside.model.design import Metric
from ringside.model.results import Interval
from ringside.render.export import formats
from ringside.render.export.formats import pyperf, write_parquet
from ringside.workloads import WORKLOADS, measurement
from ringside.workloads.base import Measurement
from tests.support import points
from tests.support.analyses import Exact, analysis, point, scaled
from tests.support.errors import error_of

P = point(nodes=10)


@pytest.fixture
def run() -> RunAnalysis:
    """A time in ns, a time in s, a size, and a rate, all different; a contender without figures."""
    values = {
        ("go", P): {
            "hop_ns": scaled(200.0),
            "cpu_s": scaled(3.0),
            "rate": scaled(5000.0),
            "memory_bytes": scaled(4096.0),
        }
    }
    metrics = ("hop_ns", "cpu_s", "rate", "memory_bytes")
    return analysis(values, metrics=metrics, failed=[("erlang", P)], name="ring")


def test_only_a_run_of_vs_has_hyperfines_layout(run: RunAnalysis) -> None:
    assert "hyperfine's layout" in error_of(UsageError, formats.TEXT_FORMATS["hyperfine"], run)


def test_what_an_export_of_one_direction_leaves_out_is_in_the_other(run: RunAnalysis) -> None:
    rates = json.loads(formats.TEXT_FORMATS["github-action-benchmark-bigger"](run))
    directions = {metric.name: metric.smaller_is_better for metric in run.metrics}
    bigger = [name for name, is_smaller in directions.items() if not is_smaller]
    assert [entry["name"].split()[-1] for entry in rates] == bigger
    note = formats.left_out(run, "github-action-benchmark")
    assert (note == "") == (not bigger)
    assert all(name in note for name in bigger)
    assert formats.left_out(run, "pyperf") == "left out: rate; pyperf knows times and sizes only"


def test_pyperf_reads_what_is_written_for_it(run: RunAnalysis, tmp_path: Path) -> None:
    module = pytest.importorskip("pyperf")
    file = tmp_path / "run.json"
    file.write_text(pyperf(run), encoding="utf-8")
    suite = module.BenchmarkSuite.load(str(file))
    benchmark = suite.get_benchmark("ring go nodes=10 cpu_s")
    assert benchmark.get_nvalue() == 7
    assert benchmark.median() == pytest.approx(3.0)


def test_parquet_has_a_row_for_each_figure_of_each_trial(run: RunAnalysis, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from pyarrow import parquet as reader

    file = tmp_path / "run.parquet"
    write_parquet(run, file)
    rows = reader.read_table(file).to_pylist()
    assert len(rows) == 4 * 7
    assert rows[1] == {
        "run": "run-1",
        "block": 2,
        "contender": "go",
        "factor_nodes": "10",
        "metric": "hop_ns",
        "unit": "ns",
        "value": pytest.approx(196.0),
    }
    with pytest.raises(UsageError, match="cannot be written"):
        write_parquet(run, tmp_path / "no-folder" / "run.parquet")


def test_parquet_without_a_package(run: RunAnalysis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="needs pyarrow: pip install pyarrow$"):
        write_parquet(run, tmp_path / "run.parquet")


# A second, whatever it is written in, and a plain number of what is no time.
SECOND = {"ns": 1e9, "s": 1.0}
PLAIN = 2048.0


MEASUREMENTS: list[Measurement] = [*WORKLOADS.values(), *map(measurement, ("command", "target"))]
METRICS = {f"{each.name} {metric.name}": metric for each in MEASUREMENTS for metric in each.metrics}


def exported(metric: Metric, form: str) -> str:
    """A run in which this metric of one contender is a second, or a plain number."""

    class Of(Exact):
        name = "command"
        metrics = (metric,)
        compared = (metric.name,)

    value = SECOND.get(metric.unit, PLAIN)
    run = analysis({("go", P): {metric.name: scaled(value)}}, measurement=Of(), name="run")
    return formats.as_csv(run) if form == "csv" else formats.TEXT_FORMATS[form](run)


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_in_every_format(name: str) -> None:
    metric = METRICS[name]
    value = SECOND.get(metric.unit, PLAIN)
    is_time, is_size = metric.unit in SECOND, metric.unit == "B"
    assert metric.is_time is is_time
    assert not metric.name.partition(".")[0].endswith(("_ms", "_us"))

    (measure,) = json.loads(exported(metric, "bencher"))["go nodes=10"].values()
    assert measure["value"] == pytest.approx(value)

    if is_time or is_size:
        (entry,) = json.loads(exported(metric, "pyperf"))["benchmarks"]
        assert entry["metadata"]["unit"] == ("second" if is_time else "byte")
        median = sorted(run["values"][0] for run in entry["runs"])[len(entry["runs"]) // 2]
        assert median == pytest.approx(1.0 if is_time else value)
    else:
        assert "no time or size" in error_of(UsageError, exported, metric, "pyperf")

    form = "github-action-benchmark" + "-bigger" * (not metric.smaller_is_better)
    (entry,) = json.loads(exported(metric, form))
    assert entry["unit"] == (metric.unit or "1")
    assert entry["value"] == pytest.approx(value)

    (row,) = reader.DictReader(exported(metric, "csv").splitlines())
    assert row["unit"] == metric.unit
    assert float(row["median"]) == pytest.approx(value)

    # In print it is scaled.
    shown = units.with_interval(Interval(value / 1000, None, None, 1), metric.unit)
    assert shown == ("1.00 ms" if is_time else units.quantity(value / 1000, metric.unit))


@pytest.mark.parametrize("name", WORKLOADS)
def test_no_two_columns_have_the_same_name(name: str) -> None:
    """`fib` has a factor `n`, and each figure a number of blocks, `n`."""
    run = analysis({("go", points.point(WORKLOADS[name])): {"hop_ns": scaled(1.0)}})
    (row,) = reader.DictReader(formats.as_csv(run).splitlines())
    assert len(row) == len(formats.as_csv(run).splitlines()[0].split(","))
    assert row["n"] == "7"


@pytest.mark.parametrize("unit", ["ms", "us", "min", "KiB", "x"])
def test_other_units_cannot_be_declared(unit: str) -> None:
    with pytest.raises(
        ValueError, match=f"the metric x has the unit '{unit}', which is none of 'ns', 's', 'B'"
    ):
        Metric("x", unit, "X", "what x is")  # type: ignore[arg-type]
