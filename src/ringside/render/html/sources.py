"""Untrusted texts as they stand in the page: sources with colours, Markdown, code in sentences."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ringside.text import one_line

# Longer sources are shown without colours: highlighting is slow.
_MAX_HIGHLIGHTED_CHARACTERS = 64 * 1024
_LIGHT_STYLE, _DARK_STYLE = "xcode", "github-dark"


def clean(text: str) -> str:
    """Lines of untrusted text with invisible characters made visible, tabs as spaces."""
    lines = text.expandtabs(4).replace("\r\n", "\n").split("\n")
    return "\n".join(line if line.isprintable() else one_line(line, len(line) + 1) for line in lines)


def visible(value: Any) -> Any:
    """What the template puts out: text is cleaned, markup and other values are left as they are."""
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def code(text: str) -> Markup:
    """A sentence of ours with what stands in backquotes as code."""
    parts = clean(text).split("`")
    return Markup("").join(
        Markup("<code>{}</code>" if number % 2 else "{}").format(part) for number, part in enumerate(parts)
    )


def markdown(text: str) -> Markup:
    """Markdown without HTML and pictures: a picture would have to be fetched."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    reader.disable("image")
    return Markup(reader.render(clean(text)))


def highlighted(path: str, text: str) -> Markup:
    """A source with colours by the language that its path tells."""
    text = clean(text)
    if len(text) > _MAX_HIGHLIGHTED_CHARACTERS:
        return Markup("{}").format(text)
    from pygments import formatters, highlight  # type: ignore[import-untyped]

    name, suffix = Path(path).name, Path(path).suffix
    # What such a file holds, its whole name may tell.
    lexer = _lexer(name if suffix in ("", ".txt") else f"source{suffix}")
    return Markup(highlight(text, lexer, formatters.HtmlFormatter(nowrap=True)))


def highlighting_css() -> str:
    """The colours of `highlighted`, in light and in dark."""
    from pygments import formatters

    def rules(style: str) -> str:
        lines = formatters.HtmlFormatter(style=style).get_style_defs(".code").splitlines()
        return "\n".join(line for line in lines if line.startswith(".code ."))

    dark = f"@media screen and (prefers-color-scheme: dark) {{\n{rules(_DARK_STYLE)}\n}}"
    return f"{rules(_LIGHT_STYLE)}\n{dark}\n"


@functools.cache
def _lexer(name: str) -> Any:
    # Kept, as it goes through some five hundred languages' patterns each time.
    from pygments import lexers, util

    try:
        return lexers.get_lexer_for_filename(name)
    except util.ClassNotFound:
        return lexers.TextLexer()
