"""A run to publish: a badge, its data, and a post, which is a folder with `post.md`, plots and both."""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
import zlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from xml.sax import saxutils

from ringside.analysis.history import HistoryRun, of_analysis
from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import SuiteAnalysis, analyse_suite
from ringside.model.design import Metric, Point
from ringside.model.results import Answer, Interval
from ringside.render.export import formats
from ringside.render.export.documents import document
from ringside.render.html.front import commands, title
from ringside.render.plots import charts
from ringside.render.plots.charts import PanelFiles, missing
from ringside.render.site.folder import Folder
from ringside.render.text import heading
from ringside.render.text.answers import answer_text, short_answer
from ringside.render.text.contenders import claim_table, contender_table, overview_table
from ringside.render.text.markdown import escape, table_markdown, warning
from ringside.render.text.tables import tables
from ringside.render.text.words import where
from ringside.text import one_line

_BADGE_HEIGHT, _SIDE, _SIZE = 20, 6, 11
_CHARACTER = 6.4
_MAX_TEXT = 60


def badge(analysis: RunAnalysis) -> str:
    """`time per hop | go 61.2 ns`: the first sentence of the answer, in a few words."""
    label = one_line(f"{analysis.headline.noun}{where(analysis, analysis.conclusion.here.point)}", _MAX_TEXT)
    message = one_line(short_answer(analysis), _MAX_TEXT)
    widths = [round(_text_width(text) + 2 * _SIDE) for text in (label, message)]
    title = one_line(f"{analysis.experiment.title}: {label}: {message}", 200)
    fitted = 'lengthAdjust="spacingAndGlyphs"'
    texts = "".join(
        f'<text x="{x}" y="14" textLength="{width - 2 * _SIDE}" {fitted}>{saxutils.escape(text)}</text>'
        for x, width, text in ((_SIDE, widths[0], label), (widths[0] + _SIDE, widths[1], message))
    )
    total = sum(widths)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{_BADGE_HEIGHT}" role="img" '
        'data-generator="ringside" '
        f"aria-label={saxutils.quoteattr(title)}><title>{saxutils.escape(title)}</title>"
        f'<rect width="{total}" height="{_BADGE_HEIGHT}" rx="3" fill="#3b424b"/>'
        f'<path d="M{widths[0]} 0h{widths[1] - 3}a3 3 0 0 1 3 3v{_BADGE_HEIGHT - 6}a3 3 0 0 1-3 3'
        f'h-{widths[1] - 3}z" fill="#0a5fb4"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="{_SIZE}">{texts}</g></svg>\n'
    )


def _text_width(text: str) -> float:
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return (len(text) + wide) * _CHARACTER


_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def file_name(name: str) -> str:
    """A run's id, or an experiment's name, as the stem of a file on any host."""
    safe = _UNSAFE.sub("_", name).strip(".") or "run"
    return safe if safe == name else f"{safe[:80]}-{zlib.crc32(name.encode()):08x}"


def published_data(analysis: RunAnalysis) -> dict[str, Any]:
    """The document of `show --json`, with the headline's metric and the medians of the reference
    computations."""
    run = of_analysis(analysis)
    return {
        **document(analysis),
        "headline": asdict(analysis.headline),
        "references_ns": dict(run.references_ns),
    }


def as_bytes(values: Any) -> bytes:
    return (json.dumps(values, allow_nan=False, separators=(",", ":")) + "\n").encode()


def history_run(values: Any) -> tuple[HistoryRun, Metric]:
    """A published run as far as its history needs it, and the metric of its headline. Raises ValueError where
    the values are none of those that `published_data` makes."""
    try:
        metric = Metric(**values["headline"])
        contenders = values["contenders"]
        run = HistoryRun(
            id=str(values["run"]),
            started_at=str(values["started_at"]),
            host=dict(values["host"]),
            figures={
                (cell["contender"], Point(tuple(cell["point"].items()))): Interval(
                    each["median"], each["low"], each["high"], each["n"]
                )
                for cell in values["cells"]
                for name, each in cell["metrics"].items()
                if name == metric.name
            },
            versions={name: each["version"] or "" for name, each in contenders.items()},
            contents={name: each.get("content") or "" for name, each in contenders.items()},
            references_ns=dict(values["references_ns"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("no published run") from error
    return run, metric


# Of one run each chart is shown by its first panel, of several runs only so many charts of each; the other
# panels are links.
_CHARTS_OF_SEVERAL = 2


def write_post(path: Path, analyses: Sequence[RunAnalysis]) -> list[str]:
    """Write the folder, or write it again; the paths of what was written. Raises ReportError, before anything
    is written where the folder holds files of others."""
    folder = Folder.open(path, "post")
    several = len(analyses) > 1
    files: dict[str, bytes] = {}
    parts = [f"# {escape(title(analyses))}", ""]
    if several:
        parts += _post_front(analyse_suite(analyses))
    for number, analysis in enumerate(analyses, 1):
        figures = [] if missing() else list(charts.figures([analysis]))
        place = f"plots/{number:02}" if several else "plots"
        files |= {f"{place}/{name}": data for each in figures for name, data in each.files.items()}
        parts += _section(analysis, figures, place, several=several)
        name = file_name(analysis.run.id)
        files[f"data/{name}.json"] = as_bytes(published_data(analysis))
        files[f"data/{name}.csv"] = formats.as_csv(analysis).encode()
        files[f"badges/{file_name(analysis.experiment.name)}.svg"] = badge(analysis).encode()
    parts += [table_markdown(contender_table(*analyses)), ""]
    parts += ["## How it was measured", ""]
    for machine in dict.fromkeys(heading.machine(analysis.run.host) for analysis in analyses):
        parts += [f"On {escape(machine)}.", ""]
    parts += ["The same again:", "", "```", *commands(analyses)]
    parts += ["```", "", "The figures are in the folder `data`.", ""]
    files["post.md"] = "\n".join(parts).encode()
    folder.write(files, {"runs": [analysis.run.id for analysis in analyses]})
    return sorted(files)


def _post_front(suite: SuiteAnalysis) -> list[str]:
    """Of several runs the answers, the overview, and the claims that they test."""
    parts = []
    for column in suite.overview.columns:
        title = escape(column.analysis.experiment.title)
        parts.append(f"- **{title}:** {escape(answer_text(column.analysis))}")
    parts += ["", table_markdown(overview_table(suite.overview)), ""]
    tested = [each for each in suite.claims if each.finding.answer is not Answer.NOT_TESTED]
    return [*parts, table_markdown(claim_table(tested)), ""] if tested else parts


def _section(analysis: RunAnalysis, figures: Sequence[PanelFiles], place: str, *, several: bool) -> list[str]:
    """`place`: the folder of the figures, as the post refers to it."""
    by_chart = [list(each) for _, each in itertools.groupby(figures, lambda figure: id(figure.chart))]
    parts = (
        [f"## {escape(analysis.experiment.title)} ({analysis.run.started_at[:10]})", ""] if several else []
    )
    if note := analysis.experiment.note.strip():
        parts += [escape(" ".join(note.split())), ""]
    parts += [escape(answer_text(analysis)), ""]
    if analysis.run.ended_at is None:
        parts += ["**Interim:** the run has not ended.", ""]
    shown = by_chart[:_CHARTS_OF_SEVERAL] if several else by_chart
    for panels in shown:
        parts += _chart(panels, place)
    if rest := by_chart[len(shown) :]:
        links = ", ".join(f"[{escape(each.chart.title)}]({place}/{each.stem}.svg)" for each, *_ in rest)
        parts += [f"More plots: {links}.", ""]
    for table in tables(analysis, is_part=True):
        parts += [table_markdown(table, 3), ""]
    for weak_point in analysis.diagnostics:
        parts += [warning(weak_point), ""]
    parts += [escape(heading.heading(analysis)) + ".", ""]
    return parts


def _chart(panels: Sequence[PanelFiles], place: str) -> list[str]:
    """A chart's title and caption, its first panel, and links to the others."""
    first, *others = panels
    chart, title = first.chart, first.panel.title
    where = f", {title}" if others else ""
    parts = [f"### {escape(chart.title + where)}", "", escape(chart.caption), ""]
    parts += [f"![{escape(chart.title)}: {escape(title)}]({place}/{first.stem}.svg)", ""]
    if others:
        links = ", ".join(f"[{escape(each.panel.title)}]({place}/{each.stem}.svg)" for each in others)
        parts += [f"The same for {links}.", ""]
    return parts
