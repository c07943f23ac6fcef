"""The pages' templates, and what all of them have in common. All text is escaped, and its control and
direction characters are made visible, as in the report."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2

from ringside.render.html import style
from ringside.render.html.scripts import vega
from ringside.render.html.templates import environment
from ringside.render.plots.charts import missing

_FOLDER = Path(__file__).parent
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@functools.cache
def _environment() -> jinja2.Environment:
    templates = environment(_FOLDER / "templates")
    templates.filters["part"] = lambda text: quote(text, safe="")
    templates.globals["asset"] = asset
    return templates


def page(template: str, **values: Any) -> str:
    """A whole page, or a part of one."""
    return _environment().get_template(template).render(**values)


@functools.cache
def file(name: str) -> tuple[bytes, str] | None:
    """A file that the pages load, and its type; None where there is none of that name."""
    if name == "vega.js":
        return (vega().encode(), _TYPES[".js"]) if missing() is None else None
    if name == "ringside.css":
        return (style.read("page.css") + _read("serve.css")).encode(), _TYPES[".css"]
    if name not in {path.name for path in (_FOLDER / "static").iterdir()} or name.endswith(".css"):
        return None
    return _read(name).encode(), _TYPES[Path(name).suffix]


@functools.cache
def asset(name: str) -> str:
    """The address of such a file, another one when it changes."""
    content = file(name)
    digest = hashlib.sha256(content[0]).hexdigest()[:12] if content else ""
    return f"/static/{name}?{digest}"


def _read(name: str) -> str:
    return (_FOLDER / "static" / name).read_text(encoding="utf-8")
