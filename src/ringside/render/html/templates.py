"""How templates of pages are read, here and in packages above: all text is escaped, its control and direction
characters are made visible, and a name that is not known is an error."""

from __future__ import annotations

from pathlib import Path

import jinja2

from ringside import __version__
from ringside.render.html import sources, style
from ringside.render.plots.colours import of_contender
from ringside.render.table import column_kinds


def environment(*folders: Path) -> jinja2.Environment:
    """The environment of the templates in these folders, with the macros of ours behind them."""
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*folders, style.FOLDER]),
        autoescape=True,
        finalize=sources.visible,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["code"] = sources.code
    templates.filters["kinds"] = column_kinds
    templates.globals["version"] = __version__
    templates.globals["colours"] = of_contender
    return templates
