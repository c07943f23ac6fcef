"""Specifications of plots: their data and axes. tests/render/html/test_html.py has a browser draw them."""

import csv
import dataclasses
import io
import itertools
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.analysis.distributions import WarmUp
from ringside.analysis.published import ThenAndNow, ThenAndNowRow
from ringside.analysis.run import RunAnalysis, analysis_of
from ringside.errors import ReportError
from ringside.model.catalogue import Published
from ringside.model.design import Cell, Metric, Point
from ringside.model.results import Interval, Timeline, TimeSeries
from ringside.probe.protocol import Span
from ringside.render.plots import charts as charts_module
from ringside.render.plots import lines, spec
from ringside.render.plots.charts import charts, missing
from ringside.render.plots.spec import Chart, Panel
from ringside.store import Store
from ringside.workloads.base import OTHER_THREADS, Curve, ScalingLaw, Slope, SpansView, TimelineView
from tests.support.analyses import CPU, HOP, MEMORY, RATE, Exact, analysis, point, scaled, with_figures
from tests.support.cases import cases
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


def test_dot_plots_have_the_best_on_top_and_say_what_failed() -> None:
    """The other kinds of plots are in tests/golden/figures.txt."""
    (panel,) = named(at(P, failed=[("pony", P)]), "Per hop").panels
    texts = [(row["contender"], row["text"]) for row in data(panel)]
    assert texts == [("limit", "80.0 ns"), ("erlang", "1.00 µs"), ("go", "1.50 µs"), ("pony", "crashed")]
    assert data(panel, "floor") == [{"median": 80.0}]
    few = analysis({("go", P): {"hop_ns": [5.0]}}, measurement=Everything())
    (row,) = data(named(few, "Per hop").panels[0])
    assert (row["low"], row["interval"], row["n"]) == (None, "too few blocks", "1 block")
    assert "Per hop of every trial" not in [chart.title for chart in charts(few)]


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


def test_a_time_line_has_its_samples_and_what_was_late_beside_it() -> None:
    timelines = {Cell(name, P): over_time(name, late) for name, late in (("erlang", 0.5), ("go", 0.25))}
    run = with_figures(at(P), timelines=timelines)
    panel, _ = named(run, "Time line").panels
    # On a logarithmic axis, which begins at the first edge.
    assert [(row["t"], row["open"]) for row in data(panel, "open")] == [(0.1, 0), (1, 300), (2, 500)]
    assert [row["cores"] for row in data(panel, "cpu") if row["thread"] == "worker"] == [0.2, 0.3, 0.3]
    assert [row["bytes"] for row in data(panel, "memory") if row["what"][0] == "k"] == [0.0, 4.0]
    late = named(run, "Lateness")
    assert late.caption == "Late ones. Of the same trials; both axes are logarithmic."
    assert [row["shown"] for row in data(late.panels[0])] == ["500 ms", "1.00 s", "250 ms", "500 ms"]


def test_a_time_line_without_connections_or_threads() -> None:
    closed = dataclasses.replace(over_time("go", 0.0), open=TimeSeries((), ()))
    (panel,) = named(with_figures(at(P), timelines={Cell("go", P): closed}), "Time line").panels
    assert data(panel, "open") == []
    empty = dataclasses.replace(over_time("go", 0.0), cpu={})
    without = with_figures(at(P), timelines={Cell("go", P): empty})
    assert "Time line" not in [chart.title for chart in charts(without)]


def then_and_now() -> ThenAndNow:
    source = Published("post", "A post", "2007-03-01", "a laptop", {}, "", (), ())
    rows = (
        ThenAndNowRow(P, "go / erlang", 12.5, Interval(1.5, 1.4, 1.6, 7)),
        ThenAndNowRow(P, "limit / erlang", 0.5, None),
    )
    return ThenAndNow(source, HOP, (), rows)


def test_a_run_without_any_figures_has_no_plots() -> None:
    run = analysis({("go", P): {}, ("erlang", P): {"cpu_s": ()}}, blocks=1)
    assert charts(run) == []


def of_each_kind() -> list[RunAnalysis]:
    """Runs that have, together, a plot of each kind."""
    timelines = {Cell(name, P): over_time(name, 0.5) for name in ("erlang", "go")}
    series = ((5000.0, 1000.0), (4000.0, 1200.0))
    return [
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


def everything() -> list[Panel]:
    return [panel for run in of_each_kind() for chart in charts(run) for panel in chart.panels]


def test_specifications_follow_the_schema() -> None:
    altair, jsonschema = map(pytest.importorskip, ("altair", "jsonschema"))
    schema = {**altair.load_schema(), "$ref": "#/definitions/TopLevelLayerSpec"}
    panels = everything()
    assert len(panels) > 15
    validator = jsonschema.Draft7Validator(schema)
    for panel in panels:
        validator.validate(panel.spec)


@pytest.mark.parametrize(("low", "high", "ticks"), cases(__file__, "ticks_are_round"))
def test_ticks_are_round(low: float, high: float, ticks: tuple[float, ...]) -> None:
    assert tuple(spec.log_ticks(low, high)) == ticks


@given(st.floats(1e-6, 1e9), st.floats(1.05, 1e9))
def test_logarithmic_ticks_are_few_and_inside(low: float, times: float) -> None:
    ticks = spec.log_ticks(low, low * times)
    assert 2 <= len(ticks) <= 8
    assert all(low <= tick <= low * times for tick in ticks)
    assert ticks == sorted(ticks)


@given(st.dictionaries(st.text(max_size=5), st.floats(0, 280), max_size=40))
def test_labels_never_overlap_and_keep_their_order(wanted: dict[str, float]) -> None:
    """If there are more labels than lines, as many as fit are kept, the first one included."""
    placed = {row["contender"]: row["y"] for row in spec.edge_labels(wanted, 280)}
    assert len(placed) == min(len(wanted), 20)
    assert [wanted[name] for name in placed] == sorted(wanted[name] for name in placed)
    assert not wanted or wanted[next(iter(placed))] == min(wanted.values())
    assert all(lower - upper > 13.99 for upper, lower in itertools.pairwise(placed.values()))
    assert all(0 <= place <= 280 for place in placed.values())


@pytest.mark.parametrize("level", [0.99, 0.999, 0.9999, 0.99999])
def test_the_last_percentile_is_where_the_lines_end(level: float) -> None:
    last = lines.percentile_place(level)
    assert max(lines.percentile_ticks(last)) == last


def run_of(name: str, **changes: Any) -> RunAnalysis:
    store = Store(None)
    return analysis_of(store, make_run(store, experiment(name, blocks=7, **changes)))


def test_percentiles_end_where_requests_do() -> None:
    fib = run_of("showdown-fib", contenders=("go", "erlang", "limit"))
    (panel,) = named(fib, "Latency percentiles").panels
    line = panel.spec["layer"][1]["encoding"]
    # Seven trials of a thousand requests: ten lie beyond 99.857 %, so there is no 99.9 %.
    assert line["x"]["scale"]["domain"] == pytest.approx([1, 700])
    assert line["x"]["axis"]["values"] == pytest.approx([1, 2, 10, 100])
    assert '"99 %"' in line["x"]["axis"]["labelExpr"]
    go = [row for row in data(panel) if row["contender"] == "go"]
    assert [row["value"] for row in go] == sorted(row["value"] for row in go)
    last = next(row for row in go if row["level"] == "99.86 %")
    assert (last["low"], last["trials"], last["n"]) == (None, "too few requests in each", "7,000")


def test_latency_against_rate() -> None:
    """If the rate is a factor, and if trials go through rates."""
    points = tuple({"rate": rate} for rate in (0, 50, 100, 200))
    factors = {"kind": "io", "requests": 100, "concurrency": 20}
    run = run_of("fanout-io", contenders=("go", "limit"), factors=factors, at=points, published=None)
    chart = named(run, "Latency against rate")
    assert [panel.title for panel in chart.panels] == ["Latency p50", "Latency p99"]
    # A closed loop has no rate.
    median = [row for row in data(chart.panels[0]) if row["contender"] == "go"]
    assert [row["x"] for row in median] == [50, 100, 200]
    # It takes the place of the sweeps of the same metrics.
    titles = [chart.title for chart in charts(run)]
    assert "Latency p99 over rate" not in titles
    assert "Overhead p50 over rate" in titles
    stairs = named(run_of("fib-rate", contenders=("go", "limit")), "Latency against rate")
    assert [panel.title.split(", ")[-1] for panel in stairs.panels] == ["p50", "p99"]
    assert data(stairs.panels[1])[0]["x"] == 250


RUN = analysis({("go", place): {"hop_ns": scaled(1.0)} for place in (P, point(nodes=20))}, name="ring")


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@needs_extra
def test_each_plot_as_svg_png_and_csv() -> None:
    files = charts_module.figures(charts(RUN))
    stems = [
        "01-per-hop-nodes-10",
        "02-per-hop-nodes-20",
        "03-per-hop-of-every-trial-nodes-10",
        "04-per-hop-of-every-trial-nodes-20",
    ]
    assert list(files) == [f"{stem}.{suffix}" for stem in stems for suffix in ("svg", "png", "csv")]
    for stem in stems:
        svg, png, table = (files[f"{stem}.{suffix}"] for suffix in ("svg", "png", "csv"))
        assert png.startswith(b"\x89PNG")
        # Nothing of the page is left, on which it could not look as it does there.
        assert svg.startswith(b"<svg")
        assert b"var(--" not in svg
        assert {row["contender"] for row in read(table.decode())} == {"go"}
    # Files of several runs have the experiment in their names, or the run where several are of one.
    later, other = (with_figures(RUN, run=dataclasses.replace(RUN.run, id=name)) for name in "ab")
    other = with_figures(other, experiment=dataclasses.replace(RUN.experiment, name="other"))
    stems_of_three = [each[0].panels[0].stem for each in charts_module.charts_of([RUN, later, other])]
    assert stems_of_three == [f"{name}-{stems[0]}" for name in (RUN.run.id, "a", "other")]


@needs_extra
def test_a_table_has_all_series_and_not_what_only_draws() -> None:
    panels = list(everything())
    for panel in panels:
        series = {key: rows for key, rows in panel.spec["datasets"].items() if key not in charts_module.MARKS}
        rows = read(charts_module.figures_as_csv(panel.spec))
        assert len(rows) == sum(map(len, series.values()))
        assert ("series" in rows[0]) == (len([name for name, each in series.items() if each]) > 1)
    [feed, *_] = [panel for panel in panels if "cpu" in panel.spec["datasets"]]
    of_feed = read(charts_module.figures_as_csv(feed.spec))
    assert {row["series"] for row in of_feed} == {"open", "cpu", "memory"}


@needs_extra
def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts_module, "missing", lambda: "vl-convert-python")
    with pytest.raises(ReportError, match="need vl-convert-python: .* extra `report`"):
        charts_module.figures(charts(RUN))
