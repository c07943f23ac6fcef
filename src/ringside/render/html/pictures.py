"""Pictures that need no script: a row for each contender, its interval as a bar and its median as a dot, all
on one axis. Places are shares of the axis, 0 to 1."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from ringside import units
from ringside.analysis.families import FamilyStanding, QuestionAnswer
from ringside.analysis.history import History
from ringside.render.plots.charts import config, missing
from ringside.render.plots.lines import history_chart
from ringside.render.plots.spec import Json, log_ticks
from ringside.render.text import families
from ringside.render.text.changes import change_table, run_table
from ringside.render.text.words import where

# The width of plots, in pixels.
_WIDTH = 1100
# More labels would touch each other beside a second panel.
_MAX_TICKS = 4
_EDGE = 0.08


def axis(values: Sequence[float], unit: str) -> tuple[Callable[[float], float], list[float]]:
    """The place of a value on an axis with some room at its ends, logarithmic where all values are positive,
    and the values of its ticks."""
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
    return (lambda value: round((scaled(value) - low) / (high - low), 4), ticks)


def labelled(ticks: Sequence[float], place: Callable[[float], float], unit: str) -> list[dict[str, Any]]:
    """Ticks as the templates draw them. `edge`: the side at which a label would leave the picture."""
    return [
        {
            "place": place(tick),
            "text": units.quantity(tick, unit),
            "edge": "first" if place(tick) < _EDGE else "last" if place(tick) > 1 - _EDGE else "",
        }
        for tick in ticks
    ]


def family_picture(standing: FamilyStanding) -> dict[str, Any]:
    """What the template draws: an axis, logarithmic where all figures are positive, and for each family its
    range and a dot for each contender. Places are shares of the axis, 0 to 1."""
    unit = standing.unit
    values = {name: standing.values[name].estimate for name in standing.contenders}
    place, ticks = axis(list(values.values()), unit)
    return {
        "title": f"Times better than at {families.other_point(standing)}"
        if standing.over
        else standing.metric.title,
        "ticks": labelled(ticks, place, unit),
        "better": "left" if standing.smaller_is_better else "right",
        "rows": [
            {
                "family": families.FAMILIES[family.name],
                "from": min(place(values[name]) for name in family.members),
                "to": max(place(values[name]) for name in family.members),
                "dots": [
                    {
                        "name": name,
                        "place": place(values[name]),
                        "text": families.amount(standing, name),
                        "median": families.median(standing, name),
                    }
                    for name in family.members
                ],
            }
            for family in standing.families
        ],
    }


def family_view(standing: FamilyStanding) -> dict[str, Any]:
    """What a page shows of the families at a point."""
    return {
        "where": where(standing.analysis, standing.point, ""),
        "sentences": families.sentences(standing),
        "picture": family_picture(standing),
    }


def questions_of_page(answers: Iterable[QuestionAnswer]) -> list[dict[str, Any]]:
    """The questions that were measured, as a page shows them."""
    return [
        {
            "text": answer.question.text,
            "name": answer.question.name,
            "holds": answer.question.holds,
            "limits": answer.question.limits,
            "parts": [
                {
                    "words": part.figure.words,
                    **family_view(part.standing),
                    "lacking": part.standing.lacking,
                    "experiment": part.standing.analysis.experiment.name,
                }
                for part in answer.parts
                if part.standing
            ],
        }
        for answer in answers
        if answer.is_measured
    ]


def history_view(history: History, links: Mapping[str, str]) -> dict[str, Any]:
    """What the template shows. `links`: addresses of reports by the runs' ids."""
    plots = history_chart(history) if len(history.runs) > 1 and history.series else None
    return {
        "history": history,
        "plots": plots,
        "drawings": [(panel.title, drawing(panel.spec)) for panel in plots.panels] if plots else [],
        "tables": [change_table(history), run_table(history)],
        "links": links,
    }


def drawing(spec: Json, width: int = _WIDTH) -> Markup | None:
    """A plot as SVG that stands in a page and has its colours, light or dark; `width`: of the plot without
    its axis, in pixels. None where the package that draws is missing."""
    if missing():
        return None
    convert = importlib.import_module("vl_convert")
    svg: str = convert.vegalite_to_svg(json.dumps({**spec, "width": width, "config": config()}))
    return Markup(svg)
