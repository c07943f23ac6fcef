"""What specifications are put together from: panels, layers, encodings, colours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric
from ringside.render.plots.colours import of_contender
from ringside.text import capitalised

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
    return replace(
        chart,
        panels=tuple(
            replace(panel, spec={**panel.spec, "description": f"{chart.title}: {panel.title}"})
            for panel in chart.panels
        ),
    )


def colour(analysis: RunAnalysis, contender: str) -> str:
    """A contender's colour."""
    return of_contender(contender, analysis.floor)


def quantitative(field: str, **properties: Any) -> Json:
    """An encoding of numbers."""
    return {"field": field, "type": "quantitative", **properties}


def nominal(field: str, **properties: Any) -> Json:
    """An encoding of names."""
    return {"field": field, "type": "nominal", **properties}


def by_contender(names: Iterable[str], value_of: Callable[[str], Any]) -> Json:
    """An encoding that gives each contender a value of its own: a colour, a dash, a shape."""
    domain = list(names)
    return nominal(
        "contender", scale={"domain": domain, "range": [value_of(name) for name in domain]}, legend=None
    )


def hue(analysis: RunAnalysis, names: Iterable[str]) -> Json:
    """An encoding of contenders by their colours."""
    return by_contender(names, lambda name: colour(analysis, name))


def tooltip(**titles: str) -> list[Json]:
    """Tooltips: titles by field, whose values are texts."""
    return [nominal(field, title=title) for field, title in titles.items()]


def layer(data: str, mark: str, *, valid: str = "", encoding: Json, **properties: Any) -> Json:
    """A layer that draws the rows of `data` as marks with these properties; with `valid`, only those in which
    that field has a value."""
    drawn: Json = {
        "data": {"name": data},
        "mark": {"type": mark, **properties},
        "encoding": encoding,
    }
    return drawn | ({"transform": [{"filter": f"isValid(datum.{valid})"}]} if valid else {})


def end_labels(colours: Json) -> Json:
    """A layer of contenders' names beside the right edge, at the pixels of the data `labels`."""
    return beside("labels", text="contender", y=quantitative("y", scale=None, axis=None), colour=colours)


def beside(data: str, *, text: str, y: Json, colour: Json) -> Json:
    """A layer of texts, those in the field `text`, beside the right edge."""
    return layer(
        data,
        "text",
        align="left",
        baseline="middle",
        dx=9,
        fontSize=12,
        encoding={
            "x": {"value": "width"},
            "y": y,
            "text": nominal(text),
            "color": colour,
        },
    )


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


def axis_title(metric: Metric, unit_name: str) -> str:
    """`Per hop (µs)`."""
    return f"{metric.title} ({unit_name})" if unit_name else metric.title


def sentence(text: str) -> str:
    """An explanation as a sentence."""
    return f"{capitalised(text)}."
