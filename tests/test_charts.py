from __future__ import annotations

import importlib
import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.analysis.summary import Summary, of_run
from ringside.model.design import Experiment
from ringside.render.plots import charts, drawing
from ringside.store import Store
from tests import runs

Summaries = Callable[..., Summary]

pytestmark = pytest.mark.skipif(charts.missing() is not None, reason="the `report` extra is not installed")


@pytest.fixture
def summary_of(tmp_path: Path) -> Summaries:
    """Makes a run and summarises it."""

    def make(of: Experiment, **options: Any) -> Summary:
        store = Store(tmp_path / "store.sqlite")
        run = runs.make_run(store, of, **options)
        return of_run(store, run)

    return make


def test_a_sweep_has_a_pair_of_panels_for_each_setting(summary_of: Summaries) -> None:
    small = {"nodes": (10, 20, 40), "messages": 100, "trace": (0, 1)}
    summary = summary_of(runs.experiment("ring-fixed-messages", factors=small, published=None))
    wall, cpu, slope, held = charts.charts(summary)
    assert [panel.title for panel in wall.panels] == [
        "trace=0, linear",
        "trace=0, logarithmic",
        "trace=1, linear",
        "trace=1, logarithmic",
    ]
    assert "Wall" in wall.title
    assert "CPU" in cpu.title
    assert len(slope.panels) == 1
    assert len(held.panels) == 2
    line = wall.panels[1].spec["layer"][1]["encoding"]
    assert line["x"]["scale"]["type"] == line["y"]["scale"]["type"] == "log"
    assert line["x"]["title"] == "nodes"
    assert line["y"]["title"].endswith("s)")


def test_points_have_dot_plots_with_the_best_on_top(summary_of: Summaries) -> None:
    summary = summary_of(runs.experiment(published=None, blocks=6))
    hop = charts.charts(summary)[0]
    assert len(hop.panels) == len(summary.points)
    rows = hop.panels[0].spec["datasets"]["rows"]
    assert rows[0]["contender"] == "limit"
    assert [row["median"] for row in rows] == sorted(row["median"] for row in rows)
    assert all(row["low"] <= row["median"] <= row["high"] for row in rows)
    assert rows[0]["n"] == "6 blocks"


def test_a_contender_without_figures_is_a_row_that_says_why(summary_of: Summaries) -> None:
    summary = summary_of(runs.experiment(published=None, blocks=1), unavailable=["go"])
    rows = charts.charts(summary)[0].panels[0].spec["datasets"]["rows"]
    assert rows[-1]["contender"] == "go"
    assert rows[-1]["text"] == "unavailable"
    assert rows[0]["low"] is None
    assert rows[0]["interval"] == "too few blocks"


def test_published_ratios_stand_beside_those_of_the_run(summary_of: Summaries) -> None:
    last = charts.charts(summary_of(runs.experiment(blocks=1)))[-1]
    assert "2007" in last.caption
    assert "multitask / erlang" in [panel.title for panel in last.panels]
    row = last.panels[-1].spec["datasets"]["rows"][0]
    assert row["then"] > 1
    assert row["median"] > 1


@pytest.mark.parametrize(
    "name", ["showdown-ring", "ring-fixed-nodes", "fib-mixed", "fib-rate", "fanout-io", "feed-quick"]
)
def test_specifications_follow_the_schema(summary_of: Summaries, name: str) -> None:
    layered = importlib.import_module("altair").LayerChart
    for chart in charts.charts(summary_of(runs.experiment(name, blocks=1))):
        for panel in chart.panels:
            layered.from_dict(panel.spec, validate=True)


def test_a_feed_has_time_lines_and_a_landscape(summary_of: Summaries) -> None:
    summary = summary_of(runs.experiment("feed-quick"))
    found = {chart.title: chart for chart in charts.charts(summary)}
    (landscape,) = found["Memory/conn against CPU/1000 chunks"].panels
    assert {row["contender"] for row in landscape.spec["datasets"]["rows"]} == set(summary.names())
    (title,) = (title for title in found if title.startswith("Time line"))
    assert [panel.title for panel in found[title].panels] == summary.names()
    data = found[title].panels[0].spec["datasets"]
    assert {row["thread"] for row in data["cpu"]} == {"worker", "worker 2"}
    # The kernel's memory as it has grown: nothing at first, two KiB for each of a thousand at the end.
    kernel = [row for row in data["memory"] if row["what"].startswith("kernel")]
    assert kernel[0]["bytes"] == 0
    assert data["ramp"] == [{"t": 2.0}]
    (late,) = (chart for title, chart in found.items() if title.startswith("Lateness over time"))
    assert len(late.panels) == 1


def test_a_run_without_any_figures_has_no_plots(summary_of: Summaries) -> None:
    few = runs.experiment(contenders=("erlang", "go"), published=None)
    assert charts.charts(summary_of(few, blocks=0)) == []
    sweep = runs.experiment("ring-fixed-nodes", contenders=("erlang",), published=None)
    assert charts.charts(summary_of(sweep, blocks=0)) == []


def test_colours_are_the_same_in_every_run_of_the_same_contenders(summary_of: Summaries) -> None:
    summary = summary_of(runs.experiment(), blocks=0)
    colours = {name: drawing.colour(summary, name) for name in summary.names()}
    assert len(set(colours.values())) == len(colours)
    assert colours["limit"] == "var(--limit)"
    assert colours["erlang"] == "var(--c0)"


def test_the_page_has_every_colour_once_in_light_and_once_in_dark() -> None:
    style = (Path(drawing.__file__).parents[1] / "html" / "page.css").read_text(encoding="utf-8")
    for theme in style.split("prefers-color-scheme: dark")[:2]:
        found = dict(re.findall(r"--(c\d+|limit): (#[0-9a-f]{6});", theme))
        assert found.keys() == {"limit", *(f"c{number}" for number in range(drawing.COLOURS))}
        assert len(set(found.values())) == len(found)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.77, 1.3, [0.8, 1, 1.2]),
        (8.4, 17, [10, 12, 14, 16]),
        (700, 1400, [800, 1000, 1200, 1400]),
        (0.9, 40, [1, 3, 10, 30]),
    ],
)
def test_ticks_are_round(low: float, high: float, ticks: list[float]) -> None:
    assert drawing.log_ticks(low, high) == ticks


@given(st.dictionaries(st.text(max_size=5), st.floats(0, 280), max_size=12))
def test_labels_never_overlap_and_keep_their_order(wanted: dict[str, float]) -> None:
    placed = drawing.spread(wanted, 280)
    assert placed.keys() == wanted.keys()
    places = [placed[name] for name in sorted(wanted, key=lambda name: wanted[name])]
    assert all(lower - upper > 13.99 for upper, lower in itertools.pairwise(places))
    assert all(place <= 280 for place in places)


@given(st.floats(1e-6, 1e9), st.floats(1.05, 1e9))
def test_logarithmic_ticks_are_few_and_inside(low: float, times: float) -> None:
    ticks = drawing.log_ticks(low, low * times)
    assert 2 <= len(ticks) <= 8
    assert all(low <= tick <= low * times for tick in ticks)
    assert ticks == sorted(ticks)
