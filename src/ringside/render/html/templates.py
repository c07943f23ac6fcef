"""The building blocks of pages: their own files, untrusted texts, scripts with the policy that lets only
these run, templates. All text is escaped, its control and direction characters are made visible, and an
unknown name is an error."""

import base64
import contextlib
import functools
import gzip
import hashlib
import importlib.metadata
import itertools
import json
import re
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from ringside import __version__, units
from ringside.files import cache_folder, whole_file
from ringside.render.html.pictures import drawing, headline_picture, standing_picture, tint
from ringside.render.plots.charts import missing
from ringside.render.plots.lines import history_chart
from ringside.render.plots.rows import diff_chart
from ringside.render.plots.spec import colour
from ringside.render.text import families
from ringside.render.text.answers import answers
from ringside.render.text.cells import column_kinds
from ringside.render.text.changes import change_table, diff_answer, diff_tables, run_table
from ringside.render.text.command import command_to_repeat, own_command
from ringside.render.text.contenders import claim_table, contender_table
from ringside.render.text.diagnostics import for_pages
from ringside.render.text.markdown import templates_in
from ringside.render.text.tables import point_table, tables
from ringside.render.text.words import APART, heading, machine, where
from ringside.text import capitalised, minute, one_line

FOLDER = Path(__file__).parent


def read_file(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


# Longer sources are shown without colours: highlighting is slow.
_MAX_HIGHLIGHTED_CHARACTERS = 64 * 1024


def clean(text: str) -> str:
    """Lines of untrusted text with invisible characters made visible, tabs as spaces."""
    lines = text.expandtabs(4).replace("\r\n", "\n").split("\n")
    return "\n".join(line if line.isprintable() else one_line(line, len(line) + 1) for line in lines)


def visible(value: Any) -> Any:
    """The output of a value in a template: text is cleaned, markup and other values stay unchanged."""
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def code(text: str) -> Markup:
    """A sentence of ours with what stands in backquotes as code."""
    parts = clean(text).split("`")
    return Markup("").join(
        Markup("<code>{}</code>" if number % 2 else "{}").format(part) for number, part in enumerate(parts)
    )


_ASIDE = re.compile(r'<a href="(?!https?://)[^"]*"[^>]*>(.*?)</a>', re.DOTALL)


def markdown(text: str) -> Markup:
    """Markdown without HTML and pictures: a picture would have to be fetched."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    # Files beside a text in its folder are not beside the page.
    return Markup(_ASIDE.sub(r"\1", reader.render(clean(text))))


def highlighted(path: str, text: str) -> Markup:
    """A source with its comments, strings and keywords in three elements, by the language of its path."""
    text = clean(text)
    if len(text) > _MAX_HIGHLIGHTED_CHARACTERS:
        return Markup("{}").format(text)
    name, suffix = Path(path).name, Path(path).suffix
    # The whole name may tell the language.
    lexer = _lexer(name if suffix in ("", ".txt") else f"source{suffix}")
    from pygments import token as kinds  # type: ignore[import-untyped]

    marks = ((kinds.Comment, "i"), (kinds.String, "em"), (kinds.Keyword, "b"))
    tokens = lexer.get_tokens(text)
    parts = ((next((mark for kind, mark in marks if token in kind), ""), part) for token, part in tokens)
    pieces = []
    for element, group in itertools.groupby(parts, key=itemgetter(0)):
        piece = "".join(part for _, part in group)
        marked = Markup(f"<{element}>{{}}</{element}>" if element and piece.strip() else "{}")
        pieces.append(marked.format(piece))
    return Markup("").join(pieces)


@functools.cache
def _lexer(name: str) -> Any:
    # Kept, as it goes through some five hundred languages' patterns each time.
    from pygments import lexers, util

    try:
        return lexers.get_lexer_for_filename(name)
    except util.ClassNotFound:
        return lexers.TextLexer()


def script(text: str) -> Markup:
    """A script that cannot end its own element."""
    return Markup(text.replace("</script", "<\\/script").replace("<!--", "<\\!--"))


def policy(scripts: Sequence[Markup]) -> str:
    """The page's Content-Security-Policy: these scripts by their hashes, no eval, no network."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts)
    hashes = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def packed(text: str) -> str:
    """A text as the page keeps it until it is needed: compressed, in base64. The same text gives the same."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def json_element(value: Any) -> Markup:
    """JSON that can stand inside a script element: no character of it begins a tag or a comment."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def vega() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, cached for the user, since bundling takes seconds."""
    version = importlib.metadata.version("vl-convert-python")
    cached = cache_folder() / f"vega-{version}.js"
    with contextlib.suppress(OSError):
        return cached.read_text(encoding="utf-8")
    # By name, as its stub demands an argument that it does without.
    bundle: str = importlib.import_module("vl_convert").javascript_bundle()
    # Names at its top level stay its own.
    text = f"(() => {{{bundle}\n}})();"
    # A page can be made without a cache, so its errors do not count.
    with contextlib.suppress(OSError):
        cached.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(cached) as partial:
            partial.write_text(text, encoding="utf-8")
    return text


# Functions that templates call.
_FUNCTIONS = (
    *(answers, change_table, claim_table, colour, command_to_repeat, contender_table, diff_answer),
    *(diff_chart, diff_tables, drawing, for_pages, heading, headline_picture, history_chart, missing),
    *(own_command, point_table, run_table, families.sentences, standing_picture, tables, tint, where),
)


@functools.cache
def environment(folder: Path = FOLDER) -> jinja2.Environment:
    """The environment of the templates in a folder, with the macros of ours behind them."""
    templates = templates_in(folder, FOLDER, autoescape=True, finalize=visible)
    templates.filters |= {"capitalised": capitalised, "code": code, "kinds": column_kinds}
    templates.filters |= {"machine": machine, "minute": minute}
    templates.filters["part"] = functools.partial(quote, safe="")
    templates.filters["json"] = functools.partial(json.dumps, indent=2, ensure_ascii=False)
    templates.globals |= {"version": __version__, "units": units, "APART": APART}
    templates.globals |= {function.__name__: function for function in _FUNCTIONS}
    return templates
