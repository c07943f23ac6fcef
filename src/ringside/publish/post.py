"""A post: a folder with `post.md`, the plots, the data and a badge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import SuiteAnalysis, analyse_suite
from ringside.model.claims import Answer
from ringside.publish.badge import badge
from ringside.publish.data import as_bytes, file_name, published
from ringside.publish.folder import Folder
from ringside.render import csv, heading
from ringside.render.answers import answers
from ringside.render.html.front import commands, title
from ringside.render.markdown import escape, table_markdown, warning
from ringside.render.plots import files as plot_files
from ringside.render.plots.charts import missing
from ringside.render.plots.files import Figure
from ringside.render.plots.spec import Chart
from ringside.render.tables import part_tables
from ringside.render.tables.claims import table as claim_table
from ringside.render.tables.contenders import contender_table
from ringside.render.tables.overview import table as overview_table

# Of one run each chart is shown by its first panel, of several runs only so many charts of each; the other
# panels are links.
_CHARTS_OF_SEVERAL = 2


@dataclass(frozen=True, slots=True)
class _Plots:
    """A chart with the paths of its panels' pictures, as the post refers to them."""

    chart: Chart
    panels: tuple[tuple[str, str], ...]


def write_post(path: Path, analyses: Sequence[RunAnalysis]) -> list[str]:
    """Write the folder, or write it again; the paths of what was written. Raises ReportError, before anything
    is written where the folder holds files of others."""
    folder = Folder.open(path, "post")
    several = len(analyses) > 1
    files: dict[str, bytes] = {}
    parts = [f"# {escape(title(analyses))}", ""]
    if several:
        parts += _front(analyse_suite(analyses))
    for number, analysis in enumerate(analyses, 1):
        figures = [] if missing() else list(plot_files.figures([analysis]))
        place = f"plots/{number:02}" if several else "plots"
        files |= {f"{place}/{name}": data for each in figures for name, data in each.files.items()}
        parts += _section(analysis, list(_by_chart(figures, place)), several)
        name = file_name(analysis.run.id)
        files[f"data/{name}.json"] = as_bytes(published(analysis))
        files[f"data/{name}.csv"] = csv.render(analysis).encode()
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


def _front(suite: SuiteAnalysis) -> list[str]:
    """Of several runs the answers, the overview, and the claims that they test."""
    parts = []
    for column in suite.overview.columns:
        first = answers(column.analysis)[0]
        parts.append(f"- **{escape(column.analysis.experiment.title)}:** {escape(first.text)}.")
    parts += ["", table_markdown(overview_table(suite.overview)), ""]
    tested = [each for each in suite.claims if each.finding.answer is not Answer.NOT_TESTED]
    return [*parts, table_markdown(claim_table(tested)), ""] if tested else parts


def _by_chart(figures: Sequence[Figure], place: str) -> Iterator[_Plots]:
    charts = list(dict.fromkeys(id(each.chart) for each in figures))
    for chart in charts:
        mine = [each for each in figures if id(each.chart) == chart]
        yield _Plots(mine[0].chart, tuple((each.panel.title, f"{place}/{each.stem}.svg") for each in mine))


def _section(analysis: RunAnalysis, plots: Sequence[_Plots], several: bool) -> list[str]:
    parts = (
        [f"## {escape(analysis.experiment.title)} ({analysis.run.started_at[:10]})", ""] if several else []
    )
    if note := analysis.experiment.note.strip():
        parts += [escape(" ".join(note.split())), ""]
    parts += [" ".join(f"{escape(sentence.text)}." for sentence in answers(analysis)), ""]
    if analysis.run.ended_at is None:
        parts += ["**Interim:** the run has not ended.", ""]
    shown = plots[:_CHARTS_OF_SEVERAL] if several else plots
    for each in shown:
        parts += _chart(each)
    if rest := plots[len(shown) :]:
        links = ", ".join(f"[{escape(each.chart.title)}]({each.panels[0][1]})" for each in rest)
        parts += [f"More plots: {links}.", ""]
    for table in part_tables(analysis):
        parts += [table_markdown(table, 3), ""]
    for weak_point in analysis.diagnostics:
        parts += [warning(weak_point), ""]
    parts += [escape(heading.heading(analysis)) + ".", ""]
    return parts


def _chart(plots: _Plots) -> list[str]:
    """A chart's title and caption, its first panel, and links to the others."""
    chart, ((first, picture), *others) = plots.chart, plots.panels
    where = f", {first}" if others else ""
    parts = [f"### {escape(chart.title + where)}", "", escape(chart.caption), ""]
    parts += [f"![{escape(chart.title)}: {escape(first)}]({picture})", ""]
    if others:
        links = ", ".join(f"[{escape(panel)}]({address})" for panel, address in others)
        parts += [f"The same for {links}.", ""]
    return parts
