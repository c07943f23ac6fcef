"""A badge: who is first in a run, and its figure, as a small SVG."""

from __future__ import annotations

import unicodedata
from xml.sax.saxutils import escape, quoteattr

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.render.answers import leaders
from ringside.text import one_line

_HEIGHT, _SIDE, _SIZE = 20, 6, 11
_CHARACTER = 6.4
_MAX_TEXT = 60
_MAX_LEADERS = 3


def badge(analysis: RunAnalysis) -> str:
    """`time per hop | go 61.2 ns`; of several that share the first rank, all of them, or how many."""
    label = analysis.headline.noun
    message = one_line(_message(analysis), _MAX_TEXT)
    widths = [round(_width(text) + 2 * _SIDE) for text in (label, message)]
    title = one_line(f"{analysis.experiment.title}: {label}: {message}", 200)
    fitted = 'lengthAdjust="spacingAndGlyphs"'
    texts = "".join(
        f'<text x="{x}" y="14" textLength="{width - 2 * _SIDE}" {fitted}>{escape(text)}</text>'
        for x, width, text in ((_SIDE, widths[0], label), (widths[0] + _SIDE, widths[1], message))
    )
    total = sum(widths)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{_HEIGHT}" role="img" '
        'data-generator="ringside" '
        f"aria-label={quoteattr(title)}><title>{escape(title)}</title>"
        f'<rect width="{total}" height="{_HEIGHT}" rx="3" fill="#3b424b"/>'
        f'<path d="M{widths[0]} 0h{widths[1] - 3}a3 3 0 0 1 3 3v{_HEIGHT - 6}a3 3 0 0 1-3 3'
        f'h-{widths[1] - 3}z" fill="#0a5fb4"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="{_SIZE}">{texts}</g></svg>\n'
    )


def _message(analysis: RunAnalysis) -> str:
    metric = analysis.headline
    first = leaders(analysis, analysis.overview_point)
    if not first:
        return "no figures"
    value = units.metric_estimate(
        analysis.cell(first[0], analysis.overview_point).metrics[metric.name], metric
    )
    if len(first) > _MAX_LEADERS:
        return f"{len(first)} share the first rank"
    return f"{', '.join(first)} {value}" if len(first) == 1 else f"{' ≈ '.join(first)} {value}"


def _width(text: str) -> float:
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return (len(text) + wide) * _CHARACTER
