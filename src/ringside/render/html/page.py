"""A run, or several, as one page that needs no network. Its looks are in page.css, its little behaviour in
page.js, its order in page.html.j2.

Whatever comes from contenders, files or a store is hostile: the template escapes all of it, control and
direction characters are made visible, and the page's Content-Security-Policy lets only the two scripts run
that were put in here, known by their hashes, without eval and without any network.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import importlib
import importlib.metadata
import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from ringside import __version__
from ringside import units as numbers
from ringside.analysis.summary import Summary
from ringside.model.design import Cell
from ringside.model.results import Outcome
from ringside.render import sentences
from ringside.render.documents import document
from ringside.render.plots import charts, drawing
from ringside.render.table import column_kinds
from ringside.render.tables import tables
from ringside.text import one_line

_HERE = Path(__file__).parent
# Longer sources are shown without colours: highlighting is slow, and nobody reads that far.
_HIGHLIGHTED_CHARACTERS = 64 * 1024
# Verdicts at more points than this are folded away below the summary of all.
_OPEN_POINTS = 6
_AXIS_PIXELS = 54
_LIGHT_STYLE, _DARK_STYLE = "xcode", "github-dark"


@dataclass(frozen=True, slots=True)
class Page:
    """A run's part of the page. `sources`: texts by hash, to which the plan's `files` refer."""

    summary: Summary
    sources: Mapping[str, str]


def render(pages: Sequence[Page]) -> str:
    """The whole page. Without the packages that draw plots it says so and has all the rest."""
    absent = charts.missing()
    specs: list[dict[str, Any]] = []
    sections = [_section(page, number, specs, absent is None) for number, page in enumerate(pages, 1)]
    scripts = [_script(text) for text in (_vega(), _read("page.js"))] if specs else []
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        finalize=_visible,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = _code
    return environment.get_template("page.html.j2").render(
        title=" · ".join(dict.fromkeys(page.summary.experiment.title for page in pages)),
        sections=sections,
        absent=absent,
        policy=_policy([digest for _, digest in scripts]),
        scripts=[Markup(text) for text, _ in scripts],
        style=Markup(_read("page.css") + _highlighting_css()),
        specs=_json({"config": charts.config(), "specs": specs}),
        data=_json({"format": 1, "runs": [_data(page.summary) for page in pages]}),
        version=__version__,
    )


def _section(page: Page, number: int, specs: list[dict[str, Any]], drawn: bool) -> dict[str, Any]:
    """What the template shows of one run. Specifications of plots are put behind `specs`."""
    summary = page.summary
    headline = summary.metrics()[0]
    found_charts = []
    for chart in charts.charts(summary) if drawn else ():
        panels = []
        for panel in chart.panels:
            # Room is kept for it, so that the page does not jump when it is drawn.
            height = panel.spec["height"] + _AXIS_PIXELS
            panels.append({"title": panel.title, "number": len(specs), "height": height})
            specs.append(panel.spec)
        found_charts.append({"title": chart.title, "caption": chart.caption, "panels": panels})
    return {
        "id": f"run-{number}",
        "summary": summary,
        "date": summary.run.started_at[:16].replace("T", " "),
        "machine": _machine(summary.run.host),
        "fixed": " ".join(f"{factor}={level}" for factor, level in summary.fixed().items()),
        "headline": headline,
        "thing": sentences.thing(headline),
        "overall": sentences.overall(summary, headline),
        "points": [
            {"label": str(summary.label(point)), "sentences": sentences.at_point(summary, headline, point)}
            for point in summary.points
        ],
        "open": len(summary.points) <= _OPEN_POINTS,
        "charts": found_charts,
        "colours": {name: drawing.colour(summary, name) for name in summary.names()},
        "tables": [
            {"data": table, "kinds": column_kinds(table), "worded": "verdict" not in table.columns}
            for table in tables(summary)
        ],
        "contenders": [_contender(page, name) for name in summary.names()],
        "host": _host(summary.run.host),
        "resolved": json.dumps(summary.run.plan["experiment"], indent=2, ensure_ascii=False),
    }


def _contender(page: Page, name: str) -> dict[str, Any]:
    described = page.summary.contenders[name]
    files = [
        (path, page.sources.get(digest, "(not kept)"))
        for path, digest in sorted(described["files"].items(), key=_by_interest)
    ]
    readme = next((text for path, text in files if path.lower() == "readme.md"), None)
    return {
        "name": name,
        "described": described,
        "command": " ".join(described["command"]),
        "readme": _markdown(readme) if readme else None,
        "files": [
            {"path": path, "code": _highlighted(path, text), "lines": text.count("\n") + 1}
            for path, text in files
            if path.lower() != "readme.md"
        ],
        "failures": [
            {"label": page.summary.label(cell.point), "reason": found.reason, "stderr": found.stderr}
            for cell, found in page.summary.cells.items()
            if cell.contender == name and any(outcome is not Outcome.OK for outcome in found.outcomes)
        ],
    }


def _by_interest(item: tuple[str, str]) -> tuple[bool, str]:
    """Programs first, manifests and locks behind."""
    return item[0].endswith((".toml", ".lock", ".sum", ".mod", ".json")), item[0]


def _markdown(text: str) -> Markup:
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    # A picture would have to be fetched.
    reader.disable("image")
    return Markup(reader.render(_clean(text)))


def _highlighted(path: str, text: str) -> Markup:
    text = _clean(text)
    if len(text) > _HIGHLIGHTED_CHARACTERS:
        return Markup("{}").format(text)
    from pygments import formatters, highlight  # type: ignore[import-untyped]

    return Markup(highlight(text, _lexer(Path(path).name), formatters.HtmlFormatter(nowrap=True)))


@functools.cache
def _lexer(name: str) -> Any:
    # Kept, as it goes through some five hundred languages' patterns each time.
    from pygments import lexers, util

    try:
        return lexers.get_lexer_for_filename(name)
    except util.ClassNotFound:
        return lexers.TextLexer()


def _highlighting_css() -> str:
    from pygments import formatters

    def rules(style: str) -> str:
        lines = formatters.HtmlFormatter(style=style).get_style_defs(".code").splitlines()
        return "\n".join(line for line in lines if line.startswith(".code ."))

    dark = f"@media screen and (prefers-color-scheme: dark) {{\n{rules(_DARK_STYLE)}\n}}"
    return f"{rules(_LIGHT_STYLE)}\n{dark}\n"


def _clean(text: str) -> str:
    """Lines of untrusted text with what cannot be seen made visible, tabs as spaces."""
    lines = text.expandtabs(4).replace("\r\n", "\n").split("\n")
    return "\n".join(line if line.isprintable() else one_line(line, len(line) + 1) for line in lines)


def _visible(value: Any) -> Any:
    return _clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _code(text: str) -> Markup:
    """A sentence of ours with what stands in backquotes as code."""
    parts = _clean(text).split("`")
    return Markup("").join(
        Markup("<code>{}</code>" if i % 2 else "{}").format(p) for i, p in enumerate(parts)
    )


def _machine(host: Mapping[str, Any]) -> str:
    """The machine in one line."""
    memory, usable = host.get("memory_bytes"), len(host.get("cpus_usable") or [])
    cpus = f"{host.get('cpus', '?')} CPUs"
    parts = [
        str(host.get("cpu_model") or "unknown CPU"),
        cpus if usable in (0, host.get("cpus")) else f"{cpus}, {usable} usable",
        f"Linux {host.get('kernel') or '?'}",
        f"virtual machine ({host['hypervisor']})" if host.get("hypervisor") else "no hypervisor seen",
        numbers.quantity(memory, "B") if isinstance(memory, int) else "",
    ]
    return " · ".join(part for part in parts if part)


def _host(host: Mapping[str, Any]) -> list[tuple[str, str]]:
    """All facts of the machine as rows: what, how much."""
    rows = []
    for key, value in host.items():
        pairs = value.items() if isinstance(value, Mapping) else [("", value)]
        for inside, item in pairs:
            name = " ".join(filter(None, (key, inside))).replace("_bytes", "").replace("_", " ")
            if item is None:
                text = "not told"
            elif isinstance(item, list | tuple):
                text = ", ".join(map(str, item))
            elif key.endswith("_bytes") and isinstance(item, int):
                text = numbers.quantity(item, "B")
            else:
                text = f"{item:,}" if isinstance(item, int) else str(item)
            rows.append((name, text))
    return rows


def _data(summary: Summary) -> dict[str, Any]:
    """The command line's document, with the figures of each block besides."""
    found = document(summary)
    for cell in found["cells"]:
        kept = summary.cells[_cell(summary, cell)]
        cell["by_block"] = {name: dict(values) for name, values in kept.by_block.items()}
    return found


def _cell(summary: Summary, row: Mapping[str, Any]) -> Cell:
    point = next(point for point in summary.points if point.as_dict() == row["point"])
    return Cell(row["contender"], point)


def light_colours() -> dict[str, str]:
    """The page's colours in the light, by the names of its variables."""
    first = _read("page.css").split("}", 1)[0]
    return dict(re.findall(r"--([a-z0-9]+): *(#[0-9a-f]{6});", first))


def _json(value: Any) -> Markup:
    """JSON that can stand inside a script element: no character of it begins a tag or a comment."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _policy(digests: Sequence[str]) -> str:
    scripts = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _script(text: str) -> tuple[str, str]:
    """A script as it stands in the page, and the hash by which the policy knows it."""
    safe = text.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return safe, base64.b64encode(hashlib.sha256(safe.encode()).digest()).decode()


def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _vega() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, from vl-convert. To bundle them takes it seconds, so
    the result is kept in the user's cache, by vl-convert's version."""
    version = importlib.metadata.version("vl-convert-python")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    kept = Path(base) / "ringside" / f"vega-{version}.js"
    with contextlib.suppress(OSError):
        return kept.read_text(encoding="utf-8")
    # By name, as its stub demands an argument that it does without.
    bundle: str = importlib.import_module("vl_convert").javascript_bundle()
    # Names at its top level stay its own.
    text = f"(() => {{{bundle}\n}})();"
    # A page can be made without a cache, so whatever goes wrong with it goes by.
    with contextlib.suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=kept.parent, encoding="utf-8", delete=False) as partial:
            partial.write(text)
        Path(partial.name).replace(kept)
    return text
