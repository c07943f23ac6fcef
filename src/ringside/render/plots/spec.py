"""What specifications are put together from: colours, ticks, layers, encodings, and rows of estimates."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric, Point
from ringside.model.results import Interval
from ringside.text import capitalised

# The page defines each twice, for light and for dark; the first eight are distinct for the colour-blind too.
COLOURS = 38
FLOOR = "var(--limit)"

# In the order of the page's colours: those that are most often compared come first.
BUNDLED = (
    *("go", "erlang", "python-asyncio", "stackless-pypy", "stackless-greenlet", "python-threads"),
    *("tornado", "multitask", "rust-tokio", "node", "java-virtual-threads", "python-processes"),
    *("go-workers", "python-pool", "elixir", "python-trio", "python-asyncio@uvloop", "gevent"),
    *("c-pthreads", "haskell", "ruby", "cpp-coroutines", "python-aiohttp", "python-asyncio-pool"),
    *("erlang-mochiweb", "twisted", "python-coroutines", "python-sync", "go-sync"),
    *("parallel-python", "cpp-beast", "ruby-async", "c-microhttpd", "python-subinterpreters"),
    *("node@pool", "rust-tokio@blocking", "tornado@tuned", "erlang-mochiweb@tuned"),
)


def contender_colour(name: str, floor: str | None = None) -> str:
    """The colour as CSS, by the name alone: reports that are read side by side agree. Contenders that
    are not in `BUNDLED` get one by a checksum of theirs, and two of them may share one. The floor has its
    own."""
    if name == floor:
        return FLOOR
    known = name if name in BUNDLED else name.split("@")[0]
    number = BUNDLED.index(known) if known in BUNDLED else zlib.crc32(name.encode()) % COLOURS
    return f"var(--c{number})"


_LABEL_SPACE = 14
_MIN_TICKS, _MAX_TICKS = 3, 8


def log_ticks(low: float, high: float) -> list[float]:
    """Three to eight round numbers on a logarithmic axis from `low` to `high`, both positive; the one that
    there is, where they are the same."""
    if low == high:
        return [low]
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        ticks = [float(f"{s}e{d}") for d in decades for s in steps if low <= float(f"{s}e{d}") <= high]
        if len(ticks) >= _MIN_TICKS:
            return _thinned(ticks)
    return _even_ticks(low, high)


def _even_ticks(low: float, high: float) -> list[float]:
    """Three to eight round numbers at even distances: on so short a stretch logarithms look even too."""
    digits = math.floor(math.log10(high - low))
    for step in (float(f"{times}e{digits - lower}") for lower in (0, 1) for times in (5, 2, 1)):
        first, last = math.ceil(low / step), math.floor(high / step)
        if last - first >= _MIN_TICKS - 1:
            ticks = [float(f"{count * step:.12g}") for count in range(first, last + 1)]
            return _thinned([tick for tick in ticks if low <= tick <= high])
    return [low, high]


def _thinned(ticks: list[float]) -> list[float]:
    return ticks[:: math.ceil(len(ticks) / _MAX_TICKS)]


def height_of(value: float, low: float, high: float, height: float, *, log: bool) -> float:
    """Where a value lies on an upright axis from `low` to `high`, in pixels from the top."""
    share = math.log(value / low) / math.log(high / low) if log else (value - low) / (high - low)
    return height * (1 - share)


def spread(wanted: Mapping[str, float], height: float) -> dict[str, float]:
    """Places for labels as near as can be to those that are `wanted`, in their order, at least a line
    apart and inside the panel."""
    placed: dict[str, float] = {}
    last = -math.inf
    for name, y in sorted(wanted.items(), key=lambda item: item[1]):
        last = placed[name] = max(y, last + _LABEL_SPACE)
    bottom = float(height)
    for name in reversed(placed):
        placed[name] = min(placed[name], bottom)
        bottom = placed[name] - _LABEL_SPACE
    return placed


def label_rows(wanted: Mapping[str, float], height: float) -> list[dict[str, object]]:
    """The data of labels at the edge. Of more labels than lines in the panel, as many as fit, spread over it:
    tooltips have the others."""
    most = max(1, int(height // _LABEL_SPACE))
    if len(wanted) > most:
        ordered = sorted(wanted, key=wanted.__getitem__)
        kept = {ordered[place * len(ordered) // most] for place in range(most)}
        wanted = {name: y for name, y in wanted.items() if name in kept}
    return [{"contender": name, "y": y} for name, y in spread(wanted, height).items()]


# A part of a specification.
Json = dict[str, Any]

_AXIS_PIXELS = 54


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture: a title and its Vega-Lite specification, as wide as its container."""

    title: str
    spec: Json

    @property
    def height(self) -> int:
        """Its height with the axis, in pixels: room is kept for it, so that a page does not jump when it is
        drawn."""
        return int(self.spec["height"]) + _AXIS_PIXELS


@dataclass(frozen=True, slots=True)
class Chart:
    """Panels that are read together. `caption` says what is shown, in plain words."""

    title: str
    caption: str
    panels: tuple[Panel, ...]


def described(chart: Chart) -> Chart:
    """The same with a description in each specification, which readers of screens read."""
    described = (
        replace(panel, spec={**panel.spec, "description": f"{chart.title}: {panel.title}"})
        for panel in chart.panels
    )
    return replace(chart, panels=tuple(described))


def colour(analysis: RunAnalysis, contender: str) -> str:
    """A contender's colour."""
    return contender_colour(contender, analysis.floor)


def quantitative(field: str, **properties: Any) -> Json:
    """An encoding of numbers."""
    return {"field": field, "type": "quantitative", **properties}


def nominal(field: str, **properties: Any) -> Json:
    """An encoding of names."""
    return {"field": field, "type": "nominal", **properties}


def by_contender(names: Iterable[str], value_of: Callable[[str], Any]) -> Json:
    """An encoding that gives each contender a value of its own: a colour, a dash, a shape."""
    domain = list(names)
    return nominal("contender", scale={"domain": domain, "range": list(map(value_of, domain))}, legend=None)


def hue(analysis: RunAnalysis, names: Iterable[str]) -> Json:
    """An encoding of contenders by their colours."""
    return by_contender(names, lambda name: colour(analysis, name))


def dash(analysis: RunAnalysis, names: Iterable[str]) -> Json:
    """An encoding of contenders by their lines: that of the floor is dashed."""
    return by_contender(names, lambda name: [5, 4] if name == analysis.floor else [1, 0])


def tooltip(**titles: str) -> list[Json]:
    """Tooltips: titles by field, whose values are texts."""
    return [nominal(field, title=title) for field, title in titles.items()]


def layer(data: str, mark: str, *, valid: str = "", encoding: Json, **properties: Any) -> Json:
    """A layer that draws the rows of `data` as marks with these properties; with `valid`, only those in which
    that field has a value."""
    drawn: Json = {"data": {"name": data}, "mark": {"type": mark, **properties}, "encoding": encoding}
    return drawn | ({"transform": [{"filter": f"isValid(datum.{valid})"}]} if valid else {})


def beside(data: str, *, text: str, y: Json, colour: Json) -> Json:
    """A layer of texts, those in the field `text`, beside the right edge."""
    at = {"x": {"value": "width"}, "y": y, "text": nominal(text), "color": colour}
    return layer(data, "text", align="left", baseline="middle", dx=9, fontSize=12, encoding=at)


def layered(
    layers: Sequence[Json], height: int, data: Mapping[str, Any], *, independent: Sequence[str] = ()
) -> Json:
    """Layers over each other, with their data by name; the channels in `independent` have a scale in each."""
    return {
        "width": "container",
        "height": height,
        "padding": {"left": 4, "top": 8, "right": 8, "bottom": 4},
        # Text beside the plot counts as a part of it, so it has its room.
        "autosize": {"type": "fit-x", "contains": "padding"},
        "layer": list(layers),
        "datasets": dict(data),
        **({"resolve": {"scale": dict.fromkeys(independent, "independent")}} if independent else {}),
    }


def with_names(
    layers: Sequence[Json],
    height: int,
    data: Mapping[str, Any],
    colours: Json,
    ends: Mapping[str, float],
    axis: Json,
) -> Json:
    """Layers of lines, with contenders' names beside the right edge: at the heights of their lines' `ends` on
    the upright `axis` (of `numbers`)."""
    (low, high), log = axis["scale"]["domain"], axis["scale"].get("type") == "log"
    wanted = {name: height_of(value, low, high, height, log=log) for name, value in ends.items()}
    names = beside("labels", text="contender", y=quantitative("y", scale=None, axis=None), colour=colours)
    return layered([*layers, names], height, {**data, "labels": label_rows(wanted, height)})


def numbers(title: str, low: float, high: float, *, log: bool = True, clamp: bool = False) -> Json:
    """The properties of a channel of numbers from `low` to `high`, with round ticks. `clamp`: what lies
    outside is drawn at the end."""
    scale: Json = {"type": "log" if log else "linear", "domain": [low, high], "nice": False}
    ticks: Json = {"values": log_ticks(low, high)} if log else {"tickCount": 6}
    return {
        "title": title,
        "scale": {**scale, **({"clamp": True} if clamp else {})},
        "axis": {"format": ",~r", **ticks},
    }


def with_grid(axis: Json) -> Json:
    """The properties of a channel with lines at its ticks."""
    return {**axis, "axis": {**axis["axis"], "grid": True}}


def panels(analysis: RunAnalysis, draw: Callable[[Point], Json | None]) -> tuple[Panel, ...]:
    """A panel for each point at which there is something to draw."""
    drawn = ((point, draw(point)) for point in analysis.points)
    return tuple(Panel(analysis.label(point), spec) for point, spec in drawn if spec)


def axis_title(metric: Metric, unit_name: str) -> str:
    """`Per hop (µs)`."""
    return f"{metric.title} ({unit_name})" if unit_name else metric.title


def sentence(text: str) -> str:
    """An explanation as a sentence."""
    return f"{capitalised(text)}."


@dataclass(frozen=True, slots=True)
class Mark:
    """One dot with its interval, of a contender (or another label): in a row of a dot plot, or at an x of a
    line. `absent`: what stands there without a value. `then`: a published value beside it."""

    label: str
    value: Interval | None
    x: float = 0.0
    absent: str = "–"
    then: float | None = None

    @property
    def low(self) -> float:
        """The lower end of the interval, the estimate without one, 0 without a value."""
        if self.value is None:
            return 0.0
        return self.value.estimate if self.value.low is None else self.value.low

    @property
    def high(self) -> float:
        """The upper end of the interval, the estimate without one, 0 without a value."""
        if self.value is None:
            return 0.0
        return self.value.estimate if self.value.high is None else self.value.high


def rows(marks: Sequence[Mark], metric: Metric, unit: float) -> list[Json]:
    """The data of a panel: positions as numbers in the axis' unit, and the same as texts for a tooltip."""
    data: list[Json] = []
    for mark in marks:
        row: Json = {"contender": mark.label, "x": mark.x}
        if value := mark.value:
            row |= {
                "median": value.estimate / unit,
                "low": None if value.low is None else value.low / unit,
                "high": None if value.high is None else value.high / unit,
                "shown": units.quantity(value.estimate, metric.unit),
                "interval": _interval_text(value, metric.unit),
                "n": units.count(value.n, "block"),
            }
        if mark.then is not None:
            row |= {"then": mark.then, "then_shown": units.significant(mark.then)}
        data.append(row)
    return data


def horizontal(marks: Iterable[Mark], unit: float, title: str) -> Json:
    """The properties of the channel of a dot plot: logarithmic wherever all medians are positive."""
    present = [mark for mark in marks if mark.value]
    medians = [mark.value.estimate / unit for mark in present if mark.value]
    ends = [end / unit for mark in present for end in (mark.low, mark.high)]
    if min(medians) > 0:
        low = min([*medians, *(end for end in ends if end > 0)]) / 1.3
        return with_grid(numbers(title, low, max(ends) * 1.3, clamp=True))
    low, high = min(0.0, *ends), max(0.0, *ends) or 1.0
    scale = {"type": "linear", "domain": [low, high], "nice": True}
    return {"title": title, "scale": scale, "axis": {"format": ",~r", "tickCount": 5}}


def row_axis(labels: Sequence[str], **more: Any) -> Json:
    """The encoding of rows, in their order."""
    return nominal(
        "contender",
        sort=list(labels),
        scale={"domain": list(labels)},
        axis={
            **{"title": None, "domain": False, "ticks": False, "grid": True},
            **{"labelColor": "var(--ink)", "labelPadding": 8},
            **more,
        },
    )


def interval_rows(field: str, across: Json, y: Json, colours: Json, tips: list[Json]) -> list[Json]:
    """The layers of rows with intervals: a bar from `low` to `high`, a point at `field`, which has the
    tooltip, and the row's `text` beside the right edge. `across`: properties of the horizontal channel."""
    bar = {"x": quantitative("low", **across), "x2": {"field": "high"}, "y": y, "color": colours}
    dot = {"x": quantitative(field, **across), "y": y, "color": colours, "tooltip": tips}
    return [
        layer("rows", "rule", valid="low", strokeWidth=7, opacity=0.35, encoding=bar),
        layer("rows", "point", valid=field, filled=True, size=70, opacity=1, encoding=dot),
        beside("rows", text="text", y=y, colour={"value": "var(--ink)"}),
    ]


def middle_unit(marks: Sequence[Mark], unit: str) -> tuple[float, str]:
    """One unit for a dot plot: that of the middle between the smallest and the largest."""
    values = [abs(mark.value.estimate) for mark in marks if mark.value and mark.value.estimate]
    middle = math.sqrt(min(values)) * math.sqrt(max(values)) if values else 1.0
    return units.scale(middle, unit)


def _interval_text(value: Interval, unit: str) -> str:
    if value.low is None or value.high is None:
        return "too few blocks"
    return f"{units.quantity(value.low, unit)} – {units.quantity(value.high, unit)}"
