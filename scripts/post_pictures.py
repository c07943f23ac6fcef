"""The pictures of docs/POSTS.md and the picture of all problems. Those of the posts show figures, then and
now or under two conditions, as dots in rows; the other is a table of problems × contenders."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scripts.posts import Post, at

from ringside import units
from ringside.analysis.suite import Overview
from ringside.model.results import Interval
from ringside.render.plots.charts import standing_alone
from ringside.render.plots.spec import (
    Json,
    Panel,
    layer,
    layered,
    nominal,
    numbers,
    quantitative,
    row_axis,
    tooltip,
)

_ROW = 34
# The share of the axis that stays free for the labels of the largest figures.
_TEXT_SHARE = 0.16
# A series named after a year is grey. Measured series have colours that colour-blind readers can tell apart.
_THEN, _NOW = "var(--quiet)", ("var(--c0)", "var(--c1)")


@dataclass(frozen=True, slots=True)
class Bar:
    """A dot in the row `group`, in the picture's unit; with its interval if it was measured."""

    group: str
    series: str
    value: float
    low: float | None = None
    high: float | None = None


def measured(group: str, value: Interval, series: str = "now") -> Bar:
    return Bar(group, series, value.estimate, value.low, value.high)


@dataclass(frozen=True, slots=True)
class Picture:
    """`unit`: empty for a ratio. The axis is logarithmic."""

    title: str
    axis: str
    unit: str
    bars: Sequence[Bar]

    def specification(self) -> str:
        """The Vega-Lite specification as JSON, with its width and colours."""
        return standing_alone(Panel(self.title, self._layers()), self.title)

    def _layers(self) -> Json:
        groups = list(dict.fromkeys(bar.group for bar in self.bars))
        series = list(dict.fromkeys(bar.series for bar in self.bars))
        values = [bar.value for bar in self.bars]
        unit, unit_name = units.scale((min(values) * max(values)) ** 0.5, self.unit)
        ends = [end / unit for bar in self.bars for end in (bar.low, bar.value, bar.high) if end]
        # The title of the axis of a rate states the unit in words.
        title = f"{self.axis} ({unit_name})" if unit_name not in ("", "/s") else self.axis
        low, high = min(ends) / 1.3, max(ends) * 1.1
        across = numbers(title, low, high * (high / low) ** _TEXT_SHARE, grid=True)
        rows = {"y": row_axis(groups), "yOffset": nominal("series", sort=series, scale={"domain": series})}
        now = iter(_NOW)
        scale = {"domain": series, "range": [_THEN if name.isdigit() else next(now) for name in series]}
        legend = {"title": None, "orient": "bottom", "direction": "horizontal"}
        dot = {
            **rows,
            "x": quantitative("value", **across),
            "color": nominal("series", scale=scale, legend=legend),
        }
        span = {**dot, "x": quantitative("low", **across), "x2": {"field": "high"}}
        text = {**rows, "x": quantitative("right", **across), "text": nominal("shown")}
        layers = [
            layer("rows", "rule", valid="low", strokeWidth=4, opacity=0.4, encoding=span),
            layer("rows", "point", filled=True, size=80, opacity=1, encoding=dot),
            layer("rows", "text", align="left", baseline="middle", dx=8, fontSize=11, encoding=text),
        ]
        data = [self._row(bar, unit) for bar in self.bars]
        return layered(layers, _ROW * max(2, len(groups) * len(series) * 2 // 3), {"rows": data})

    def _row(self, bar: Bar, unit: float) -> Json:
        return {
            "contender": bar.group,
            "series": bar.series,
            "value": bar.value / unit,
            "low": None if bar.low is None else bar.low / unit,
            "high": None if bar.high is None else bar.high / unit,
            "right": max(bar.value, bar.high or 0.0) / unit,
            "shown": units.quantity(bar.value, self.unit) if self.unit else units.significant(bar.value),
        }


def pictures(posts: Mapping[str, Post]) -> dict[str, Picture]:
    """The pictures of the posts, by source. If a source has several, the name also says what the picture
    shows."""
    return {
        "2009-erlang-vs-stackless": _rounds(posts["2009-erlang-vs-stackless"]),
        "2007-ring-showdown": _showdown(posts["2007-ring-showdown"]),
        "2011-background-jobs": _jobs(posts["2011-background-jobs"]),
        "2011-go-code-jam": _batch(posts["2011-go-code-jam"]),
        "2011-go-code-jam-channel": _channel(posts["2011-go-code-jam"]),
        "2011-go-c10k": _feeds(posts["2011-go-c10k"]),
        "2015-python-vs-go": _rates(posts["2015-python-vs-go"]),
        "2016-go-fanout": _gateways(posts["2016-go-fanout"]),
    }


_RING = at("ring", mode="pipelined", nodes=1000, messages=1000, trace=0)


def _rounds(post: Post) -> Picture:
    ring = at("ring", nodes=100, messages=20_000, mode="pipelined")
    bars = [
        measured(label, post.value("wall_s", name, ring.at(trace=trace)), series)
        for name, label in (
            ("erlang", "Erlang"),
            ("stackless-pypy", "PyPy's module"),
            ("stackless-greenlet", "greenlet"),
        )
        for trace, series in ((1, "a line for each message"), (0, "no output"))
    ]
    return Picture("A hundred processes, 20,000 messages: time with output and without", "time", "s", bars)


def _showdown(post: Post) -> Picture:
    bars = []
    for group, now, then in (
        ("Stackless: PyPy's module", "stackless-pypy", "stackless"),
        ("Stackless: greenlet", "stackless-greenlet", "stackless"),
        ("multitask", "multitask", "multitask"),
    ):
        above, below = (post.then("cpu_s", name, nodes=1000, messages=1000) for name in (then, "erlang"))
        bars += [
            Bar(group, "2007", above / below),
            measured(group, post.ratio("cpu_s", now, "erlang", _RING)),
        ]
    return Picture("CPU time with a million deliveries, over that of Erlang", "times Erlang", "", bars)


def _jobs(post: Post) -> Picture:
    bars = [
        measured(label, post.value("makespan_s", name, at("jobs", kind="noop")))
        for name, label in (
            ("python-pool", "multiprocessing's pool"),
            ("python-processes", "concurrent.futures"),
            ("parallel-python", "ppft"),
        )
    ]
    return Picture("Ten thousand jobs that do nothing: time until all are done", "time", "s", bars)


def _batch(post: Post) -> Picture:
    bars = [
        measured(
            f"{label}, {cases:,}",
            post.value("wall_s", name, at("batch", capacity="own", cases=cases, cores=cores)),
            units.count(cores, "core"),
        )
        for cores in (1, 2)
        for name, label in (("go", "Go"), ("limit", "reference"))
        for cases in (50_000, 100_000, 200_000)
    ]
    return Picture("50, 100 and 200 thousand calculations: time over cores", "time", "s", bars)


def _channel(post: Post) -> Picture:
    bars = [
        measured(
            label,
            post.value("wall_s", "go", at("batch", capacity=capacity, cases=200_000, cores=cores)),
            units.count(cores, "core"),
        )
        for cores in (1, 2)
        for capacity, label in (
            (0, "no room"),
            (1, "one result"),
            (100, "100 results"),
            (10_000, "10,000 results"),
            ("unbounded", "all results"),
        )
    ]
    return Picture("Go, 200,000 calculations: time over the channel's size", "time", "s", bars)


def _feeds(post: Post) -> Picture:
    feed = at("feed", connections=10_000, interval_ms=1000, slow=0, vanish=0)
    bars = []
    for name, label in (
        ("go", "Go"),
        ("erlang-mochiweb", "MochiWeb"),
        ("erlang-mochiweb@tuned", "MochiWeb, hibernating"),
    ):
        if "@" not in name:
            bars.append(Bar(label, "2011", post.then("bytes_per_connection", name)))
        bars.append(measured(label, post.value("bytes_per_connection", name, feed)))
    return Picture("Memory for each of ten thousand connections", "memory", "B", bars)


def _rates(post: Post) -> Picture:
    alone, each = "requests_per_s", "requests_per_s_per_client"
    bars = []
    for label, name, metric, clients in (
        ("CPython, one client", "python-sync", alone, 1),
        ("PyPy, one client", "python-sync@pypy", alone, 1),
        ("Go, one client", "go-sync", alone, 1),
        ("Go, three clients", "go", each, 3),
        ("pool, three clients", "python-coroutines", each, 3),
        ("generators, no pool", "multitask", each, 3),
    ):
        if name != "multitask":
            bars.append(Bar(label, "2015", post.then(metric, name, clients=clients)))
        place = at("fib", load="hammer", n=1, clients=clients)
        bars.append(measured(label, post.value(metric, name, place)))
    return Picture("Answers per second for each client", "answers per second", "/s", bars)


def _gateways(post: Post) -> Picture:
    waits = at("fanout", kind="io", rate=0, tail=0, requests=100, concurrency=20, cores=1)
    computes = at("fanout", kind="cpu", rate=0, tail=0)
    bars = []
    for label, name, place in (
        ("Go, waits", "go", waits),
        ("Tornado, waits", "tornado", waits),
        ("Tornado, 4,096 calls, waits", "tornado@tuned", waits),
        ("Go, computes", "go", computes),
        ("Tornado, computes", "tornado", computes),
    ):
        if "@" not in name:
            bars.append(Bar(label, "2016", post.then("latency_s.p50", name, kind=place.levels["kind"])))
        bars.append(measured(label, post.value("latency_s.p50", name, place)))
    return Picture("Median time of a request", "time", "s", bars)


_OVERVIEW_ROW = 26
# Figures this many times the best one, and more, have the darkest colour.
_WORST = 100.0
# Ratios below this have only two digits, so that they fit.
_AHEAD = 0.995
_LEVEL = 8


def overview_panel(overview: Overview) -> Panel:
    """A field for each contender that took part in a problem, with its ratio to the best."""
    rows = [
        {
            "problem": column.label,
            "contender": name,
            # The floor is better than the best contender.
            "behind": math.log10(min(max(ratio, 1.0), _WORST)),
            "shown": units.significant(ratio) if ratio >= _AHEAD else f"{ratio:.2g}",
            "dark": ratio > _WORST**0.5,
        }
        for column in overview.columns
        for name in overview.names
        if (cell := column.cell(name)) and (ratio := cell.ratio) is not None
    ]
    # There is no room for the names of many experiments side by side.
    slanted = (
        {"labelAngle": -35, "labelAlign": "left"} if len(overview.columns) > _LEVEL else {"labelAngle": 0}
    )
    at = {
        "x": nominal(
            "problem", sort=None, axis={"title": None, "orient": "top", "labelOverlap": False, **slanted}
        ),
        "y": nominal("contender", sort=None, axis={"title": None}),
    }
    shade = {"domain": [0, math.log10(_WORST)], "scheme": "viridis", "reverse": True}
    field = {
        **at,
        "color": quantitative("behind", scale=shade, legend=None),
        "tooltip": tooltip(contender="contender", problem="problem", shown="times the best"),
    }
    ink = {"condition": {"test": "datum.dark", "value": "#ffffff"}, "value": "#000000"}
    text = {**at, "text": nominal("shown"), "color": ink}
    layers = [
        layer("rows", "rect", stroke="var(--paper)", encoding=field),
        layer("rows", "text", fontSize=12 if len(overview.columns) <= _LEVEL else 10, encoding=text),
    ]
    height = _OVERVIEW_ROW * len({row["contender"] for row in rows})
    return Panel("Times the best of each problem", layered(layers, height, {"rows": rows}))
