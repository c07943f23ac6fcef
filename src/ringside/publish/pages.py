"""The pages of a site: one file each, with their looks inside and no script."""

from __future__ import annotations

import functools
import importlib
import json
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from ringside.render.html import style
from ringside.render.html.templates import environment
from ringside.render.plots.charts import config, missing
from ringside.render.plots.colours import of_contender
from ringside.render.plots.spec import Json

_FOLDER = Path(__file__).parent / "templates"
_WIDTH = 1100


@functools.cache
def _environment() -> jinja2.Environment:
    made = environment(_FOLDER)
    made.globals["colours"] = of_contender
    made.globals["style"] = Markup(style.read("page.css") + (_FOLDER / "site.css").read_text("utf-8"))
    return made


def page(template: str, **values: Any) -> bytes:
    """A whole page. `root`: the way from the page's folder to the site's."""
    return _environment().get_template(template).render(**values).encode()


def drawing(spec: Json) -> Markup | None:
    """A plot as SVG that stands in a page and has its colours, light or dark. None where the package that
    draws is missing."""
    if missing():
        return None
    convert = importlib.import_module("vl_convert")
    svg: str = convert.vegalite_to_svg(json.dumps({**spec, "width": _WIDTH, "config": config()}))
    return Markup(svg)
