"""The overview as a picture: problems × contenders, coloured by how far each is behind the best."""

from __future__ import annotations

import math

from ringside import units
from ringside.analysis.suite import Overview
from ringside.render.plots.spec import Panel, layer, layered, nominal, quantitative, tooltip

_ROW = 26
# Everything this many times behind the best, and more, has the darkest colour.
_WORST = 100.0
# What is ahead of the best by more has two digits, which fit.
_AHEAD = 0.995
_LEVEL = 8


def overview_panel(overview: Overview) -> Panel:
    """A field for each contender that took part in a problem, with its ratio to the best."""
    rows = [
        {
            "problem": column.label,
            "contender": name,
            # The floor is ahead of the best.
            "behind": math.log10(min(max(ratio, 1.0), _WORST)),
            "shown": units.significant(ratio) if ratio >= _AHEAD else f"{ratio:.2g}",
            "dark": ratio > _WORST**0.5,
        }
        for column in overview.columns
        for name in overview.names
        if (ratio := column.behind(name)) is not None
    ]
    # Names of many experiments have no room side by side.
    slanted = (
        {"labelAngle": -35, "labelAlign": "left"} if len(overview.columns) > _LEVEL else {"labelAngle": 0}
    )
    x = nominal("problem", sort=None, axis={"title": None, "orient": "top", "labelOverlap": False, **slanted})
    y = nominal("contender", sort=None, axis={"title": None})
    fields = layer(
        "rows",
        "rect",
        encoding={
            "x": x,
            "y": y,
            "color": quantitative(
                "behind",
                scale={"domain": [0, math.log10(_WORST)], "scheme": "viridis", "reverse": True},
                legend=None,
            ),
            "tooltip": tooltip(contender="contender", problem="problem", shown="times the best"),
        },
        stroke="var(--paper)",
    )
    texts = layer(
        "rows",
        "text",
        encoding={
            "x": x,
            "y": y,
            "text": nominal("shown"),
            "color": {"condition": {"test": "datum.dark", "value": "#ffffff"}, "value": "#000000"},
        },
        fontSize=12 if len(overview.columns) <= _LEVEL else 10,
    )
    names = {row["contender"] for row in rows}
    return Panel(
        "Times the best of each problem", layered([fields, texts], _ROW * len(names), {"rows": rows})
    )
