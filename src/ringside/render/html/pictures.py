"""Pictures without scripts: intervals and medians in rows on one axis. Places are shares of it, 0 to 1."""

import importlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from ringside import units
from ringside.analysis.families import FamilyStanding
from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import OverviewCell, OverviewColumn
from ringside.model.design import Point
from ringside.model.results import Interval
from ringside.render.plots.charts import CONFIG, missing
from ringside.render.plots.spec import Json, ends, log_ticks
from ringside.render.text import families
from ringside.render.text.words import FAMILIES
from ringside.text import capitalised

# The width of plots, in pixels.
_WIDTH = 1100
# More labels would touch each other beside a second panel.
_MAX_TICKS = 4
_EDGE = 0.08
# The share of the narrowest picture that a label takes.
_LABEL = 0.32


def axis(values: Sequence[float], unit: str) -> tuple[Callable[[float], float], list[float]]:
    """Places on an axis, 0 to 1, and its ticks. It is logarithmic for positive values; values beyond an end
    have their place there."""
    least, most = min(values), max(values)
    is_logarithmic = least > 0
    scaled: Callable[[float], float] = math.log10 if is_logarithmic else float
    low, high = scaled(least if is_logarithmic else min(least, 0.0)), scaled(most)
    room = 0.04 * (high - low) or 0.5
    low, high = low - room, high + room
    ticks = sorted({least, most})
    if is_logarithmic:
        # Round in the unit in which they are written, such as KiB.
        factor, _ = units.scale(10**low, unit)
        ticks = [tick * factor for tick in log_ticks(10**low / factor, 10**high / factor, _MAX_TICKS)]
        bits = range(math.ceil(low / math.log10(2)), math.floor(high / math.log10(2)) + 1)
        powers = [2.0**bit for bit in bits]
        if unit == "B" and len(powers) > 1:
            ticks = powers[:: math.ceil(len(powers) / _MAX_TICKS)]

    def place(value: float) -> float:
        if is_logarithmic and value <= 0:
            return 0.0
        return round(min(1.0, max(0.0, (scaled(value) - low) / (high - low))), 4)

    return place, ticks


def labelled(ticks: Sequence[float], place: Callable[[float], float], unit: str) -> list[dict[str, Any]]:
    """The ticks whose labels do not touch. `edge`: the side at which a label would leave the picture."""
    shown: list[dict[str, Any]] = []
    end = -1.0
    for tick in ticks:
        at = place(tick)
        edge = "first" if at < _EDGE else "last" if at > 1 - _EDGE else ""
        left = at - {"first": 0.0, "last": 1.0, "": 0.5}[edge] * _LABEL
        if left > end:
            shown.append({"place": at, "text": units.quantity(tick, unit), "edge": edge})
            end = left + _LABEL
    return shown


def picture(
    title: str,
    values: Mapping[str, Interval],
    unit: str,
    notes: Mapping[str, str],
    lacking: Sequence[str],
    *,
    smaller_is_better: bool,
    floor: str | None = None,
) -> dict[str, Any]:
    """An axis and a row for each contender, in the order of `values`. `notes`: texts beside names, such as
    the family. A floor beyond the axis of the programs stands at its edge."""
    programs = [value for name, value in values.items() if name != floor] or list(values.values())
    is_positive = all(value.estimate > 0 for value in programs)
    place, ticks = axis([end for end in ends(programs) if end > 0 or not is_positive], unit)

    def row(name: str, value: Interval) -> dict[str, Any]:
        dot = place(value.estimate)
        return {
            "name": name,
            "note": notes.get(name, ""),
            "place": dot,
            "from": dot if value.low is None else place(value.low),
            "to": dot if value.high is None else place(value.high),
            "beyond": {0.0: "◂", 1.0: "▸"}.get(dot, ""),
            "is_floor": name == floor,
            "text": units.with_interval(value, unit),
        }

    rows = [row(name, value) for name, value in values.items()]
    return {
        "title": title,
        "ticks": labelled(ticks, place, unit),
        "better": "left" if smaller_is_better else "right",
        "rows": sorted(rows, key=lambda each: each["is_floor"]),
        "lacking": lacking,
    }


def headline_picture(analysis: RunAnalysis, point: Point) -> dict[str, Any] | None:
    """The headline of all contenders at a point, in the order of the tables; None if none has a figure."""
    metric, ranking = analysis.headline, analysis.rankings[analysis.headline.name, point]
    values = {name: value for name in ranking.order if (value := analysis.figure(name, point))}
    if not values:
        return None
    first = analysis.kind(ranking.order[0])
    notes = {
        name: FAMILIES.get(planned.family, "") if analysis.kind(name) == first else analysis.kind(name)
        for name, planned in analysis.contenders.items()
    }
    title = f"{capitalised(metric.noun)}: {analysis.label(point)}"
    lacking = [name for name in analysis.names if name not in values]
    better = metric.smaller_is_better
    return picture(title, values, metric.unit, notes, lacking, smaller_is_better=better, floor=analysis.floor)


def standing_picture(standing: FamilyStanding) -> dict[str, Any]:
    """The figures of a question, family by family."""
    names = {name: FAMILIES[family] for family, members in standing.families.items() for name in members}
    title = standing.metric.title
    if standing.over:
        title = f"Times better than at {families.other_point(standing)}"
    title += f": {standing.analysis.label(standing.point)}"
    values = {name: standing.values[name] for name in names}
    better = standing.smaller_is_better
    return picture(title, values, standing.unit, names, standing.lacking, smaller_is_better=better)


def drawing(spec: Json, width: int = _WIDTH) -> Markup | None:
    """A plot as SVG in the page's colours, `width` pixels wide; None if the drawing package is missing."""
    if missing():
        return None
    convert = importlib.import_module("vl_convert")
    return Markup(convert.vegalite_to_svg(json.dumps({**spec, "width": width, "config": CONFIG})))


# The shares of a table's length at which a rank gets another tint.
_TINTS = 4


def tint(column: OverviewColumn, cell: OverviewCell) -> str:
    """From 0, the best ranks, to 3; none for a difference within the margin, whatever its rank."""
    if not cell.ranks or not cell.ratio:
        return "none"
    low, high = cell.ranks
    if low > 1 and cell.ratio <= 1 + column.analysis.experiment.margin:
        return "none"
    of_all = column.analysis.rankings[column.analysis.headline.name, column.point].ranks.values()
    share = ((low + high) / 2 - 1) / max(1, max(last for _, last in of_all) - 1)
    return "0" if low == 1 else str(min(_TINTS - 1, int(share * _TINTS)))
