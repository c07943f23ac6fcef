"""The parts of plots: colours, axes, layers, and the data of estimates."""

import itertools
import json
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.files import tables_beside
from ringside.model.design import Metric, Point
from ringside.model.results import Interval
from ringside.text import sentences

# Contenders in the order of the page's colours; each colour has a light and a dark form. The contenders that
# are compared most often come first: the first eight colours are distinct for the colour-blind, too.
BUNDLED = Path(__file__).with_name("colours.txt").read_text(encoding="utf-8").split()
FLOOR = "var(--limit)"
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")

# A part of a specification.
Json = dict[str, Any]


def colour(name: str, floor: str | None = None) -> str:
    """A contender's CSS colour, the same in all reports: by name, or by a checksum if it is not bundled."""
    if name == floor:
        return FLOOR
    known = name if name in BUNDLED else name.split("@")[0]
    number = BUNDLED.index(known) if known in BUNDLED else zlib.crc32(name.encode()) % len(BUNDLED)
    return f"var(--c{number})"


@dataclass(frozen=True, slots=True)
class Panel:
    """A picture: title and Vega-Lite specification, as wide as its container. `point`: the one it shows;
    `stem`: the name of its files without the suffix."""

    title: str
    spec: Json
    point: Point | None = None
    stem: str = ""

    @property
    def height(self) -> int:
        """Its height with the axis, in pixels: a page reserves it, so that nothing jumps."""
        return int(self.spec["height"]) + 54


@dataclass(frozen=True, slots=True)
class Chart:
    """Panels that are read together, with a caption. Each gets a description for screen readers."""

    title: str
    caption: str
    panels: tuple[Panel, ...]

    def __post_init__(self) -> None:
        for panel in self.panels:
            panel.spec["description"] = f"{self.title}: {panel.title}"


_CHARTS = tables_beside(__file__, "charts.toml")


def chart(name: str, panels: Iterable[Panel], what: str = "", **values: object) -> Chart:
    """The chart of that name in charts.toml with these values in its texts. `what`: an explanation."""
    values["what"] = sentences(what)
    title, caption = (_CHARTS[name][part].format(**values) for part in ("title", "caption"))
    return Chart(title, caption, tuple(panels))


def panels(analysis: RunAnalysis, draw: Callable[[Point], Json | None]) -> tuple[Panel, ...]:
    """A panel for each point at which there is something to draw."""
    drawn = ((point, draw(point)) for point in analysis.points)
    return tuple(Panel(analysis.label(point), spec, point) for point, spec in drawn if spec)


def template(name: str, **values: Any) -> Any:
    """The specification in NAME.json of this folder; the text `$x` in it stands for the value of `x`."""

    def filled(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: filled(each) for key, each in part.items()}
        if isinstance(part, list):
            return list(map(filled, part))
        return values[part[1:]] if isinstance(part, str) and part.startswith("$") else part

    return filled(json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8")))


# --- Axes ---

_MIN_TICKS = 3
_MOST_WORDS = 10


def log_ticks(low: float, high: float, most: int = 8) -> list[float]:
    """Three to `most` round numbers from `low` to `high`, both positive; one if these are equal."""
    if low == high:
        return [low]
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    series = ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7))
    choices = [[float(f"{step}e{decade}") for decade in decades for step in steps] for steps in series]
    # On a stretch too short for these, even distances: logarithms look even there, too.
    digits = math.floor(math.log10(high - low))
    for step in (float(f"{times}e{digits - lower}") for lower in (0, 1) for times in (5, 2, 1)):
        counts = range(math.ceil(low / step), math.floor(high / step) + 1)
        choices.append([float(f"{count * step:.12g}") for count in counts])
    inside = ([tick for tick in ticks if low <= tick <= high] for ticks in choices)
    ticks = next((ticks for ticks in inside if len(ticks) >= _MIN_TICKS), [low, high])
    return ticks[:: math.ceil(len(ticks) / most)]


def numbers(title: str, low: float, high: float, *, log: bool = True, grid: bool = False) -> Json:
    """A channel of numbers from `low` to `high` with round ticks. A log axis draws outliers at its ends."""
    scale: Json = {"type": "log", "clamp": True} if log else {"type": "linear"}
    ticks: Json = {"values": log_ticks(low, high)} if log else {"tickCount": 6}
    return {
        "title": title,
        "scale": {**scale, "domain": [low, high], "nice": False},
        "axis": {"format": ",~r", **ticks, **({"grid": True} if grid else {})},
    }


def axis(
    metric: Metric, values: Iterable[float], *, log: bool = True, room: float = 1.15, grid: bool = False
) -> tuple[float, Json]:
    """The unit of an axis for these values, and its channel. A logarithmic axis begins at the least positive
    value, another one at 0 or below; `room` is left beyond the ends."""
    kept = [value for value in values if value > 0 or not log]
    low, high = min(kept), max(kept)
    unit, unit_name = units.scale(math.sqrt(low) * math.sqrt(high) if log else max(-low, high), metric.unit)
    title = f"{metric.title} ({unit_name})" if unit_name else metric.title
    low = low / unit / room if log else min(low, 0.0) / unit
    return unit, numbers(title, low, max(high, 0.0) / unit * room or 1.0, log=log, grid=grid)


def ends(values: Iterable[Interval | None]) -> Iterator[float]:
    """Estimates and the ends of their intervals."""
    for value in values:
        if value:
            yield from (end for end in (value.low, value.estimate, value.high) if end is not None)


# --- Encodings ---


def quantitative(field: str, **properties: Any) -> Json:
    """An encoding of numbers."""
    return {"field": field, "type": "quantitative", **properties}


def nominal(field: str, **properties: Any) -> Json:
    """An encoding of names."""
    return {"field": field, "type": "nominal", **properties}


def x_axis(
    field: str, title: str, xs: Iterable[float], *, log: bool = False, words: Mapping[float, str] = {}
) -> Json:
    """An axis over the range of `xs`, logarithmic unless it begins at 0. `words`: its ticks."""
    places = sorted({*xs, *words})
    low, high = places[0], places[-1]
    log = log and low > 0
    # The prefix m of thousandths looks like a unit.
    ticks: Json = {"format": "~g" if any(0 < abs(x) < 1 for x in places) else "~s"}
    if words:
        # As an expression: Vega-Lite has no other way to words on an axis of numbers.
        choice = " : ".join(f"datum.value == {x!r} ? {json.dumps(word)}" for x, word in words.items())
        whole = [x for x in words if float(x).is_integer()]
        # Of many positions only whole numbers have labels: more labels would touch each other.
        places = whole if len(words) > _MOST_WORDS and len(whole) >= _MIN_TICKS else list(words)
        ticks = {"values": places, "labelExpr": f"{choice} : ''"}
    elif log:
        ticks["values"] = log_ticks(low, high)
    else:
        ticks["tickCount"] = 5
        ticks |= {"tickMinStep": 1} if all(float(x).is_integer() for x in places) else {}
    return quantitative(
        field,
        title=title.replace("`", "") or None,
        scale={"type": "log" if log else "linear", "domain": [low, high], "nice": False},
        axis={"grid": False, "labelFlush": False, **ticks},
    )


def by_contender(values: Mapping[str, Any]) -> Json:
    """An encoding that gives each contender its own value: a colour, a dash, a shape."""
    scale = {"domain": list(values), "range": list(values.values())}
    return nominal("contender", scale=scale, legend=None)


def hue(names: Iterable[str], floor: str | None = None) -> Json:
    """An encoding of contenders by their colours."""
    return by_contender({name: colour(name, floor) for name in names})


def tooltip(**titles: str) -> list[Json]:
    """Tooltips: titles by field, whose values are texts."""
    return [nominal(field, title=title) for field, title in titles.items()]


def estimate_tooltip(metric: Metric) -> list[Json]:
    """The tooltip of the data of `estimate`."""
    return tooltip(contender="contender", shown=metric.title, interval="95 % interval", n="n")


def row_axis(labels: Sequence[str], **more: Any) -> Json:
    """The encoding of rows, in their order."""
    look = {"title": None, "domain": False, "ticks": False, "grid": True, "labelColor": "var(--ink)"}
    names = list(labels)
    return nominal("contender", sort=names, scale={"domain": names}, axis={**look, "labelPadding": 8, **more})


# --- Layers ---


def layer(data: str, mark: str, *, valid: str = "", encoding: Json, **properties: Any) -> Json:
    """Draw the rows of `data` as marks with these properties; with `valid`, those that have that field."""
    drawn: Json = {"data": {"name": data}, "mark": {"type": mark, **properties}, "encoding": encoding}
    return drawn | ({"transform": [{"filter": f"isValid(datum.{valid})"}]} if valid else {})


def layered(layers: Sequence[Json], height: int, data: Mapping[str, Any]) -> Json:
    """Layers over each other, with their data by name. Text beside the plot has room as a part of it."""
    frame: Json = template("frame", layers=list(layers), height=height, data=dict(data))
    return frame


def beside(data: str, *, text: str, y: Json, colour: Json) -> Json:
    """A layer of texts, those in the field `text`, beside the right edge."""
    at = {"x": {"value": "width"}, "y": y, "text": nominal(text), "color": colour}
    return layer(data, "text", align="left", baseline="middle", dx=9, fontSize=12, encoding=at)


def interval_rows(field: str, across: Json, y: Json, colours: Json, tips: list[Json]) -> list[Json]:
    """Layers of rows: a bar `low` to `high`, a point at `field` with tooltip, `text` at the right edge."""
    low, x = (quantitative(name, **across) for name in ("low", field))
    channels = {"low": low, "x": x, "y": y, "colours": colours, "tips": tips}
    rows = template("intervals", **channels, valid=f"isValid(datum.{field})")
    return [*rows, beside("rows", text="text", y=y, colour={"value": "var(--ink)"})]


def estimate(name: str, value: Interval | None, metric: Metric, unit: float, **more: Any) -> Json:
    """The data of an estimate: numbers in the axis' unit, and the same as texts for a tooltip."""
    row: Json = {"contender": name, **more}
    if value:
        low, high = (None if end is None else end / unit for end in (value.low, value.high))
        interval = "too few blocks"
        if value.low is not None and value.high is not None:
            interval = " – ".join(units.quantity(end, metric.unit) for end in (value.low, value.high))
        row |= {"median": value.estimate / unit, "low": low, "high": high}
        row |= {"shown": units.quantity(value.estimate, metric.unit), "interval": interval}
        row |= {"n": units.count(value.n, "block")}
    return row


_LABEL_SPACE = 14


def edge_labels(wanted: Mapping[str, float], height: float) -> list[Json]:
    """Labels beside the right edge, near the places `wanted`, a line apart and inside the panel. If there are
    too many, evenly spaced ones remain."""
    names = sorted(wanted, key=wanted.__getitem__)
    number = min(len(names), max(1, int(height // _LABEL_SPACE)))
    names = [names[place * len(names) // number] for place in range(number)]
    # Each moves down to a line below the one before, then up to leave room for those below it.
    moved = itertools.accumulate(map(wanted.__getitem__, names), lambda y, own: max(own, y + _LABEL_SPACE))
    rows = zip(names, moved, reversed(range(number)), strict=True)
    return [{"contender": name, "y": min(y, float(height) - n * _LABEL_SPACE)} for name, y, n in rows]


class LineLayers:
    """The layers of a line per contender through the rows' `field`. `x`: an encoding; `y`: the properties of
    a channel, as `numbers` makes them."""

    def __init__(
        self, x: Json, y: Json, names: Sequence[str], floor: str | None = None, field: str = "value"
    ) -> None:
        self.y, self.field = y, field
        self.level: Json = {"x": x, "y": quantitative(field, **y), "color": hue(names, floor)}
        # The floor's line is dashed.
        self.dashes = by_contender({name: [5, 4] if name == floor else [1, 0] for name in names})
        self.shapes = by_contender(dict(zip(names, itertools.cycle(_SHAPES), strict=False)))

    def intervals(self, mark: str = "area", *, data: str = "rows", **properties: Any) -> Json:
        """Bands from `low` to `high`, or bars as `rule`."""
        span = {**self.level, "y": quantitative("low", **self.y), "y2": {"field": "high"}}
        look = {"opacity": 0.2, "line": False} if mark == "area" else {"opacity": 0.35, "strokeWidth": 5}
        return layer(data, mark, valid="low", encoding=span, **{**look, **properties})

    def lines(self, data: str = "rows", *, detail: str = "contender", **properties: Any) -> Json:
        """A line for each value of `detail`."""
        stroke = {**self.level, "strokeDash": self.dashes, "detail": nominal(detail)}
        return layer(data, "line", encoding=stroke, **{"strokeWidth": 2, **properties})

    def dots(self, tips: list[Json], *, data: str = "rows", **properties: Any) -> Json:
        """Dots with tooltips."""
        dot = {**self.level, "shape": self.shapes, "tooltip": tips}
        return layer(data, "point", encoding=dot, **{"filled": True, "size": 46, "opacity": 1, **properties})

    def panel(self, layers: Sequence[Json], data: Mapping[str, Sequence[Json]], height: int = 260) -> Json:
        """The specification, with each contender's name at the end of its line in the first of the data."""
        rows, x = next(iter(data.values())), self.level["x"]["field"]
        last = {row["contender"]: row[self.field] for row in sorted(rows, key=lambda row: row[x])}
        low, high = self.y["scale"]["domain"]
        scaled = math.log if self.y["scale"]["type"] == "log" else float
        top, span = scaled(high), scaled(high) - scaled(low)
        places = {name: height * (top - scaled(value)) / span for name, value in last.items()}
        at_edge = quantitative("y", scale=None, axis=None)
        names = beside("labels", text="contender", y=at_edge, colour=self.level["color"])
        return layered([*layers, names], height, {**data, "labels": edge_labels(places, height)})
