"""Plots of percentiles and of latency against rate: their data and axes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ringside.analysis.run import RunAnalysis, analyse
from ringside.render.plots import curves
from ringside.render.plots.charts import charts
from ringside.render.plots.spec import Chart, Panel
from ringside.store import Store
from tests.support.runs import experiment, make_run


def run_of(folder: Path, name: str, **changes: Any) -> RunAnalysis:
    store = Store(folder / "store.sqlite")
    run = make_run(store, experiment(name, blocks=7, **changes))
    analysis = analyse(run, store.trials(run))
    store.close()
    return analysis


def named(analysis: RunAnalysis, title: str) -> Chart:
    (chart,) = (chart for chart in charts(analysis) if chart.title == title)
    return chart


def rows(panel: Panel) -> list[dict[str, Any]]:
    data: list[dict[str, Any]] = panel.spec["datasets"]["rows"]
    return data


def test_percentiles_are_on_an_axis_of_nines_and_end_where_requests_do(tmp_path: Path) -> None:
    analysis = run_of(tmp_path, "showdown-fib", contenders=("go", "erlang", "limit"))
    chart = named(analysis, "Latency percentiles")
    (panel,) = chart.panels
    assert "all trials together" in chart.caption
    line = panel.spec["layer"][1]["encoding"]
    assert line["x"]["scale"]["type"] == line["y"]["scale"]["type"] == "log"
    # Seven trials of a thousand requests: ten lie beyond 99.857 %, so there is no 99.9 %.
    assert line["x"]["scale"]["domain"] == pytest.approx([1, 700])
    assert line["x"]["axis"]["values"] == pytest.approx([1, 2, 10, 100])
    assert '"99 %"' in line["x"]["axis"]["labelExpr"]
    assert line["y"]["title"] == "Latency (µs)"
    go = [row for row in rows(panel) if row["contender"] == "go"]
    assert [row["value"] for row in go] == sorted(row["value"] for row in go)
    by_level = {row["level"]: row for row in go}
    middle = by_level["50 %"]
    assert middle["low"] <= middle["value"] <= middle["high"]
    assert middle["n"] == "7,000"
    assert (by_level["99.86 %"]["low"], by_level["99.86 %"]["trials"]) == (None, "too few requests in each")
    floor = line["strokeDash"]["scale"]
    assert dict(zip(floor["domain"], floor["range"], strict=True))["limit"] == [5, 4]


def test_the_last_tick_is_where_the_lines_end() -> None:
    for level in (0.99, 0.999, 0.9999, 0.99999):
        axis = curves._percentile_axis(1, curves._across(level))
        assert axis["axis"]["values"][-1] == axis["scale"]["domain"][1] == curves._across(level)


def test_latency_against_rate_where_the_rate_is_a_factor(tmp_path: Path) -> None:
    points = [{"rate": rate} for rate in (0, 50, 100, 200)]
    factors = {"kind": "io", "requests": 100, "concurrency": 20}
    analysis = run_of(
        tmp_path, "fanout-io", contenders=("go", "limit"), factors=factors, at=tuple(points), published=None
    )
    chart = named(analysis, "Latency against rate")
    assert [panel.title for panel in chart.panels] == ["Latency p50", "Latency p99"]
    median = [row for row in rows(chart.panels[0]) if row["contender"] == "go"]
    # A closed loop has no rate.
    assert [row["x"] for row in median] == [50, 100, 200]
    assert all(row["low"] <= row["median"] <= row["high"] for row in median)
    assert chart.panels[0].spec["layer"][1]["encoding"]["x"]["title"] == "requests per second"
    # It takes the place of the sweeps of the same metrics.
    titles = [chart.title for chart in charts(analysis)]
    assert "Latency p99 over rate" not in titles
    assert "Overhead p50 over rate" in titles


def test_rates_that_a_trial_goes_through_have_the_same_plot(tmp_path: Path) -> None:
    analysis = run_of(tmp_path, "fib-rate", contenders=("go", "limit"))
    chart = named(analysis, "Latency against rate")
    assert [panel.title.split(", ")[-1] for panel in chart.panels] == ["p50", "p99"]
    assert rows(chart.panels[1])[0]["x"] == 250
