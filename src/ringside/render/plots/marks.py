"""Estimates with their intervals as rows of data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ringside import units
from ringside.model.design import Metric
from ringside.model.results import Interval
from ringside.render.plots.layout import log_ticks
from ringside.render.plots.spec import Json, beside, layer, quantitative


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


def horizontal(marks: Iterable[Mark], unit: float) -> tuple[Json, Json]:
    """The scale and the axis of a dot plot: logarithmic wherever all medians are positive."""
    present = [mark for mark in marks if mark.value]
    medians = [mark.value.estimate / unit for mark in present if mark.value]
    ends = [end / unit for mark in present for end in (mark.low, mark.high)]
    if min(medians) > 0:
        low = min([*medians, *(end for end in ends if end > 0)]) / 1.3
        high = max(ends) * 1.3
        scale = {"type": "log", "domain": [low, high], "nice": False, "clamp": True}
        return scale, {"format": ",~r", "values": log_ticks(low, high), "grid": True}
    low, high = min(0.0, *ends), max(0.0, *ends) or 1.0
    scale = {"type": "linear", "domain": [low, high], "nice": True}
    return scale, {"format": ",~r", "tickCount": 5}


def row_axis(labels: Sequence[str]) -> Json:
    """The encoding of rows, in their order."""
    axis = {
        "title": None,
        "domain": False,
        "ticks": False,
        "grid": True,
        "labelColor": "var(--ink)",
        "labelPadding": 8,
    }
    return {
        "field": "contender",
        "type": "nominal",
        "sort": list(labels),
        "scale": {"domain": list(labels)},
        "axis": axis,
    }


def interval_rows(field: str, across: Json, y: Json, colours: Json, tips: list[Json]) -> list[Json]:
    """The layers of rows with intervals: a bar from `low` to `high`, a point at `field`, which has the
    tooltip, and the row's `text` beside the right edge. `across`: properties of the horizontal channel."""
    bars = layer(
        "rows",
        "rule",
        valid="low",
        strokeWidth=7,
        opacity=0.35,
        encoding={"x": quantitative("low", **across), "x2": {"field": "high"}, "y": y, "color": colours},
    )
    points = layer(
        "rows",
        "point",
        valid=field,
        filled=True,
        size=70,
        opacity=1,
        encoding={"x": quantitative(field, **across), "y": y, "color": colours, "tooltip": tips},
    )
    return [bars, points, beside("rows", text="text", y=y, colour={"value": "var(--ink)"})]


def middle_unit(marks: Sequence[Mark], unit: str) -> tuple[float, str]:
    """One unit for a dot plot: that of the middle between the smallest and the largest."""
    values = [abs(mark.value.estimate) for mark in marks if mark.value and mark.value.estimate]
    middle = math.sqrt(min(values)) * math.sqrt(max(values)) if values else 1.0
    return units.scale(middle, unit)


def _interval_text(value: Interval, unit: str) -> str:
    if value.low is None or value.high is None:
        return "too few blocks"
    return f"{units.quantity(value.low, unit)} – {units.quantity(value.high, unit)}"
