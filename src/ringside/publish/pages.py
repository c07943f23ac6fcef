"""The pages of a site: one file each, with their looks inside and no script."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from ringside.render.html import style
from ringside.render.html.templates import environment

_FOLDER = Path(__file__).parent / "templates"


@functools.cache
def _environment() -> jinja2.Environment:
    templates = environment(_FOLDER)
    templates.globals["style"] = Markup(style.read("page.css") + (_FOLDER / "site.css").read_text("utf-8"))
    return templates


def page(template: str, **values: Any) -> bytes:
    """A whole page. `root`: the way from the page's folder to the site's."""
    return _environment().get_template(template).render(**values).encode()
