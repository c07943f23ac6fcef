"""Specifications of plots: their data and axes, and that all of them can be drawn."""

from __future__ import annotations

import csv
import dataclasses
import importlib
import importlib.util
import io
import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.analysis.distributions import WarmUp
from ringside.analysis.published import ThenAndNow, ThenAndNowRow
from ringside.analysis.run import RunAnalysis
from ringside.errors import ReportError
from ringside.model.catalogue import Published
from ringside.model.design import Cell, Metric, Point
from ringside.model.results import Interval, Span, Timeline, TimeSeries
from ringside.render.html.templates import read_file
from ringside.render.plots import charts as charts_module
from ringside.render.plots import lines, rows, spec
from ringside.render.plots.charts import charts, missing, standing_alone
from ringside.render.plots.spec import Chart, Panel
from ringside.store import Store
from ringside.workloads.base import OTHER_THREADS, Curve, ScalingLaw, Slope, SpansView, TimelineView
from tests.support.analyses import CPU, HOP, MEMORY, RATE, Exact, analysis, point, scaled, with_figures
from tests.support.runs import experiment, make_run

needs_extra = pytest.mark.skipif(missing() is not None, reason="the `report` extra is not installed")
P50 = Metric("p50_s", "s", "p50", "the median")
P99 = Metric("p99_s", "s", "p99", "the 99th percentile")
P = point(nodes=10)
HOPS = {"erlang": 100.0, "go": 150.0, "limit": 8.0}


class Everything(Exact):
    """A measurement that wants every kind of plot."""

    metrics = (HOP, CPU, RATE, MEMORY, P50, P99)
    plotted = (CPU.name,)
    slopes = (Slope("per_node", "B", "Memory per node", "growth over nodes", "nodes", MEMORY.name),)
    curves = (
        Curve(
            "Percentiles",
            "how late answers were",
            "percentile",
            "Latency",
            ((0.0, "p50", "p50_s"), (1.0, '"p99"', "p99_s")),
            where={"load": "open"},
        ),
    )
    scaling_laws = (ScalingLaw("cores", CPU.name, "cores"),)
    scatters = ((MEMORY.name, CPU.name),)
    repeated_metric = HOP.name
    timeline_view = TimelineView(
        "CPU and memory.", "seconds since the start", "Lateness", "Latest", "Late ones."
    )
    spans_view = SpansView("Who did what when", "A bar for each job.", "the first job was handed over")


def figures(hop: float) -> Mapping[str, tuple[float, ...]]:
    return {
        "hop_ns": scaled(hop),
        "cpu_s": scaled(hop / 100),
        "memory_bytes": scaled(hop * 1e6),
        "p50_s": scaled(hop / 1e6),
        "p99_s": scaled(hop / 1e5),
    }


def at(*points: Point, **options: Any) -> RunAnalysis:
    values = {
        (name, place): figures(hop * int(place.as_dict().get("nodes", 1)))
        for name, hop in HOPS.items()
        for place in points
    }
    return analysis(values, measurement=Everything(), floor="limit", **options)


def named(run: RunAnalysis, title: str) -> Chart:
    (chart,) = (chart for chart in charts(run) if chart.title == title)
    return chart


def data(panel: Panel, name: str = "rows") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = panel.spec["datasets"][name]
    return rows


def test_a_sweep_has_a_pair_of_panels_for_each_setting() -> None:
    places = [point(nodes=nodes, trace=trace) for trace in (0, 1) for nodes in (10, 20, 40)]
    run = at(*places)
    sweep = named(run, "Per hop over nodes")
    assert [panel.title for panel in sweep.panels] == [
        *("trace=0, linear", "trace=0, logarithmic", "trace=1, linear", "trace=1, logarithmic"),
    ]
    line = sweep.panels[1].spec["layer"][1]["encoding"]
    assert line["x"]["scale"]["type"] == line["y"]["scale"]["type"] == "log"
    assert line["x"]["title"] == "nodes"
    assert line["y"]["title"] == "Per hop (ns)"
    assert [row["x"] for row in data(sweep.panels[1]) if row["contender"] == "go"] == [10, 20, 40]
    # The floor is dashed; metrics to be plotted follow those that are compared; slopes come with their data.
    assert line["strokeDash"]["scale"]["range"] == [[1, 0], [1, 0], [5, 4]]
    titles = [chart.title for chart in charts(run)]
    assert titles[:2] == ["Per hop over nodes", "CPU over nodes"]
    assert titles[-3:] == ["Memory per node", "Memory over nodes", "Per hop of every trial"]


def test_a_sweep_whose_other_factors_follow_it_has_one_pair() -> None:
    """As where an experiment lists its points: each level of the factor stands once."""
    run = at(*(point(nodes=nodes, messages=messages) for nodes, messages in ((10, 5), (20, 50), (40, 500))))
    sweep = named(run, "Per hop over nodes")
    assert [panel.title for panel in sweep.panels] == ["Linear", "Logarithmic"]
    assert [row["x"] for row in data(sweep.panels[0]) if row["contender"] == "go"] == [10, 20, 40]
    assert sweep.caption.endswith("Other levels with each level of nodes: messages.")
    held = named(run, "Memory over nodes")
    assert [panel.title for panel in held.panels] == ["Linear", "Logarithmic"]


def test_points_have_dot_plots_with_the_best_on_top() -> None:
    (panel,) = named(at(P, failed=[("pony", P)]), "Per hop").panels
    assert panel.title == "nodes=10"
    rows = data(panel)
    assert [(row["contender"], row["text"]) for row in rows] == [
        ("limit", "80.0 ns"),
        ("erlang", "1.00 µs"),
        ("go", "1.50 µs"),
        ("pony", "crashed"),
    ]
    assert rows[1] == {
        "contender": "erlang",
        "median": 1000.0,
        "low": 970.0,
        "high": 1040.0,
        "shown": "1.00 µs",
        "interval": "970 ns – 1.04 µs",
        "n": "7 blocks",
        "text": "1.00 µs",
    }
    assert data(panel, "floor") == [{"median": 80.0}]


def test_few_blocks_have_no_interval() -> None:
    run = analysis({("go", P): {"hop_ns": [5.0]}}, measurement=Everything())
    (row,) = data(named(run, "Per hop").panels[0])
    assert (row["low"], row["interval"], row["n"]) == (None, "too few blocks", "1 block")


def test_more_is_better_puts_the_largest_on_top() -> None:
    class Rates(Exact):
        compared = (RATE.name,)

    values = {("slow", P): {"rate": scaled(0.0)}, ("fast", P): {"rate": scaled(9.0)}}
    (panel,) = named(analysis(values, measurement=Rates()), "Rate").panels
    assert [row["contender"] for row in data(panel)] == ["fast", "slow"]
    # A median of 0 has no place on a logarithmic axis.
    assert panel.spec["layer"][0]["encoding"]["x"]["scale"]["type"] == "linear"


def test_curves_have_the_titles_of_the_workload() -> None:
    (panel,) = named(at(point(nodes=1, load="open"), point(nodes=1, load="closed")), "Percentiles").panels
    assert panel.title == "load=open"
    line = panel.spec["layer"][1]["encoding"]
    assert line["y"]["title"] == "Latency (µs)"
    assert line["x"]["title"] == "percentile"
    assert line["x"]["axis"]["values"] == [0.0, 1.0]
    assert 'datum.value == 1.0 ? "\\"p99\\""' in line["x"]["axis"]["labelExpr"]


def test_curves_from_0_on_have_room_for_intervals_that_reach_0() -> None:
    class FromZero(Everything):
        steps = ((0.0, "p50", P50.name), (1.0, "p99", P99.name))
        curves = (Curve("Percentiles", "how late", "percentile", "Latency", steps, logarithmic=True),)

    place = point(nodes=1, load="open")
    late = {"p50_s": (0.0, 0.0, 0.0, 3.0, 4.0, 5.0, 6.0), "p99_s": scaled(9.0)}
    (panel,) = named(analysis({("go", place): late}, measurement=FromZero()), "Percentiles").panels
    assert data(panel)[0]["low"] == 0
    line = panel.spec["layer"][1]["encoding"]
    assert (line["x"]["scale"]["type"], line["x"]["scale"]["domain"]) == ("linear", [0, 1])
    assert line["y"]["scale"]["type"] == "log"
    assert 0 < line["y"]["scale"]["domain"][0] < 3


def test_contenders_by_two_metrics() -> None:
    (panel,) = named(at(P), "Memory against CPU").panels
    rows = {row["contender"]: row for row in data(panel)}
    x, y = (panel.spec["layer"][2]["encoding"][channel] for channel in "xy")
    assert x["title"] == "Memory (MiB)"
    assert x["scale"]["domain"] == pytest.approx([80e6 * 0.97 / 2**20 / 1.5, 1500e6 * 1.04 / 2**20 * 1.5])
    assert y["title"] == "CPU (s)"
    assert y["scale"]["domain"] == pytest.approx([0.8 * 0.97 / 1.5, 15 * 1.04 * 1.5])
    assert rows["erlang"]["x_shown"] == "954 MiB (925–992)"
    assert rows["erlang"]["y_shown"] == "10.0 s (9.7–10.4)"
    assert rows["erlang"]["y_low"] == pytest.approx(9.7)
    assert rows["erlang"]["y_high"] == pytest.approx(10.4)


def test_speed_up_with_the_ideal() -> None:
    values = {
        (name, point(cores=cores)): {"cpu_s": scaled(seconds / cores**power)}
        for name, seconds, power in (("go", 8.0, 0.9), ("sync", 9.0, 0.0))
        for cores in (1, 2, 4)
    }
    run = analysis(values, measurement=Everything())
    (panel,) = named(run, "Speed-up over cores").panels
    dots = [row for row in data(panel, "dots") if row["contender"] == "go"]
    assert [row["cores"] for row in dots] == [1, 2, 4]
    assert dots[2]["value"] == pytest.approx(4**0.9)
    top = 4**0.9 * 1.08
    assert data(panel, "ideal")[1] == {"cores": pytest.approx(top), "value": pytest.approx(top)}
    assert {row["contender"] for row in data(panel, "curves")} == {"go", "sync"}


def over_time(name: str, latest_s: float) -> Timeline:
    return Timeline(
        block=3,
        edges=(0.0, 0.1, 1.0, 10.0),
        cpu={"worker": (0.1, 0.2, 0.3), OTHER_THREADS: (0.0, 0.1, 0.2)},
        pss_bytes=TimeSeries((0.0, 5.0), (1 << 20, 2 << 20)),
        kernel_bytes=TimeSeries((0.0, 5.0), (0.0, 4 << 20)),
        latest_s=TimeSeries((1.0, 2.0), (latest_s, 2 * latest_s)),
        marker_s=2.0,
        open=TimeSeries((0.0, 1.0, 2.0), (0.0, 300.0, 500.0)),
    )


def test_timelines() -> None:
    timelines = {Cell(name, P): over_time(name, late) for name, late in (("erlang", 0.5), ("go", 0.25))}
    run = with_figures(at(P), timelines=timelines)
    chart = named(run, "Time line")
    assert chart.caption == (
        "CPU and memory. One trial of each, with the median headline (block: erlang 3, go 3)."
    )
    assert [panel.title for panel in chart.panels] == ["erlang", "go"]
    panel = chart.panels[0]
    areas = panel.spec["layer"][0]["encoding"]
    assert areas["x"]["title"] == "seconds since the start (logarithmic)"
    assert areas["color"]["scale"] == {"domain": ["worker", "others"], "range": ["var(--c0)", "var(--grid)"]}
    assert data(panel, "marker") == [{"t": 2.0}]
    # On a logarithmic axis, which begins at the first edge.
    assert data(panel, "open") == [
        {"t": 0.1, "open": 0.0},
        {"t": 1.0, "open": 300.0},
        {"t": 2.0, "open": 500.0},
    ]
    assert panel.spec["layer"][2]["encoding"]["y"]["scale"]["domain"] == [0, 540.0]
    kernel = [row for row in data(panel, "memory") if row["what"].startswith("kernel")]
    assert [row["bytes"] for row in kernel] == [0.0, 4.0]
    assert [row["cores"] for row in data(panel, "cpu") if row["thread"] == "worker"] == [0.2, 0.3, 0.3]
    late = named(run, "Lateness")
    assert late.caption == "Late ones. Of the same trials; both axes are logarithmic."
    assert late.panels[0].spec["layer"][0]["encoding"]["y"]["title"] == "Latest (ms)"
    assert [row["shown"] for row in data(late.panels[0])] == ["500 ms", "1.00 s", "250 ms", "500 ms"]


def test_a_timeline_without_cpu_is_left_out() -> None:
    empty = dataclasses.replace(over_time("go", 0.0), cpu={})
    run = with_figures(at(P), timelines={Cell("go", P): empty})
    assert "Time line" not in [chart.title for chart in charts(run)]


def test_spans() -> None:
    spans = (Span(90, 0, 100_000_000), Span(91, 50_000_000, 200_000_000), Span(90, 100_000_000, 300_000_000))
    run = with_figures(at(P), spans={Cell("go", P): spans})
    chart = named(run, "Who did what when")
    assert chart.caption == "A bar for each job. One trial of each, with the median headline."
    (panel,) = chart.panels
    assert panel.spec["layer"][0]["encoding"]["x"]["title"] == "ms since the first job was handed over"
    assert data(panel)[1] == {"job": 2, "unit": 2, "begin": 50.0, "end": 200.0, "took": "150 ms"}


def test_repeats() -> None:
    series = ((5000.0, 1000.0), (4000.0, 1200.0), (3000.0, 900.0))
    medians = tuple(map(median, zip(*series, strict=True)))
    warm_ups = [WarmUp(Cell(name, P), series, medians, 4000.0, None, None, {}) for name in ("go", "erlang")]
    (panel,) = named(with_figures(at(P), warm_ups=tuple(warm_ups)), "Per hop, repeat by repeat").panels
    assert len(data(panel, "blocks")) == 2 * 3 * 2
    assert [(row["contender"], row["repeat"], row["shown"]) for row in data(panel, "medians")] == [
        ("go", 1, "4.00 µs"),
        ("go", 2, "1.00 µs"),
        ("erlang", 1, "4.00 µs"),
        ("erlang", 2, "1.00 µs"),
    ]


def then_and_now() -> ThenAndNow:
    source = Published("post", "A post", "2007-03-01", "a laptop", {}, "", (), ())
    rows = (
        ThenAndNowRow(P, "go / erlang", 12.5, Interval(1.5, 1.4, 1.6, 7)),
        ThenAndNowRow(P, "limit / erlang", 0.5, None),
    )
    return ThenAndNow(source, HOP, (), rows)


def test_published_ratios_beside_those_of_the_run() -> None:
    run = with_figures(at(P), then_and_now=(then_and_now(),))
    chart = named(run, "Per hop: ratios then and now")
    assert chart.caption.startswith("○ 2007, as published in “A post”; ● this run")
    assert [panel.title for panel in chart.panels] == ["go / erlang", "limit / erlang"]
    (row,) = data(chart.panels[0])
    assert (row["then"], row["then_shown"], row["median"], row["shown"]) == (12.5, "12.5", 1.5, "1.50")
    assert "median" not in data(chart.panels[1])[0]
    bars = chart.panels[0].spec["layer"][1]
    assert bars["mark"]["color"] == "var(--c0)"


def test_a_run_without_any_figures_has_no_plots() -> None:
    run = analysis({("go", P): {}, ("erlang", P): {"cpu_s": ()}}, blocks=1)
    assert charts(run) == []


def everything() -> list[Panel]:
    """A panel of each kind."""
    timelines = {Cell(name, P): over_time(name, 0.5) for name in ("erlang", "go")}
    series = ((5000.0, 1000.0), (4000.0, 1200.0))
    runs = [
        with_figures(
            at(P, failed=[("pony", P)]),
            timelines=timelines,
            spans={Cell("go", P): (Span(90, 0, 100_000_000), Span(91, 50_000_000, 200_000_000))},
            warm_ups=(WarmUp(Cell("go", P), series, series[0], 5000.0, None, None, {}),),
            then_and_now=(then_and_now(),),
        ),
        at(*(point(nodes=nodes, load="open") for nodes in (10, 20, 40))),
        analysis(
            {("go", point(cores=cores)): {"cpu_s": scaled(8.0 / cores)} for cores in (1, 2, 4)},
            measurement=Everything(),
        ),
    ]
    return [panel for run in runs for chart in charts(run) for panel in chart.panels]


def test_specifications_follow_the_schema() -> None:
    altair = pytest.importorskip("altair")
    panels = everything()
    assert len(panels) > 15
    for panel in panels:
        altair.LayerChart.from_dict(panel.spec, validate=True)


@needs_extra
def test_all_of_them_can_be_drawn() -> None:
    convert = importlib.import_module("vl_convert")
    for panel in everything():
        assert convert.vegalite_to_svg(standing_alone(panel, panel.title)).startswith("<svg")


def test_a_contender_has_the_same_colour_in_every_run() -> None:
    found = {name: spec.colour(name, "limit") for name in HOPS}
    assert found == {"erlang": "var(--c1)", "go": "var(--c0)", "limit": "var(--limit)"}
    assert spec.colour("go@1.27") == spec.colour("go")
    assert spec.colour("mine") == spec.colour("mine", "limit")
    numbers = {int(re.sub(r"\D", "", spec.colour(f"mine-{number}"))) for number in range(500)}
    assert numbers == set(range(len(spec.BUNDLED)))


def test_ratios_to_the_baseline() -> None:
    run = at(P)
    chart = rows.forest_chart(run)
    [panel] = chart.panels
    assert [row["contender"] for row in data(panel)] == ["limit", "go"]
    limit, go = data(panel)
    assert go["ratio"] == pytest.approx(1.5)
    assert go["low"] <= go["ratio"] <= go["high"]
    assert (go["text"], go["verdict"], limit["verdict"]) == ("1.50×", "slower", "faster")
    assert [row["limit"] for row in data(panel, "limits")] == pytest.approx([1 / 1.05, 1.05])
    assert "Ratio to erlang" in chart.title
    assert "5 % around 1" in chart.caption


def test_every_trial_has_a_dot_in_its_block() -> None:
    [panel] = lines.trial_chart(at(P)).panels
    rows = data(panel)
    assert len(rows) == len(HOPS) * 7
    assert sorted({row["x"] for row in rows}) == [1, 2, 3, 4, 5, 6, 7]
    assert {row["shown"] for row in rows if row["contender"] == "go"} >= {"1.50 µs"}
    assert lines.trial_chart(analysis({("go", P): {"hop_ns": [1.0, 2.0]}})).panels == ()


def test_the_page_has_every_colour_once_in_light_and_once_in_dark() -> None:
    for theme in read_file("page.css").split("prefers-color-scheme: dark")[:2]:
        defined = dict(re.findall(r"--(c\d+|limit): (#[0-9a-f]{6});", theme))
        assert defined.keys() == {"limit", *(f"c{number}" for number in range(len(spec.BUNDLED)))}
        assert len(set(defined.values())) == len(defined)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.77, 1.3, [0.8, 1, 1.2]),
        (8.4, 17, [10, 12, 14, 16]),
        (700, 1400, [800, 1000, 1200, 1400]),
        (0.9, 40, [1, 3, 10, 30]),
        (8, 8, [8]),
    ],
)
def test_ticks_are_round(low: float, high: float, ticks: list[float]) -> None:
    assert spec.log_ticks(low, high) == ticks


@given(st.floats(1e-6, 1e9), st.floats(1.05, 1e9))
def test_logarithmic_ticks_are_few_and_inside(low: float, times: float) -> None:
    ticks = spec.log_ticks(low, low * times)
    assert 2 <= len(ticks) <= 8
    assert all(low <= tick <= low * times for tick in ticks)
    assert ticks == sorted(ticks)


def test_of_more_labels_than_lines_as_many_as_fit_are_kept() -> None:
    rows = spec.edge_labels({f"contender-{number}": number * 1.4 for number in range(200)}, 280)
    places = [float(str(row["y"])) for row in rows]
    assert len(rows) == 20
    assert min(places) >= 0
    assert max(places) <= 280
    # Spread over all of them, the first one included.
    assert rows[0]["contender"] == "contender-0"
    assert rows[-1]["contender"] == "contender-190"


@given(st.dictionaries(st.text(max_size=5), st.floats(0, 280), max_size=12))
def test_labels_never_overlap_and_keep_their_order(wanted: dict[str, float]) -> None:
    placed = {row["contender"]: row["y"] for row in spec.edge_labels(wanted, 280)}
    assert placed.keys() == wanted.keys()
    places = [placed[name] for name in sorted(wanted, key=lambda name: wanted[name])]
    assert all(lower - upper > 13.99 for upper, lower in itertools.pairwise(places))
    assert all(place <= 280 for place in places)


# --- Plots of percentiles and of latency against rate: their data and axes ---


def run_of(folder: Path, name: str, **changes: Any) -> RunAnalysis:
    store = Store(folder / "store.sqlite")
    run = make_run(store, experiment(name, blocks=7, **changes))
    analysis = RunAnalysis(run, store.trials(run))
    store.close()
    return analysis


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
    go = [row for row in data(panel) if row["contender"] == "go"]
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
        last = lines.percentile_place(level)
        assert max(lines.percentile_ticks(last)) == last


def test_latency_against_rate_where_the_rate_is_a_factor(tmp_path: Path) -> None:
    points = [{"rate": rate} for rate in (0, 50, 100, 200)]
    factors = {"kind": "io", "requests": 100, "concurrency": 20}
    analysis = run_of(
        tmp_path, "fanout-io", contenders=("go", "limit"), factors=factors, at=tuple(points), published=None
    )
    chart = named(analysis, "Latency against rate")
    assert [panel.title for panel in chart.panels] == ["Latency p50", "Latency p99"]
    median = [row for row in data(chart.panels[0]) if row["contender"] == "go"]
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
    assert data(chart.panels[1])[0]["x"] == 250


RUN = analysis({("go", place): {"hop_ns": scaled(1.0)} for place in (P, point(nodes=20))}, name="ring")


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@needs_extra
def test_each_plot_as_svg_png_and_csv() -> None:
    figures = list(charts_module.figures([RUN]))
    assert [figure.stem for figure in figures] == [
        "01-per-hop-nodes-10",
        "02-per-hop-nodes-20",
        "03-per-hop-of-every-trial-nodes-10",
        "04-per-hop-of-every-trial-nodes-20",
    ]
    for figure in figures:
        svg, png, table = (figure.files[f"{figure.stem}.{suffix}"] for suffix in ("svg", "png", "csv"))
        assert png.startswith(b"\x89PNG")
        # Nothing of the page is left, on which it could not look as it does there.
        assert svg.startswith(b"<svg")
        assert b"var(--" not in svg
        assert {row["contender"] for row in read(table.decode())} == {"go"}


@needs_extra
def test_files_of_several_runs_have_the_experiment_in_their_names() -> None:
    assert next(charts_module.figures([RUN, RUN])).stem == "ring-01-per-hop-nodes-10"


@needs_extra
def test_a_table_has_all_series_and_not_what_only_draws() -> None:
    panels = list(everything())
    for panel in panels:
        series = {
            name: rows for name, rows in panel.spec["datasets"].items() if name not in charts_module.MARKS
        }
        rows = read(charts_module.figures_as_csv(panel.spec))
        assert len(rows) == sum(map(len, series.values()))
        assert ("series" in rows[0]) == (len([name for name, each in series.items() if each]) > 1)
    [feed, *_] = [panel for panel in panels if "cpu" in panel.spec["datasets"]]
    assert {row["series"] for row in read(charts_module.figures_as_csv(feed.spec))} == {
        "open",
        "cpu",
        "memory",
    }


@needs_extra
def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts_module, "missing", lambda: "vl-convert-python")
    with pytest.raises(ReportError, match="need vl-convert-python: .* extra `report`"):
        list(charts_module.figures([RUN]))
